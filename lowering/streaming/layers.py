"""Layers: sums of products, and the sliding windows before them."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.hdl.arithmetic.channelwise import number_width
from graphrewrite.hdl.component import LANE_BITS
from graphrewrite.hdl.components.accumulate import accumulate
from graphrewrite.hdl.components.affine import affine
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.maximum import maximum
from graphrewrite.hdl.components.total import total
from graphrewrite.hdl.components.window import window
from graphrewrite.lowering.streaming.bridge import leave, positions_of, too_wide, whole
from graphrewrite.lowering.streaming.channelwise import in_format
from graphrewrite.op.nn.windows import covering_pads
from graphrewrite.rules.operands import first_operand

__all__ = ["MAP_LAYERS"]

_GAIN_BITS = 30


@rule(shared="keep", kind="lowering")
def map_linear(x, w: Constant, b: Constant):
    """A fully-connected layer is a matrix times the channels of a frame's one position, or times all of a frame."""
    layer = op.integer_linear(leave(x), w, b)
    yield layer
    if reason := too_wide(x, layer):
        return decline(reason, at=layer)
    if _exceeds(w):
        return decline(f"a weight has more than {_GAIN_BITS} bits", at=layer)
    weights, over = w.value, {}
    if x.op_name == "stream_reshape":
        # Flattening counts position by position within a channel, beats channel by channel within a position: the
        # columns are put in the order of the beats, and the frame is taken as it comes.
        x = first_operand(x)
        order = np.arange(weights.shape[1]).reshape(x.shape[0], -1).T.ravel()
        weights, over = weights[:, order], {"over": "frame"}
    return leave(matvec(x, weights=weights, bias=b.value, element=layer.element, **over))


@rule(shared="keep", kind="lowering")
def map_conv(x, w: Constant, b: Constant):
    """A convolution is a matrix times the channels of a sliding window, group by group; of ones, it is a sum."""
    conv = op.integer_conv(leave(x), w, b)
    yield conv
    if reason := too_wide(x, conv):
        return decline(reason, at=conv)
    if positions_of(conv.shape) is None:
        return decline("only convolutions over one or two axes have a component", at=conv)
    if _exceeds(w):
        return decline(f"a weight has more than {_GAIN_BITS} bits", at=conv)
    weights, pads = _reaching_in(w.value, conv.pads, conv.dilations)
    outputs, _, *kernel = weights.shape
    is_local = set(kernel) == {1} and not any(pads) and set(conv.strides) == {1}
    # A window has all channels in one beat, and a beat has whole groups.
    x = x if is_local and conv.groups == 1 else whole(x)
    sums = _channel_sums(x, w.value, b.value, conv)
    if sums is not None:
        return leave(sums)
    groups = {"groups": conv.groups} if conv.groups > 1 else {}
    windows = x
    if not is_local:
        windows = window(x, kernel=tuple(kernel), **_not_default(conv.strides, pads, conv.dilations), **groups)
    if windows is x and conv.groups == x.type.channels == outputs:
        # One weight a channel: a gain, or nothing.
        if (weights == 1).all() and not b.value.any():
            return leave(in_format(x, conv.element))
        if number_width(weights) <= _GAIN_BITS and number_width(b.value) <= LANE_BITS:
            return leave(affine(x, gain=weights.ravel(), bias=b.value, element=conv.element))
    matrix = np.moveaxis(weights, 1, -1).reshape(outputs, -1)
    return leave(matvec(windows, weights=matrix, bias=b.value, element=conv.element, **groups))


def _exceeds(w):
    """Whether no matrix product holds the weights."""
    return FixedPoint.holding(int(w.value.min()), int(w.value.max())).width > _GAIN_BITS


def _not_default(strides, pads, dilations):
    """The attributes of a window that differ from their defaults."""
    defaults = {"strides": (strides, 1), "pads": (pads, 0), "dilations": (dilations, 1)}
    return {name: tuple(values) for name, (values, default) in defaults.items() if set(values) != {default}}


def _reaching_in(w, pads, dilations):
    """The same convolution with a first window that reaches into the image, by zero weights at the kernel's end."""
    # The window component refuses a first window wholly in the border: it would be due before its frame begins.
    count = w.ndim - 2
    before, after = pads[:count], list(pads[count:])
    more = []
    for axis in range(count):
        extent = dilations[axis] * (w.shape[2 + axis] - 1) + 1
        more.append(max(0, -(-(before[axis] + 1 - extent) // dilations[axis])))
        after[axis] += more[axis] * dilations[axis]
    if not any(more):
        return w, tuple(pads)
    return np.pad(w, ((0, 0), (0, 0), *((0, m) for m in more))), (*before, *after)


def _channel_sums(x, w, b, conv):
    """The window sums of each channel of a depthwise convolution whose weights are all 1: a mean, up to a scale."""
    kernel = w.shape[2:]
    is_sum = conv.groups == x.type.channels == len(w) and (w == 1).all() and not b.any()
    if not is_sum or set(kernel) == {1} or _before_image(kernel, conv.pads, conv.dilations):
        return None
    if kernel == tuple(x.shape[1:]) and not any(conv.pads):
        return accumulate(x, kind="sum", element=conv.element)
    windows = window(x, kernel=kernel, **_not_default(conv.strides, conv.pads, conv.dilations))
    return total(windows, groups=int(np.prod(kernel)), element=conv.element)


def _before_image(kernel, pads, dilations):
    """Whether the first window lies wholly in the border."""
    return any(pad > d * (k - 1) for pad, d, k in zip(pads[: len(kernel)], dilations, kernel, strict=True))


@rule(shared="keep", kind="lowering")
def map_max_pool(x):
    """A pooling is the greatest number of a sliding window, channel by channel; the border holds the least mantissa."""
    pool = op.max_pool(leave(x))
    yield pool
    if reason := too_wide(x):
        return decline(reason, at=pool)
    if positions_of(pool.shape) is None:
        return decline("only pooling over one or two axes has a component", at=pool)
    if tuple(pool.kernel) == tuple(x.shape[1:]) and not any(pool.pads):
        return leave(accumulate(x, kind="maximum"))
    # A window of streams rounds down: with ceil_mode, pads reach further here, or less far.
    pads = covering_pads(x.shape[1:], pool.shape[2:], pool.kernel, pool.strides, pool.pads, pool.dilations)
    attributes = _not_default(pool.strides, pads, pool.dilations)
    windows = window(whole(x), kernel=tuple(pool.kernel), fill=x.type.element.minimum, **attributes)
    return leave(maximum(windows, groups=int(np.prod(pool.kernel))))


MAP_LAYERS = (map_linear, map_conv, map_max_pool)
"""Layers to windows, matrices and maxima."""
