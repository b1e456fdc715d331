"""Ops that do nothing, or always the same, for what is known of their operands.

All of them are exact, of NaN, the infinities and -0 as well: where a range ends at a zero, its sign must be known.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.rewriting.facts import Fact, never_minus_zero, numbers, visibly_nan, visibly_unlimited, whole
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.types import element_dtype, element_of, handed_over, integer_limits, small_float

__all__ = [
    "as_stored",
    "begin_at_zero",
    "begin_cell_at_zero",
    "compute_known_number",
    "compute_known_sizes",
    "compute_known_sum",
    "drop_abs",
    "drop_add_zero",
    "drop_cast_there_and_back",
    "drop_clip",
    "drop_extreme",
    "drop_mask",
    "drop_relu",
    "drop_relu_of_clip",
    "drop_rounding",
    "drop_shift_there_and_back",
    "drop_where",
    "ends_infinities",
    "fill_as_expand",
    "filled",
    "is_held",
    "is_reached",
]

_MOST = 1 << 26
"""A constant of more entries takes more memory than the op that would give it takes time."""

_WHOLE = {"bool": (0, 1)} | {
    name: (-(1 << digits), 1 << digits) for name, digits in {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}.items()
}
"""Limits up to which floats hold all whole numbers: the bits of the significand (IEEE 754-2019, 3.6)."""
_HELD = {("f16", "f32"), ("f16", "f64"), ("bf16", "f32"), ("bf16", "f64"), ("f32", "f64")}
"""Pairs of floats: every number of the first is one of the second."""

has_no_sign = numbers.predicate(
    lambda fact: fact.low >= 0 and not fact.minus_zero,
    "it is never negative, and never -0",
    lambda fact: f"may be negative: its range is {fact.range}" if fact.low < 0 else "may be -0",
    unless=visibly_unlimited,
)
"""No entry has a sign, NaN aside."""


@rule
def drop_add_zero(x: Annotated[Any, rule.where(never_minus_zero)]):
    """X + 0 is x, for every x that is never -0, of which it makes +0 (IEEE 754-2019, 6.3)."""
    total = op.add(x, 0)
    yield total
    if x.type != total.type:
        return decline("the constant broadcasts the other operand", at=total)
    return x


@rule
def drop_relu(x: Annotated[Any, rule.where(has_no_sign)]):
    """A value that is never negative is rectified already."""
    yield (op.relu | op.leaky_relu)(x)
    return x


@rule(shared="keep")
def drop_relu_of_clip(x):
    """What is at least 0 is rectified already: of zeros with a sign, both ops make the same."""
    limited = op.clip(x, low=0)
    yield op.relu(limited)
    if math.copysign(1, limited.low) < 0 or (limited.high is not None and limited.high <= 0):
        return decline("the limits may make -0, or less", at=limited)
    return limited


@rule
def drop_abs(x: Annotated[Any, rule.where(has_no_sign)]):
    """The absolute value of what is never negative is itself."""
    yield op.abs(x)
    return x


@rule
def drop_rounding(x: Annotated[Any, rule.where(whole)]):
    """A whole number is rounded already."""
    yield (op.floor | op.ceil | op.round)(x)
    return x


@rule
def drop_clip(x):
    """Limits that no value reaches do not limit."""
    limited = (op.clip | op.hard_tanh)(x)
    yield limited
    if is_reached(limited.low, limited.high, x):
        return decline("a limit may be reached: any number is possible", at=x)
    fact = x.fact()
    if not fact.is_within(as_stored(limited.low, x.type.element), as_stored(limited.high, x.type.element)):
        return decline("a limit may be reached: known is {}", fact, at=x)
    return x


_HELD_BY_ALL = 65504
"""The greatest number that floats of 16 bits hold (IEEE 754-2019, 3.6): less is no infinity in any type."""


def is_reached(low, high, x):
    """Whether each limit that is there is seen to change some number of a float that has no limits of its own."""
    if low is None and high is None:
        return False
    is_held = (low is None or abs(low) < _HELD_BY_ALL) and (high is None or abs(high) < _HELD_BY_ALL)
    return is_held and visibly_unlimited(x)


def as_stored(bound, element):
    """Return a limit as a number of an element type, as the op compares with it; None where there is none."""
    if bound is None:
        return None
    dtype = element_dtype(element)
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            return float(dtype.type(bound))
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    return int(min(max(bound, int(least)), int(most)))


@rule
def drop_extreme(x, y):
    """The greater of two values is the one that is always greater; and so the lesser."""
    extreme = (op.maximum | op.minimum)(x, y)
    yield extreme
    fact, other = x.fact(), y.fact()
    if x.type != extreme.type:
        return decline("the other operand broadcasts it", at=extreme)
    if other.nan:
        return decline("may be NaN, which is always taken", at=y)
    is_greatest = extreme.op_name == "maximum"
    gap = fact.low - other.high if is_greatest else other.low - fact.high
    if not gap >= 0:
        return decline("the ranges {0.range} and {1.range} overlap", fact, other, at=extreme)
    if gap == 0 and (fact.minus_zero or other.minus_zero):
        return decline("may be 0 and -0, of which either is taken", at=extreme)
    return x


@rule
def drop_where(c, x, y):
    """A choice that always falls alike is what is chosen."""
    chosen = op.where(c, x, y)
    yield chosen
    taken = c.fact().number
    if taken is None:
        return decline("may be true and false", at=c)
    found = x if taken else y
    if found.type != chosen.type:
        return decline("the other operands broadcast it", at=chosen)
    return found


@rule
def drop_mask(x, mask):
    """A mask that keeps every bit that a number may have keeps the number; and so one that sets those it has."""
    masked = (op.bitwise_and | op.bitwise_or)(x, mask)
    yield masked
    if x.type != masked.type:
        return decline("the mask broadcasts it", at=masked)
    own, other = x.fact(), mask.fact()
    # The bits that the mask may change, and those of them that are as the mask makes them.
    changed, same = (~other.ones, own.zeros) if masked.op_name == "bitwise_and" else (~other.zeros, own.ones)
    if changed & ~same:
        return decline("a bit may change", at=x)
    return x


@rule(shared="keep")
def drop_shift_there_and_back(x, bits):
    """A shift there and back drops nothing of numbers whose bits have room there."""
    there = op.bit_shift(x, bits)
    back = op.bit_shift(there, bits)
    yield back
    if x.type != back.type or there.direction == back.direction:
        return decline("it is not what was shifted", at=back)
    fact, by = x.fact(), bits.fact()
    if by.low < 0 or by.high > 64:
        return decline("all bits may be shifted out: the range is {.range}", by, at=bits)
    if there.direction == "right":
        is_kept = not ~fact.zeros & ~(-1 << by.high)
    else:
        room: Any = numbers.unknown(x.type)
        is_kept = fact.is_within(-(-room.low >> by.high), room.high >> by.high)
    return x if is_kept else decline("bits may be dropped; known is: {}", fact, at=x)


@rule(shared="keep")
def drop_cast_there_and_back(x):
    """Numbers that an element type holds come back from it as they were."""
    there = op.cast(x)
    back = op.cast(there)
    yield back
    if x.type != back.type:
        return decline("it comes back as another type", at=back)
    if not is_held(there.type.element, x.type.element, x.fact()):
        return decline("{} does not hold every number; known is: {}", there.type.element, x.fact(), at=x)
    if ends_infinities(there, x.fact()) or ends_infinities(back, x.fact()):
        return decline("infinities become the greatest number of {}", x.type.element, at=x)
    return x


def ends_infinities(stored, fact: Fact):
    """Tell whether a cast limits infinities that may be there, to a type that has them."""
    small = small_float(stored.type.element)
    return small is not None and small.infinite and stored.saturate and not fact.is_finite


def is_held(element, own, fact: Fact):
    """Tell whether an element type holds all numbers that a fact allows, and casts turn them back."""
    if element == own or (own, element) in _HELD:
        return True
    limits = _WHOLE.get(element) or integer_limits(element)
    is_plain = fact.whole and fact.is_finite and not fact.minus_zero
    return limits is not None and is_plain and fact.is_within(*limits)


@rule
def compute_known_sizes(x):
    """Sizes that are numbers are a constant."""
    found = op.shape(x)
    yield found
    sizes = x.shape[found.start : found.end]
    if any(isinstance(size, str) for size in sizes):
        return decline("a size is symbolic", at=x)
    return op.constant(value=np.array(sizes, np.int64))


_OFTEN_KNOWN: Any = (
    op.equal | op.less | op.less_or_equal | op.greater | op.greater_or_equal | op.is_nan | op.is_inf
    | op.mod | op.bitwise_and | op.bitwise_or | op.bitwise_xor | op.bit_shift
    | op.logical_and | op.logical_or | op.logical_xor | op.where
)  # fmt: skip
"""Ops whose result may be one number, though no operand is."""
_WITH_NAN: Any = op.add | op.sub | op.mul | op.div | op.minimum | op.maximum | op.clip | op.sign | op.neg
"""Others, which of floats that may be NaN make such."""
_MaybeKnown = Annotated[Any, rule.where(lambda x: not visibly_nan(x), "nothing below it shows that it may be NaN")]


@rule
def compute_known_number(xs):
    """A result of which only one number is possible is that number."""
    found = _OFTEN_KNOWN(*xs)
    yield found
    return _known(found)


@rule
def compute_known_sum(xs: _MaybeKnown):
    """So is that of sums, products and extremes, where no operand may be NaN."""
    found = _WITH_NAN(*xs)
    yield found
    return _known(found)


def _known(found):
    """The only number that is possible in place of a value."""
    number = found.fact().number
    if number is None:
        return decline("may be several numbers; known is: {}", found.fact(), at=found)
    return filled(number, found)


def filled(number, value):
    """Return a value of the type of another one all of whose entries are a number, as a constant where it can be."""
    kind = value.type
    dtype = element_dtype(kind.element)
    if kind.layout is not None or element_of(dtype) != kind.element:
        return decline(f"no array tells {kind} from other types", at=value)
    if kind.unknowns:
        return decline("only the data decides its size", at=value)
    if any(isinstance(size, str) for size in kind.shape):
        return op.expand(np.full((), number, dtype), shape=kind.shape)
    if math.prod(kind.shape) > _MOST:
        return decline("a constant of so many entries takes too much memory", at=value)
    return op.constant(value=handed_over(np.full(kind.shape, number, dtype)))


@rule
def fill_as_expand(value):
    """One number everywhere is that number, repeated."""
    made = op.constant_of_shape(value=value)
    yield made
    return filled(value, made)


@rule(shared="keep")
def begin_at_zero(x, w, r, b, start, lengths):
    """A recurrent layer begins at 0 where nothing else is said: a state that is known to be 0 is not computed."""
    layer = (op.rnn | op.gru)(x, w, r, b, start, *lengths)
    yield layer
    zeros = _stored_zeros(layer, "initial_h", start)
    return zeros if isinstance(zeros, Declined) else layer.op(x, w, r, b, zeros, *lengths, like=layer)


@rule(shared="keep")
def begin_cell_at_zero(x, w, r, b, start, cell, more):
    """So does one with a cell, whose state is of two parts."""
    layer = op.lstm(x, w, r, b, start, cell, *more)
    yield layer
    found = [_stored_zeros(layer, "initial_h", start), _stored_zeros(layer, "initial_c", cell)]
    if all(isinstance(each, Declined) for each in found):
        return found[0]
    kept = [old if isinstance(new, Declined) else new for new, old in zip(found, (start, cell), strict=True)]
    return op.lstm(x, w, r, b, *kept, *more, like=layer)


def _stored_zeros(layer, name, start):
    """The state of zeros that a layer has where none is given, in place of another one of which only that is known."""
    if start.fact().number != 0:
        return decline("may be other than 0; known is: {}", start.fact(), at=start)
    types = [layer.graph.result_type(*operand) for operand in layer.graph.operands(layer.node)]
    zeros = layer.op.neutral[name](types, layer.graph.attributes(layer.node))
    return decline("it is stored", at=start) if start.is_constant and start.shape == zeros.shape else zeros
