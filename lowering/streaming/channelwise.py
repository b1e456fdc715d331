"""What is done lane by lane: formats, limits, sums of two streams, the place of the greatest."""

from __future__ import annotations

from graphrewrite import FixedPoint, decline, op, rule
from graphrewrite.hdl.component import LANE_BITS
from graphrewrite.hdl.components.add import add
from graphrewrite.hdl.components.argmax import argmax
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.lowering.bridge import leave
from graphrewrite.lowering.streaming.values import too_wide
from graphrewrite.op.fixed import limits

__all__ = [
    "MAP_LANES",
    "map_add",
    "map_arg_max",
    "map_clip",
    "map_doubling",
    "map_relu",
    "map_requantise",
    "summed",
]


@rule(shared="keep", kind="lowering")
def map_requantise(x):
    """A shift with rounding and saturation is done lane by lane."""
    narrow = op.requantise(leave(x))
    yield narrow
    if reason := too_wide(x):
        return decline(reason, at=narrow)
    if narrow.element.width > 31:
        return decline(
            f"its result of {narrow.element.width} bits is wider than the 31 that the component gives", at=narrow
        )
    low, high = limits(narrow.element, narrow.low, narrow.high)
    if low > high:
        return decline(f"its limits {narrow.low} to {narrow.high} leave no number", at=narrow)
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
    low = element.minimum if limited.low is None else max(int(limited.low), element.minimum)
    high = element.maximum if limited.high is None else min(int(limited.high), element.maximum)
    if low > high:
        return decline(f"its limits {limited.low} to {limited.high} leave no number of {element}", at=limited)
    return leave(clip(x, low=low, high=high))


def summed(x, y, total):
    """Return the sum of two streams in the format of an op, which may hold less than all sums that formats allow.

    Parameters
    ----------
    x, y : value of a rule
        Streams of one shape.
    total : matched node
        With shifts and a format.

    Returns
    -------
    value of a rule
        A tensor, or a decline where no lane holds the sums.
    """
    by, element = total.shifts, total.type.element
    low = (x.type.element.minimum << by[0]) + (y.type.element.minimum << by[1])
    high = (x.type.element.maximum << by[0]) + (y.type.element.maximum << by[1])
    wide = FixedPoint.holding(min(low, element.minimum), max(high, element.maximum), element.fraction)
    if wide.width > LANE_BITS:
        return decline(f"its sums need {wide.width} bits, and a lane has at most {LANE_BITS}", at=total)
    made = add(x, y, shifts=by, element=wide)
    return leave(made if wide == element else requantise(made, shift=0, element=element))


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
    given = leave(x)
    total = op.integer_add(given, given)
    yield total
    if reason := too_wide(x, total):
        return decline(reason, at=total)
    return summed(x, x, total)


@rule(shared="keep", kind="lowering")
def map_arg_max(x):
    """The first greatest lane of a beat."""
    place = op.arg_max(leave(x))
    yield place
    if reason := too_wide(x):
        return decline(reason, at=place)
    if place.axis not in (1, -1) or not place.keep_dims or len(x.shape) != 1:
        return decline("only the place of the greatest channel of a vector has a component, keeping the axis", at=place)
    if place.select_last_index:
        return decline("of equal channels its component takes the first", at=place)
    return leave(argmax(x, element=place.type.element))


MAP_LANES = (map_requantise, map_relu, map_clip, map_add, map_doubling, map_arg_max)
"""Lane by lane."""
