"""Layers of TensorFlow Lite with stored weights and real operands, which are quantised as they come ("dynamic range").

Each row of an operand, or each frame, gets a format of its own; the sums of stored numbers are exact.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.layers import (
    depthwise_weights,
    groups,
    image,
    rows_of,
    transposed,
    turned,
    unrowed,
)
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result
from graphrewrite.lowering.exchange.tflite.windows import channels_last, channels_second, window
from graphrewrite.types import element_dtype

__all__ = [
    "hybrid_batch_matmul",
    "hybrid_conv",
    "hybrid_depthwise_conv",
    "hybrid_fully_connected",
    "hybrid_transpose_conv",
]

_MOST, _LEAST = 127, -128
_EXACT = (1 << 24) // (255 * 128)
"""Most products of stored numbers whose sum float32 holds."""


def _positive(size: Any) -> Any:
    """Return sizes, and one for nothing: where all numbers are zero, any scale is right."""
    none, one = (np.array(number, element_dtype(size.type.element)) for number in (0, 1))
    return op.where(op.equal(size, none), one, size)


def _symmetric(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """Return an operand as stored numbers from -127 to 127, and their scales."""
    largest = _positive(op.reduce_max(op.abs(x), axes=axes, keep_dims=True))
    stored = op.round_half_away(op.mul(x, op.div(np.float32(_MOST), largest)), low=-_MOST, element="i8")
    return stored, op.div(largest, np.float32(_MOST))


def _asymmetric(x: Any, axes: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """Return an operand as stored numbers, their scales, and their zero points."""
    none = np.float32(0)
    low = op.minimum(op.reduce_min(x, axes=axes, keep_dims=True), none)
    high = op.maximum(op.reduce_max(x, axes=axes, keep_dims=True), none)
    scale = op.div(_positive(op.sub(high, low)), np.float32(_MOST - _LEAST))
    # The point is found in double, of the two ends from that with the smaller error.
    ends = [op.cast(end, element="f64") for end in (low, high)]
    step = op.div(_positive(op.sub(ends[1], ends[0])), np.float64(_MOST - _LEAST))
    below, above = (op.div(end, step) for end in ends)
    is_lower = op.less(op.sub(np.float64(-_LEAST), below), op.add(np.float64(_MOST), above))
    point = op.where(is_lower, op.sub(np.float64(_LEAST), below), op.sub(np.float64(_MOST), above))
    zero = op.round_half_away(point, low=_LEAST, high=_MOST, element="i32")
    distance = op.round_half_away(op.mul(x, op.reciprocal(scale)), element="i32")
    return op.cast(op.clip(op.add(distance, zero), low=_LEAST, high=_MOST), element="i8"), scale, zero


def _scales(w: Operand, axis: int) -> np.ndarray:
    """Return the scales of weights, one or one a channel along an axis."""
    if w.zero_points.any() or getattr(w.kind.element, "axis", None) not in (None, axis):
        raise Unfit(f"its weights have zero points, or scales that are not along axis {axis}")
    w.known()
    scales = w.scales.astype(np.float32)
    return scales[:1] if (scales == scales[0]).all() else scales


def _product(rows: Any, matrix: Any, sums: Any, is_asymmetric: bool) -> tuple[Any, Any]:
    """Return sums of stored rows and weights as real numbers, and the scales of the rows."""
    if not is_asymmetric:
        stored, scale = _symmetric(rows, (-1,))
        return op.cast(op.matmul_integer(stored, matrix), element="f32"), scale
    stored, scale, zero = _asymmetric(rows, (-1,))
    shift = op.mul(zero, sums)
    return op.cast(op.sub(op.matmul_integer(stored, matrix), shift), element="f32"), scale


def hybrid_fully_connected(
    x: Operand,
    w: Operand,
    b: Operand | None = None,
    *,
    to: tuple[Result],
    keep_num_dims: bool = False,
    asymmetric_quantize_inputs: bool = False,
) -> Any:
    """FULLY_CONNECTED: each row has a format."""
    rows, kept = rows_of(x, w.shape[1], keep_num_dims)
    scales, array = _scales(w, 0), w.known()
    assert w.keep is not None  # it is constant
    sums = w.keep("sums", lambda: array.sum(axis=1, dtype=np.int32))
    found, scale = _product(rows, w.moved(1, 0), sums, asymmetric_quantize_inputs)
    y = op.mul(found, op.mul(scale, scales))
    return unrowed(y if b is None else op.add(y, b.value), kept)


def hybrid_batch_matmul(
    x: Operand,
    w: Operand,
    *,
    to: tuple[Result],
    adj_x: bool = False,
    adj_y: bool = False,
    asymmetric_quantize_inputs: bool = False,
) -> Any:
    """BATCH_MATMUL: each row of the first operand has a format."""
    (scale,) = _scales(w, -1)
    array = w.known()
    assert w.keep is not None  # it is constant
    sums = w.keep(f"sums {adj_y}", lambda: array.sum(axis=-1 if adj_y else -2, dtype=np.int32)[..., None, :])
    found, rows = _product(turned(x.value, adj_x), turned(w.value, adj_y), sums, asymmetric_quantize_inputs)
    return op.mul(found, op.mul(rows, scale))


def hybrid_conv(x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any) -> Any:
    """CONV_2D: each frame has a format, without a zero point where all weights have one scale and one group."""
    attributes = {"groups": groups(x, w), **window(image(x), w.shape[1:3], **options)}
    scales, element = _scales(w, 0), _element(math.prod(w.shape[1:]))
    weights = w.moved(0, 3, 1, 2, element=element)
    if len(scales) > 1 or attributes["groups"] > 1:
        distance, scale = _distances(x.value, element)
    else:
        stored, scale = _symmetric(x.value, (1, 2, 3))
        distance = op.cast(stored, element=element)
    return _real(op.conv(channels_second(distance), weights, **attributes), scales, scale, b)


def hybrid_depthwise_conv(
    x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any
) -> Any:
    """DEPTHWISE_CONV_2D: each frame has a format."""
    attributes = {"groups": x.shape[3], **window(image(x), w.shape[1:3], **options)}
    scales, element = _scales(w, 3), _element(math.prod(w.shape[1:3]))
    distance, scale = _distances(x.value, element)
    sums = op.conv(channels_second(distance), depthwise_weights(x, w, element), **attributes)
    return _real(sums, scales, scale, b)


def hybrid_transpose_conv(
    shape: Operand, w: Operand, x: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any
) -> Any:
    """TRANSPOSE_CONV: each frame has a format."""
    attributes = transposed(shape, w, x, options)
    scales, element = _scales(w, 0), _element(math.prod(w.shape[1:]))
    distance, scale = _distances(x.value, element)
    sums = op.conv_transpose(channels_second(distance), w.moved(3, 0, 1, 2, element=element), **attributes)
    return _real(sums, scales, scale, b)


def hybrid_rows(ids: Operand, table: Operand, *, to: tuple[Result]) -> Any:
    """EMBEDDING_LOOKUP: real rows of a stored table."""
    rows = op.gather(table.value, ids.value, axis=0)
    return op.mul(op.cast(rows, element="f32"), _scales(table, 0))


def _element(products: int) -> str:
    """Return the type that holds sums of so many products."""
    return "f32" if products <= _EXACT else "f64"


def _distances(x: Any, element: str) -> tuple[Any, Any]:
    """Return frames as distances of stored numbers from their zero points, and their scales."""
    stored, scale, zero = _asymmetric(x, (1, 2, 3))
    return op.sub(op.cast(stored, element=element), op.cast(zero, element=element)), scale


def _real(sums: Any, scales: np.ndarray, scale: Any, b: Operand | None) -> Any:
    """Return sums of stored numbers as real ones, with channels last."""
    last = channels_last(sums)
    y = op.mul(op.mul(last if str(last.type.element) == "f32" else op.cast(last, element="f32"), scales), scale)
    return y if b is None else op.add(y, b.value)
