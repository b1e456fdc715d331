"""Ops of mantissas and of quantised numbers, whose results are exact."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite.lowering.c.arrays import Array, Reference, literal
from graphrewrite.lowering.c.elementwise import mapped
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit
from graphrewrite.lowering.c.loops import counted, nest
from graphrewrite.op.integer.fixed_point import limits
from graphrewrite.types import FixedPoint, Quantised, integer_limits

__all__ = ["INTEGERS"]

_LONG, _DOUBLE = np.dtype(np.int64), np.dtype(np.float64)


def _long(number: int) -> str:
    return literal(number, _LONG)


def _combined(sign: str) -> Any:
    def write(step: Step) -> list[str]:
        wide = "uint64_t" if any(x.dtype.itemsize == 8 for x in step.operands) else "int64_t"
        x, y = (_shifted(i, shift, wide) for i, shift in enumerate(step.attributes["shifts"]))
        return mapped(step, f"({{T}})({x} {sign} {y})")

    return write


def _shifted(position: int, shift: int, wide: str) -> str:
    """The expression of an operand, shifted left; a negative number has no shift in C."""
    operand = f"({wide}){{{position}}}"
    return f"{operand} * {_long(1 << shift)}" if shift else operand


def _requantise(step: Step) -> list[str]:
    low, high = limits(step.attributes["element"], step.attributes["low"], step.attributes["high"])
    shift = step.per_channel("shift", step.attributes["shift"], np.int32)
    x = "{0} > INT64_MAX ? INT64_MAX : (int64_t){0}" if step.operands[0].dtype == np.uint64 else "{0}"
    return mapped(step, f"({{T}})narrowed({x}, {{1}}, {_long(low)}, {_long(high)})", step.operands[0], shift)


_ROUNDED = {"half_even": "shifted_half_even", "half_up": "shifted_half_up", "down": "", "to_zero": "shifted_to_zero"}


def _rescale(step: Step) -> list[str]:
    given, element = step.attributes, step.attributes["element"]
    factor, addend, shift = (
        step.per_channel(name, given[name], np.int32 if name == "shift" else np.int64)
        for name in ("multiplier", "addend", "shift")
    )
    product = "(int64_t){0} * {1} + {2}" if np.any(given["addend"]) else "(int64_t){0} * {1}"
    rounded = _ROUNDED[given["rounding"]]
    text = f"{rounded}({product}, {{3}})" if rounded else f"(({product}) >> {{3}})"
    if given["offset"]:
        text = f"{text} + ({_long(given['offset'])})"
    if given["saturate"]:
        low, high = limits(element, given["low"], given["high"])
        text = f"limited({text}, {_long(low)}, {_long(high)})"
    else:
        text = f"wrapped({text}, {element.width}, {int(element.signed)})"
    return mapped(step, f"({{T}}){text}", step.operands[0], factor, addend, shift)


def _per_row(step: Step, table: Array) -> Array:
    """Return a view of a table of one row, or of one a channel: the first entry of the row of each entry."""
    rank = len(step.result.shape)
    if len(table.shape) == 1 or table.shape[0] == 1:
        return Array(table.name, table.dtype, (1,) * rank, (0,) * rank)
    shape, strides = [1] * rank, [0] * rank
    shape[1], strides[1] = table.shape[0], table.shape[1]
    return Array(table.name, table.dtype, tuple(shape), tuple(strides))


def _in_memory(step: Step, table: Array) -> Array:
    """Return a table that has an address, which a single number has not."""
    if table.number is None:
        return table
    twice = np.repeat(np.asarray(table.value), 2, axis=-1)  # what is read of it is the first
    return step.table("table", twice, table.dtype)


def _lookup(step: Step) -> list[str]:
    x, given = step.operands
    last, table = given.shape[-1] - 1, _in_memory(step, given)

    def body(y: Reference, entry: Reference, row: Reference) -> list[str]:
        low = step.attributes["low"]
        if not low:
            return [f"{y} = {row.plus(f'limited((int64_t){entry}, 0, {last})')};"]
        # Limited before the difference, which may wrap around.
        first, end = _long(low), _long(min(low + last, 2**63 - 1))
        return [f"{y} = {row.plus(f'limited((int64_t){entry}, {first}, {end}) - ({first})')};"]

    return nest(step.result.shape, [step.result, x, _per_row(step, table)], body)


def _threshold(step: Step) -> list[str]:
    x, given = step.operands
    count, levels = given.shape[1], _in_memory(step, given)

    def body(y: Reference, entry: Reference, row: Reference) -> list[str]:
        reached = [f"reached += (int64_t){entry} >= (int64_t){row.plus('k')};"]
        return ["int32_t reached = 0;", *counted("k", count, reached), f"{y} = ({step.result.type})reached;"]

    return nest(step.result.shape, [step.result, x, _per_row(step, levels)], body)


def _interpolate(step: Step) -> list[str]:
    given = step.attributes
    base, slope = (_in_memory(step, step.table(name, given[name], np.int64)) for name in ("base", "slope"))
    rest, low = given["rest"], given["low"]

    def body(y: Reference, x: Reference, start: Reference, incline: Reference) -> list[str]:
        return [
            f"const int64_t v0 = (int64_t){x} - ({_long(low)});",
            f"{y} = ({step.result.type})(({start.plus(f'(v0 >> {rest})')} + {incline.plus(f'(v0 >> {rest})')} * "
            f"(v0 & {_long((1 << rest) - 1)})) >> {given['shift']});",
        ]

    return nest(step.result.shape, [step.result, step.operands[0], _per_row(step, base), _per_row(step, slope)], body)


def _softmax(step: Step) -> list[str]:
    x, y = step.operands[0], step.result
    table = _in_memory(step, step.table("powers", step.attributes["table"], np.int64))
    last = np.asarray(step.attributes["table"]).size - 1
    element, others = step.attributes["element"], [a for a in range(len(x.shape)) if a != 1]
    if 0 in x.shape:
        return []

    def body(to: Reference, entry: Reference) -> list[str]:
        own, its = entry.plus(f"k * {x.strides[1]}"), to.plus(f"k * {y.strides[1]}")
        index = f"limited((greatest - {own}) >> {step.attributes['shift']}, 0, {last})"
        return [
            f"int64_t greatest = {entry};",
            *counted("k", x.shape[1], [f"greatest = {own} > greatest ? {own} : greatest;"]),
            "int64_t sum = 0;",
            *counted("k", x.shape[1], [f"sum += {table.name}[{index}];"]),
            *counted(
                "k",
                x.shape[1],
                [
                    f"const int64_t share = {table.name}[{index}] * {_long(1 << (element.fraction + 1))} / sum;",
                    f"{its} = ({y.type})limited((share + 1) >> 1, 0, {_long(element.maximum)});",
                ],
            ),
        ]

    return nest([x.shape[a] for a in others], [y.along(others), x.along(others)], body)


# ---------------------------------------------------------------------- from and to real numbers


def _steps(step: Step, element: FixedPoint) -> Array:
    fractions = step.attributes.get("fractions")
    values = [math.ldexp(1.0, each) for each in ([element.fraction] if fractions is None else fractions)]
    axis = step.attributes.get("axis", 0) % max(len(step.result.shape), 1)
    return step.per_channel("steps", values, np.float64, axis)


def _ends(step: Step) -> tuple[str, str]:
    """The limits of a format as doubles: of more than 53 bits, the next ones inside."""
    element = step.attributes["element"]
    low, high = limits(element, step.attributes["low"], step.attributes["high"])
    least, most = float(low), float(high)
    least = math.nextafter(least, math.inf) if least < low else least
    most = math.nextafter(most, -math.inf) if most > high else most
    return literal(least, _DOUBLE), literal(most, _DOUBLE)


def _to_fixed(step: Step) -> list[str]:
    low, high = _ends(step)
    steps = _steps(step, step.attributes["element"])
    return mapped(step, f"({{T}})nearest((double){{0}} * {{1}}, {low}, {high})", step.operands[0], steps)


def _quantise(step: Step) -> list[str]:
    low, high = _ends(step)
    steps = _steps(step, step.attributes["element"])
    text = f"{{0}} != {{0}} ? {{0}} : ({{T}})((double)nearest((double){{0}} * {{1}}, {low}, {high}) / {{1}})"
    return mapped(step, text, step.operands[0], steps)


def _from_fixed(step: Step) -> list[str]:
    factor = literal(math.ldexp(1.0, -step.attributes["fraction"]), _DOUBLE)
    value = f"(double){{0}} * {factor}"
    return mapped(step, f"({{T}})({value})" if step.result.dtype.kind == "f" else f"({{T}})int64_of({value})")


def _channels(step: Step, element: Quantised, dtype: Any) -> tuple[Array, Array, Array, Array]:
    """Return scales, zero points, and the limits of what is nearest to a multiple of the scale."""
    scales, zeros = (np.asarray(each) for each in zip(*element.channels, strict=True))
    axis = element.axis or 0
    return (
        step.per_channel("scale", scales, dtype, axis),
        step.per_channel("zero", zeros, np.int64, axis),
        step.per_channel("low", element.minimum - zeros, np.float64, axis),
        step.per_channel("high", element.maximum - zeros, np.float64, axis),
    )


def _to_quantised(step: Step) -> list[str]:
    x = step.operands[0]
    scale, zero, low, high = _channels(step, step.attributes["element"], x.dtype)
    ratio = "{0} / {1}" if x.dtype == np.float64 else "(float)({0} / {1})"
    return mapped(step, f"({{T}})(nearest({ratio}, {{3}}, {{4}}) + {{2}})", x, scale, zero, low, high)


def _from_quantised(step: Step) -> list[str]:
    scale, zero, *_ = _channels(step, step.attributes["source"], step.result.dtype)
    return mapped(step, "({T})((int64_t){0} - {2}) * {1}", step.operands[0], scale, zero)


def _spread(step: Step, parameter: Array) -> Array:
    """Return a scale or zero point, one or one for each index of the axis, as it broadcasts to the operand."""
    if step.attributes["block_size"]:
        raise Unfit("scales by block")
    rank = len(step.result.shape)
    if parameter.size == 1:
        return Array(parameter.name, parameter.dtype, (1,) * rank, (0,) * rank, parameter.offset, parameter.value)
    axis = step.attributes["axis"] % rank
    return parameter.with_ones([i for i in range(rank) if i != axis])


def _quantize_linear(step: Step) -> list[str]:
    x, parameters = step.operands[0], [_spread(step, each) for each in step.operands[1:]]
    low, high = integer_limits(str(step.types[0].element)) or (0, 0)
    wide = np.result_type(x.dtype, parameters[0].dtype)
    ratio = "(float)({0} / {1})" if wide == np.float32 else "(double){0} / {1}"
    zero = "{2}" if len(parameters) > 1 else "0"
    return mapped(step, f"({{T}})limited(nearest({ratio}, -0x1p62, 0x1p62) + {zero}, {low}, {high})", x, *parameters)


def _dequantize_linear(step: Step) -> list[str]:
    x, parameters = step.operands[0], [_spread(step, each) for each in step.operands[1:]]
    kind = "double" if parameters[0].dtype == np.float64 else "float"
    whole = "((int64_t){0} - {2})" if len(parameters) > 1 else "{0}"
    return mapped(step, f"({{T}})(({kind}){whole} * ({kind}){{1}})", x, *parameters)


INTEGERS = {
    "dequantize_linear": Kernel(_dequantize_linear),
    "from_fixed": Kernel(_from_fixed),
    "from_quantised": Kernel(_from_quantised),
    "integer_add": Kernel(_combined("+")),
    "integer_interpolate": Kernel(_interpolate),
    "integer_mul": Kernel(lambda step: mapped(step, "({T})((int64_t){0} * (int64_t){1})")),
    "integer_softmax": Kernel(_softmax),
    "integer_sub": Kernel(_combined("-")),
    "integer_threshold": Kernel(_threshold),
    "lookup": Kernel(_lookup),
    "quantise": Kernel(_quantise),
    "quantize_linear": Kernel(_quantize_linear, short=True),
    "requantise": Kernel(_requantise),
    "rescale": Kernel(_rescale),
    "to_fixed": Kernel(_to_fixed),
    "to_quantised": Kernel(_to_quantised, short=True),
}
"""Kernels of ops at the integer level, and of those between it and real numbers."""
