"""Reductions and softmaxes written as sums, maxima and elementary functions."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.precision import converted, exact_floats, like, widened
from graphrewrite.types import element_kind, integer_limits

__all__ = ["LOWER_REDUCTIONS", "LOWER_SHARES"]


@rule
def write_reduce_l1_by_sum(x):
    """The sum of absolute values (ONNX specification, ReduceL1)."""
    norm = op.reduce_l1(x)
    yield norm
    return op.reduce_sum(op.abs(x), like=norm)


@rule(keeps="rounding")
def write_reduce_sum_square_by_sum(x):
    """The sum of squares is a sum of products (ONNX specification, ReduceSumSquare)."""
    total = op.reduce_sum_square(x)
    yield total
    wide = widened(x)
    return converted(op.reduce_sum(wide * wide, like=total), x.type.element)


@rule(keeps="rounding")
def write_reduce_l2_by_sum(x):
    """The root of a sum of products; of integers the whole part (ONNX specification, ReduceL2)."""
    norm = op.reduce_l2(x)
    yield norm
    wide = widened(x) if element_kind(x.type.element) == "float" else converted(x, "f64")
    return converted(op.sqrt(op.reduce_sum(wide * wide, like=norm)), x.type.element)


@rule
def write_reduce_log_sum_by_log(x):
    """The logarithm of a sum (ONNX specification, ReduceLogSum)."""
    total = op.reduce_log_sum(x)
    yield total
    return converted(op.log(op.reduce_sum(exact_floats(x), like=total)), x.type.element)


@rule(keeps="rounding")
def write_reduce_log_sum_exp_by_exp(x):
    """It is max + log(sum(exp(x - max))), which does not overflow (ONNX specification, ReduceLogSumExp)."""
    total = op.reduce_log_sum_exp(x)
    yield total
    axes = tuple(range(len(x.shape))) if total.axes is None else total.axes
    wide = widened(x)
    most = op.reduce_max(wide, axes=axes)
    # An infinite maximum would make inf - inf, which is NaN.
    most = op.where(op.is_inf(most), like(0.0, wide), most)
    result = op.log(op.reduce_sum(op.exp(wide - most), axes=axes)) + most
    return converted(result if total.keep_dims else op.squeeze(result, axes=axes), x.type.element)


@rule
def write_reduce_mean_by_sum(x):
    """A mean is a sum divided by how many there are (ONNX specification, ReduceMean)."""
    mean = op.reduce_mean(x)
    yield mean
    sizes = x.shape if mean.axes is None else [x.shape[axis] for axis in mean.axes]
    if any(isinstance(size, str) for size in sizes):
        return decline("only run time tells how many entries there are", at=mean)
    # Integers are summed in 64 bits, of their own sign: a sum in their own type would wrap around.
    limits = integer_limits(x.type.element)
    wide = widened(x) if limits is None else converted(x, "i64" if limits[0] else "u64")
    return converted(op.reduce_sum(wide, like=mean) / math.prod(sizes), x.type.element)


LOWER_REDUCTIONS = (
    write_reduce_l1_by_sum,
    write_reduce_sum_square_by_sum,
    write_reduce_l2_by_sum,
    write_reduce_log_sum_by_log,
    write_reduce_log_sum_exp_by_exp,
    write_reduce_mean_by_sum,
)
"""Reductions by sums and elementary functions."""


@rule
def write_softmin_by_softmax(x):
    """The softmin is the softmax of the negated operand (PyTorch, Softmin)."""
    soft = op.softmin(x)
    yield soft
    return op.softmax(-x, axis=soft.axis)


@rule(keeps="rounding")
def write_softmax_by_exp(x):
    """Exponentials of the distance to the greatest entry, divided by their sum: none of them overflows."""
    soft = op.softmax(x)
    yield soft
    wide, axes = widened(x), (soft.axis,)
    shares = op.exp(wide - op.reduce_max(wide, axes=axes))
    return converted(shares / op.reduce_sum(shares, axes=axes), x.type.element)


@rule(keeps="rounding")
def write_log_softmax_by_exp(x):
    """The distance to the greatest entry, less the logarithm of the sum of its exponentials (ONNX LogSoftmax)."""
    soft = op.log_softmax(x)
    yield soft
    wide, axes = widened(x), (soft.axis,)
    distance = wide - op.reduce_max(wide, axes=axes)
    return converted(distance - op.log(op.reduce_sum(op.exp(distance), axes=axes)), x.type.element)


@rule
def write_hardmax_by_arg_max(x):
    """It is 1 where the first greatest entry stands (ONNX specification, Hardmax)."""
    hard = op.hardmax(x)
    yield hard
    axis = hard.axis % len(x.shape)
    size = x.shape[axis]
    if isinstance(size, str) or not size:
        return decline("its axis has no entries, or only run time tells how many", at=hard)
    indices = np.arange(size).reshape([size if i == axis else 1 for i in range(len(x.shape))])
    return op.cast(op.equal(op.arg_max(x, axis=axis), indices), element=x.type.element)


LOWER_SHARES = (write_softmin_by_softmax, write_softmax_by_exp, write_log_softmax_by_exp, write_hardmax_by_arg_max)
"""Softmaxes by exponentials, sums and maxima."""
