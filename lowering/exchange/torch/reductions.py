"""Ops of PyTorch that make one number of many: sums, means, extremes and their places."""

from __future__ import annotations

import math
from typing import Any

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.strided_slices import LAST
from graphrewrite.lowering.exchange.torch.call import Call, Row, cast, fixed_size

__all__ = ["REDUCTIONS"]


def _reduced(function: Any) -> Row:
    def compute(x: Call) -> Any:
        value = x.value(x[0])
        if not value.type.shape:
            return op.identity(value)
        return function(value, axes=x.axes("dim"), keep_dims=x.keeps_axes)

    return compute


def _any_or_all(function: Any) -> Row:
    def compute(x: Call) -> Any:
        truth = x.value(x[0], "bool")
        if not truth.type.shape:
            return truth
        found = function(cast(truth, "i32"), axes=x.axes("dim"), keep_dims=x.keeps_axes)
        return cast(found, "bool")

    return compute


def _variance(root: bool, mean: bool = False) -> Row:
    def compute(x: Call) -> Any:
        value, axes, keep = x.value(x[0]), x.axes("dim"), x.keeps_axes
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
    power = x["p"] if "p" in x.arguments else x["ord"]
    power = 2 if power is None else power
    value, axes, keep = x.value(x[0]), x.axes("dim"), x.keeps_axes
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
        return function(value, axis=x.axis("dim"), keep_dims=x.keeps_axes)

    return compute


def _extreme(reduce: Any, place: Any, pair: Any) -> Row:
    """The greatest or least of all entries, of an axis with its place, or of two operands."""

    def compute(x: Call) -> Any:
        if isinstance(x.get("other"), Value):
            return pair(x.value(x[0]), x.value(x["other"]))
        if x.get("dim") is None:
            return reduce(x[0], keep_dims=False)
        axis, keep = x.axis("dim"), x.keeps_axes
        return reduce(x[0], axes=(axis,), keep_dims=keep), place(x[0], axis=axis, keep_dims=keep)

    return compute


def _median(x: Call) -> Any:
    """The lower of the two in the middle, with its place."""
    if x.get("dim") is None or not x[0].type.shape:
        raise Unfit("the median of all entries is not supported; name an axis")
    axis, value = x.axis("dim"), x[0]
    size = fixed_size(value.type.shape[axis])
    keep = x.keeps_axes
    found = op.top_k(value, k=(size + 1) // 2, axis=axis, largest=False)
    last = [op.slice(each, starts=(-1,), ends=(LAST,), axes=(axis,)) for each in found]
    return tuple(each if keep else op.squeeze(each, axes=(axis,)) for each in last)


REDUCTIONS: dict[str, Row] = {
    **dict.fromkeys(("aten.norm", "aten.linalg_vector_norm"), _norm),
    "aten.all": _any_or_all(op.reduce_min),
    "aten.amax": _reduced(op.reduce_max),
    "aten.amin": _reduced(op.reduce_min),
    "aten.any": _any_or_all(op.reduce_max),
    "aten.argmax": _place(op.arg_max),
    "aten.argmin": _place(op.arg_min),
    "aten.logsumexp": _reduced(op.reduce_log_sum_exp),
    "aten.max": _extreme(op.reduce_max, op.arg_max, op.maximum),
    "aten.mean": _reduced(op.reduce_mean),
    "aten.median": _median,
    "aten.min": _extreme(op.reduce_min, op.arg_min, op.minimum),
    "aten.prod": _reduced(op.reduce_prod),
    "aten.std": _variance(root=True),
    "aten.std_mean": _variance(root=True, mean=True),
    "aten.sum": _reduced(op.reduce_sum),
    "aten.var": _variance(root=False),
    "aten.var_mean": _variance(root=False, mean=True),
}
"""What each op means."""
