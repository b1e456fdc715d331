"""Arithmetic that is right for real numbers, of which floats differ in NaN, infinities, signs of zero, or rounding."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.rewriting.facts import nonnegative
from graphrewrite.rules.arithmetic import Floats
from graphrewrite.rules.known_values import filled

__all__ = [
    "abs_of_square",
    "divide_by_reciprocal",
    "divide_zero",
    "drop_exp_and_log",
    "drop_order_kept",
    "drop_reciprocal_twice",
    "drop_sign_of_positive",
    "drop_zero_addend",
    "multiply_by_reciprocal",
    "multiply_by_zero",
    "negate_difference",
    "negate_from_zero",
    "power_as_reciprocal",
    "power_as_root",
    "power_as_square",
    "subtract_itself",
]

Zero = Annotated[Any, rule.where(lambda c: c.is_constant and c.value.size and not np.any(c.value), "it is zero")]


@rule(keeps="rounding")
def drop_zero_addend(x: Floats, zero: Zero):
    """X + 0 and x - 0 are x, but for the sign of zero."""
    total = (op.add | op.sub)(x, zero)
    yield total
    if x.type != total.type:
        return decline("the constant broadcasts the other operand", at=total)
    return x


@rule(keeps="rounding")
def multiply_by_zero(x: Floats, zero: Zero):
    """X · 0 is 0, but for NaN, infinities and the sign of zero."""
    product = op.mul(x, zero)
    yield product
    return filled(0, product)


@rule(keeps="assumes")
def divide_zero(zero: Zero, x: Floats):
    """0 / x is 0, but for the sign of zero; assumes that x is neither 0 nor NaN."""
    quotient = op.div(zero, x)
    yield quotient
    return filled(0, quotient)


@rule(keeps="rounding")
def subtract_itself(x: Floats):
    """X - x is 0, but for NaN and infinities."""
    difference = op.sub(x, x)
    yield difference
    return filled(0, difference)


@rule(keeps="rounding")
def negate_from_zero(zero: Zero, x: Floats):
    """0 - x is -x, but for the sign of zero."""
    difference = op.sub(zero, x)
    yield difference
    if x.type != difference.type:
        return decline("the constant broadcasts the other operand", at=difference)
    return op.neg(x)


@rule(keeps="rounding")
def negate_difference(x: Floats, y):
    """-(x - y) is y - x, but for the sign of zero."""
    yield op.neg(op.sub(x, y))
    return op.sub(y, x)


@rule(keeps="rounding")
def power_as_square(x: Floats):
    """X to the power of 2 is x · x."""
    power = op.pow(x, 2)
    yield power
    if x.type != power.type:
        return decline("the exponent broadcasts the base", at=power)
    return op.mul(x, x)


@rule(keeps="rounding")
def power_as_root(x: Floats):
    """X to the power of 1/2 is the square root, but for -0 and negative infinity."""
    power = op.pow(x, 0.5)
    yield power
    if x.type != power.type:
        return decline("the exponent broadcasts the base", at=power)
    return op.sqrt(x)


@rule(keeps="rounding")
def power_as_reciprocal(x: Floats):
    """X to the power of -1 is the reciprocal."""
    power = op.pow(x, -1)
    yield power
    if x.type != power.type:
        return decline("the exponent broadcasts the base", at=power)
    return op.reciprocal(x)


@rule(keeps="rounding")
def abs_of_square(x: Floats):
    """The square root of x · x is the absolute value, but for overflow and underflow."""
    yield op.sqrt(op.mul(x, x))
    return op.abs(x)


@rule(keeps="rounding")
def drop_exp_and_log(x: Floats):
    """The logarithm of exp(x) is x, but for overflow and underflow."""
    yield op.log(op.exp(x))
    return x


@rule(keeps="rounding")
def drop_sign_of_positive(x: Annotated[Any, rule.where(nonnegative)]):
    """What is never negative is rectified already, and its own absolute value, but for the sign of zero."""
    yield (op.relu | op.abs)(x)
    return x


@rule(keeps="assumes")
def drop_order_kept(x: Floats):
    """A softmax keeps which entry is the greatest; assumes that rounding makes no two of them equal."""
    soft = (op.softmax | op.log_softmax)(x)
    place = (op.arg_max | op.arg_min)(soft)
    yield place
    rank = len(x.shape)
    if soft.axis % rank != place.axis % rank:
        return decline("its shares are along another axis", at=place)
    return place.op(x, like=place)


@rule(keeps="rounding")
def drop_reciprocal_twice(x: Floats):
    """The reciprocal of the reciprocal of x is x, but for overflow and underflow."""
    yield op.reciprocal(op.reciprocal(x))
    return x


@rule(keeps="rounding")
def multiply_by_reciprocal(x: Floats, y):
    """X · (1 / y) is x / y, but for overflow and rounding."""
    inverse = op.reciprocal(y) | op.div(1, y)
    product = op.mul(x, inverse)
    yield product
    result = op.div(x, y)
    return result if result.type == product.type else decline("a constant broadcasts the operands", at=product)


@rule(keeps="rounding")
def divide_by_reciprocal(x: Floats, y):
    """X / (1 / y) is x · y, but for overflow, zeros and rounding."""
    inverse = op.reciprocal(y) | op.div(1, y)
    quotient = op.div(x, inverse)
    yield quotient
    result = op.mul(x, y)
    return result if result.type == quotient.type else decline("a constant broadcasts the operands", at=quotient)
