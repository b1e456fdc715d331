"""Right lowerings to streams, and rules about stream ops."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.hdl.components.maximum import maximum
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.window import window
from graphrewrite.lowering.streaming.bridge import leave


@rule(shared="keep", kind="lowering")
def rectify_a_stream(x):
    """A rectifier limits at zero."""
    yield op.relu(leave(x))
    return leave(clip(x, low=0))


@rule(shared="keep", kind="lowering")
def layer_of_a_stream(x, w: Constant, b: Constant):
    """A layer is a matrix times the lanes."""
    layer = op.integer_linear(leave(x), w, b)
    yield layer
    return leave(matvec(x, weights=w.value, bias=b.value, element=layer.element))


@rule(shared="keep", kind="lowering")
def pool_of_a_stream(x):
    """The border of a maximum holds the least number of the format."""
    pool = op.max_pool(leave(x))
    yield pool
    if len(pool.shape) != 4 or any(pad >= size for pad, size in zip(pool.pads, pool.kernel * 2, strict=True)):
        return decline("another component")
    if pool.ceil_mode or set(pool.dilations) != {1}:
        return decline("windows with gaps, or beyond the border")
    windows = window(x, kernel=pool.kernel, strides=pool.strides, pads=pool.pads, fill=x.type.element.minimum)
    return leave(maximum(windows, groups=int(np.prod(pool.kernel))))


@rule(shared="keep", kind="lowering")
def narrow_a_stream(x):
    """A requantised stream has the same limits."""
    narrow = op.requantise(leave(x))
    yield narrow
    element = narrow.element
    limits = [limit for limit in (narrow.low, narrow.high) if limit is not None]
    if (
        element.width > 31
        or sorted(limits) != limits
        or not all(element.minimum <= n <= element.maximum for n in limits)
    ):
        return decline("too wide, or no limits")
    if np.max(narrow.shift) > 60 or x.type.element.width - np.min(narrow.shift) > 60:
        return decline("no component shifts so far")
    return leave(requantise(x, shift=narrow.shift, element=narrow.element, low=narrow.low, high=narrow.high))


@rule
def limited_twice(x):
    """Two limits of a stream at zero are one."""
    inner = clip(x, low=0)
    outer = clip(inner, low=0)
    yield outer
    if inner.type != x.type or outer.type != x.type or {inner.high, outer.high} != {None}:
        return decline("other limits")
    return clip(x, low=0)
