"""Ops on stored numbers with scales and zero points, written as products, roundings, limits and casts."""

from __future__ import annotations

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.axes import bare, per_channel
from graphrewrite.lowering.composite.fixed_point import LOWER_FIXED_POINT
from graphrewrite.lowering.composite.precision import converted
from graphrewrite.types import HELD_WIDER, element_kind, integer_limits

__all__ = ["LOWER_QUANTISED"]


def _spread(values, x, node):
    """Scales or zero points, reshaped to broadcast against their operand; None if missing, or if run time tells."""
    if values is None:
        return None
    if values.shape in ((), (1,)):
        return _single(values)
    rank, axis = len(x.shape), node.axis % max(len(x.shape), 1)
    if node.block_size:
        size, count = x.shape[axis], values.shape[axis]
        if any(isinstance(d, str) for d in values.shape) or isinstance(size, str) or 0 in values.shape:
            return None
        apart = op.unsqueeze(bare(values), axes=(axis + 1,))
        repeated = op.tile(apart, repeats=tuple(node.block_size if i == axis + 1 else 1 for i in range(rank + 1)))
        whole = tuple(count * node.block_size if i == axis else d for i, d in enumerate(values.shape))
        return op.slice(op.reshape(repeated, shape=whole), starts=(0,), ends=(size,), axes=(axis,))
    return op.unsqueeze(bare(values), axes=tuple(i for i in range(rank) if i != axis))


def _single(values):
    return op.reshape(bare(values), shape=()) if values.shape == (1,) else values


def _stored(ratio, zero_point, element, saturate=True):
    """Quotients by a scale as stored integers: rounded half to even, offset, saturated."""
    limits = integer_limits(element)
    if limits is None:
        # A sum with zero is 0 where a ratio is -0.
        shifted = ratio + (0.0 if zero_point is None else converted(zero_point, ratio.type.element))
        return op.cast(shifted, element=element, saturate=saturate)
    # Beyond the span a number saturates whatever the zero point is: limited to that, no sum with it overflows.
    carrier, span = "i32" if limits[1] < 1 << 16 else "i64", limits[1] - limits[0]
    whole = op.cast(op.round(ratio), element=carrier)
    if zero_point is not None:
        whole = op.clip(whole, low=-span, high=span) + converted(zero_point, carrier)
    return converted(op.clip(whole, low=limits[0], high=limits[1]), element)


def _promoted(x, y):
    """Two values in their common numpy element type."""
    kinds = {"f32" if each.type.element in HELD_WIDER else each.type.element for each in (x, y)}
    # As numpy has it: an int32 beside a float32 makes float64.
    element = "f64" if kinds & {"f64", "i32"} else "f16" if kinds == {"f16"} else "f32"
    return converted(x, element), converted(y, element)


@rule
def write_quantize_linear_by_round(x, scale, zero_point=None):
    """Numbers divided by a scale are rounded, shifted by the zero point and limited (ONNX QuantizeLinear)."""
    node = op.quantize_linear(x, scale, zero_point)
    yield node
    factor, zero = _spread(scale, x, node), _spread(zero_point, x, node)
    if factor is None:
        return decline("a size of its blocks is symbolic, or there are no blocks", at=scale)
    number, factor = _promoted(x, factor)
    return _stored(number / factor, zero, node.type.element, node.saturate)


@rule
def write_dequantize_linear_by_products(x, scale, zero_point=None):
    """Stored numbers less their zero point, times their scale (ONNX DequantizeLinear)."""
    node = op.dequantize_linear(x, scale, zero_point)
    yield node
    factor, zero = _spread(scale, x, node), _spread(zero_point, x, node)
    if factor is None:
        return decline("a size of its blocks is symbolic, or there are no blocks", at=scale)
    element = "f64" if scale.type.element == "f64" else "f32"
    # The distance of two 32-bit numbers may have 33 bits.
    carrier = "i64" if (integer_limits(x.type.element) or (0, 0))[1] >= 1 << 16 else element
    distance = converted(x, carrier) if zero is None else converted(x, carrier) - converted(zero, carrier)
    return converted(converted(distance, element) * converted(factor, element), node.type.element)


@rule
def write_dynamic_quantize_linear_by_limits(x):
    """The range of an operand, zero included, is the one of 8 bits (ONNX DynamicQuantizeLinear)."""
    stored, scale, zero_point = op.dynamic_quantize_linear(x)
    yield stored, scale, zero_point
    most = op.maximum(op.reduce_max(bare(x), keep_dims=False), 0.0)
    least = op.minimum(op.reduce_min(bare(x), keep_dims=False), 0.0)
    width = op.where(op.equal(most, least), np.float32(1), most - least)
    factor = width / 255.0
    zero = op.quantize_linear(-least, factor, element="u8")
    return op.quantize_linear(x, factor, zero), factor, zero


@rule
def write_conv_integer_by_conv(x, w, x_zero_point=None, w_zero_point=None):
    """A convolution of distances from zero points, in 32 bits (ONNX specification, ConvInteger)."""
    conv = op.conv_integer(x, w, x_zero_point, w_zero_point)
    yield conv
    image = _distance(x, None if x_zero_point is None else _single(x_zero_point))
    weights = _distance(w, None if w_zero_point is None else _of_outputs(w_zero_point, len(w.shape)))
    return op.conv(image, weights, like=conv)


def _distance(x, zero_point):
    """Stored numbers less their zero points, modulo 2**32."""
    wide = converted(x, "i32")
    return wide if zero_point is None else wide - converted(zero_point, "i32")


def _of_outputs(values, rank):
    """A scalar, or one number an output, along the first of so many axes."""
    return _single(values) if values.shape in ((), (1,)) else op.unsqueeze(bare(values), axes=tuple(range(1, rank)))


@rule
def write_matmul_integer_by_matmul(a, b, a_zero_point=None, b_zero_point=None):
    """A matrix product of distances from zero points, in 32 bits (ONNX specification, MatMulInteger)."""
    yield op.matmul_integer(a, b, a_zero_point, b_zero_point)
    first = _distance(bare(a), None if a_zero_point is None else _of_rows(a_zero_point))
    second = _distance(bare(b), None if b_zero_point is None else _of_columns(b_zero_point))
    return op.matmul(first, second)


def _of_rows(values):
    """A scalar, or one number a row of a matrix."""
    several = len(values.shape) == 1 and values.shape != (1,)
    return op.unsqueeze(bare(values), axes=(1,)) if several else _of_columns(values)


def _of_columns(values):
    """A scalar, or one number a column of a matrix."""
    return _single(bare(values))


@rule
def write_qlinear_matmul_by_matmul_integer(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    """A matrix product of integers, brought into the scale of the result (ONNX specification, QLinearMatMul)."""
    product = op.qlinear_matmul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero)
    yield product
    if any(element_kind(each.type.element) == "float" for each in (a, b)):
        return decline("it multiplies stored floats, not integers", at=product)
    sums = op.matmul_integer(a, b, a_zero, b_zero)
    rows = _without_axis(_of_rows(a_scale), -1, b)
    columns = _without_axis(_of_columns(b_scale), -2, a)
    return _rescaled(sums, _factor(rows, columns, _of_rows(y_scale)), _of_rows(y_zero), product)


def _without_axis(values, axis, other):
    """Scales of a matrix, without the axis that its product with a vector lacks."""
    return op.squeeze(values, axes=(axis,)) if len(other.shape) == 1 and len(values.shape) > 1 else values


@rule
def write_qlinear_conv_by_conv_integer(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b=None):
    """A convolution of integers, brought into the scale of the result (ONNX specification, QLinearConv)."""
    conv = op.qlinear_conv(x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b)
    yield conv
    sums = op.conv_integer(x, w, x_zero, w_zero, like=conv)
    if b is not None:
        sums = sums + converted(per_channel(b, x), "i32")
    scales = w_scale if w_scale.shape in ((), (1,)) else per_channel(w_scale, x)
    return _rescaled(sums, _factor(_single(x_scale), _single(scales), _single(y_scale)), _single(y_zero), conv)


def _factor(one, other, result):
    one, other = _promoted(one, other)
    product, result = _promoted(one * other, result)
    return product / result


def _rescaled(sums, factor, zero_point, root):
    """Sums in the scale of the result."""
    element = root.type.element
    # Sums have 32 bits: float32 would round them before the rounding that counts.
    wide = "f64" if integer_limits(element) else "f32"
    return _stored(converted(sums, wide) * converted(factor, wide), zero_point, element)


LOWER_QUANTISED = (
    write_dynamic_quantize_linear_by_limits,
    write_qlinear_conv_by_conv_integer,
    write_qlinear_matmul_by_matmul_integer,
    write_conv_integer_by_conv,
    write_matmul_integer_by_matmul,
    write_quantize_linear_by_round,
    write_dequantize_linear_by_products,
    *LOWER_FIXED_POINT,
)
"""Ops on stored numbers by products, roundings, limits and casts."""
