"""Limits, rectifiers and slopes from their parts: extremes with a number, and choices by sign."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.rewriting.facts import numbers
from graphrewrite.rules.arithmetic import Floats
from graphrewrite.rules.limits import limits_of

__all__ = [
    "RECOGNISE_LIMITS",
    "recognise_chosen_relu",
    "recognise_chosen_slope",
    "recognise_clip",
    "recognise_clip_of_extreme",
    "recognise_clip_of_extremes",
    "recognise_other_relu",
    "recognise_other_slope",
    "recognise_relu",
    "recognise_slope",
]

_is_one_number = numbers.predicate(
    lambda fact: fact.number is not None, "all of its entries are one number", lambda fact: f"may be several: {fact}"
)
_is_zero = numbers.predicate(
    lambda fact: fact.low == fact.high == 0 and not fact.nan, "it is 0", lambda _: "may not be 0"
)
Number = Annotated[Any, rule.where(_is_one_number)]
Zero = Annotated[Any, rule.where(_is_zero)]


@rule(keeps="rounding")
def recognise_relu(x, zero: Zero):
    """The greater of a value and 0 is rectified; which of two zeros it is, the order of the operands decides."""
    greatest = op.maximum(x, zero)
    yield greatest
    if x.type != greatest.type or x.type.element == "bool":
        return decline("it is broadcast, or a truth value", at=greatest)
    return op.relu(x)


@rule(keeps="rounding")
def recognise_clip_of_extremes(x, c: Number, d: Number):
    """The lesser of the greater, with two numbers, and the greater of the lesser, limit a value on both sides."""
    inner = (op.maximum | op.minimum)(x, c)
    outer = (op.maximum | op.minimum)(inner, d)
    yield outer
    if x.type != outer.type or x.type.element == "bool":
        return decline("it is broadcast, or a truth value", at=outer)
    return _limited(x, (inner.op, c.fact().number), (outer.op, d.fact().number))


@rule(keeps="rounding")
def recognise_clip(x, d: Number):
    """So does one extreme of a value that is limited or rectified."""
    inner = (op.clip | op.hard_tanh | op.relu)(x)
    outer = (op.maximum | op.minimum)(inner, d)
    yield outer
    if x.type != outer.type:
        return decline("it is broadcast", at=outer)
    low, high = limits_of(inner)
    if low != low or high != high:
        return decline("a limit is NaN", at=inner)
    return _limited(x, (op.maximum, low), (op.minimum, high), (outer.op, d.fact().number))


@rule(keeps="rounding")
def recognise_clip_of_extreme(x, c: Number):
    """So do a rectifier, and limits, of one extreme."""
    inner = (op.maximum | op.minimum)(x, c)
    outer = (op.clip | op.hard_tanh | op.relu)(inner)
    yield outer
    if x.type != outer.type:
        return decline("it is broadcast", at=inner)
    low, high = limits_of(outer)
    if low != low or high != high:
        return decline("a limit is NaN", at=outer)
    return _limited(x, (inner.op, c.fact().number), (op.maximum, low), (op.minimum, high))


def _limited(x, *extremes):
    """X within the limits that extremes with numbers make of it, one after the other; None is no limit."""
    low = high = None
    for extreme, bound in extremes:
        if bound is None:
            continue
        if extreme is op.minimum:
            high = bound if high is None else min(high, bound)
        else:
            low = bound if low is None else max(low, bound)
            high = None if high is None else max(high, bound)
    return op.relu(x) if low == 0 and high is None else op.clip(x, low=low, high=high)


@rule(keeps="rounding")
def recognise_chosen_relu(x, zero: Zero, other: Zero):
    """A choice by sign between x and 0 is a rectifier; NaN becomes 0 no more."""
    is_positive = (op.greater | op.greater_or_equal)(x, zero) | (op.less | op.less_or_equal)(zero, x)
    chosen = op.where(is_positive, x, other)
    yield chosen
    return op.relu(x) if x.type == chosen.type else decline("it is broadcast", at=chosen)


@rule(keeps="rounding")
def recognise_other_relu(x, zero: Zero, other: Zero):
    """The same, chosen by the other sign."""
    is_negative = (op.less | op.less_or_equal)(x, zero) | (op.greater | op.greater_or_equal)(zero, x)
    chosen = op.where(is_negative, other, x)
    yield chosen
    return op.relu(x) if x.type == chosen.type else decline("it is broadcast", at=chosen)


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
def recognise_slope(x: Floats, s):
    """The greater of x and s · x, for s at most 1, is x above zero and s · x below; so is the lesser for s from 1."""
    extreme = (op.maximum | op.minimum)(x, op.mul(x, s))
    yield extreme
    is_greatest = extreme.op is op.maximum
    if not _is_slope(x, s, lambda slopes: slopes <= 1 if is_greatest else slopes >= 1):
        return decline("it is no slope that is known to be on that side of 1", at=s)
    return _slope(x, s)


@rule(keeps="rounding")
def recognise_chosen_slope(x: Floats, zero: Zero, s):
    """X where it is positive, and s · x elsewhere, has a slope below zero."""
    positive = (op.greater | op.greater_or_equal)(x, zero) | (op.less | op.less_or_equal)(zero, x)
    chosen = op.where(positive, x, op.mul(x, s))
    yield chosen
    if x.type != chosen.type or not _is_slope(x, s, np.isfinite):
        return decline("its slopes are not known, or it is broadcast", at=chosen)
    return _slope(x, s)


@rule(keeps="rounding")
def recognise_other_slope(x: Floats, zero: Zero, s):
    """So has s · x where x is negative, and x elsewhere."""
    negative = (op.less | op.less_or_equal)(x, zero) | (op.greater | op.greater_or_equal)(zero, x)
    chosen = op.where(negative, op.mul(x, s), x)
    yield chosen
    if x.type != chosen.type or not _is_slope(x, s, np.isfinite):
        return decline("its slopes are not known, or it is broadcast", at=chosen)
    return _slope(x, s)


RECOGNISE_LIMITS = (
    recognise_relu,
    recognise_clip_of_extremes,
    recognise_clip,
    recognise_clip_of_extreme,
    recognise_chosen_relu,
    recognise_other_relu,
    recognise_slope,
    recognise_chosen_slope,
    recognise_other_slope,
)
"""Limits and slopes from extremes and choices."""
