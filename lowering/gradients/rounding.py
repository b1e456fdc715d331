"""Gradients of rounding that networks are trained with: what it adds is held as it is."""

from __future__ import annotations

import math

from graphrewrite import FixedPoint, op, rule
from graphrewrite.lowering.gradients.shapes import number, summed

__all__ = ["DIFFERENTIATE_ROUNDING"]


@rule(keeps="rounding")
def differentiate_fake_quantise(g, x, exponent):
    """What is within the format has the gradient; a step has what rounding adds, and beyond the format the limit."""
    d = op.fake_quantise.vjp(g, x, exponent)
    yield d
    element = FixedPoint(d.signed, d.width, 0)
    power = op.round(exponent)
    step = op.pow(number(2, x), power)
    scaled = x / step
    low, high = number(element.minimum, x), number(element.maximum, x)
    beyond = op.logical_or(op.less(scaled, low), op.greater(scaled, high))
    if d.wrt == 0:
        return op.where(beyond, number(0, g), g)
    whole = op.fake_quantise(x, exponent, width=d.width, signed=d.signed) / step
    per_step = op.where(beyond, whole, whole - scaled)
    return summed(g * per_step * step * number(math.log(2), g), d)


DIFFERENTIATE_ROUNDING = (differentiate_fake_quantise,)
"""Gradients of rounding."""
