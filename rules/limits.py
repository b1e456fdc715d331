"""Limits from below and from above: two in a row are one."""

from __future__ import annotations

import math

from graphrewrite import decline, op, rule
from graphrewrite.rules.known_values import as_stored, is_reached
from graphrewrite.rules.operands import again
from graphrewrite.types import element_dtype

__all__ = ["clip_as_relu", "leave_out_limit", "limits_of", "merge_clips", "merge_clips_around_movement"]


@rule
def clip_as_relu(x):
    """A lower limit of 0 alone rectifies."""
    limited = op.clip(x, low=0, high=None)
    yield limited
    if math.copysign(1.0, limited.low) < 0:
        return decline("zeros have a sign", at=limited)
    return op.relu(x)


@rule
def leave_out_limit(x):
    """A limit that no number reaches is left out."""
    limited = (op.clip | op.hard_tanh)(x)
    yield limited
    if is_reached(limited.low, limited.high, x):
        return decline("a limit may be reached: any number is possible", at=x)
    fact = x.fact()
    least, most = (as_stored(bound, x.type.element) for bound in (limited.low, limited.high))
    if None not in (least, most) and not (least < most or str(least) == str(most)):
        return decline("the limits cross, or are zeros of two signs", at=limited)
    low = None if fact.is_within(least, None) else limited.low
    high = None if fact.is_within(None, most) else limited.high
    if (low, high) == (limited.low, limited.high):
        return decline(f"a limit may be reached: known is {fact}", at=x)
    return op.clip(x, low=low, high=high)


@rule(shared="keep")
def merge_clips(x):
    """Two limits in a row are one: min(max(min(max(x, a), b), c), d); a rectifier is a lower limit of 0."""
    inner = (op.clip | op.hard_tanh | op.relu)(x)
    outer = (op.clip | op.hard_tanh | op.relu)(inner)
    yield outer
    (a, b), (c, d) = limits_of(inner), limits_of(outer)

    def inside(bound):
        """Clip a bound of the inner limits by the outer ones."""
        bound = bound if c is None else max(bound, c)
        return bound if d is None else min(bound, d)

    if a is not None and b is not None and not a <= b:
        return decline("the inner limits cross", at=outer)
    if c is not None and d is not None and not c <= d:
        return decline("the outer limits cross", at=outer)
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (a, b, c, d)):
        return decline("a limit is NaN", at=outer)
    low, high = c if a is None else inside(a), d if b is None else inside(b)
    is_float = element_dtype(x.type.element).kind == "f"
    if is_float and _mixes_zeros((a, b, c, d, low, high), x.type.element):
        return decline("the sign of a zero depends on both", at=outer)
    if (low, high) == (a, b):
        return inner
    if low == 0 and high is None and not (is_float and math.copysign(1.0, low) < 0):
        return op.relu(x)
    return op.clip(x, low=low, high=high)


def _moves(below):
    """What moves entries, or chooses some of them."""
    return (op.reshape | op.transpose | op.slice | op.name_axes)(below)


@rule
def merge_clips_around_movement(x):
    """Limits of what was limited before it was moved may come before the movement as well, next to the other ones."""
    inner = (op.clip | op.relu)(x)
    run = rule.repeated(inner, _moves)
    outer = (op.clip | op.relu)(run)
    yield outer
    return again(run, outer.op(inner, like=outer))


def _mixes_zeros(bounds, element):
    """Whether zeros of two signs meet: a number that equals a limit keeps its own, and one limit more may change it."""
    a, b, *_, low, high = stored = [as_stored(bound, element) for bound in bounds]
    zeros = {math.copysign(1.0, bound) for bound in stored if bound == 0}
    return len(zeros) > 1 or (a is not None and a > 0 == low) or (b is not None and b < 0 == high)


def limits_of(node):
    """Return the lower and the upper limit of a rectifier or a clip; None where there is none."""
    return (0, None) if node.op is op.relu else (node.low, node.high)
