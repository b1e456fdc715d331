"""Limits from below and from above: two in a row are one."""

from __future__ import annotations

import math

from graphrewrite import decline, op, rule
from graphrewrite.rules.known_values import as_stored

__all__ = ["limits_of", "merge_clips"]


@rule
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


def limits_of(node):
    """Return the lower and the upper limit of a rectifier or a clip; None where there is none."""
    return (0, None) if node.op is op.relu else (node.low, node.high)
