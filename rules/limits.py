"""Limits from below and from above, and slopes: two limits in a row are one, and extremes and choices are such."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.rewriting.facts import numbers
from graphrewrite.rules.arithmetic import Floats
from graphrewrite.rules.known_values import as_stored

__all__ = [
    "merge_clips",
    "write_choice_as_relu",
    "write_choice_as_slope",
    "write_extreme_as_clip",
    "write_extreme_as_slope",
    "write_opposite_choice_as_relu",
    "write_opposite_choice_as_slope",
]

is_one_number = numbers.predicate(
    lambda fact: fact.number is not None, "all of its entries are one number", lambda fact: f"may be several: {fact}"
)
is_zero = numbers.predicate(
    lambda fact: fact.low == fact.high == 0 and not fact.nan, "it is 0", lambda _: "may be others"
)
Number = Annotated[Any, rule.where(is_one_number)]
Zero = Annotated[Any, rule.where(is_zero)]


@rule
def merge_clips(x):
    """Two limits in a row are one: min(max(min(max(x, a), b), c), d); a rectifier is a lower limit of 0."""
    inner = (op.clip | op.hard_tanh | op.relu)(x)
    outer = (op.clip | op.hard_tanh | op.relu)(inner)
    yield outer
    (a, b), (c, d) = _limits(inner), _limits(outer)

    def inside(bound):
        """Clip a bound of the inner limits by the outer ones."""
        bound = bound if c is None else max(bound, c)
        return bound if d is None else min(bound, d)

    if a is not None and b is not None and not a <= b:
        return decline("the inner limits cross", at=outer)
    if c is not None and d is not None and not c <= d:
        return decline("the outer limits cross", at=outer)
    if any(bound is not None and math.isnan(bound) for bound in (a, b, c, d)):
        return decline("a limit is NaN", at=outer)
    low, high = c if a is None else inside(a), d if b is None else inside(b)
    # A number that equals a limit keeps its own zero: one limit more, and -0.0 may become 0.0.
    stored = [as_stored(bound, x.type.element) for bound in (a, b, c, d, low, high)]
    zeros = {math.copysign(1.0, bound) for bound in stored if bound == 0}
    is_moved = (a is not None and stored[0] > 0 == stored[4]) or (b is not None and stored[1] < 0 == stored[5])
    if len(zeros) > 1 or is_moved:
        return decline("the sign of a zero depends on both", at=outer)
    if low == 0 and high is None and math.copysign(1.0, low) > 0:
        return op.relu(x)
    return op.clip(x, low=low, high=high)


def _limits(node):
    return (0, None) if node.op is op.relu else (node.low, node.high)


@rule(keeps="rounding")
def write_extreme_as_clip(x, c: Number):
    """The greater of a value and a number limits the value from below, and the lesser from above."""
    extreme = (op.maximum | op.minimum)(x, c)
    yield extreme
    bound = c.fact().number
    if x.type != extreme.type or x.type.element == "bool":
        return decline("the constant broadcasts the other operand, or they are truth values", at=extreme)
    if extreme.op is op.minimum:
        return op.clip(x, high=bound)
    return op.relu(x) if bound == 0 else op.clip(x, low=bound)


def _slope(x, s):
    """X with a slope below zero: of one number, or as the op broadcasts it."""
    number = s.fact().number
    return op.prelu(x, s) if number is None else op.leaky_relu(x, alpha=number)


def _is_slope(x, s, fits):
    """Whether a value holds finite slopes that fit, and broadcasts to x."""
    number = s.fact().number
    if number is None and not s.is_constant:
        return False
    slopes = np.asarray(s.value if number is None else number, np.float64)
    is_shared = len(s.shape) <= len(x.shape) and op.mul(x, s).type == x.type
    return bool(is_shared and np.isfinite(slopes).all() and fits(slopes).all())


@rule(keeps="rounding")
def write_extreme_as_slope(x: Floats, s):
    """The greater of x and s · x, for s at most 1, is x above zero and s · x below; so is the lesser for s from 1."""
    extreme = (op.maximum | op.minimum)(x, op.mul(x, s))
    yield extreme
    is_greatest = extreme.op is op.maximum
    if not _is_slope(x, s, lambda slopes: slopes <= 1 if is_greatest else slopes >= 1):
        return decline("it is no slope that is known to be on that side of 1", at=s)
    return _slope(x, s)


@rule(keeps="rounding")
def write_choice_as_relu(x: Floats, zero: Zero, other: Zero):
    """X where it is positive, and 0 elsewhere, is rectified."""
    positive = (op.greater | op.greater_or_equal)(x, zero) | (op.less | op.less_or_equal)(zero, x)
    chosen = op.where(positive, x, other)
    yield chosen
    return op.relu(x) if x.type == chosen.type else decline("it is broadcast", at=chosen)


@rule(keeps="rounding")
def write_opposite_choice_as_relu(x: Floats, zero: Zero, other: Zero):
    """So is 0 where x is negative, and x elsewhere."""
    negative = (op.less | op.less_or_equal)(x, zero) | (op.greater | op.greater_or_equal)(zero, x)
    chosen = op.where(negative, other, x)
    yield chosen
    return op.relu(x) if x.type == chosen.type else decline("it is broadcast", at=chosen)


@rule(keeps="rounding")
def write_choice_as_slope(x: Floats, zero: Zero, s):
    """X where it is positive, and s · x elsewhere, has a slope below zero."""
    positive = (op.greater | op.greater_or_equal)(x, zero) | (op.less | op.less_or_equal)(zero, x)
    chosen = op.where(positive, x, op.mul(x, s))
    yield chosen
    if x.type != chosen.type or not _is_slope(x, s, np.isfinite):
        return decline("its slopes are not known, or it is broadcast", at=chosen)
    return _slope(x, s)


@rule(keeps="rounding")
def write_opposite_choice_as_slope(x: Floats, zero: Zero, s):
    """So has s · x where x is negative, and x elsewhere."""
    negative = (op.less | op.less_or_equal)(x, zero) | (op.greater | op.greater_or_equal)(zero, x)
    chosen = op.where(negative, op.mul(x, s), x)
    yield chosen
    if x.type != chosen.type or not _is_slope(x, s, np.isfinite):
        return decline("its slopes are not known, or it is broadcast", at=chosen)
    return _slope(x, s)
