"""Scales, tables and thresholds: functions of one number, with constants a channel."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.hdl.arithmetic.channelwise import number_width
from graphrewrite.hdl.component import LANE_BITS
from graphrewrite.hdl.components.affine import affine
from graphrewrite.hdl.components.clip import clip
from graphrewrite.hdl.components.interpolate import interpolate
from graphrewrite.hdl.components.lookup import lookup
from graphrewrite.hdl.components.multiply import multiply
from graphrewrite.hdl.components.requantise import requantise
from graphrewrite.hdl.components.softmax import softmax
from graphrewrite.hdl.components.threshold import threshold
from graphrewrite.lowering.composite.axes import channel_entries
from graphrewrite.lowering.streaming.bridge import alike, leave, too_wide
from graphrewrite.lowering.streaming.channelwise import in_format, summed, too_far
from graphrewrite.op.integer.fixed_point import limits

__all__ = ["MAP_SCALING"]

_GAIN_BITS = 30
_SEGMENT_BITS = 16
_TABLE_BITS = 12


def _of_channels(values, x):
    """Constants as a vector over the channels; None if they differ within a channel or broadcast the stream."""
    array = np.asarray(values, np.int64)
    fits = channel_entries(array.shape, len(x.shape) + 1) in (1, x.shape[0])
    return np.broadcast_to(array.ravel(), x.shape[0]) if fits else None


def _scaled(x, gains, terms, fraction=0):
    """Each channel times a gain plus a term, exactly, or the reason why not."""
    low, high = x.type.element.minimum, x.type.element.maximum
    ends = np.stack([gains * low + terms, gains * high + terms]).astype(object)
    element = FixedPoint.holding(int(ends.min()), int(ends.max()), fraction)
    if element.width > LANE_BITS:
        return f"its products need {element.width} bits, and a lane has at most {LANE_BITS}"
    if number_width(gains) > _GAIN_BITS:
        return f"a multiplier has more than {_GAIN_BITS} bits"
    if number_width(terms) > LANE_BITS:  # as a signed number, which sums need not be
        return f"an addend has more than {LANE_BITS} bits"
    return affine(x, gain=gains, bias=terms, element=element)


def _exponents(values):
    """Exponents of powers of two; None if an entry is not one."""
    powers = [int(v).bit_length() - 1 for v in values]
    return np.array(powers) if all(v > 0 and v == 1 << p for v, p in zip(values, powers, strict=True)) else None


@rule(shared="keep", kind="lowering")
def map_rescale(x):
    """A scale is a product with a constant and a shift; a power of two is a shift alone."""
    scaled = op.rescale(leave(x))
    yield scaled
    if reason := too_wide(x, scaled):
        return decline(reason, at=scaled)
    if not scaled.saturate:
        return decline("it wraps around, and components saturate", at=scaled)
    channels = x.type.channels
    gains, terms, shifts = (
        np.broadcast_to(np.asarray(v, np.int64), channels) for v in (scaled.multiplier, scaled.addend, scaled.shift)
    )
    powers = _exponents(gains)
    if powers is not None and not terms.any():
        # A gain of a power of two is a shift to the left, taken off the one to the right.
        wide, shifts = x, shifts - powers
    else:
        wide = _scaled(x, gains, terms)
        if isinstance(wide, str):
            return decline(wide, at=scaled)
    if reason := too_far(wide, shifts):
        return decline(reason, at=scaled)
    if abs(scaled.offset) >= 1 << (LANE_BITS - 1):
        return decline(f"its offset of {scaled.offset} has more than {LANE_BITS} bits", at=scaled)
    shift = int(shifts[0]) if len(set(shifts.tolist())) == 1 else tuple(shifts.tolist())
    low, high = limits(scaled.element, scaled.low, scaled.high)
    if low > high:
        return decline(f"its limits {scaled.low} to {scaled.high} exclude every number", at=scaled)
    # Defaults are left out, as the text of the graph shows attributes that are given.
    options = {k: getattr(scaled, k) for k in ("offset", "rounding") if getattr(scaled, k) not in (0, "half_even")}
    options |= {k: v for k, v in (("low", low), ("high", high)) if getattr(scaled, k) is not None}
    return leave(requantise(wide, shift=shift, element=scaled.element, **options))


@rule(shared="keep", kind="lowering")
def map_threshold(x, levels: Constant):
    """The thresholds that a number has reached are counted lane by lane."""
    count = op.integer_threshold(leave(x), levels)
    yield count
    if reason := too_wide(x, count):
        return decline(reason, at=count)
    if not levels.value.size:
        return decline("it has no levels", at=count)
    return leave(threshold(x, levels=levels.value, element=count.type.element))


@rule(shared="keep", kind="lowering")
def map_lookup(x, table: Constant):
    """A table is read lane by lane."""
    entry = op.lookup(leave(x), table)
    yield entry
    if reason := too_wide(x, entry):
        return decline(reason, at=entry)
    limited = x
    if x.type.element.width > _TABLE_BITS:
        # What lies beyond the ends of the table has the entry there.
        low = min(max(entry.low, x.type.element.minimum), x.type.element.maximum)
        high = min(max(entry.low + table.value.shape[-1] - 1, low), x.type.element.maximum)
        narrow = FixedPoint.holding(low, high, x.type.element.fraction)
        if narrow.width > _TABLE_BITS:
            return decline(f"its table has entries for numbers of more than {_TABLE_BITS} bits", at=entry)
        limited = clip(x, low=low, high=high, element=narrow)
    return leave(lookup(limited, table=table.value, low=entry.low, element=entry.type.element))


@rule(shared="keep", kind="lowering")
def map_interpolate(x):
    """A function by straight lines is computed lane by lane."""
    curve = op.integer_interpolate(leave(x))
    yield curve
    if reason := too_wide(x, curve):
        return decline(reason, at=curve)
    base, slope = (np.asarray(values, np.int64) for values in (curve.base, curve.slope))
    wide = max(abs(int(base.min())), abs(int(base.max()))) >= 1 << (LANE_BITS - 1)
    if wide or np.abs(slope).max() >= 1 << (_GAIN_BITS - 1) or curve.shift >= LANE_BITS:
        return decline(f"a line needs more than {LANE_BITS} bits, or its slope more than {_GAIN_BITS}", at=curve)
    if curve.rest < 1 or not 1 <= x.type.element.width - curve.rest <= _SEGMENT_BITS:
        return decline(f"its component takes 2 to {1 << _SEGMENT_BITS} lines of 2 numbers and more", at=curve)
    attributes = {name: getattr(curve, name) for name in ("rest", "shift", "element", "low")}
    return leave(interpolate(x, base=base, slope=slope, **attributes))


@rule(shared="keep", kind="lowering")
def map_softmax(x):
    """A softmax by a table of exponentials has one divider."""
    soft = op.integer_softmax(leave(x))
    yield soft
    if reason := too_wide(x, soft):
        return decline(reason, at=soft)
    return leave(softmax(x, table=np.asarray(soft.table, np.int64), shift=soft.shift, element=soft.element))


def _product(x, y, product):
    if reason := too_wide(x, y, product):
        return decline(reason, at=product)
    if x.shape != y.shape:
        return decline("one operand broadcasts, and beats are multiplied one by one", at=product)
    return leave(multiply(*alike(x, y), element=product.type.element))


@rule(shared="keep", kind="lowering")
def map_mul(x, y):
    """A product of two streams takes a beat of each."""
    product = op.integer_mul(leave(x), leave(y))
    yield product
    return _product(x, y, product)


@rule(shared="keep", kind="lowering")
def map_square(x):
    """A product of a stream with itself, whose pattern needs one operand twice."""
    operand = leave(x)
    product = op.integer_mul(operand, operand)
    yield product
    return _product(x, x, product)


def _with_constant(x, node, gains, terms):
    if reason := too_wide(x, node):
        return decline(reason, at=node)
    if gains is None or terms is None:
        return decline("its constant differs within a channel, or gives it another shape", at=node)
    if node.type.layout is not None:
        return decline("its constant has named axes, and the axes of a stream have a fixed order", at=node)
    scaled = _scaled(x, gains, terms, node.type.element.fraction)
    return decline(scaled, at=node) if isinstance(scaled, str) else leave(in_format(scaled, node.type.element))


@rule(shared="keep", kind="lowering")
def map_mul_constant(x, c: Constant):
    """A product with a constant of each channel."""
    product = op.integer_mul(leave(x), c)
    yield product
    return _with_constant(x, product, _of_channels(c.value, x), np.zeros(x.type.channels, np.int64))


@rule(shared="keep", kind="lowering")
def map_add_constant(x, c: Constant):
    """A sum with a constant of each channel."""
    total = op.integer_add(leave(x), c)
    yield total
    by, term = total.shifts, _of_channels(c.value, x)
    gains = np.full(x.type.channels, 1 << by[0])
    return _with_constant(x, total, gains, None if term is None else term << by[1])


@rule(shared="keep", kind="lowering")
def map_sub_constant(x, c: Constant):
    """A difference of a stream and a constant of each channel."""
    difference = op.integer_sub(leave(x), c)
    yield difference
    by, term = difference.shifts, _of_channels(c.value, x)
    gains = np.full(x.type.channels, 1 << by[0])
    return _with_constant(x, difference, gains, None if term is None else -(term << by[1]))


@rule(shared="keep", kind="lowering")
def map_sub(x, y):
    """A difference of two streams is a sum with the negative."""
    difference = op.integer_sub(leave(x), leave(y))
    yield difference
    if reason := too_wide(x, y, difference):
        return decline(reason, at=difference)
    if x.shape != y.shape:
        return decline("one operand broadcasts, and beats are subtracted one by one", at=difference)
    channels = y.type.channels
    negative = _scaled(y, np.full(channels, -1), np.zeros(channels, np.int64), y.type.element.fraction)
    if isinstance(negative, str):
        return decline(negative, at=difference)
    return summed(x, negative, difference)


MAP_SCALING = (
    map_rescale,
    map_threshold,
    map_lookup,
    map_interpolate,
    map_softmax,
    map_mul,
    map_square,
    map_mul_constant,
    map_add_constant,
    map_sub,
    map_sub_constant,
)
"""Scales, tables, levels, products."""
