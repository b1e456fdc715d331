"""Right rules by a guard that a number more or less would break: proved for all values."""

from __future__ import annotations

from graphrewrite import Constant, decline, op, rule


@rule
def shift_amounts_added_within(x, a: Constant, b: Constant):
    """Shifts of less than half of what their type holds add up."""
    inner = op.bit_shift(x, a)
    outer = op.bit_shift(inner, b)
    yield outer
    if inner.direction != outer.direction or a.type != b.type:
        return decline("two directions, or two types")
    if (a.value < 0).any() or (b.value < 0).any() or (a.value > 63).any() or (b.value > 63).any():
        return decline("a negative shift, or one that may wrap around")
    return op.bit_shift(x, a.value + b.value, direction=outer.direction)


@rule
def shifts_to_the_left_added(x):
    """Shifts to the left do not round, and add up where nothing saturates between."""
    inner = op.requantise(x)
    outer = op.requantise(inner)
    yield outer
    if not isinstance(inner.shift, int) or not isinstance(outer.shift, int) or not -8 <= inner.shift <= 0:
        return decline("it rounds, or shifts far")
    if (inner.low, inner.high) != (None, None) or inner.element.width < x.type.element.width + 9:
        return decline("it may saturate")
    if not 0 <= outer.shift <= 30 or not inner.element.signed:
        return decline("to the left, or too far, or what is negative goes")
    return op.requantise(x, like=outer, shift=inner.shift + outer.shift)


@rule
def limit_beyond_the_format(x):
    """A limit of at least the greatest mantissa is none."""
    narrow = op.requantise(x)
    yield narrow
    if narrow.high is None or narrow.low is not None or narrow.high < narrow.element.maximum:
        return decline("a tighter limit, or none")
    return op.requantise(x, shift=narrow.shift, element=narrow.element)


@rule
def shift_there_and_back(x):
    """A shift to the left in a format with room, and back again, does nothing."""
    wide = op.requantise(x)
    back = op.requantise(wide)
    yield back
    kind = x.type.element
    if not (isinstance(wide.shift, int) and isinstance(back.shift, int)):
        return decline("a shift for each channel")
    if wide.shift != -back.shift or not -8 <= wide.shift <= 0:
        return decline("not there and back")
    if {wide.low, wide.high, back.low, back.high} != {None} or back.element != kind or not kind.signed:
        return decline("limits, or another format")
    if not wide.element.signed or kind.width - wide.shift > wide.element.width:
        return decline("it saturates")
    return x
