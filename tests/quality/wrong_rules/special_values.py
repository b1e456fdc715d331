"""Faults that only special values show: zeros with a sign, NaN, infinities, ends of the integers."""

from __future__ import annotations

from graphrewrite import decline, op, rule
from graphrewrite.testing import graphs
from graphrewrite.types import element_kind


def _is_integer(x):
    return isinstance(x.type.element, str) and element_kind(x.type.element) == "integer"


@rule
def zero_is_not_neutral(x):
    """-0 + 0 is +0."""
    total = op.add(x, 0)
    yield total
    return x if x.type == total.type else decline("the zero broadcasts")


@rule
def nan_is_forgotten(x):
    """Infinity minus infinity is NaN, and so is their product with zero, but their sign of zero differs."""
    yield op.sub(x, x)
    return op.mul(x, 0)


@rule
def infinity_is_forgotten(x):
    """Zero times a negative number is -0."""
    product = op.mul(x, 0)
    yield product
    return op.sub(x, x) if x.type == product.type else decline("the zero broadcasts")


@rule
def zero_over_zero(x):
    """X / x is one, but for zero and infinities."""
    yield op.div(x, x)
    return op.exp(op.mul(x, 0))


@rule
def difference_from_zero(x):
    """0 - 0 is +0, and its negative -0."""
    difference = op.sub(0, x)
    yield difference
    return op.neg(x) if x.type == difference.type else decline("the zero broadcasts")


@rule
def negated_difference(x, y):
    """The negative of x - x is -0, the difference turned round +0."""
    yield op.neg(op.sub(x, y))
    return op.sub(y, x)


@rule
def minus_zero_in_two_halves(x):
    """The positive part minus the negative part loses the sign of a zero."""
    yield op.sub(op.relu(x), op.relu(op.neg(x)))
    return x


@rule
def nan_is_absorbed(x, y):
    """The greater of x and anything not greater is x, unless NaN comes in."""
    lesser = op.minimum(x, y)
    greater = op.maximum(x, lesser)
    yield greater
    return x if x.type == greater.type else decline("it broadcasts")


@rule
def product_overflows(x):
    """The root of a square is the absolute value, unless the square is beyond the floats."""
    yield op.sqrt(op.mul(x, x))
    return op.abs(x)


@rule
def power_zero_of_nan(x):
    """NaN to the power of zero is one, NaN times zero is NaN."""
    power = op.pow(x, 0)
    yield power
    return op.exp(op.mul(x, 0)) if x.type == power.type else decline("the exponent broadcasts")


@rule
def infinite_quotient(x, y):
    """X · (1 / y) rounds twice, and is NaN where y is tiny and x zero."""
    yield op.div(x, y)
    return op.mul(x, op.pow(y, -1.0))


@rule
def cancelled_sum(x, y):
    """(x + y) - y is x, but for rounding and infinities."""
    total = op.sub(op.add(x, y), y)
    yield total
    return x if x.type == total.type else decline("it broadcasts")


@rule
def least_integer_has_no_absolute_value(x):
    """The absolute value of the least integer is beyond the integers, and wraps around to itself."""
    size = op.abs(x)
    yield op.relu(size)
    return op.abs(x) if _is_integer(x) else decline("no integers")


@rule
def least_integer_has_no_negative(x, y):
    """The negative of the least integer wraps around to itself."""
    greater = op.maximum(x, y)
    yield op.neg(greater)
    return op.minimum(op.neg(x), op.neg(y)) if _is_integer(x) else decline("no integers")


@rule
def sum_wraps_around(x, y):
    """X + |y| is not less than x, unless it wraps around."""
    total = op.add(x, op.abs(y))
    yield op.maximum(total, x)
    return total if _is_integer(x) else decline("no integers")


@rule
def unsigned_has_no_negative(x):
    """The negative of an unsigned number is positive, for it wraps around."""
    yield op.relu(op.neg(x))
    if not _is_integer(x) or not x.type.element.startswith("u"):
        return decline("not unsigned")
    return op.mul(x, 0)


@rule
def unsigned_difference(x, y):
    """The difference of unsigned numbers wraps around instead of stopping at zero."""
    yield op.sub(op.maximum(x, y), y)
    if not _is_integer(x) or x.type != y.type:
        return decline("not integers of one type")
    return op.sub(op.maximum(op.sub(x, y), 0), 0)


@rule
def doubled_and_halved(x):
    """2x - x is x in integers, where it wraps around, and not in floats, where 2x may be infinite."""
    yield op.sub(op.mul(x, 2), x)
    return x


@rule
def nan_is_not_equal_to_its_limits(x):
    """The greater of NaN and a number is NaN, so limits do not make a number of it."""
    limited = op.clip(x, low=-1.0, high=1.0)
    yield op.maximum(limited, -2.0)
    return op.maximum(op.tanh(x), limited)


ON = {"unsigned_has_no_negative": graphs(containing=unsigned_has_no_negative, every_type=True)}
"""Where a rule is tested that is right for the types that most graphs hold."""


@rule
def rounded_twice(x):
    """Rounding to float32 first moves numbers just beyond a tie of float16 onto it."""
    yield op.cast(op.cast(x, element="f32"), element="f16")
    return op.cast(x, element="f16")
