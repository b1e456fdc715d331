"""Limits and rectifiers from their parts: extremes with a number, and choices by sign."""

from __future__ import annotations

from typing import Annotated, Any

from graphrewrite import decline, op, rule
from graphrewrite.rewriting.facts import numbers
from graphrewrite.rules.limits import limits_of

__all__ = [
    "RECOGNISE_LIMITS",
    "recognise_chosen_relu",
    "recognise_clip",
    "recognise_clip_of_extremes",
    "recognise_other_relu",
    "recognise_relu",
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
    bound = c.fact().number
    return _limited(x, (bound, None) if inner.op is op.maximum else (None, bound), outer.op, d.fact().number)


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
    return _limited(x, (low, high), outer.op, d.fact().number)


def _limited(x, limits, extreme, bound):
    """X within limits, and then by one more: min(max(x, low), high) is limited again."""
    low, high = limits
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


RECOGNISE_LIMITS = (
    recognise_relu,
    recognise_clip_of_extremes,
    recognise_clip,
    recognise_chosen_relu,
    recognise_other_relu,
)
"""Limits from extremes and choices."""
