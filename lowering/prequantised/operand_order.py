"""Constant first operands moved to the second place, as elementwise chains expect."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule

__all__ = ["SWAP_OPERANDS"]

_SWAPPED = {
    "greater": op.less,
    "greater_or_equal": op.less_or_equal,
    "less": op.greater,
    "less_or_equal": op.greater_or_equal,
}


@rule
def swap_difference(c: Constant, x):
    """A constant less a number is the negative plus the constant (IEEE 754-2019, 5.4.1: c - x is c + (-x))."""
    yield op.sub(c, x)
    if c.value.dtype.kind != "f":
        return decline("unsigned integers have no negative", at=c)
    return op.add(op.neg(x), c)


@rule
def swap_comparison(c: Constant, x):
    """A constant is greater than a number where the number is less than the constant."""
    compared = (op.greater | op.greater_or_equal | op.less | op.less_or_equal)(c, x)
    yield compared
    return _SWAPPED[compared.op_name](x, c)


@rule(keeps="assumes")
def swap_quotient(c: Constant, x):
    """A power of two divided by a number is its reciprocal, scaled; assumes that no reciprocal is subnormal."""
    yield op.div(c, x)
    if c.value.dtype.kind != "f" or not (np.abs(np.frexp(c.value)[0]) == 0.5).all():
        return decline("the constant is not a power of two", at=c)
    return op.mul(op.reciprocal(x), c)


SWAP_OPERANDS = (swap_difference, swap_comparison, swap_quotient)
"""Ops with a constant first operand, rewritten with the computed one first."""
