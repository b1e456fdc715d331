"""Lane-by-lane ops: formats, limits, sums of two streams, the index of the greatest channel."""

from __future__ import annotations

import numpy as np

from graphrewrite import FixedPoint, decline, op, rule
from graphrewrite.hdl.component import LANE_BITS
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.lowering.streaming.bridge import alike, leave, too_wide
from graphrewrite.op.integer.fixed_point import limits

__all__ = ["MAP_LANES", "in_format", "summed", "too_far"]

_MOST_SHIFT = 60


def too_far(x, shifts):
    """The reason why no component shifts a stream by one number of bits, or by one for each channel; or None."""
    least, most = np.min(shifts), np.max(shifts)
    if most <= _MOST_SHIFT and x.type.element.width - least <= _MOST_SHIFT:
        return None
    return f"its shifts of {least} to {most} need more than {_MOST_SHIFT} bits"


@rule(shared="keep", kind="lowering")
def map_requantise(x):
    """A shift with rounding and saturation is done lane by lane."""
    narrow = op.requantise(leave(x))
    yield narrow
    if reason := too_wide(x):
        return decline(reason, at=narrow)
    if reason := too_far(x, narrow.shift):
        return decline(reason, at=narrow)
    if narrow.element.width > 31:
        return decline(
            f"its result of {narrow.element.width} bits is wider than the 31 that the component gives", at=narrow
        )
    low, high = limits(narrow.element, narrow.low, narrow.high)
    if low > high:
        return decline(f"its limits {narrow.low} to {narrow.high} exclude every number", at=narrow)
    bounds = {"low": None if narrow.low is None else low, "high": None if narrow.high is None else high}
    return leave(requantise(x, shift=narrow.shift, element=narrow.element, **bounds))


@rule(shared="keep", kind="lowering")
def map_relu(x):
    """Rectifying is limiting from below at zero."""
    rectified = op.relu(leave(x))
    yield rectified
    if reason := too_wide(x):
        return decline(reason, at=rectified)
    return leave(clip(x, low=0, high=x.type.element.maximum))


@rule(shared="keep", kind="lowering")
def map_clip(x):
    """Limiting is done lane by lane."""
    limited = op.clip(leave(x))
    yield limited
    if reason := too_wide(x):
        return decline(reason, at=limited)
    element = x.type.element
    low = element.minimum if limited.low is None else max(limited.low, element.minimum)
    high = element.maximum if limited.high is None else min(limited.high, element.maximum)
    if low > high:
        return decline(f"its limits {limited.low} to {limited.high} exclude every number of {element}", at=limited)
    return leave(clip(x, low=int(low), high=int(high)))


def in_format(x, element):
    """Return the numbers of a stream in another format of the same binary point; what it does not hold saturates."""
    return x if x.type.element == element else requantise(x, shift=0, element=element)


def summed(x, y, total):
    """Return the sum of two streams in the format of an op, which may be narrower than the formats' exact sum."""
    by, element = total.shifts, total.type.element
    low = (x.type.element.minimum << by[0]) + (y.type.element.minimum << by[1])
    high = (x.type.element.maximum << by[0]) + (y.type.element.maximum << by[1])
    wide = FixedPoint.holding(min(low, element.minimum), max(high, element.maximum), element.fraction)
    if wide.width > LANE_BITS:
        return decline(f"its sums need {wide.width} bits, and a lane has at most {LANE_BITS}", at=total)
    return leave(in_format(add(*alike(x, y), shifts=by, element=wide), element))


@rule(shared="keep", kind="lowering")
def map_add(x, y):
    """A sum of two streams takes a beat of each."""
    total = op.integer_add(leave(x), leave(y))
    yield total
    if reason := too_wide(x, y, total):
        return decline(reason, at=total)
    if x.shape != y.shape:
        return decline("one operand broadcasts, and beats are added one by one", at=total)
    return summed(x, y, total)


@rule(shared="keep", kind="lowering")
def map_doubling(x):
    """A sum of a stream with itself, whose pattern needs one operand twice."""
    operand = leave(x)
    total = op.integer_add(operand, operand)
    yield total
    if reason := too_wide(x, total):
        return decline(reason, at=total)
    return summed(x, x, total)


@rule(shared="keep", kind="lowering")
def map_arg_max(x):
    """The first greatest lane of a beat."""
    index = op.arg_max(leave(x))
    yield index
    if reason := too_wide(x):
        return decline(reason, at=index)
    if index.axis not in (1, -len(x.shape)) or not index.keep_dims:
        return decline("arg_max has a component for the channels only, with keep_dims", at=index)
    if index.select_last_index:
        return decline("of equal channels its component takes the first", at=index)
    return leave(argmax(x, element=index.type.element))


MAP_LANES = (map_requantise, map_relu, map_clip, map_add, map_doubling, map_arg_max)
"""Lane by lane."""
