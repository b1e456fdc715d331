"""Ops of TensorFlow on numbers of any shape: arithmetic, comparisons, activations, products and reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.attribute_values import number
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.rulesets.definitions import element_of_type
from graphrewrite.lowering.exchange.tensorflow.importer import Operands, Row
from graphrewrite.lowering.exchange.tflite.movement import places_from_front

__all__ = ["NUMBERS"]


def _plain(function: Callable[..., Any]) -> Row:
    def compute(x: Operands) -> Any:
        return function(*x.values)

    return compute


def _is_float(value: Value) -> bool:
    return str(value.type.element).startswith(("f", "bf"))


def _floor_div(x: Value, y: Value) -> Any:
    return op.floor(op.div(x, y)) if _is_float(x) else op.div(op.sub(x, op.mod(x, y)), y)


def _matmul(x: Operands) -> Any:
    a, b = x[0], x[1]
    return op.matmul(
        _turned(a, bool(x.get("transpose_a") or x.get("adj_x"))),
        _turned(b, bool(x.get("transpose_b") or x.get("adj_y"))),
    )


def _turned(value: Value, turn: bool) -> Any:
    rank = len(value.type.shape)
    return op.transpose(value, perm=(*range(rank - 2), rank - 1, rank - 2)) if turn else value


def _reduced(reduce: Any) -> Row:
    def compute(x: Operands) -> Any:
        axes = x.integers(1)
        if not axes and x.array(1).size == 0:
            return op.identity(x[0])
        rank = len(x[0].type.shape)
        wanted = tuple(sorted({axis % rank for axis in axes})) if rank else ()
        if not wanted:
            return op.identity(x[0])
        return reduce(x[0], axes=wanted, keep_dims=bool(x.get("keep_dims", False)))

    return compute


def _all(x: Value, **attributes: Any) -> Any:
    return op.cast(op.reduce_min(op.cast(x, element="i32"), **attributes), element="bool")


def _any(x: Value, **attributes: Any) -> Any:
    return op.cast(op.reduce_max(op.cast(x, element="i32"), **attributes), element="bool")


def _place(find: Any) -> Row:
    def compute(x: Operands) -> Any:
        (axis,) = x.integers(1)
        found = find(x[0], axis=axis, keep_dims=False)
        element = element_of_type(x.get("output_type", "DT_INT64"))
        return found if found.type.element == element else op.cast(found, element=element)

    return compute


def _leaky(x: Operands) -> Any:
    return op.leaky_relu(x[0], alpha=number(x.get("alpha", 0.2)))


def _total(*xs: Value) -> Any:
    total = xs[0]
    for x in xs[1:]:
        total = op.add(total, x)
    return total


def _clip(x: Value, low: Value, high: Value) -> Any:
    return op.maximum(op.minimum(x, high), low)  # the lower limit counts where it is above the upper one


def _cast(x: Operands) -> Any:
    return op.cast(x[0], element=element_of_type(x.get("DstT")))


def _square_of_difference(x: Value, y: Value) -> Any:
    difference = op.sub(x, y)
    return op.mul(difference, difference)


def _einsum(x: Operands) -> Any:
    return op.einsum(*x.values, equation=str(x.get("equation")))


def _chosen(condition: Value, x: Value, y: Value) -> Any:
    """A condition of one axis chooses rows (Select of TensorFlow 1)."""
    rank = len(x.type.shape)
    if len(condition.type.shape) == 1 and rank > 1:
        condition = op.unsqueeze(condition, axes=tuple(range(1, rank)))
    return op.where(condition, x, y)


def _lrn(x: Operands) -> Any:
    size = 2 * int(x.get("depth_radius", 5)) + 1
    alpha, beta, bias = (number(x.get(name, other)) for name, other in (("alpha", 1), ("beta", 0.5), ("bias", 1)))
    moved = op.transpose(x[0], perm=(0, 3, 1, 2))
    # ONNX divides alpha by the size, TensorFlow does not.
    y = op.lrn(moved, size=size, alpha=alpha * size, beta=beta, bias=bias)
    return op.transpose(y, perm=(0, 2, 3, 1))


def _cumulated(compute: Any) -> Row:
    def cumulate(x: Operands) -> Any:
        (axis,) = x.integers(1)
        return compute(x[0], axis=axis, exclusive=bool(x.get("exclusive")), reverse=bool(x.get("reverse")))

    return cumulate


def _top(x: Operands) -> Any:
    (count,) = x.sizes(1)
    values, places = op.top_k(x[0], k=count, axis=-1)
    return values, op.cast(places, element="i32")


def _band(x: Operands) -> Any:
    """Keep entries at most so far below and above the diagonal of matrices; a negative number keeps all."""
    lower, upper = (int(x.array(at)) for at in (1, 2))
    y = x[0] if lower < 0 else op.trilu(x[0], k=-lower, upper=True)
    return y if upper < 0 else op.trilu(y, k=upper, upper=False)


def _rolled(x: Operands) -> Any:
    y = x[0]
    for shift, axis in zip(np.atleast_1d(x.array(1)), np.atleast_1d(x.array(2)), strict=True):
        size = y.type.shape[int(axis)]
        if not isinstance(size, int):
            raise Unfit(f"it rolls an axis of the open size {size}")
        cut = int(-shift) % size if size else 0
        parts = [op.slice(y, starts=(a,), ends=(b,), axes=(int(axis),)) for a, b in ((cut, size), (0, cut))]
        y = op.concat(*parts, axis=int(axis)) if cut else y
    return y


def _buckets(x: Operands) -> Any:
    bounds = np.asarray(x.get("boundaries", ()), np.float32)
    wide = op.unsqueeze(op.cast(x[0], element="f32"), axes=(len(x[0].type.shape),))
    above = op.cast(op.greater_or_equal(wide, bounds), element="i32")
    return op.reduce_sum(above, axes=(-1,), keep_dims=False)


def _counts(x: Operands) -> Any:
    """Count numbers in each row; those that are too large count nowhere."""
    size, weights = int(x.array(1)), x[2].type.shape
    if len(x[0].type.shape) != 2 or weights != (0,):
        raise Unfit(f"counting with weights, or in {x[0].type}, is not supported; there are rows of numbers")
    values = op.cast(np.array([0, 1]), element=str(x[2].type.element))
    places = op.where(op.less(x[0], size), x[0], -1)
    found = op.one_hot(places_from_front(places, size), values, depth=size)
    reduce = op.reduce_max if x.get("binary_output") else op.reduce_sum
    return reduce(found, axes=(1,), keep_dims=False)


def _unless_training(x: Operands) -> Any:
    raise Unfit("it draws random numbers; export the graph for inference")


_UNARY: dict[str, Callable[..., Any]] = {
    "Abs": op.abs,
    "Acos": op.acos,
    "Asin": op.asin,
    "Atan": op.atan,
    "Ceil": op.ceil,
    "Cos": op.cos,
    "Cosh": op.cosh,
    "Elu": op.elu,
    "Erf": op.erf,
    "Exp": op.exp,
    "Floor": op.floor,
    "Inv": op.reciprocal,
    "IsNan": op.is_nan,
    "Log": op.log,
    "LogSoftmax": op.log_softmax,
    "LogicalNot": op.logical_not,
    "Neg": op.neg,
    "Reciprocal": op.reciprocal,
    "Relu": op.relu,
    "Rint": op.round,
    "Round": op.round,
    "Selu": op.selu,
    "Sigmoid": op.sigmoid,
    "Sign": op.sign,
    "Sin": op.sin,
    "Sinh": op.sinh,
    "Softmax": op.softmax,
    "Softplus": op.softplus,
    "Softsign": op.softsign,
    "Sqrt": op.sqrt,
    "Tan": op.tan,
    "Tanh": op.tanh,
}
_BINARY: dict[str, Callable[..., Any]] = {
    "Add": op.add,
    "AddV2": op.add,
    "BitwiseAnd": op.bitwise_and,
    "BitwiseOr": op.bitwise_or,
    "BitwiseXor": op.bitwise_xor,
    "Div": op.div,
    "Equal": op.equal,
    "FloorDiv": _floor_div,
    "FloorMod": op.mod,
    "Greater": op.greater,
    "GreaterEqual": op.greater_or_equal,
    "Less": op.less,
    "LessEqual": op.less_or_equal,
    "LogicalAnd": op.logical_and,
    "LogicalOr": op.logical_or,
    "Maximum": op.maximum,
    "Minimum": op.minimum,
    "Mod": lambda x, y: op.mod(x, y, fmod=True),
    "Mul": op.mul,
    "NotEqual": lambda x, y: op.logical_not(op.equal(x, y)),
    "Pow": op.pow,
    "RealDiv": op.div,
    "SquaredDifference": _square_of_difference,
    "Sub": op.sub,
}
_REDUCTIONS = {
    "All": _all,
    "Any": _any,
    "Max": op.reduce_max,
    "Mean": op.reduce_mean,
    "Min": op.reduce_min,
    "Prod": op.reduce_prod,
    "Sum": op.reduce_sum,
}

NUMBERS: dict[str, Row] = {
    **{name: _plain(each) for name, each in (_UNARY | _BINARY).items()},
    **{name: _reduced(each) for name, each in _REDUCTIONS.items()},
    "AddN": _plain(_total),
    "ArgMax": _place(op.arg_max),
    "ArgMin": _place(op.arg_min),
    "BatchMatMul": _matmul,
    "Cumprod": _cumulated(op.cum_prod),
    "Cumsum": _cumulated(op.cum_sum),
    "BatchMatMulV2": _matmul,
    "BatchMatMulV3": _matmul,
    "Cast": _cast,
    "Bucketize": _buckets,
    "ClipByValue": _plain(_clip),
    "DenseBincount": _counts,
    "Einsum": _einsum,
    "Erfc": _plain(lambda x: op.sub(1, op.erf(x))),
    "Expm1": _plain(lambda x: op.sub(op.exp(x), 1)),
    "LRN": _lrn,
    "Log1p": _plain(lambda x: op.log(op.add(x, 1))),
    "IsFinite": _plain(lambda x: op.logical_not(op.logical_or(op.is_inf(x), op.is_nan(x)))),
    "LeakyRelu": _leaky,
    "MatrixBandPart": _band,
    "MatMul": _matmul,
    "RandomUniform": _unless_training,
    "Relu6": _plain(lambda x: op.clip(x, low=0.0, high=6.0)),
    "Roll": _rolled,
    "Rsqrt": _plain(lambda x: op.reciprocal(op.sqrt(x))),
    "Select": _plain(_chosen),
    "SelectV2": _plain(op.where),
    "Square": _plain(lambda x: op.mul(x, x)),
    "TopKV2": _top,
}
"""What each op means."""
