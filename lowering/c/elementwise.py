"""Ops on one entry of each operand: a row of expressions an op, by the kind of its numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import reduce

import numpy as np

from graphrewrite.lowering.c.arrays import Array, Reference, literal
from graphrewrite.lowering.c.halves import STEPWISE, rounded
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit, unsigned
from graphrewrite.lowering.c.loops import nest

__all__ = ["ELEMENTWISE", "mapped"]

_LARGER = "{0} >= {1} || {0} != {0} ? {0} : {1}"
_SMALLER = "{0} <= {1} || {0} != {0} ? {0} : {1}"
_LOGISTIC = "{0} < 0 ? exp@({0}) / (1 + exp@({0})) : 1 / (1 + exp@(-{0}))"

EXPRESSIONS: Mapping[str, Mapping[str, str]] = {
    "abs": {"f": "fabs@({0})", "i": "{0} < 0 ? ({T})(0 - ({U}){0}) : {0}", "ub": "{0}"},
    "acos": {"f": "acos@({0})"},
    "acosh": {"f": "acosh@({0})"},
    "add": {"f": "{0} + {1}", "iu": "({T})(({U}){0} + ({U}){1})", "b": "{0} | {1}"},
    "asin": {"f": "asin@({0})"},
    "asinh": {"f": "asinh@({0})"},
    "atan": {"f": "atan@({0})"},
    "atanh": {"f": "atanh@({0})"},
    "bitwise_and": {"iu": "({T})({0} & {1})"},
    "bitwise_not": {"iu": "({T})~{0}"},
    "bitwise_or": {"iu": "({T})({0} | {1})"},
    "bitwise_xor": {"iu": "({T})({0} ^ {1})"},
    "ceil": {"f": "ceil@({0})"},
    "celu": {"f": "{0} > 0 ? {0} : {alpha} * expm1@({0} / {alpha})"},
    "cos": {"f": "cos@({0})"},
    "cosh": {"f": "cosh@({0})"},
    "div": {
        "f": "{0} / {1}",
        "i": "{1} == 0 ? 0 : {1} == -1 ? ({T})(0 - ({U}){0}) : ({T})({0} / {1})",
        "u": "{1} == 0 ? 0 : ({T})({0} / {1})",
    },
    "elu": {"f": "{0} > 0 ? {0} : {alpha} * expm1@({0})"},
    "equal": {"fiub": "{0} == {1}"},
    "erf": {"f": "erf@({0})"},
    "exp": {"f": "exp@({0})"},
    "floor": {"f": "floor@({0})"},
    "fma": {"f": "{0} * {1} + {2}", "iu": "({T})(({U}){0} * ({U}){1} + ({U}){2})", "b": "({0} & {1}) | {2}"},
    "gelu": {"f": "{0} < -40 ? 0 : {half} * {0} * erfc@(-{0} * {root})"},
    "greater": {"fiu": "{0} > {1}"},
    "greater_or_equal": {"fiu": "{0} >= {1}"},
    "hard_swish": {"f": "{0} <= -3 ? 0 : {0} >= 3 ? {0} : ({0} / 6 + {half}) * {0}"},
    "is_nan": {"f": "{0} != {0}"},
    "leaky_relu": {"f": "{0} < 0 ? {0} * {alpha} : {0}"},
    "less": {"fiu": "{0} < {1}"},
    "less_or_equal": {"fiu": "{0} <= {1}"},
    "log": {"f": "log@({0})"},
    "logical_and": {"b": "{0} & {1}"},
    "logical_not": {"b": "!{0}"},
    "logical_or": {"b": "{0} | {1}"},
    "logical_xor": {"b": "{0} ^ {1}"},
    "maximum": {"f": _LARGER, "iub": "{0} >= {1} ? {0} : {1}"},
    "minimum": {"f": _SMALLER, "iub": "{0} <= {1} ? {0} : {1}"},
    "mul": {"f": "{0} * {1}", "iu": "({T})(({U}){0} * ({U}){1})", "b": "{0} & {1}"},
    "neg": {"f": "-{0}", "iu": "({T})(0 - ({U}){0})"},
    "prelu": {"f": "{0} < 0 ? {0} * {1} : {0}", "i": "{0} < 0 ? ({T})(({U}){0} * ({U}){1}) : {0}", "u": "{0}"},
    "reciprocal": {"f": "1 / {0}"},
    "relu": {"f": "{0} < 0 ? 0 : {0}", "i": "{0} < 0 ? 0 : {0}", "u": "{0}"},
    "round": {"f": "rint@({0})"},
    "sigmoid": {"f": _LOGISTIC},
    "sign": {"f": "{0} != {0} ? {0} : ({T})(({0} > 0) - ({0} < 0))", "i": "({0} > 0) - ({0} < 0)", "u": "{0} != 0"},
    "sin": {"f": "sin@({0})"},
    "sinh": {"f": "sinh@({0})"},
    "softplus": {"f": "{0} > 0 ? {0} + log1p@(exp@(-{0})) : log1p@(exp@({0}))"},
    "sqrt": {"f": "sqrt@({0})"},
    "sub": {"f": "{0} - {1}", "iu": "({T})(({U}){0} - ({U}){1})"},
    "tan": {"f": "tan@({0})"},
    "tanh": {"f": "tanh@({0})"},
    "threshold": {"f": "{0} > {alpha} ? {0} : 0"},
    "where": {"b": "{0} ? {1} : {2}"},
}
"""By op, and by the kinds of its first operand (float, integer, unsigned, bool): an expression of its operands.

A ``@`` is the suffix of functions of the type, ``{T}`` the type of the result, ``{U}`` an unsigned one of its width.
"""


def mapped(step: Step, template: str, *operands: Array, **words: str) -> list[str]:
    """Return loops that write an expression of one entry of each operand, by default of the step's own."""
    result, read = step.result, operands or step.operands
    kinds = {"T": result.type, "U": unsigned(result.dtype), **words}
    text = template.replace("@", "f" if result.dtype == np.float32 else "")

    def body(y: Reference, *xs: Reference) -> list[str]:
        named, lines = list[str](), list[str]()
        for position, (x, array) in enumerate(zip(xs, read, strict=True)):
            is_repeated = bool(x.index) and (text.count(f"{{{position}}}") > 1 or xs.count(x) > 1)
            is_limit = (
                not x.index and array.dtype.kind in "ub" and f"{{{position}}}" in text
            )  # with which a comparison may be always true
            if is_repeated or is_limit:
                lines.append(f"const {array.type} v{position} = {x};")
            plain = str(x) if x.index or not str(x).startswith("-") else f"({x})"
            named.append(f"v{position}" if is_repeated or is_limit else plain)
        return [*lines, f"{y} = {text.format(*named, **kinds)};"]

    return nest(result.shape, [result, *read], body)


def _row(name: str) -> Callable[[Step], list[str]]:
    """Return what writes an op by its row of expressions."""
    kinds = {kind: text for several, text in EXPRESSIONS[name].items() for kind in several}

    def write(step: Step) -> list[str]:
        dtype = step.operands[0].dtype
        if dtype.kind not in kinds:
            raise Unfit(f"it has no expression for {dtype.name}")
        wanted = re.findall(r"\{([a-z]+)\}", kinds[dtype.kind])
        words = {word: _word(word, step, dtype) for word in wanted}
        return mapped(step, kinds[dtype.kind], **words)

    return write


def _stepwise(name: str, write: Callable[[Step], list[str]]) -> Callable[[Step], list[str]]:
    """Return what writes an op of f16 step by step, and of other numbers as it is."""

    def halved(step: Step) -> list[str]:
        if not step.is_half:
            return write(step)
        numbers = {name: number for name, number in step.attributes.items() if isinstance(number, int | float)}
        words = {word: _word(word, step, step.result.dtype) for word in numbers}
        steep = "{0}" if step.attributes.get("alpha") == 1 else "in_half({0} * {alpha})"
        return mapped(step, STEPWISE[name].replace("{steep}", steep), **words)

    return halved


def _word(word: str, step: Step, dtype: np.dtype) -> str:
    """Return the number that a word in an expression stands for."""
    known = {"half": 0.5, "root": np.sqrt(0.5)}
    number = known[word] if word in known else step.attributes[word]
    text = literal(rounded(number) if step.is_half and word not in known else number, dtype)
    return f"({text})" if text.startswith("-") else text


def _gelu(step: Step) -> list[str]:
    if step.attributes["approximate"] == "none":
        return _row("gelu")(step)
    dtype = step.result.dtype
    factors = {"slope": np.sqrt(8 / np.pi), "cubic": np.sqrt(8 / np.pi) * 0.044715}
    text = "{0} < -40 ? 0 : {0} / (1 + exp@(-{0} * ({slope} + {cubic} * {0} * {0})))"
    return mapped(step, text, **{name: literal(value, dtype) for name, value in factors.items()})


def _hard_sigmoid(step: Step) -> list[str]:
    words = {name: literal(step.attributes[name], step.result.dtype) for name in ("alpha", "beta")}
    inner = "({0} * ({alpha}) + ({beta}))"
    return mapped(step, f"{inner} < 0 ? 0 : {inner} > 1 ? 1 : {inner}", **words)


def _selu(step: Step) -> list[str]:
    words = {name: literal(step.attributes[name], step.result.dtype) for name in ("alpha", "gamma")}
    return mapped(step, "{gamma} * ({0} > 0 ? {0} : {alpha} * expm1@({0}))", **words)


def _silu(step: Step) -> list[str]:
    """The logistic function, times its operand: 0 and not NaN for the negative infinity."""
    factor = step.attributes["alpha"]
    steep = "{0}" if factor == 1 else f"({{0}} * ({literal(factor, step.result.dtype)}))"
    share = _LOGISTIC.replace("{0}", steep)
    return mapped(step, f"isinf({{0}}) && {steep} < 0 ? 0 : {{0}} * ({share})")


def _mish(step: Step) -> list[str]:
    """The tanh of a softplus is n / (n + 2) with n = e^x (e^x + 2)."""
    power = "exp@({0})"
    return mapped(
        step,
        f"{{0}} > 20 ? {{0}} : {{0}} < -150 ? 0 : {{0}} * ({power} * ({power} + 2) / ({power} * ({power} + 2) + 2))",
    )


def _softsign(step: Step) -> list[str]:
    return mapped(step, "isinf({0}) ? ({0} > 0) - ({0} < 0) : {0} / (1 + fabs@({0}))")


def _is_inf(step: Step) -> list[str]:
    signs = [sign for sign in ("negative", "positive") if step.attributes[f"detect_{sign}"]]
    if len(signs) == 2:
        return mapped(step, "isinf({0}) != 0")
    return mapped(step, f"{{0}} == {'-' * (signs == ['negative'])}INFINITY" if signs else "({0}, 0)")


def _clip(step: Step) -> list[str]:
    """As by a maximum and then a minimum, so that the upper limit counts where both leave nothing."""
    dtype, text = step.result.dtype, "{0}"
    for bound, sign in (("low", "<"), ("high", ">")):
        limit = step.attributes[bound]
        if limit is None:
            continue
        if dtype.kind in "iu":
            ends = np.iinfo(dtype)
            limit = min(max(int(limit), ends.min), ends.max)
            if limit == (ends.min if bound == "low" else ends.max):
                continue
        number = literal(limit, dtype)
        text = (
            f"{text} {sign} {number} ? {number} : {text}"
            if text == "{0}"
            else f"({text}) {sign} {number} ? {number} : ({text})"
        )
    return mapped(step, text)


def _hard_tanh(step: Step) -> list[str]:
    low, high = (literal(step.attributes[name], step.result.dtype) for name in ("low", "high"))
    return mapped(step, f"{{0}} < {low} ? {low} : {{0}} > {high} ? {high} : {{0}}")


def _batch_norm(step: Step) -> list[str]:
    x, gain, shift, mean, var = step.operands
    rank, epsilon = len(x.shape), x.dtype.type(step.attributes["epsilon"])
    if step.is_half:
        parameters = [mean, gain, shift, var]
        least = literal(rounded(step.attributes["epsilon"]), x.dtype)
        text = f"in_half({{2}} / in_half(sqrtf(in_half({{4}} + {least}))))"
        text = f"in_half(in_half({{0}} - {{1}}) * {text}) + {{3}}"
    elif gain.value is not None and var.value is not None:
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = step.table("scale", gain.value / np.sqrt(var.value + epsilon), x.dtype)
        parameters, text = [mean, scale, shift], "({0} - {1}) * {2} + {3}"
    else:
        parameters = [mean, gain, shift, var]
        text = f"({{0}} - {{1}}) * ({{2}} / sqrt@({{4}} + {literal(epsilon, x.dtype)})) + {{3}}"
    return mapped(step, text, x, *(each.with_ones([*range(1, rank - 1)]) for each in parameters))


def _mod(step: Step) -> list[str]:
    kind, truncated = step.result.dtype.kind, step.attributes["fmod"]
    if kind == "f":
        return mapped(step, "fmod@({0}, {1})" if truncated else "(({T})floored_mod({0}, {1}))")
    if kind == "u":
        return mapped(step, "{1} == 0 ? 0 : ({T})({0} % {1})")
    rest = "{1} == 0 || {1} == -1 ? 0 : "
    adjusted = "({T})({0} % {1} + ({0} % {1} != 0 && ({0} < 0) != ({1} < 0) ? {1} : 0))"
    return mapped(step, rest + ("({T})({0} % {1})" if truncated else adjusted))


def _pow(step: Step) -> list[str]:
    base, exponent = step.operands
    if base.dtype.kind != "f" and exponent.dtype.kind == "f":
        return mapped(step, f"{base.dtype.name}_of(pow((double){{0}}, (double){{1}}))")
    if base.dtype.kind != "f":
        negative, signed = "0" if exponent.dtype.kind == "u" else "{1} < 0", int(base.dtype.kind == "i")
        return mapped(step, f"({{T}})integer_power((uint64_t){{0}}, (uint64_t){{1}}, {negative}, {signed})")
    wide = np.result_type(base.dtype, exponent.dtype)
    return mapped(step, "powf({0}, {1})" if wide == np.float32 else "({T})pow({0}, {1})")


def _bit_shift(step: Step) -> list[str]:
    x = step.operands[0]
    last = 8 * x.dtype.itemsize - 1
    beyond = f"{{1}} > {last}" if x.dtype.kind == "u" else f"{{1}} < 0 || {{1}} > {last}"
    if step.attributes["direction"] == "left":
        return mapped(step, f"{beyond} ? 0 : ({{T}})(({{U}}){{0}} << {{1}})")
    all_bits = "0" if x.dtype.kind == "u" else f"({{T}})(({{T}}){{0}} >> {last})"
    return mapped(step, f"{beyond} ? {all_bits} : ({{T}})(({{T}}){{0}} >> {{1}})")


def _sum(step: Step) -> list[str]:
    kind, result = step.result.dtype.kind, step.result
    if step.is_half:  # rounded at each step
        return mapped(step, reduce(lambda total, i: f"in_half({total} + {{{i}}})", range(1, len(step.operands)), "{0}"))
    if kind == "f":
        return mapped(step, " + ".join(f"{{{i}}}" for i in range(len(step.operands))))
    text = " + ".join(f"({unsigned(result.dtype)}){{{i}}}" for i in range(len(step.operands)))
    return mapped(step, f"({{T}})({text})")


def _mean(step: Step) -> list[str]:
    total = " + ".join(f"{{{i}}}" for i in range(len(step.operands)))
    return mapped(step, f"({total}) / {len(step.operands)}")


def _cast(step: Step) -> list[str]:
    x, result = step.operands[0], step.result
    element = step.types[0].element
    if result.dtype.kind == "b":
        return mapped(step, "{0} != 0")
    if element in ("i2", "i4", "u2", "u4"):
        raise Unfit(f"a cast to {element}")
    if x.dtype.kind == "f" and result.dtype.kind in "iu":
        return mapped(step, f"{result.dtype.name}_of({{0}})")
    if element == "f16" and x.dtype == np.float64:
        return mapped(step, "single_of({0})")
    return mapped(step, "({T}){0}")


_OWN = {
    "batch_norm": _batch_norm,
    "bit_shift": _bit_shift,
    "cast": _cast,
    "clip": _clip,
    "gelu": _gelu,
    "hard_sigmoid": _hard_sigmoid,
    "hard_tanh": _hard_tanh,
    "is_inf": _is_inf,
    "mean": _mean,
    "mish": _mish,
    "mod": _mod,
    "pow": _pow,
    "selu": _selu,
    "silu": _silu,
    "softsign": _softsign,
    "sum": _sum,
}

_WRITTEN = {**{name: _row(name) for name in EXPRESSIONS}, **_OWN}
ELEMENTWISE = {name: Kernel(_stepwise(name, write) if name in STEPWISE else write) for name, write in _WRITTEN.items()}
"""Kernels of element-wise ops."""
