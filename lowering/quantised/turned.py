"""Ops whose first operand is a constant, written with what is computed first: there functions are followed upwards."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule

__all__ = ["TURN_OPERANDS", "turn_comparison", "turn_difference", "turn_quotient"]

_OTHER_WAY = {
    "greater": op.less,
    "greater_or_equal": op.less_or_equal,
    "less": op.greater,
    "less_or_equal": op.greater_or_equal,
}


@rule
def turn_difference(c: Constant, x):
    """A constant less a number is the negative plus the constant (IEEE 754-2019, 5.4.1: c - x is c + (-x))."""
    yield op.sub(c, x)
    if c.value.dtype.kind != "f":
        return decline("whole numbers without a sign have no negative", at=c)
    return op.add(op.neg(x), c)


@rule
def turn_comparison(c: Constant, x):
    """What a constant is greater than is less than the constant."""
    compared = (op.greater | op.greater_or_equal | op.less | op.less_or_equal)(c, x)
    yield compared
    return _OTHER_WAY[compared.op_name](x, c)


@rule(keeps="assumes")
def turn_quotient(c: Constant, x):
    """A power of two divided by a number is its reciprocal, scaled; assumes that no reciprocal is subnormal."""
    yield op.div(c, x)
    if c.value.dtype.kind != "f" or not (np.abs(np.frexp(c.value)[0]) == 0.5).all():
        return decline("the constant is no power of two", at=c)
    return op.mul(op.reciprocal(x), c)


TURN_OPERANDS = (turn_difference, turn_comparison, turn_quotient)
"""What is computed becomes the first operand."""
