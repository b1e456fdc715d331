"""Matrix products, convolutions and sums of several operands, written as fewer kinds of them."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.axes import bare, disordered, named, reshaped, unsaid
from graphrewrite.lowering.composite.precision import converted, exact_floats, widened
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.tensor.linear_algebra import scaled
from graphrewrite.types import element_dtype, element_kind

__all__ = ["LOWER_PRODUCTS", "LOWER_SUMS", "flipped_weights"]


@rule
def write_fma_by_add(x, y, z):
    """A multiply-add that rounds twice is a product and a sum."""
    yield op.fma(x, y, z)
    return converted(exact_floats(x) * exact_floats(y) + exact_floats(z), x.type.element)


@rule
def write_sum_by_add(xs):
    """A sum of several operands adds one after the other (ONNX specification, Sum)."""
    total = op.sum(*xs)
    yield total
    return converted(reduce(op.add, map(exact_floats, xs)), total.type.element)


@rule
def write_mean_by_add(xs):
    """A mean of several operands is their sum divided by how many there are (ONNX specification, Mean)."""
    mean = op.mean(*xs)
    yield mean
    return converted(reduce(op.add, map(widened, xs)) / float(len(xs)), mean.type.element)


LOWER_SUMS = (write_fma_by_add, write_sum_by_add, write_mean_by_add)
"""Sums of several operands, and of products, by sums of two."""


@rule(keeps="rounding")
def write_gemm_by_matmul(x, w, b=None):
    """A general matrix product is a matrix product, factors and a sum (ONNX specification, Gemm)."""
    gemm = op.gemm(x, w, b)
    yield gemm
    rows = op.transpose(bare(x), perm=(1, 0)) if gemm.trans_a else bare(x)
    columns = op.transpose(bare(w), perm=(1, 0)) if gemm.trans_b else bare(w)
    product = _scaled(op.matmul(rows, columns), gemm.alpha)
    return product if b is None else product + _scaled(bare(b), gemm.beta)


def _scaled(x, factor):
    if factor == 1:
        return x
    if element_kind(x.type.element) == "integer":
        return x * int(scaled(np.ones((), element_dtype(x.type.element)), factor))
    return converted(exact_floats(x) * factor, x.type.element)


@rule(keeps="rounding")
def write_linear_by_matmul(x, w, b=None):
    """A fully-connected layer is a matrix product with the transposed weights, and a sum."""
    linear = op.linear(x, w, b)
    yield linear
    if reason := disordered(linear, x):
        return decline(reason, at=x)
    product = op.matmul(x, op.transpose(w, perm=(1, 0)))
    return named(product if b is None else product + bare(b), linear)


@rule(keeps="rounding")
def write_pointwise_conv_by_matmul(x, w, b=None):
    """A convolution with a window of one position is a matrix product at each position."""
    conv = op.conv(x, w, b)
    yield conv
    batch, (outputs, inner, *kernel), sizes = x.shape[0], w.shape, conv.shape[2:]
    if set(kernel) != {1}:
        return decline("its windows have more than one position", at=conv)
    if reason := disordered(conv, x) or unsaid((batch, *sizes)):
        return decline(reason, at=conv)
    groups, positions = conv.groups, math.prod(sizes)
    if groups != 1 and isinstance(outputs, str):
        return decline("its groups have an open number of channels", at=conv)
    columns = reshaped(_read(x, conv), (batch, groups, inner, positions))
    product = op.matmul(reshaped(w, (groups, outputs // groups, inner)), columns)
    images = reshaped(product, conv.shape)
    if b is not None:
        images = images + op.unsqueeze(bare(b), axes=(0, *range(2, len(sizes) + 2)))
    return named(images, conv)


def _read(x, conv):
    """The positions that 1x1 windows read: a strided slice of the padded image."""
    rank = len(x.shape) - 2
    pads, strides = per_axis(conv.pads, 2 * rank, 0), per_axis(conv.strides, rank, 1)
    padded = op.pad(x, pads=(0, 0, *pads[:rank], 0, 0, *pads[rank:])) if any(pads) else x
    if set(strides) == {1}:
        return padded
    axes = tuple(range(2, rank + 2))
    return op.slice(padded, starts=(0,) * rank, ends=padded.shape[2:], axes=axes, steps=strides)


@rule(keeps="rounding")
def write_conv_transpose_by_conv(x, w, b=None):
    """A transposed convolution is one of the operand with zeros between, with flipped windows (Dumoulin and Visin)."""
    upwards = op.conv_transpose(x, w, b)
    yield upwards
    rank, kernel = len(x.shape) - 2, w.shape[2:]
    if reason := disordered(upwards, x):
        return decline(reason, at=upwards)
    if any(isinstance(size, str) for size in (*x.shape[1:], *w.shape)) or 0 in (*x.shape, *w.shape):
        return decline("a size besides the batch is symbolic, or there are no entries", at=upwards)
    strides, steps = (per_axis(values, rank, 1) for values in (upwards.strides, upwards.dilations))
    # Nothing lies between the positions of an axis that has one only.
    strides = tuple(s if n != 1 else 1 for s, n in zip(strides, x.shape[2:], strict=True))
    pads = per_axis(upwards.pads, 2 * rank, 0)
    more = upwards.output_padding if any(upwards.output_padding) else (0,) * rank
    # Each entry adds a window to the result, so a result reads back as far as a window reaches, less what pads crop.
    begins = [d * (k - 1) - p for d, k, p in zip(steps, kernel, pads[:rank], strict=True)]
    ends = [d * (k - 1) - p + m for d, k, p, m in zip(steps, kernel, pads[rank:], more, strict=True)]
    sizes = [s * (n - 1) + 1 for s, n in zip(strides, x.shape[2:], strict=True)]
    if any(max(-a, 0) + max(-e, 0) >= n for a, e, n in zip(begins, ends, sizes, strict=True)):
        return decline("its pads crop all that comes of its operand", at=upwards)
    spread = op.pad(_spread(bare(x), strides), pads=(0, 0, *begins, 0, 0, *ends))
    weights, ones, zeros = flipped_weights(bare(w), upwards.groups), (1,) * rank, (0,) * (2 * rank)
    result = op.conv(spread, weights, b, strides=ones, pads=zeros, dilations=steps, groups=upwards.groups)
    return named(result, upwards)


def _spread(x, strides):
    """An image with zeros between its positions."""
    (batch, channels, *sizes), rank = x.shape, len(strides)
    if set(strides) == {1}:
        return x
    apart = op.unsqueeze(x, axes=tuple(range(3, 2 * rank + 2, 2)))
    # An axis of size 1 behind each axis of positions is filled up with zeros, and merged; the last zeros are cropped.
    after = [0, 0, *(p for s in strides for p in (0, s - 1))]
    filled = op.pad(apart, pads=(*[0] * len(after), *after))
    merged = op.reshape(filled, shape=(batch, channels, *(n * s for n, s in zip(sizes, strides, strict=True))))
    return op.pad(merged, pads=(*[0] * (rank + 4), *(1 - s for s in strides)))


def flipped_weights(w, groups):
    """Return weights [C, O/groups, …] of a transposed convolution as [O, C/groups, …], flipped along the positions."""
    (inputs, inner, *kernel), rank = w.shape, len(w.shape) - 2
    grouped = op.reshape(w, shape=(groups, inputs // groups, inner, *kernel))
    swapped = op.transpose(grouped, perm=(0, 2, 1, *range(3, rank + 3)))
    weights = op.reshape(swapped, shape=(groups * inner, inputs // groups, *kernel))
    if set(kernel) == {1}:
        return weights
    far, axes = (-(2**31) + 1,) * rank, tuple(range(2, rank + 2))
    return op.slice(weights, starts=(-1,) * rank, ends=far, axes=axes, steps=(-1,) * rank)


LOWER_PRODUCTS = (
    write_gemm_by_matmul,
    write_linear_by_matmul,
    write_pointwise_conv_by_matmul,
    write_conv_transpose_by_conv,
)
"""Layers by matrix products and convolutions."""
