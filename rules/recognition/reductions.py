"""Softmaxes and other reductions from exponentials, sums and maxima."""

from __future__ import annotations

import math

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.known_values import as_stored
from graphrewrite.types import element_kind

__all__ = [
    "RECOGNISE_REDUCTIONS",
    "drop_added_maximum",
    "drop_subtracted_maximum",
    "recognise_log_softmax",
    "recognise_log_softmax_of_softmax",
    "recognise_lp_norm",
    "recognise_reduce_l1",
    "recognise_reduce_l2",
    "recognise_reduce_log_sum_exp",
    "recognise_reduce_mean",
    "recognise_reduce_sum_square",
    "recognise_softmax",
    "recognise_softmax_by_reciprocal",
]

_ELSEWHERE = "the sum is not over one axis, or does not meet the entries that were summed"


def _axis(x, reduced, shaped):
    """The one axis that a reduction is over, if its result meets the operand with this axis of size 1; else None."""
    axes = range(len(x.shape)) if reduced.axes is None else reduced.axes
    if len(axes) != 1 or x.type.layout is not None or 0 in x.shape:
        return None
    axis = axes[0] % len(x.shape)
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    small = (shaped or reduced).shape
    return axis if (*[1] * (len(kept) - len(small)), *small) == kept else None


@rule(keeps="assumes")
def recognise_softmax(x):
    """Exponentials divided by their sum are a softmax; assumes that no exponential overflows, and not all are 0."""
    shares = op.exp(x)
    total = op.reduce_sum(shares)
    shaped = op.reshape(total) | op.unsqueeze(total)
    quotient = op.div(shares, op.expand(shaped | total) | shaped | total)
    yield quotient
    return _softmax(x, total, shaped, quotient)


@rule(keeps="assumes")
def recognise_softmax_by_reciprocal(x):
    """So are they times the reciprocal of the sum; assumes the same."""
    shares = op.exp(x)
    total = op.reduce_sum(shares)
    shaped = op.reshape(total) | op.unsqueeze(total)
    spread = op.expand(shaped | total) | shaped | total
    product = op.mul(shares, op.reciprocal(spread) | op.div(1, spread))
    yield product
    return _softmax(x, total, shaped, product)


def _softmax(x, total, shaped, result):
    axis = _axis(x, total, shaped)
    if axis is None or x.type != result.type:
        return decline(_ELSEWHERE, at=total)
    return op.softmax(x, axis=axis)


@rule(keeps="rounding")
def drop_subtracted_maximum(x):
    """A softmax subtracts the greatest entry itself."""
    most = op.reduce_max(x)
    shaped = op.reshape(most) | op.unsqueeze(most)
    soft = (op.softmax | op.log_softmax)(op.sub(x, op.expand(shaped | most) | shaped | most))
    yield soft
    if x.type != soft.type or _axis(x, most, shaped) != soft.axis % len(x.shape):
        return decline("the maximum is not over the axis of the softmax", at=most)
    return soft.op(x, like=soft)


@rule(keeps="rounding")
def drop_added_maximum(x):
    """So does the logarithm of a sum of exponentials; there it need not be added again."""
    most = op.reduce_max(x)
    total = op.reduce_log_sum_exp(op.sub(x, most))
    shaped = op.reshape(most) | op.squeeze(most)
    whole = op.add(total, shaped | most)
    yield whole
    axes = [{axis % len(x.shape) for axis in each.axes or range(len(x.shape))} for each in (most, total)]
    if not most.keep_dims or axes[0] != axes[1] or whole.type != total.type:
        return decline("the maximum is not over the axes of the sum, or broadcasts it", at=most)
    return op.reduce_log_sum_exp(x, like=total)


@rule(keeps="assumes")
def recognise_reduce_log_sum_exp(x):
    """The logarithm of a sum of exponentials is an op that does not overflow; assumes that no exponential does."""
    total = op.reduce_sum(op.exp(x))
    yield op.log(total)
    return op.reduce_log_sum_exp(x, axes=total.axes, keep_dims=total.keep_dims)


@rule(keeps="rounding")
def recognise_log_softmax(x):
    """An operand less the logarithm of the sum of its exponentials is a log-softmax (ONNX LogSoftmax)."""
    total = op.reduce_log_sum_exp(x)
    shaped = op.reshape(total) | op.unsqueeze(total)
    difference = op.sub(x, op.expand(shaped | total) | shaped | total)
    yield difference
    axis = _axis(x, total, shaped)
    if axis is None or x.type != difference.type:
        return decline(_ELSEWHERE, at=total)
    return op.log_softmax(x, axis=axis)


@rule(keeps="assumes")
def recognise_log_softmax_of_softmax(x):
    """So is the logarithm of a softmax; assumes that no share is so small that it is 0."""
    soft = op.softmax(x)
    yield op.log(soft)
    return op.log_softmax(x, axis=soft.axis)


@rule
def recognise_reduce_l1(x):
    """A sum of absolute values (ONNX specification, ReduceL1)."""
    total = op.reduce_sum(op.abs(x))
    yield total
    return op.reduce_l1(x, like=total)


@rule(keeps="rounding")
def recognise_reduce_mean(x, c: Constant):
    """A sum divided by the number of its entries is their mean (ONNX specification, ReduceMean)."""
    total = op.reduce_sum(x)
    share = (op.div | op.mul)(total, c)
    yield share
    axes = range(len(x.shape)) if total.axes is None else total.axes
    sizes = [x.shape[axis] for axis in axes]
    if share.type != total.type or element_kind(x.type.element) != "float" or c.value.size != 1:
        return decline("it is of no floats, or the constant is no single number", at=share)
    if any(isinstance(size, str) for size in sizes) or not math.prod(sizes):
        return decline("the number of its entries is not known, or 0", at=total)
    count = c.value.dtype.type(math.prod(sizes))
    if c.value.item() != (count if share.op is op.div else 1 / count):
        return decline("the constant is another number than that of the entries", at=c)
    return op.reduce_mean(x, axes=total.axes, keep_dims=total.keep_dims)


@rule(keeps="rounding")
def recognise_reduce_sum_square(x):
    """A sum of squares (ONNX specification, ReduceSumSquare)."""
    power = op.pow(x, 2)
    total = op.reduce_sum(op.mul(x, x) | power)
    yield total
    if power and (power.type != x.type or element_kind(x.type.element) != "float"):
        return decline("the exponent broadcasts it, or integers, whose powers saturate", at=power)
    return op.reduce_sum_square(x, like=total)


@rule(keeps="rounding")
def recognise_reduce_l2(x):
    """The root of a sum of squares (ONNX specification, ReduceL2)."""
    total = op.reduce_sum_square(x)
    yield op.sqrt(total)
    return op.reduce_l2(x, like=total)


_TINY = 1e-5
"""A lower limit of a norm that is there only lest it is 0; PyTorch's is 1e-12."""


@rule(keeps="assumes")
def recognise_lp_norm(x):
    """Entries divided by their norm along an axis, or a tiny limit of it; assumes that what is below it is 0."""
    norm = (op.reduce_l1 | op.reduce_l2)(x)
    limited = op.clip(norm, high=None)
    quotient = op.div(x, op.expand(limited) | limited)
    yield quotient
    axis = _axis(x, norm, None)
    if axis is None or x.type != quotient.type or element_kind(x.type.element) != "float":
        return decline("the norm is not along one axis, or does not meet the entries that it is of", at=norm)
    if limited.low is None or not 0 < as_stored(limited.low, x.type.element) <= _TINY:
        return decline("the limit is not tiny", at=limited)
    return op.lp_norm(x, axis=axis, p=1 if norm.op is op.reduce_l1 else 2)


RECOGNISE_REDUCTIONS = (
    recognise_softmax,
    recognise_softmax_by_reciprocal,
    drop_subtracted_maximum,
    drop_added_maximum,
    recognise_reduce_log_sum_exp,
    recognise_log_softmax,
    recognise_log_softmax_of_softmax,
    recognise_reduce_mean,
    recognise_reduce_l1,
    recognise_reduce_sum_square,
    recognise_reduce_l2,
    recognise_lp_norm,
)
"""Softmaxes and other reductions from exponentials, sums and maxima."""
