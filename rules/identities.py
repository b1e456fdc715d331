"""Ops that do nothing, or repeat another op."""

from __future__ import annotations

import math

from graphrewrite import decline, op, rule

__all__ = [
    "drop_cast_to_fixed_and_back",
    "drop_dropout",
    "drop_factor_one",
    "drop_identity",
    "drop_repeated_relu",
    "drop_requantise",
    "drop_subtract_zero",
    "merge_clips",
]


@rule
def drop_identity(x):
    """The identity is its operand."""
    yield op.identity(x)
    return x


@rule
def drop_dropout(x):
    """Dropout is its operand: in inference it drops nothing."""
    yield op.dropout(x)
    return x


@rule
def drop_factor_one(x):
    """X · 1 and x / 1 are x, unless the one broadcasts x to a larger shape."""
    product = (op.mul | op.div)(x, 1)
    yield product
    if x.type != product.type:
        return decline("the constant broadcasts the other operand", at=product)
    return x


@rule
def drop_subtract_zero(x):
    """X - 0 is x, for every x; x + 0 is not, for it makes +0 of -0 (IEEE 754-2019, 6.3)."""
    difference = op.sub(x, 0)
    yield difference
    if x.type != difference.type:
        return decline("the constant broadcasts the other operand", at=difference)
    return x


@rule(shared="keep")
def drop_repeated_relu(x):
    """A rectified value rectified again is the same."""
    first = op.relu(x)
    yield op.relu(first)
    return first


@rule(shared="keep")
def drop_cast_to_fixed_and_back(x):
    """Mantissas read as real numbers in a format, and written in that format again, are the same mantissas."""
    real = op.from_fixed(x)
    stored = op.to_fixed(real)
    yield stored
    if x.type != stored.type or real.fraction != stored.element.fraction:
        return decline("the formats differ, so the value may change", at=stored)
    fact = x.fact()
    if not fact.is_within(stored.low, stored.high):
        return decline(f"a limit is reached: its range is {fact.range}", at=x)
    if not stored.element.is_held_by(real.element):
        return decline(f"{real.element} does not hold every number of {stored.element}", at=real)
    return x


@rule
def drop_requantise(x):
    """Requantising to the format that is there already, without a shift or tighter limits, does nothing."""
    same = op.requantise(x, shift=0)
    yield same
    element = same.element
    low = element.minimum if same.low is None else same.low
    high = element.maximum if same.high is None else same.high
    # Limits that are never reached stay: they tell hardware what it has to hold.
    if x.type != same.type or low > element.minimum or high < element.maximum:
        return decline("the format or the limits change", at=same)
    return x


@rule
def merge_clips(x, a, b, c, d):
    """Two consecutive limits are one: min(max(min(max(x, a), b), c), d)."""
    outer = op.clip(op.clip(x, low=a, high=b), low=c, high=d)
    yield outer

    def inside(bound):
        """Clip a bound of the inner clip by the outer one."""
        bound = bound if c is None else max(bound, c)
        return bound if d is None else min(bound, d)

    if a is not None and b is not None and a > b:
        return decline("the inner limits cross", at=outer)
    if c is not None and d is not None and c > d:
        return decline("the outer limits cross", at=outer)
    low, high = c if a is None else inside(a), d if b is None else inside(b)
    # A number that equals a limit keeps its own zero: one limit more, and -0.0 may become 0.0.
    zeros = {math.copysign(1.0, bound) for bound in (a, b, c, d) if bound == 0}
    if len(zeros) > 1 or (a is not None and a > 0 and low == 0) or (b is not None and b < 0 and high == 0):
        return decline("the sign of a zero depends on both", at=outer)
    return op.clip(x, low=low, high=high)
