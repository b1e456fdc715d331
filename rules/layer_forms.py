"""One layer in the form of another, as a target has it: convolutions and matrix products, pools and means."""

from __future__ import annotations

import math

from graphrewrite import decline, op, rule
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.rules.permuted_axes import inverse
from graphrewrite.types import element_kind

__all__ = [
    "average_pool_as_global",
    "conv_as_linear",
    "linear_as_conv",
    "mean_as_pool",
    "pointwise_conv_as_matmul",
    "pool_as_mean",
]


def _has_names(*values):
    return any(value.type.layout is not None for value in values)


@rule(keeps="rounding")
def linear_as_conv(x, w, bias):
    """A fully-connected layer is a convolution of one position."""
    layer = op.linear(x, w, *bias)
    yield layer
    if _has_names(x, w):
        return decline("its axes have names", at=layer)
    if any(isinstance(size, str) for size in (*x.shape[1:], *w.shape)):
        return decline("a size besides the batch is symbolic", at=layer)
    if 0 in (*x.shape, *w.shape):
        return decline("it has no entries", at=layer)
    image, kernel = op.reshape(x, shape=(*x.shape, 1, 1)), op.reshape(w, shape=(*w.shape, 1, 1))
    return op.reshape(op.conv(image, kernel, *bias), shape=layer.shape)


def _is_plain_conv(conv, w):
    """Whether a convolution has neither steps nor a border, groups or holes."""
    rank = len(w.shape) - 2
    strides, dilations = per_axis(conv.strides, rank, 1), per_axis(conv.dilations, rank, 1)
    return conv.groups == 1 and not any(conv.pads) and {*strides, *dilations} == {1}


@rule(keeps="rounding")
def conv_as_linear(x, w, bias):
    """A convolution whose only window is the whole image is a fully-connected layer of its entries in a row."""
    conv = op.conv(x, w, *bias)
    yield conv
    if _has_names(x, w) or not _is_plain_conv(conv, w):
        return decline("its axes have names, or it has groups, steps or a border", at=conv)
    if any(isinstance(size, str) for size in (*x.shape[1:], *w.shape)) or 0 in (*x.shape, *w.shape):
        return decline("a size besides the batch is symbolic, or it has no entries", at=conv)
    if x.shape[2:] != w.shape[2:]:
        return decline("it has several windows", at=conv)
    entries = math.prod(x.shape[1:])
    row, rows = op.reshape(x, shape=(x.shape[0], entries)), op.reshape(w, shape=(w.shape[0], entries))
    return op.reshape(op.linear(row, rows, *bias), shape=conv.shape)


@rule(keeps="rounding")
def pointwise_conv_as_matmul(x, w, bias):
    """A convolution of single positions is a matrix product with the channels of each, which come last there."""
    conv = op.conv(x, w, *bias)
    yield conv
    if _has_names(w) or not _is_plain_conv(conv, w) or set(w.shape[2:]) != {1}:
        return decline("the axes of its weights have names, or it has windows, groups, steps or a border", at=conv)
    if any(isinstance(size, str) for size in w.shape) or 0 in w.shape:
        return decline("its weights have a symbolic size, or no entries", at=conv)
    names, channels = x.type.layout, (x.type.layout or "NC").index("C")
    to_last = (*(axis for axis in range(len(x.shape)) if axis != channels), channels)
    entries = op.name_axes(x, layout=None) if names else x
    matrix = op.transpose(op.reshape(w, shape=w.shape[:2]), perm=(1, 0))
    is_last = channels == len(x.shape) - 1
    product = op.matmul(entries if is_last else op.transpose(entries, perm=to_last), matrix)
    total = op.add(product, *bias) if bias else product
    result = total if is_last else op.transpose(total, perm=inverse(to_last))
    return op.name_axes(result, layout=names) if names else result


@rule(keeps="rounding")
def average_pool_as_global(x):
    """A mean over windows, of which there is one, of all positions, is a mean over all positions."""
    pool = op.average_pool(x)
    yield pool
    (kind,) = pool.op.axes.in_order((x.type,))
    if tuple(pool.kernel) != kind.shape[2:] or any(pool.pads) or element_kind(x.type.element) != "float":
        return decline("its windows are not all positions, or have a border, or its numbers are whole", at=pool)
    return op.global_average_pool(x)


@rule(keeps="rounding")
def mean_as_pool(x):
    """A mean over the axes behind the channels is one over all positions, without axes of size 1 if these go."""
    mean = op.reduce_mean(x, axes={(2,), (2, 3), (2, 3, 4), (3, 2), (-1,), (-2, -1), (-1, -2)})
    yield mean
    rank = len(x.shape)
    if {axis % rank for axis in mean.axes} != set(range(2, rank)):
        return decline("it is over other axes than those behind the channels", at=mean)
    if _has_names(x) or element_kind(x.type.element) != "float":
        return decline("its axes have names, or its numbers are whole", at=mean)
    pool = op.global_average_pool(x)
    return pool if mean.keep_dims else op.reshape(pool, shape=mean.shape)


@rule(keeps="rounding")
def pool_as_mean(x):
    """A mean over all positions whose axes of size 1 go is a mean over these axes."""
    shaped = op.reshape(op.global_average_pool(x))
    yield shaped
    if _has_names(x, shaped) or shaped.shape != x.shape[:2]:
        return decline("its axes have names, or others go as well", at=shaped)
    if element_kind(x.type.element) != "float":
        return decline("its numbers are whole", at=shaped)
    return op.reduce_mean(x, axes=tuple(range(2, len(x.shape))), keep_dims=False)
