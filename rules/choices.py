"""Choices by a condition that have a shorter form."""

from __future__ import annotations

from graphrewrite import Constant, decline, op, rule

__all__ = [
    "CHOICES",
    "choose_equal_branches",
    "choose_first_by_constant",
    "choose_first_once",
    "choose_second_once",
    "where_as_opposite",
    "where_as_truth",
    "where_of_opposite",
]


@rule
def choose_equal_branches(c, x):
    """A choice between a value and itself is that value."""
    chosen = op.where(c, x, x)
    yield chosen
    if x.type != chosen.type:
        return decline("the condition broadcasts it", at=chosen)
    return x


_NO_CONDITION = "it is no choice of truth values, or broadcasts the condition"


@rule
def where_as_truth(c):
    """True where a condition is true, and false elsewhere, is the condition."""
    chosen = op.where(c, True, False)
    yield chosen
    return c if c.type == chosen.type else decline(_NO_CONDITION, at=chosen)


@rule
def where_as_opposite(c):
    """False where a condition is true, and true elsewhere, is its opposite."""
    chosen = op.where(c, False, True)
    yield chosen
    return op.logical_not(c) if c.type == chosen.type else decline(_NO_CONDITION, at=chosen)


@rule(shared="keep")
def choose_first_once(c, x, y, z):
    """A choice within the first one of the same condition chooses its first value."""
    chosen = op.where(c, op.where(c, x, y), z)
    yield chosen
    return _once(c, x, z, chosen)


@rule(shared="keep")
def choose_second_once(c, x, y, z):
    """One within the second chooses its second value."""
    chosen = op.where(c, x, op.where(c, y, z))
    yield chosen
    return _once(c, x, z, chosen)


def _once(c, x, z, chosen):
    """A choice that is made once."""
    if c.is_constant:
        return decline("its condition is constant, of which other rules know more", at=c)
    once = op.where(c, x, z)
    return once if once.type == chosen.type else decline("what is not chosen broadcasts it", at=chosen)


@rule(shared="keep")
def where_of_opposite(c, x, y):
    """A choice by the opposite of a condition is the other choice by the condition."""
    chosen = op.where(op.logical_not(c), x, y)
    yield chosen
    return op.where(c, y, x, like=chosen)


@rule
def choose_first_by_constant(c: Constant, x, y):
    """A choice by a constant begins with the first value: else it is the other choice by the opposite."""
    chosen = op.where(c, x, y)
    yield chosen
    if c.value.flat[:1].all():
        return decline("it does, or chooses nothing", at=c)
    return op.where(op.logical_not(c), y, x, like=chosen)


CHOICES = (
    choose_equal_branches,
    where_as_truth,
    where_as_opposite,
    choose_first_once,
    choose_second_once,
    where_of_opposite,
    choose_first_by_constant,
)
"""A part of `RULES`."""
