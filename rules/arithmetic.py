"""Sums, products and choices in a row: signs that meet, and constants that are computed once."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.operands import first_operand
from graphrewrite.types import SMALL_FLOATS, element_kind

__all__ = [
    "Floats",
    "Integers",
    "constant_last",
    "drop_minus_zero",
    "drop_sign_before_even",
    "drop_sign_before_square",
    "factor_as_sign",
    "fold_sign",
    "fold_sign_before",
    "merge_constants",
    "merge_differences",
    "merge_factors",
    "merge_integer_differences",
    "merge_integer_offsets",
    "merge_offsets",
    "merge_quotients",
    "multiply_without_signs",
    "negate_integer_difference",
    "negate_integer_from_zero",
    "negate_integer_offset",
    "write_difference",
    "write_difference_as_sum",
]


Integers = Annotated[Any, rule.where(lambda x: element_kind(x.type.element) == "integer", "it holds integers")]
Floats = Annotated[
    Any,
    rule.where(
        lambda x: element_kind(x.type.element) == "float" and x.type.element not in SMALL_FLOATS,
        "it holds floats of 16 bits or more",
    ),
]


def _has_negatives(kind):
    """Whether all numbers of a type have a negative in it, but for the least of a signed integer type."""
    return kind.element not in SMALL_FLOATS


@rule(shared="keep")
def write_difference(x, y):
    """X + -y is x - y (IEEE 754-2019, 5.4.1); integers wrap around alike."""
    total = op.add(x, op.neg(y))
    yield total
    if y.is_constant:
        return decline("the negative of a constant is computed", at=total)
    if not _has_negatives(y.type):
        return decline("floats of 8 or 4 bits need not have a negative", at=total)
    return op.sub(x, y)


@rule(shared="keep")
def write_difference_as_sum(x, y):
    """X - -y is x + y."""
    difference = op.sub(x, op.neg(y))
    yield difference
    if y.is_constant:
        return decline("the negative of a constant is computed", at=difference)
    if not _has_negatives(y.type):
        return decline("floats of 8 or 4 bits need not have a negative", at=difference)
    return op.add(x, y)


@rule
def negate_integer_from_zero(x: Integers):
    """0 - x is -x: integers have one zero."""
    difference = op.sub(0, x)
    yield difference
    if x.type != difference.type:
        return decline("the constant broadcasts the other operand", at=difference)
    return op.neg(x)


@rule
def negate_integer_difference(x: Integers, y):
    """-(x - y) is y - x, which wraps around alike; of floats, the sign of a zero would differ."""
    yield op.neg(op.sub(x, y))
    return op.sub(y, x)


@rule
def negate_integer_offset(x: Integers, c: Constant):
    """-(x + c) is -c - x, which wraps around alike."""
    yield op.neg(op.add(x, c))
    return op.sub(op.neg(c), x)


@rule
def drop_minus_zero(x):
    """X + -0 is x, for every x, -0 and NaN among them (IEEE 754-2019, 6.3)."""
    total = op.add(x, -0.0)
    yield total
    if x.type != total.type:
        return decline("the constant broadcasts the other operand", at=total)
    return x


@rule(shared="keep")
def multiply_without_signs(x, y):
    """The product of two negatives is that of the numbers, and so is the quotient of floats."""
    product = (op.mul | op.div)(op.neg(x), op.neg(y))
    yield product
    if not _has_negatives(product.type):
        return decline("floats of 8 or 4 bits need not have a negative", at=product)
    if product.op is op.div and element_kind(product.type.element) != "float":
        return decline("the least integer has no negative", at=product)
    return product.op(x, y)


@rule(shared="keep")
def drop_sign_before_square(x):
    """The square of a negative, and of an absolute value, is that of the number; so is its quotient by itself."""
    signed = (op.neg | op.abs)(x)
    square = (op.mul | op.div)(signed, signed)
    yield square
    if not _has_negatives(x.type):
        return decline("floats of 8 or 4 bits need not have a negative", at=square)
    return square.op(x, x)


@rule
def factor_as_sign(x):
    """X · (-1) is -x, and so is x / (-1) of floats (IEEE 754-2019, 6.3)."""
    product = (op.mul | op.div)(x, -1)
    yield product
    if x.type != product.type:
        return decline("the constant broadcasts the other operand, or the type changes", at=product)
    if not _has_negatives(x.type):
        return decline("floats of 8 or 4 bits need not have a negative", at=product)
    if product.op is op.div and element_kind(x.type.element) != "float":
        return decline("the least integer has no negative", at=product)
    return op.neg(x)


@rule(shared="keep")
def drop_sign_before_even(x):
    """An absolute value, and a sum of such or of squares, is that of the negative."""
    even = (op.abs | op.reduce_l1 | op.reduce_l2 | op.reduce_sum_square)((op.neg | op.abs)(x))
    yield even
    if not _has_negatives(x.type) or str(x.type.element).startswith("u"):
        return decline("its numbers have no negative", at=x)
    return even.op(x, like=even)


_COMMUTATIVE = (
    op.add | op.mul | op.logical_and | op.logical_or | op.logical_xor | op.bitwise_and | op.bitwise_or | op.bitwise_xor
    | op.equal
)  # fmt: skip
"""Ops whose results have the same bits in either order, NaN's aside; of extremes, the zero that comes last counts."""


@rule
def constant_last(c: Constant, x):
    """The constant operand of a sum, a product and the like comes last."""
    result = _COMMUTATIVE(c, x)
    yield result
    if x.is_constant or first_operand(result).operand != c.operand:
        return decline("the constant is the last operand", at=result)
    return result.op(x, c, like=result)


_ASSOCIATIVE = (
    op.maximum | op.minimum | op.add | op.mul | op.logical_and | op.logical_or | op.logical_xor | op.bitwise_and
    | op.bitwise_or | op.bitwise_xor
)  # fmt: skip


def _no_constant(x, c, d):
    """The reason why two constants do not make one for x, or an empty text."""
    if len({value.type.layout for value in (x, c, d)} - {None}) > 1:
        return "their axes are named in two ways"
    shape = np.broadcast_shapes(c.shape, d.shape)
    return "" if math.prod(shape) <= max(c.value.size, d.value.size) else "the constant would be larger than both"


@rule
def merge_constants(x, c: Constant, d: Constant):
    """Two constants in a row are one, where the op is associative: of integers, truth values, bits and extremes."""
    inner = _ASSOCIATIVE(x, c)
    outer = _ASSOCIATIVE(inner, d)
    yield outer
    if inner.op is not outer.op:
        return decline("they are two different ops", at=outer)
    is_float = element_kind(x.type.element) == "float"
    if outer.op in (op.add, op.mul) and is_float:
        return decline("sums and products of floats are rounded", at=outer)
    if is_float and _have_two_zeros(c.value, d.value):
        return decline("of two zeros either may be the extreme", at=outer)
    if is_float and any(np.any(k.value == 0) and first_operand(n).node == k.node for n, k in ((inner, c), (outer, d))):
        return decline("of two zeros the last is the extreme, and the constant would come last", at=outer)
    if reason := _no_constant(x, c, d):
        return decline(reason, at=outer)
    return outer.op(x, outer.op(c, d))


def _have_two_zeros(c, d):
    return bool(np.any((c == 0) & (d == 0) & (np.signbit(c) != np.signbit(d))))


@rule
def fold_sign(x, c: Constant):
    """The negative of a product with a constant is one with its negative."""
    product = (op.mul | op.div)(x, c)
    negative = op.neg(product)
    yield negative
    if not _has_negatives(c.type):
        return decline("floats of 8 or 4 bits need not have a negative", at=c)
    if product.op is op.div and element_kind(c.type.element) != "float":
        return decline("the least integer has no negative", at=product)
    return product.op(x, op.neg(c))


@rule
def fold_sign_before(x, c: Constant):
    """The product of a negative with a constant is that of the number with its negative."""
    product = (op.mul | op.div)(op.neg(x), c)
    yield product
    if not _has_negatives(c.type):
        return decline("floats of 8 or 4 bits need not have a negative", at=c)
    if product.op is op.div and element_kind(c.type.element) != "float":
        return decline("the least integer has no negative", at=product)
    return product.op(x, op.neg(c))


@rule
def merge_integer_offsets(x: Integers, c: Constant, d: Constant):
    """Integers that are added and subtracted in a row are one, for they wrap around."""
    right, left = (op.add | op.sub)(x, c), op.sub(c, x)
    total = (op.add | op.sub)(right | left, d)
    yield total
    if reason := _no_constant(x, c, d):
        return decline(reason, at=total)
    return _moved(x, *_combined(right, c, op.neg(d) if total.op is op.sub else d))


@rule
def merge_integer_differences(x: Integers, c: Constant, d: Constant):
    """So are those of which the rest is subtracted: d - (x + c) is (d - c) - x."""
    right, left = (op.add | op.sub)(x, c), op.sub(c, x)
    difference = op.sub(d, right | left)
    yield difference
    if reason := _no_constant(x, c, d):
        return decline(reason, at=difference)
    sign, offset = _combined(right, c, op.neg(d))
    return _moved(x, -sign, op.neg(offset))


@rule(keeps="rounding")
def merge_offsets(x: Floats, c: Constant, d: Constant):
    """Numbers that are added and subtracted in a row are one, but for rounding."""
    right, left = (op.add | op.sub)(x, c), op.sub(c, x)
    total = (op.add | op.sub)(right | left, d)
    yield total
    if reason := _no_constant(x, c, d):
        return decline(reason, at=total)
    return _moved(x, *_combined(right, c, op.neg(d) if total.op is op.sub else d))


@rule(keeps="rounding")
def merge_differences(x: Floats, c: Constant, d: Constant):
    """So are those of which the rest is subtracted: d - (x + c) is (d - c) - x."""
    right, left = (op.add | op.sub)(x, c), op.sub(c, x)
    difference = op.sub(d, right | left)
    yield difference
    if reason := _no_constant(x, c, d):
        return decline(reason, at=difference)
    sign, offset = _combined(right, c, op.neg(d))
    return _moved(x, -sign, op.neg(offset))


def _combined(right, c, d):
    """The sign of x, and the offset, in (x + c) + d, (x - c) + d or (c - x) + d."""
    with np.errstate(over="ignore", invalid="ignore"):
        return (1 if right else -1), op.sub(d, c) if right and right.op is op.sub else op.add(d, c)


def _moved(x, sign, offset):
    """X plus an offset, or the offset less x."""
    if not np.isfinite(offset.value).all():
        return decline("the offset is not finite", at=x)
    return op.add(x, offset) if sign > 0 else op.sub(offset, x)


@rule(keeps="rounding")
def merge_factors(x: Floats, c: Constant, d: Constant):
    """Factors and divisors in a row are one, but for rounding."""
    right, left = (op.mul | op.div)(x, c), op.div(c, x)
    product = (op.mul | op.div)(right | left, d)
    yield product
    if reason := _no_constant(x, c, d):
        return decline(reason, at=product)
    if not right:
        return _multiplied(None, x, product.op, c, d)
    if right.op is product.op:
        return _multiplied(product.op, x, op.mul, c, d)
    return _multiplied(op.mul, x, op.div, *((c, d) if right.op is op.mul else (d, c)))


@rule(keeps="rounding")
def merge_quotients(x: Floats, c: Constant, d: Constant):
    """So are those by which a constant is divided: d / (x · c) is (d / c) / x."""
    right, left = (op.mul | op.div)(x, c), op.div(c, x)
    quotient = op.div(d, right | left)
    yield quotient
    if reason := _no_constant(x, c, d):
        return decline(reason, at=quotient)
    if right and right.op is op.div:
        return _multiplied(None, x, op.mul, d, c)
    return _multiplied(None if right else op.mul, x, op.div, d, c)


def _multiplied(by, x, combine, c, d):
    """X by a factor that is made of two, or the factor divided by x, if it has the precision of its parts."""
    with np.errstate(all="ignore"):
        factor = combine(c, d)
    if not all(map(_is_normal, (factor.value, c.value, d.value))):
        return decline("a factor is 0, too small, or not finite", at=d)
    return op.div(factor, x) if by is None else by(x, factor)


def _is_normal(array):
    """Whether floats are neither 0 nor infinite, nor so small that they have fewer digits."""
    return bool(np.isfinite(array).all() and (abs(array) >= np.finfo(array.dtype).tiny).all())
