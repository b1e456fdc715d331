"""Wrong rules whose fault lies at one value of an attribute or a constant: samples miss it, proofs do not."""

from __future__ import annotations

from graphrewrite import Constant, decline, op, rule


@rule
def shift_amounts_added(x, a: Constant, b: Constant):
    """The sum of two shifts wraps around in their type."""
    inner = op.bit_shift(x, a)
    outer = op.bit_shift(inner, b)
    yield outer
    if inner.direction != outer.direction or a.type != b.type:
        return decline("two directions, or two types")
    return op.bit_shift(x, a.value + b.value, direction=outer.direction)


@rule
def limit_at_the_end_of_the_format(x):
    """A limit of one less than the greatest mantissa is one."""
    narrow = op.requantise(x)
    yield narrow
    if narrow.high is None or narrow.low is not None or narrow.high < narrow.element.maximum - 1:
        return decline("a tighter limit, or none")
    return op.requantise(x, shift=narrow.shift, element=narrow.element)


@rule
def rectified_before_adding(x, c: Constant):
    """A sum with a constant that is not negative may wrap around."""
    total = op.relu(op.add(op.relu(x), c))
    yield total
    if x.type.element not in ("i8", "i16", "i32") or c.type.element != x.type.element or (c.value < 0).any():
        return decline("another type, or negative")
    return op.add(op.relu(x), c)


@rule
def shift_into_the_sign(x):
    """A shift to the left by all bits of a mantissa but one reaches the sign."""
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
    return x if kind.width - wide.shift - 1 <= wide.element.width else decline("it saturates")
