"""Ops of PyTorch on numbers of any shape: arithmetic, comparisons, activations, products and reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.call import Call, Row, cast

__all__ = ["NUMBERS"]


def _unary(function: Callable[..., Any]) -> Row:
    return lambda x: function(x.value(x[0]))


def _binary(function: Callable[..., Any]) -> Row:
    return lambda x: function(x.value(x[0]), x.value(x[1]))


def _compared(function: Callable[..., Any]) -> Row:
    return lambda x: function(x.value(x[0], x.common), x.value(x[1], x.common))


def _logical(function: Callable[..., Any]) -> Row:
    return lambda x: function(_truth(x, x[0]), _truth(x, x[1]))


def _truth(x: Call, given: Any) -> Value:
    return x.value(given, given.type.element if isinstance(given, Value) and given.type.element == "bool" else "bool")


def _by_kind(of_bools: Callable[..., Any], of_integers: Callable[..., Any]) -> Row:
    def compute(x: Call) -> Any:
        return (of_bools if x.element == "bool" else of_integers)(x.value(x[0]), x.value(x[1]))

    return compute


def _added(sign: int) -> Row:
    def compute(x: Call) -> Any:
        one, other, alpha = x.value(x[0]), x.value(x[1]), x.get("alpha", 1)
        if x.element == "bool" and sign > 0 and alpha == 1:
            return op.logical_or(one, other)
        scaled = other if alpha == 1 else op.mul(other, x.value(alpha))
        return op.add(one, scaled) if sign > 0 else op.sub(one, scaled)

    return compute


def _reversed_sub(x: Call) -> Any:
    alpha, one = x.get("alpha", 1), x.value(x[0])
    return op.sub(x.value(x[1]), one if alpha == 1 else op.mul(one, x.value(alpha)))


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


def _rounded(x: Call) -> Any:
    places = x.get("decimals", 0)
    if not places:
        return op.round(x.value(x[0]))
    factor = x.value(10.0 ** abs(places))
    scale, back = (op.mul, op.div) if places > 0 else (op.div, op.mul)
    return back(op.round(scale(x.value(x[0]), factor)), factor)


def _distances(x: Call) -> Any:
    if x["p"] != 2:
        raise Unfit(f"distances of order {x['p']} are not supported; there is 2")
    rank = len(x.shape)
    one, other = op.unsqueeze(x["x1"], axes=(rank - 1,)), op.unsqueeze(x["x2"], axes=(rank - 2,))
    return op.reduce_l2(op.sub(one, other), axes=(rank,), keep_dims=False)


def _finite(x: Call) -> Any:
    return op.logical_not(op.logical_or(op.is_inf(x[0]), op.is_nan(x[0])))


def _pow(x: Call) -> Any:
    base, exponent = x[0], x[1]
    if isinstance(exponent, int | float) and isinstance(base, Value):
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
    value, low, high = x.value(x[0]), x.get("min"), x.get("max")
    if isinstance(low, Value) or isinstance(high, Value) or not _is_float(value):
        value = value if low is None else op.maximum(value, x.value(low))
        return value if high is None else op.minimum(value, x.value(high))
    return op.clip(value, low=None if low is None else float(low), high=None if high is None else float(high))


def _clamp_min(x: Call) -> Any:
    return op.maximum(x.value(x[0]), x.value(x[1]))


def _clamp_max(x: Call) -> Any:
    return op.minimum(x.value(x[0]), x.value(x[1]))


def _reduced(function: Any, axes: str = "dim") -> Row:
    def compute(x: Call) -> Any:
        value = x.value(x[0])
        if not value.type.shape:
            return op.identity(value)
        return function(value, axes=x.axes(axes), keep_dims=bool(x.get("keepdim", False)))

    return compute


def _any_or_all(function: Any) -> Row:
    def compute(x: Call) -> Any:
        truth = x.value(x[0], "bool")
        if not truth.type.shape:
            return truth
        found = function(cast(truth, "i32"), axes=x.axes("dim"), keep_dims=bool(x.get("keepdim", False)))
        return cast(found, "bool")

    return compute


def _variance(root: bool, mean: bool = False) -> Row:
    def compute(x: Call) -> Any:
        value, axes, keep = x.value(x[0]), x.axes("dim"), bool(x.get("keepdim", False))
        count = math.prod(value.type.shape[axis] for axis in axes)
        if not isinstance(count, int):
            raise Unfit(f"the number of entries is open, {count}")
        correction = x.get("correction")
        correction = int(bool(x.get("unbiased", True))) if correction is None else correction
        centre = op.reduce_mean(value, axes=axes)
        difference = op.sub(value, centre)
        total = op.reduce_sum(op.mul(difference, difference), axes=axes, keep_dims=keep)
        found = op.div(total, x.value(float(max(count - correction, 0))))
        found = op.sqrt(found) if root else found
        return (found, op.reduce_mean(value, axes=axes, keep_dims=keep)) if mean else found

    return compute


def _norm(x: Call) -> Any:
    power = x.get("p", x.get("ord", 2))
    power = 2 if power is None else power
    value, axes, keep = x.value(x[0]), x.axes("dim"), bool(x.get("keepdim", False))
    if power == 2:
        return op.reduce_l2(value, axes=axes, keep_dims=keep)
    if power == 1:
        return op.reduce_l1(value, axes=axes, keep_dims=keep)
    if power in (math.inf, -math.inf):
        return (op.reduce_max if power > 0 else op.reduce_min)(op.abs(value), axes=axes, keep_dims=keep)
    if not power:
        raise Unfit(f"the norm of order {power} is not supported")
    total = op.reduce_sum(op.pow(op.abs(value), x.value(float(power))), axes=axes, keep_dims=keep)
    return op.pow(total, x.value(1 / power))


def _place(function: Any) -> Row:
    def compute(x: Call) -> Any:
        value, axis = x[0], x.get("dim")
        if axis is None:
            flat = op.reshape(value, shape=(-1,))
            found = function(flat, axis=0, keep_dims=False)
            return op.reshape(found, shape=x.shape)
        if not value.type.shape:
            return x.constant(0)
        return function(value, axis=x.axis("dim"), keep_dims=bool(x.get("keepdim", False)))

    return compute


def _extreme(reduce: Any, place: Any, pair: Any) -> Row:
    """The greatest or least of all entries, of an axis with its place, or of two operands."""

    def compute(x: Call) -> Any:
        if isinstance(x.get("other"), Value):
            return pair(x.value(x[0]), x.value(x["other"]))
        if x.get("dim") is None:
            return reduce(x[0], keep_dims=False)
        axis, keep = x.axis("dim"), bool(x.get("keepdim", False))
        return reduce(x[0], axes=(axis,), keep_dims=keep), place(x[0], axis=axis, keep_dims=keep)

    return compute


def _softmax(function: Any) -> Row:
    def compute(x: Call) -> Any:
        value = x.value(x[0])
        return (
            function(value, axis=x.axis("dim")) if value.type.shape else x.value(0.0 if "log" in function.name else 1.0)
        )

    return compute


def _matmul(x: Call) -> Any:
    return op.matmul(x.value(x[0]), x.value(x[1]))


def _addmm(x: Call) -> Any:
    """Sum of a matrix and a product, each with a factor."""
    one, two, three = (x.value(x[at]) for at in range(3))
    alpha, beta = x.get("alpha", 1), x.get("beta", 1)
    product = op.matmul(two, three)
    product = product if alpha == 1 else op.mul(product, x.value(float(alpha)))
    if beta == 0:
        return product
    return op.add(product, one if beta == 1 else op.mul(one, x.value(float(beta))))


def _linear(x: Call) -> Any:
    value, weights, bias = x[0], x[1], x.get("bias")
    if len(weights.type.shape) == len(value.type.shape) == 2:
        return op.linear(value, weights) if bias is None else op.linear(value, weights, bias)
    if len(weights.type.shape) == 2:
        array = x.known(weights)  # the turned view has the same memory
        weights = op.transpose(weights, perm=(1, 0)) if array is None else x.constant(array.T, weights.type.element)
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
        factor = x.get("value", 1)
        return op.add(x.value(x[0]), part if factor == 1 else op.mul(part, x.value(factor)))

    return compute


def _lerp(x: Call) -> Any:
    start = x.value(x[0])
    return op.add(start, op.mul(x.value(x["weight"]), op.sub(x.value(x["end"]), start)))


def _gelu(x: Call) -> Any:
    return op.gelu(x[0], approximate=x.get("approximate", "none"))


def _elu(x: Call) -> Any:
    scale, inner = x.get("scale", 1), x.get("input_scale", 1)
    value = op.elu(x[0] if inner == 1 else op.mul(x[0], x.value(inner)), alpha=float(x.get("alpha", 1.0)))
    if inner != 1:
        raise Unfit(f"input_scale={inner} is not supported")
    return value if scale == 1 else op.mul(value, x.value(scale))


def _softplus(x: Call) -> Any:
    """Above a threshold PyTorch takes the operand itself, which softplus is there to the last bit of 32."""
    beta, limit = x.get("beta", 1), x.get("threshold", 20)
    value = x[0]
    scaled = value if beta == 1 else op.mul(value, x.value(beta))
    found = op.softplus(scaled)
    found = found if beta == 1 else op.div(found, x.value(beta))
    return found if limit >= 20 else op.where(op.greater(scaled, x.value(limit)), value, found)


def _prelu(x: Call) -> Any:
    rank, slope = len(x[0].type.shape), x[1]
    size = slope.type.shape[0] if slope.type.shape else 1
    if rank > 2 and len(slope.type.shape) == 1 and size != 1:
        slope = op.reshape(slope, shape=(size, *[1] * (rank - 2)))
    return op.prelu(x[0], slope)


def _glu(x: Call) -> Any:
    axis = x.axis("dim", -1)
    half = x[0].type.shape[axis] // 2
    first, second = op.split(x[0], axis=axis, sizes=(half, half))
    return op.mul(first, op.sigmoid(second))


def _threshold(x: Call) -> Any:
    return op.where(op.greater(x[0], x.value(x["threshold"])), x[0], x.value(x["value"]))


def _hard_shrink(x: Call) -> Any:
    limit = x.value(abs(float(x.get("lambd", 0.5))))
    return op.where(op.less_or_equal(op.abs(x[0]), limit), x.value(0.0), x[0])


def _soft_shrink(x: Call) -> Any:
    limit = x.value(float(x.get("lambd", 0.5)))
    return op.mul(op.sign(x[0]), op.relu(op.sub(op.abs(x[0]), limit)))


def _dropout(x: Call) -> Any:
    rate = x.get("p", 0.5)
    if x.get("train", x.get("training", True)) and rate:
        raise Unfit("it drops entries at random, in training mode; import the model for inference: model.eval()")
    return (x[0], None) if len(x.results) == 2 else x[0]


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
    "aten.ceil": op.ceil,
    "aten.cos": op.cos,
    "aten.cosh": op.cosh,
    "aten.erf": op.erf,
    "aten.erfc": lambda x: op.sub(1, op.erf(x)),
    "aten.exp": op.exp,
    "aten.floor": op.floor,
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
    **dict.fromkeys(("aten.dropout", "aten.native_dropout", "aten.feature_dropout", "aten.alpha_dropout"), _dropout),
    **dict.fromkeys(("aten.matmul", "aten.mm", "aten.bmm", "aten.mv", "aten.dot"), _matmul),
    **dict.fromkeys(("aten.addmm", "aten.baddbmm", "aten.addmv"), _addmm),
    **dict.fromkeys(("aten.clamp", "aten.clip"), _clamp),
    **dict.fromkeys(("aten.norm", "aten.linalg_vector_norm"), _norm),
    **dict.fromkeys(("aten.softmax", "aten._softmax"), _softmax(op.softmax)),
    **dict.fromkeys(("aten.log_softmax", "aten._log_softmax"), _softmax(op.log_softmax)),
    "aten.add": _added(1),
    "aten.addcdiv": _addcmul(op.div),
    "aten.addcmul": _addcmul(op.mul),
    "aten.all": _any_or_all(op.reduce_min),
    "aten.amax": _reduced(op.reduce_max),
    "aten.amin": _reduced(op.reduce_min),
    "aten.any": _any_or_all(op.reduce_max),
    "aten.argmax": _place(op.arg_max),
    "aten.argmin": _place(op.arg_min),
    "aten.celu": lambda x: op.celu(x[0], alpha=float(x.get("alpha", 1.0))),
    "aten.clamp_max": _clamp_max,
    "aten.clamp_min": _clamp_min,
    "aten.cumprod": _cumulated(op.cum_prod),
    "aten.cumsum": _cumulated(op.cum_sum),
    "aten.div": _div,
    "aten.einsum": _einsum,
    "aten.elu": _elu,
    "aten.expm1": lambda x: op.sub(op.exp(x.value(x[0])), 1),
    "aten.gelu": _gelu,
    "aten.glu": _glu,
    "aten.hardshrink": _hard_shrink,
    "aten.hardtanh": lambda x: op.clip(x[0], low=float(x.get("min_val", -1)), high=float(x.get("max_val", 1))),
    "aten._cdist_forward": _distances,
    "aten.exp2": lambda x: op.exp(op.mul(x.value(x[0]), x.value(math.log(2)))),
    "aten.isfinite": _finite,
    "aten.isneginf": lambda x: op.is_inf(x[0], detect_positive=False),
    "aten.isposinf": lambda x: op.is_inf(x[0], detect_negative=False),
    "aten.isinf": lambda x: op.is_inf(x[0]),
    "aten.isnan": lambda x: op.is_nan(x[0]),
    "aten.leaky_relu": lambda x: op.leaky_relu(x[0], alpha=float(x.get("negative_slope", 0.01))),
    "aten.lerp": _lerp,
    "aten.linear": _linear,
    "aten.log10": lambda x: op.mul(op.log(x.value(x[0])), x.value(1 / math.log(10))),
    "aten.log1p": lambda x: op.log(op.add(x.value(x[0]), 1)),
    "aten.log2": lambda x: op.mul(op.log(x.value(x[0])), x.value(1 / math.log(2))),
    "aten.logical_and": _logical(op.logical_and),
    "aten.logical_not": lambda x: op.logical_not(_truth(x, x[0])),
    "aten.logical_or": _logical(op.logical_or),
    "aten.logical_xor": _logical(op.logical_xor),
    "aten.logsumexp": _reduced(op.reduce_log_sum_exp),
    "aten.masked_fill": _masked_fill,
    "aten.max": _extreme(op.reduce_max, op.arg_max, op.maximum),
    "aten.mean": _reduced(op.reduce_mean),
    "aten.min": _extreme(op.reduce_min, op.arg_min, op.minimum),
    "aten.mul": _mul,
    "aten.pow": _pow,
    "aten.prelu": _prelu,
    "aten.prod": _reduced(op.reduce_prod),
    "aten.round": _rounded,
    "aten.rsub": _reversed_sub,
    "aten.softplus": _softplus,
    "aten.softshrink": _soft_shrink,
    "aten.std": _variance(root=True),
    "aten.std_mean": _variance(root=True, mean=True),
    "aten.sub": _added(-1),
    "aten.sum": _reduced(op.reduce_sum),
    "aten.threshold": _threshold,
    "aten.true_divide": _div,
    "aten.var": _variance(root=False),
    "aten.var_mean": _variance(root=False, mean=True),
    "aten.where": _where,
}
"""What each op means."""
