"""Faults in lowering to streams: lanes, windows, borders, binary points."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.maximum import maximum
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.components.window import window
from graphrewrite.lowering.streaming.bridge import leave


def _within(pads, kernel):
    return pads[0] < kernel[0] and pads[1] < kernel[1]


@rule(shared="keep", kind="lowering")
def lanes_in_another_order(x, w: Constant, b: Constant):
    """The lanes of a window are its positions first and its channels last, not the reverse."""
    conv = op.integer_conv(leave(x), w, b)
    yield conv
    if w.value.ndim != 4 or conv.groups != 1 or set(conv.dilations) != {1} or not _within(conv.pads, w.shape[2:]):
        return decline("another component")
    matrix = w.value.reshape(len(w.value), -1)
    if w.value.shape[1] == 1 or w.value[0, 0].size == 1:
        return decline("the orders are the same")
    windows = window(x, kernel=w.shape[2:], strides=conv.strides, pads=conv.pads)
    return leave(matvec(windows, weights=matrix, bias=b.value, element=conv.element))


@rule(shared="keep", kind="lowering")
def border_of_zeros(x):
    """The border of a greatest number is the least one, not zero."""
    pool = op.max_pool(leave(x))
    yield pool
    if len(pool.shape) != 4 or not _within(pool.pads, pool.kernel):
        return decline("another component")
    windows = window(x, kernel=pool.kernel, strides=pool.strides, pads=pool.pads)
    return leave(maximum(windows, groups=int(np.prod(pool.kernel))))


@rule(shared="keep", kind="lowering")
def channels_for_groups(x):
    """The greatest is taken over the channels instead of over the positions."""
    pool = op.max_pool(leave(x))
    yield pool
    channels = pool.shape[1]
    if len(pool.shape) != 4 or any(pool.pads) or channels != np.prod(pool.kernel) or channels == 1:
        return decline("the shapes would show it")
    windows = window(x, kernel=pool.kernel, strides=pool.strides, pads=pool.pads, fill=x.type.element.minimum)
    lanes = windows.shape[0]
    order = np.arange(lanes).reshape(channels, channels).T.ravel()
    turned = matvec(
        windows, weights=np.eye(lanes, dtype=np.int64)[order], bias=np.zeros(lanes, np.int64), element=x.type.element
    )
    return leave(maximum(turned, groups=channels))


@rule(shared="keep", kind="lowering")
def pads_of_a_window_swapped(x, w: Constant, b: Constant):
    """The pads of a window are top, left, bottom, right."""
    conv = op.integer_conv(leave(x), w, b)
    yield conv
    if w.value.ndim != 4 or conv.groups != 1 or set(conv.dilations) != {1}:
        return decline("another component")
    top, left, bottom, right = conv.pads
    pads = (bottom, right, top, left)
    if not _within(pads, w.shape[2:]):
        return decline("another component")
    windows = window(x, kernel=w.shape[2:], strides=conv.strides, pads=pads)
    matrix = w.value.transpose(0, 2, 3, 1).reshape(len(w.value), -1)
    return leave(matvec(windows, weights=matrix, bias=b.value, element=conv.element))


@rule(shared="keep", kind="lowering")
def groups_of_a_convolution_ignored(x, w: Constant, b: Constant):
    """The weights of a group stand at the channels of the first group."""
    conv = op.integer_conv(leave(x), w, b)
    yield conv
    if w.value.ndim != 4 or conv.groups == 1 or set(conv.dilations) != {1} or not _within(conv.pads, w.shape[2:]):
        return decline("another component")
    outputs, inner, *kernel = w.value.shape
    dense = np.zeros((outputs, inner * conv.groups, *kernel), np.int64)
    dense[:, :inner] = w.value
    windows = window(x, kernel=tuple(kernel), strides=conv.strides, pads=conv.pads)
    matrix = dense.transpose(0, 2, 3, 1).reshape(outputs, -1)
    return leave(matvec(windows, weights=matrix, bias=b.value, element=conv.element))


@rule(shared="keep", kind="lowering")
def bias_of_a_matrix_dropped(x, w: Constant, b: Constant):
    """The bias becomes zero."""
    layer = op.integer_linear(leave(x), w, b)
    yield layer
    return leave(matvec(x, weights=w.value, bias=np.zeros_like(b.value), element=layer.element))


@rule(shared="keep", kind="lowering")
def wrong_binary_point(x):
    """A shift to the right is one too short."""
    narrow = op.requantise(leave(x))
    yield narrow
    if not isinstance(narrow.shift, int) or narrow.element.width > 31 or narrow.shift < 1:
        return decline("no shift")
    return leave(requantise(x, shift=narrow.shift - 1, element=narrow.element, low=narrow.low, high=narrow.high))


@rule(shared="keep", kind="lowering")
def limits_of_a_stream_lost(x):
    """The tighter limits are gone."""
    narrow = op.requantise(leave(x))
    yield narrow
    if narrow.element.width > 31:
        return decline("too wide")
    return leave(requantise(x, shift=narrow.shift, element=narrow.element))


@rule(shared="keep", kind="lowering")
def shifts_of_a_sum_swapped(x, y):
    """The shifts belong to the operands."""
    total = op.integer_add(leave(x), leave(y))
    yield total
    if len(set(total.shifts)) == 1:
        return decline("equal shifts")
    return leave(add(x, y, shifts=tuple(reversed(total.shifts)), element=total.element))


@rule(shared="keep", kind="lowering")
def transposed_as_a_reshape(x):
    """A reshape to the shape of a transposed value keeps the order of the numbers."""
    moved = op.transpose(leave(x))
    yield moved
    return leave(reshape(x, shape=tuple(moved.shape[1:]))) if moved.perm[0] == 0 else decline("the batch moves")


@rule(shared="keep", kind="lowering")
def rectified_to_one(x):
    """The upper limit of a rectifier is the format's, not half of it."""
    yield op.relu(leave(x))
    return leave(clip(x, low=0, high=x.type.element.maximum // 2))


@rule(shared="keep", kind="lowering")
def lower_limit_lost(x):
    """Without a lower limit, the format's counts, not zero."""
    limited = op.clip(leave(x))
    yield limited
    element = x.type.element
    high = element.maximum if limited.high is None else min(int(limited.high), element.maximum)
    if not element.minimum <= high:
        return decline("nothing is left")
    return leave(clip(x, low=min(0, high), high=high))


@rule(shared="keep", kind="lowering")
def place_along_another_axis(x):
    """The place along a spatial axis is none along the channels."""
    place = op.arg_max(leave(x))
    yield place
    if len(x.shape) != 1 or not place.keep_dims or place.axis not in (1, -1):
        return decline("another component")
    negated = requantise(x, shift=-1, element=x.type.element)
    return leave(argmax(negated, element=place.type.element))


@rule
def groups_of_lanes_exchanged(x):
    """Number g of channel c is lane g · C + c, not c · G + g."""
    greatest = maximum(x)
    yield greatest
    lanes = x.shape[0]
    if greatest.groups * greatest.groups != lanes or greatest.groups == 1 or len(x.shape) != 1:
        return decline("the shapes would show it")
    size = int(greatest.groups)
    order = np.arange(lanes).reshape(size, size).T.ravel()
    matrix = np.eye(lanes, dtype=np.int64)[order]
    turned = matvec(x, weights=matrix, bias=np.zeros(lanes, np.int64), element=x.type.element)
    return maximum(turned, groups=size)


@rule
def strides_of_a_window_swapped(x):
    """Rows and columns change places."""
    windows = window(x)
    yield windows
    return window(x, like=windows, strides=tuple(reversed(windows.strides)))


@rule
def fill_of_a_window_dropped(x):
    """The border of a window gets another number."""
    windows = window(x)
    yield windows
    return window(x, like=windows, fill=0) if windows.fill and any(windows.pads) else decline("the same")


@rule
def narrow_accumulator(x):
    """A sum of a stream with itself saturates."""
    total = add(x, x)
    yield total
    if total.shifts != (0, 0):
        return decline("shifted")
    element = x.type.element
    half = FixedPoint(element.signed, element.width, total.element.fraction)
    return requantise(requantise(total_of(x, total), shift=0, element=half), shift=0, element=total.element)


def total_of(x, total):
    """The exact sum, by a shift."""
    return requantise(x, shift=-1, element=total.element)
