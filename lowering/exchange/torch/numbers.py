"""Ops of PyTorch on numbers of any shape: arithmetic, comparisons, activations, products and reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.call import Call, Row
from graphrewrite.types import Tensor

__all__ = ["NUMBERS"]


def _unary(function: Callable[..., Any]) -> Row:
    return lambda x: function(x.value(x[0]))


def _binary(function: Callable[..., Any]) -> Row:
    return lambda x: function(x.value(x[0]), x.value(x[1]))


def _compared(function: Callable[..., Any]) -> Row:
    return lambda x: function(x.value(x[0], x.common), x.value(x[1], x.common))


def _logical(function: Callable[..., Any]) -> Row:
    return lambda x: function(x.value(x[0], "bool"), x.value(x[1], "bool"))


def _by_kind(of_bools: Callable[..., Any], of_integers: Callable[..., Any]) -> Row:
    def compute(x: Call) -> Any:
        return (of_bools if x.element == "bool" else of_integers)(x.value(x[0]), x.value(x[1]))

    return compute


def _add(x: Call) -> Any:
    if x.element == "bool":  # alpha is true or false then
        return op.logical_or(x.value(x[0]), _scaled(x, x[1], x["alpha"]))
    return op.add(x.value(x[0]), _scaled(x, x[1], x["alpha"]))


def _sub(x: Call) -> Any:
    return op.sub(x.value(x[0]), _scaled(x, x[1], x["alpha"]))


def _reversed_sub(x: Call) -> Any:
    return op.sub(x.value(x[1]), _scaled(x, x[0], x["alpha"]))


def _scaled(x: Call, given: Any, factor: Any) -> Any:
    value = x.value(given)
    if factor == 1:
        return value
    return (op.logical_and if x.element == "bool" else op.mul)(value, x.value(factor))


def _mul(x: Call) -> Any:
    one, other = x.value(x[0]), x.value(x[1])
    return op.logical_and(one, other) if x.element == "bool" else op.mul(one, other)


def _div(x: Call) -> Any:
    mode = x.get("rounding_mode")
    one, other = x.value(x[0]), x.value(x[1])
    if mode is None:
        return op.div(one, other)
    if mode == "floor":
        return _floor_divided(one, other)
    return _truncated(op.div(one, other)) if _is_float(one) else op.div(one, other)


def _is_float(value: Value) -> bool:
    return str(value.type.element).startswith(("f", "bf"))


def _floor_divided(one: Value, other: Value) -> Any:
    """Quotients of floats are exact but for their last bit: what divides without a rest is taken off first."""
    rest = op.mod(one, other) if not _is_float(one) else _remainder(one, other)
    quotient = op.div(op.sub(one, rest), other)
    return op.round(quotient) if _is_float(one) else quotient


def _remainder(one: Value, other: Value) -> Any:
    """Remainder with the sign of the divisor."""
    if not _is_float(one):
        return op.mod(one, other)
    rest = op.mod(one, other, fmod=True)
    zero = op.sub(rest, rest)
    wrong = op.logical_and(
        op.logical_not(op.equal(rest, zero)), op.logical_xor(op.less(rest, zero), op.less(other, zero))
    )
    return op.where(wrong, op.add(rest, other), rest)


def _truncated(value: Value) -> Any:
    if not _is_float(value):
        return value
    return op.mul(op.sign(value), op.floor(op.abs(value)))


def _of_floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """Whole numbers stay what they are."""
    return lambda value: function(value) if _is_float(value) else value


def _rounded(x: Call) -> Any:
    places = x.get("decimals", 0)
    if not places:
        return _of_floats(op.round)(x.value(x[0]))
    factor = x.value(10.0 ** abs(places))
    scale, back = (op.mul, op.div) if places > 0 else (op.div, op.mul)
    return back(op.round(scale(x.value(x[0]), factor)), factor)


def _distances(x: Call) -> Any:
    norms = {1: op.reduce_l1, 2: op.reduce_l2}
    if x["p"] not in norms:
        raise Unfit(f"distances of order {x['p']} are not supported; there are 1 and 2")
    # Axes in front are repeated where one of the two has fewer.
    one = op.unsqueeze(x["x1"], axes=(len(x["x1"].type.shape) - 1,))
    other = op.unsqueeze(x["x2"], axes=(len(x["x2"].type.shape) - 2,))
    return norms[x["p"]](op.sub(one, other), axes=(len(x.shape),), keep_dims=False)


def _finite(x: Call) -> Any:
    return op.logical_not(op.logical_or(op.is_inf(x[0]), op.is_nan(x[0])))


def _pow(x: Call) -> Any:
    base, exponent = x[0], x[1]
    if isinstance(exponent, int | float):
        value = x.value(base)
        if exponent == 2:
            return op.mul(value, value)
        if exponent == 0.5:
            return op.sqrt(value)
        if exponent == 1:
            return op.identity(value)
        if exponent == -0.5:
            return op.reciprocal(op.sqrt(value))
    return op.pow(x.value(base), x.value(exponent))


def _clamp(x: Call) -> Any:
    value, low, high = x.value(x[0]), x["min"], x["max"]
    if isinstance(low, Value) or isinstance(high, Value) or not _is_float(value):
        value = value if low is None else op.maximum(value, x.value(low))
        return value if high is None else op.minimum(value, x.value(high))
    return op.clip(value, low=None if low is None else float(low), high=None if high is None else float(high))


def _clamp_min(x: Call) -> Any:
    return op.maximum(x.value(x[0]), x.value(x[1]))


def _clamp_max(x: Call) -> Any:
    return op.minimum(x.value(x[0]), x.value(x[1]))


def _matmul(x: Call) -> Any:
    return op.matmul(x.value(x[0]), x.value(x[1]))


def _addmm(x: Call) -> Any:
    """Sum of a matrix and a product, each with a factor."""
    one, two, three = (x.value(x[at]) for at in range(3))
    alpha, beta = x["alpha"], x["beta"]
    product = op.matmul(two, three)
    product = product if alpha == 1 else op.mul(product, x.value(float(alpha)))
    if beta == 0:
        return product
    return op.add(product, one if beta == 1 else op.mul(one, x.value(float(beta))))


def _linear(x: Call) -> Any:
    value, weights, bias = x[0], x[1], x["bias"]
    if len(weights.type.shape) == len(value.type.shape) == 2:
        return op.linear(value, weights) if bias is None else op.linear(value, weights, bias)
    if len(weights.type.shape) == 2:
        array = x.known(weights)  # the turned view has the same memory
        weights = op.transpose(weights, perm=(1, 0)) if array is None else x.view_of(weights, array.T)
    product = op.matmul(value, weights)
    return product if bias is None else op.add(product, bias)


def _einsum(x: Call) -> Any:
    return op.einsum(*(x.value(each) for each in x["tensors"]), equation=x["equation"])


def _where(x: Call) -> Any:
    if "other" not in x.arguments:
        raise Unfit("the positions of a mask depend on its values; use torch.where(condition, x, y)")
    return op.where(x.value(x["condition"], "bool"), x.value(x["self"]), x.value(x["other"]))


def _masked_fill(x: Call) -> Any:
    return op.where(x.value(x["mask"], "bool"), x.value(x["value"]), x.value(x[0]))


def _addcmul(function: Any) -> Row:
    def compute(x: Call) -> Any:
        part = function(x.value(x["tensor1"]), x.value(x["tensor2"]))
        factor = x["value"]
        return op.add(x.value(x[0]), part if factor == 1 else op.mul(part, x.value(factor)))

    return compute


def _lerp(x: Call) -> Any:
    start = x.value(x[0])
    return op.add(start, op.mul(x.value(x["weight"]), op.sub(x.value(x["end"]), start)))


def _is_negative(x: Value) -> Any:
    """Tell whether numbers have a sign, zeros too."""
    return op.less(op.where(op.equal(x, _zero(x)), op.reciprocal(x), x), _zero(x))


def _zero(x: Value) -> Value:
    return x.graph.constant(0, type=Tensor(x.type.element, ()))


def _angle(x: Call) -> Any:
    """The angle of points (atan2), by that in the first quadrant."""
    ordinate, abscissa = x.value(x[0]), x.value(x[1])
    height, width = op.abs(ordinate), op.abs(abscissa)
    quotient = op.div(
        op.where(op.equal(height, width), x.value(1), height), op.where(op.equal(height, width), x.value(1), width)
    )
    both = op.logical_and(op.equal(height, _zero(height)), op.equal(width, _zero(width)))
    first = op.where(both, x.value(0), op.atan(quotient))
    angle = op.where(_is_negative(abscissa), op.sub(x.value(math.pi), first), first)
    return op.where(_is_negative(ordinate), op.neg(angle), angle)


def _hypotenuse(x: Call) -> Any:
    one, other = op.abs(x.value(x[0])), op.abs(x.value(x[1]))
    long, short = op.maximum(one, other), op.minimum(one, other)
    same = op.equal(long, short)  # both may be zero, or infinite
    part = op.div(op.where(same, x.value(1), short), op.where(same, x.value(1), long))
    length = op.mul(long, op.sqrt(op.add(op.mul(part, part), x.value(1))))
    return op.where(op.logical_or(op.is_inf(one), op.is_inf(other)), x.value(math.inf), length)


def _trilinear(x: Call) -> Any:
    """Three operands, with new axes, are multiplied and summed along axes."""
    rank = len(x[0].type.shape) + len(x["expand1"])
    letters = "abcdefghijklmnopqrstuvwxyz"[:rank]
    terms = ["".join(letters[at] for at in range(rank) if at not in x[f"expand{i}"]) for i in (1, 2, 3)]
    kept = "".join(letters[at] for at in range(rank) if at not in x["sumdim"])
    return op.einsum(x.value(x[0]), x.value(x[1]), x.value(x[2]), equation=f"{','.join(terms)}->{kept}")


def _cumulated(function: Any) -> Row:
    return lambda x: function(x.value(x[0]), axis=x.axis("dim")) if x.shape else x.value(x[0])


def _same(x: Call) -> Any:
    return x.value(x[0])


_UNARY: dict[str, Callable[..., Any]] = {
    "aten.abs": op.abs,
    "aten.acos": op.acos,
    "aten.acosh": op.acosh,
    "aten.asin": op.asin,
    "aten.asinh": op.asinh,
    "aten.atan": op.atan,
    "aten.atanh": op.atanh,
    "aten.bitwise_not": lambda x: op.logical_not(x) if x.type.element == "bool" else op.bitwise_not(x),
    "aten.ceil": _of_floats(op.ceil),
    "aten.cos": op.cos,
    "aten.cosh": op.cosh,
    "aten.erf": op.erf,
    "aten.erfc": lambda x: op.sub(1, op.erf(x)),
    "aten.exp": op.exp,
    "aten.floor": _of_floats(op.floor),
    "aten.hardsigmoid": lambda x: op.hard_sigmoid(x, alpha=1 / 6, beta=0.5),
    "aten.hardswish": op.hard_swish,
    "aten.log": op.log,
    "aten.log_sigmoid": lambda x: op.neg(op.softplus(op.neg(x))),
    "aten.mish": op.mish,
    "aten.neg": op.neg,
    "aten.reciprocal": op.reciprocal,
    "aten.relu": op.relu,
    "aten.relu6": lambda x: op.clip(x, low=0.0, high=6.0),
    "aten.rsqrt": lambda x: op.reciprocal(op.sqrt(x)),
    "aten.selu": op.selu,
    "aten.sgn": op.sign,
    "aten.sigmoid": op.sigmoid,
    "aten.sign": op.sign,
    "aten.silu": op.silu,
    "aten.sin": op.sin,
    "aten.sinh": op.sinh,
    "aten.softsign": op.softsign,
    "aten.sqrt": op.sqrt,
    "aten.square": lambda x: op.mul(x, x),
    "aten.tan": op.tan,
    "aten.tanh": op.tanh,
    "aten.trunc": _truncated,
}
_COMPARED: dict[str, Callable[..., Any]] = {
    "aten.eq": op.equal,
    "aten.ge": op.greater_or_equal,
    "aten.gt": op.greater,
    "aten.le": op.less_or_equal,
    "aten.lt": op.less,
    "aten.ne": lambda x, y: op.logical_not(op.equal(x, y)),
}
_BINARY: dict[str, Callable[..., Any]] = {
    "aten.floor_divide": _floor_divided,
    "aten.fmod": lambda x, y: op.mod(x, y, fmod=True),
    "aten.maximum": op.maximum,
    "aten.minimum": op.minimum,
    "aten.remainder": _remainder,
}

NUMBERS: dict[str, Row] = {
    **{name: _unary(each) for name, each in _UNARY.items()},
    **{name: _binary(each) for name, each in _BINARY.items()},
    **{name: _compared(each) for name, each in _COMPARED.items()},
    **dict.fromkeys(("aten.bitwise_and", "aten.__and__"), _by_kind(op.logical_and, op.bitwise_and)),
    **dict.fromkeys(("aten.bitwise_or", "aten.__or__"), _by_kind(op.logical_or, op.bitwise_or)),
    **dict.fromkeys(("aten.bitwise_xor", "aten.__xor__"), _by_kind(op.logical_xor, op.bitwise_xor)),
    **dict.fromkeys(("aten.matmul", "aten.mm", "aten.bmm", "aten.mv", "aten.dot"), _matmul),
    **dict.fromkeys(("aten.addmm", "aten.baddbmm", "aten.addmv"), _addmm),
    **dict.fromkeys(("aten.clamp", "aten.clip"), _clamp),
    "aten.add": _add,
    "aten.addcdiv": _addcmul(op.div),
    "aten.addcmul": _addcmul(op.mul),
    "aten.atan2": _angle,
    "aten.clamp_max": _clamp_max,
    "aten.clamp_min": _clamp_min,
    "aten.cumprod": _cumulated(op.cum_prod),
    "aten.cumsum": _cumulated(op.cum_sum),
    "aten.div": _div,
    "aten.einsum": _einsum,
    "aten.expm1": lambda x: op.sub(op.exp(x.value(x[0])), 1),
    "aten._cdist_forward": _distances,
    "aten.exp2": lambda x: op.exp(op.mul(x.value(x[0]), x.value(math.log(2)))),
    "aten.hypot": _hypotenuse,
    "aten.isfinite": _finite,
    "aten.isneginf": lambda x: op.is_inf(x[0], detect_positive=False),
    "aten.isposinf": lambda x: op.is_inf(x[0], detect_negative=False),
    "aten.isinf": lambda x: op.is_inf(x[0]),
    "aten.isnan": lambda x: op.is_nan(x[0]),
    "aten.lerp": _lerp,
    "aten.linear": _linear,
    "aten.log10": lambda x: op.mul(op.log(x.value(x[0])), x.value(1 / math.log(10))),
    "aten.log1p": lambda x: op.log(op.add(x.value(x[0]), 1)),
    "aten.log2": lambda x: op.mul(op.log(x.value(x[0])), x.value(1 / math.log(2))),
    "aten.logical_and": _logical(op.logical_and),
    "aten.logical_not": lambda x: op.logical_not(x.value(x[0], "bool")),
    "aten.logical_or": _logical(op.logical_or),
    "aten.logical_xor": _logical(op.logical_xor),
    "aten.masked_fill": _masked_fill,
    "aten.mul": _mul,
    "aten.pow": _pow,
    "aten.round": _rounded,
    "aten.rsub": _reversed_sub,
    "aten.sub": _sub,
    "aten._trilinear": _trilinear,
    "aten.true_divide": _div,
    "aten.where": _where,
}
"""What each op means."""
