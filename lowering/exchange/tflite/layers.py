"""Layers of TensorFlow Lite, of real numbers and of stored ones: each as its reference kernel computes it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result, rescaled, shown
from graphrewrite.lowering.exchange.tflite.windows import channels_last, channels_second, transposed_window, window
from graphrewrite.op.quantised.softmax import quantised_multiplier

__all__ = [
    "average_pool",
    "batch_matmul",
    "conv",
    "depthwise_conv",
    "depthwise_weights",
    "fully_connected",
    "groups",
    "image",
    "l2_normalised",
    "max_pool",
    "mean",
    "pooled",
    "pooled_maximum",
    "pooled_square",
    "product",
    "response_normalised",
    "rows_of",
    "softmax",
    "stored_batch_matmul",
    "stored_conv",
    "stored_depthwise_conv",
    "stored_fully_connected",
    "stored_softmax",
    "stored_sum",
    "stored_transpose_conv",
    "transpose_conv",
    "transposed",
    "turned",
    "unrowed",
]

_FEW = 1 << 15


def image(x: Operand) -> tuple[int, int]:
    """Return height and width of an operand."""
    if len(x.shape) != 4:
        raise Unfit(f"images have four axes, and its operand is {x.value.type}")
    return x.shape[1], x.shape[2]


def groups(x: Operand, w: Operand) -> int:
    """Return in how many groups of channels weights read an operand."""
    if len(w.shape) != 4 or not w.shape[3] or x.shape[3] % w.shape[3]:
        raise Unfit(f"weights {list(w.shape)} do not fit an image of {x.shape[3]} channels")
    return x.shape[3] // w.shape[3]


def depthwise_weights(x: Operand, w: Operand, element: str | None = None) -> Any:
    """Return depthwise weights [1, H, W, C*m] as those of a grouped convolution [C*m, 1, H, W]."""
    if len(w.shape) != 4 or w.shape[0] != 1 or not x.shape[3] or w.shape[3] % x.shape[3]:
        raise Unfit(f"depthwise weights {list(w.shape)} do not fit an image of {x.shape[3]} channels")
    return w.moved(3, 0, 1, 2, element=element)


# ---------------------------------------------------------------------- real numbers


def conv(x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any) -> Any:
    """CONV_2D."""
    sizes = window(image(x), w.shape[1:3], **options)
    return _convolved(x, w.moved(0, 3, 1, 2), b, groups=groups(x, w), **sizes)


def depthwise_conv(x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any) -> Any:
    """DEPTHWISE_CONV_2D: output channel ``c*m + j`` reads input channel c."""
    sizes = window(image(x), w.shape[1:3], **options)
    return _convolved(x, depthwise_weights(x, w), b, groups=x.shape[3], **sizes)


def _convolved(x: Operand, w: Any, b: Operand | None, **attributes: Any) -> Any:
    return channels_last(op.conv(channels_second(x.value), w, None if b is None else b.value, **attributes))


def transpose_conv(
    shape: Operand, w: Operand, x: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any
) -> Any:
    """TRANSPOSE_CONV."""
    attributes = transposed(shape, w, x, options)
    bias = None if b is None else b.value
    return channels_last(op.conv_transpose(channels_second(x.value), w.moved(3, 0, 1, 2), bias, **attributes))


def transposed(shape: Operand, w: Operand, x: Operand, options: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of the window of a transposed convolution."""
    wanted = shape.numbers()
    if len(wanted) != 4 or len(w.shape) != 4 or w.shape[3] != x.shape[3]:
        raise Unfit(f"weights {list(w.shape)} and the wanted shape {wanted} do not fit")
    strides = (options["stride_h"], options["stride_w"])
    return transposed_window(image(x), wanted[1:3], w.shape[1:3], strides, padding=options["padding"])


def rows_of(x: Operand, inputs: int, keep: bool) -> tuple[Any, tuple[int, ...]]:
    """Return an operand of a fully-connected layer as rows, and the axes of the result before the last one."""
    count = math.prod(x.shape)
    if not inputs or count % inputs or (keep and x.shape[-1:] != (inputs,)):
        raise Unfit(f"{x.value.type} has no rows of {inputs} numbers")
    rows = (count // inputs,)
    kept = x.shape[:-1] if keep else rows
    return x.value if len(x.shape) == 2 and x.shape[1] == inputs else op.reshape(x.value, shape=(*rows, inputs)), kept


def unrowed(y: Any, kept: tuple[int, ...]) -> Any:
    """Return rows as values with the axes of a result."""
    return y if len(kept) == 1 else op.reshape(y, shape=(*kept, y.type.shape[-1]))


def fully_connected(
    x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], keep_num_dims: bool = False
) -> Any:
    """FULLY_CONNECTED."""
    rows, kept = rows_of(x, w.shape[1], keep_num_dims)
    return unrowed(op.linear(rows, w.value, None if b is None else b.value), kept)


def batch_matmul(x: Operand, y: Operand, *, to: tuple[Result], adj_x: bool = False, adj_y: bool = False) -> Any:
    """BATCH_MATMUL."""
    return op.matmul(turned(x.value, adj_x), turned(y.value, adj_y))


def turned(x: Any, turn: bool) -> Any:
    """Return matrices, transposed if it is asked for."""
    rank = len(x.type.shape)
    return op.transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2)) if turn else x


def pooled(x: Operand, *, to: tuple[Result], filter_height: int, filter_width: int, **options: Any) -> Any:
    """AVERAGE_POOL_2D: the border does not count."""
    kernel = (filter_height, filter_width)
    return channels_last(
        op.average_pool(channels_second(x.value), kernel=kernel, **window(image(x), kernel, **options))
    )


def pooled_maximum(x: Operand, *, to: tuple[Result], filter_height: int, filter_width: int, **options: Any) -> Any:
    """MAX_POOL_2D."""
    kernel = (filter_height, filter_width)
    return channels_last(op.max_pool(channels_second(x.value), kernel=kernel, **window(image(x), kernel, **options)))


def pooled_square(x: Operand, *, to: tuple[Result], **options: Any) -> Any:
    """L2_POOL_2D: the root of the mean of squares."""
    square = op.mul(x.value, x.value)
    return op.sqrt(pooled(Operand(x.kind, lambda: square), to=to, **options))


def softmax(x: Operand, *, to: tuple[Result], beta: float = 0.0) -> Any:
    """SOFTMAX along the last axis."""
    return op.softmax(x.value if beta == 1 else op.mul(x.value, np.float32(beta)), axis=-1)


def l2_normalised(x: Operand, *, to: tuple[Result]) -> Any:
    """L2_NORMALIZATION along the last axis; a norm below 1e-6 counts as that."""
    norm = op.sqrt(op.reduce_sum(op.mul(x.value, x.value), axes=(-1,)))
    return op.div(x.value, op.maximum(norm, np.float32(1e-6)))


# ---------------------------------------------------------------------- stored numbers


def _bias(sums: Any, b: Operand | None, trailing: int) -> Any:
    if b is None or not (numbers := b.known()).any() or b.keep is None:
        return sums
    return op.add(sums, b.keep(f"bias {trailing}", lambda: numbers.astype(np.int32).reshape(-1, *[1] * trailing)))


def _factors(x: Operand, w: Operand, to: Result, axis: int) -> np.ndarray:
    """Return real factors of sums, one or one a channel along an axis of the weights."""
    scales, at = w.scales, getattr(w.kind.element, "axis", None)
    if at not in (None, axis):
        raise Unfit(f"the scales of its weights are along axis {at}, not {axis}")
    if w.kind.element.storage not in ("i8", "i4"):  # type: ignore[union-attr]  # it has scales
        raise Unfit(f"its weights are {shown(w.kind)}; i8 and i4 are supported")
    return x.scale * scales / to.scale


def stored_conv(x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any) -> Any:
    """CONV_2D of stored numbers: sums are rescaled with two roundings; weights have no zero point."""
    sizes = window(image(x), w.shape[1:3], **options)
    w.known()
    return _stored_sums(x, w.moved(0, 3, 1, 2), b, _factors(x, w, to[0], 0), to[0], groups=groups(x, w), **sizes)


def stored_depthwise_conv(
    x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any
) -> Any:
    """DEPTHWISE_CONV_2D of stored numbers."""
    sizes = window(image(x), w.shape[1:3], **options)
    w.known()
    return _stored_sums(x, depthwise_weights(x, w), b, _factors(x, w, to[0], 3), to[0], groups=x.shape[3], **sizes)


def _stored_sums(x: Operand, w: Any, b: Operand | None, factors: np.ndarray, to: Result, **attributes: Any) -> Any:
    zero = np.array(x.zero_point, np.int8)
    sums = op.conv_integer(channels_second(x.value), w, zero, **attributes)
    return channels_last(rescaled(_bias(sums, b, 2), factors, to, trailing=2))


def stored_transpose_conv(
    shape: Operand, w: Operand, x: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any
) -> Any:
    """TRANSPOSE_CONV of stored numbers: its sums are exact in float64."""
    w.known()
    attributes = transposed(shape, w, x, options)
    wide = op.cast(channels_second(x.value), element="f64")
    distance = op.sub(wide, np.float64(x.zero_point)) if x.zero_point else wide
    sums = op.conv_transpose(distance, w.moved(3, 0, 1, 2, element="f64"), **attributes)
    whole = _bias(op.cast(sums, element="i32"), b, 2)
    return channels_last(rescaled(whole, _factors(x, w, to[0], 0), to[0], trailing=2))


def stored_fully_connected(
    x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], keep_num_dims: bool = False
) -> Any:
    """FULLY_CONNECTED of stored numbers: sums are rescaled in float64 and rounded once, half away from zero."""
    rows, kept = rows_of(x, w.shape[1], keep_num_dims)
    factors = _factors(x, w, to[0], 0)
    w.known()
    own = [] if len(w.scales) > 1 or not w.zero_points.any() else [np.array(w.zero_point, np.int8)]
    sums = _bias(op.matmul_integer(rows, w.moved(1, 0), np.array(x.zero_point, np.int8), *own), b, 0)
    scales = factors[0] if (factors == factors[0]).all() else factors
    return unrowed(_rounded(op.mul(op.cast(sums, element="f64"), scales), to[0], to[0].zero_point), kept)


def _rounded(x: Any, to: Result, zero_point: int = 0) -> Any:
    return op.round_half_away(x, zero_point=zero_point, **to.limits)


def stored_batch_matmul(x: Operand, y: Operand, *, to: tuple[Result], adj_x: bool = False, adj_y: bool = False) -> Any:
    """BATCH_MATMUL of stored numbers."""
    zeros = (np.array(each.zero_point, np.int8) for each in (x, y))
    sums = op.matmul_integer(turned(x.value, adj_x), turned(y.value, adj_y), *zeros)
    return rescaled(sums, float(product(x.scale, y.scale)) / to[0].scale, to[0])


def average_pool(x: Operand, *, to: tuple[Result], **options: Any) -> Any:
    """AVERAGE_POOL_2D of stored numbers: the mean of those within the image, rounded half away from zero."""
    # Float32 holds such sums, and tells their quotients from halves.
    is_small = options["filter_height"] * options["filter_width"] <= _FEW
    value = op.cast(x.value, element="f32" if is_small else "f64")
    wide = Operand(x.kind, lambda: value, None)
    return _rounded(pooled(wide, to=to, **options), to[0])


def max_pool(x: Operand, *, to: tuple[Result], **options: Any) -> Any:
    """MAX_POOL_2D of stored numbers."""
    found = pooled_maximum(x, to=to, **options)
    return op.clip(found, **to[0].limits) if to[0].limits else found


def stored_softmax(x: Operand, *, to: tuple[Result], beta: float = 0.0) -> Any:
    """SOFTMAX of stored numbers."""
    if (to[0].scale, to[0].zero_point) != (1 / 256, -128):
        raise Unfit(
            f"its result is stored with scale {to[0].scale} and zero point {to[0].zero_point}, not 1/256 and -128"
        )
    return op.fixed_point_softmax(x.value, scale=x.scale, beta=beta)


def mean(x: Operand, *, to: tuple[Result], axes: tuple[int, ...], keep_dims: bool = False) -> Any:
    """MEAN of stored numbers: the division by their count is a part of the multiplier."""
    if not axes:
        raise Unfit("it has no axes")
    every = sorted({axis % len(x.shape) for axis in axes})
    count = math.prod(x.shape[axis] for axis in every)
    if not count:
        raise Unfit("there is no mean of nothing")
    to[0].fix(x.value, every)
    multiplier, exponent = quantised_multiplier(x.scale / to[0].scale)
    shift = min(count.bit_length() - 1, 32, 31 + exponent)
    sums = op.reduce_sum(op.cast(x.value, element="i32"), axes=tuple(every), keep_dims=keep_dims)
    parts = np.array((multiplier << shift) // count, np.int32), np.array(exponent - shift, np.int32)
    given: dict[str, Any] = {"input_zero_point": count * x.zero_point, "zero_point": to[0].zero_point}
    element = to[0].kind.element.storage  # type: ignore[union-attr]  # it has a scale
    return op.multiply_fixed_point(sums, *parts, **given, element=element)


def stored_sum(x: Operand, *, to: tuple[Result], axes: tuple[int, ...], keep_dims: bool = False) -> Any:
    """SUM of stored numbers: scaled in float32, and rounded once, half away from zero."""
    if (x.scale, x.zero_point) == (to[0].scale, to[0].zero_point):
        raise Unfit(
            "its operand and result have one format, where the kernel adds stored numbers with their zero points"
        )
    every = sorted({axis % len(x.shape) for axis in axes})
    count = math.prod(x.shape[axis] for axis in every)
    to[0].fix(x.value, every)
    ratio = np.float32(x.scale) / np.float32(to[0].scale)
    sums = op.cast(
        op.reduce_sum(op.cast(x.value, element="i32"), axes=tuple(every), keep_dims=keep_dims), element="f32"
    )
    bias = product(-x.zero_point, float(ratio), count)
    return _rounded(op.add(op.mul(sums, ratio), bias), to[0], to[0].zero_point)


def response_normalised(
    x: Operand, *, to: tuple[Result], radius: int = 0, bias: float = 0.0, alpha: float = 0.0, beta: float = 0.0
) -> Any:
    """LOCAL_RESPONSE_NORMALIZATION: squares are summed, where ONNX takes their mean."""
    size = 2 * radius + 1
    return channels_last(op.lrn(channels_second(x.value), size=size, alpha=alpha * size, beta=beta, bias=bias))


def product(*factors: float) -> np.float32:
    """Return a product of which each step is rounded to float32."""
    result = np.float32(1)
    for factor in factors:
        result = np.float32(result * np.float32(factor))
    return result
