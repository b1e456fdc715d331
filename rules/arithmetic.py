"""Sums, products and choices in a row: signs that meet, and constants that are computed once."""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.operands import first_operand, is_first
from graphrewrite.types import SMALL_FLOATS, element_kind

__all__ = [
    "Floats",
    "Integers",
    "constant_last",
    "drop_added_and_subtracted",
    "drop_minus_zero",
    "drop_subtracted_and_added",
    "drop_subtracted_from_itself",
    "merge_constants",
    "merge_differences",
    "merge_factors",
    "merge_integer_differences",
    "merge_integer_offsets",
    "merge_offsets",
    "merge_quotients",
    "merge_scale_of_line",
]


Integers = Annotated[Any, rule.where(lambda x: element_kind(x.type.element) == "integer", "it holds integers")]
Floats = Annotated[
    Any,
    rule.where(
        lambda x: element_kind(x.type.element) == "float" and x.type.element not in SMALL_FLOATS,
        "it holds floats of 16 bits or more",
    ),
]


@rule
def drop_minus_zero(x):
    """X + -0 is x, for every x, -0 and NaN among them (IEEE 754-2019, 6.3)."""
    total = op.add(x, -0.0)
    yield total
    if x.type != total.type:
        return decline("the constant broadcasts the other operand", at=total)
    return x


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
    if x.is_constant or not is_first(c, result):
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


@rule(shared="keep")
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


@rule(shared="keep")
def merge_integer_offsets(x: Integers, c: Constant, d: Constant):
    """Integers that are added and subtracted in a row are one, for they wrap around."""
    right, left = (op.add | op.sub)(x, c), op.sub(c, x)
    total = (op.add | op.sub)(right | left, d)
    yield total
    if reason := _no_constant(x, c, d):
        return decline(reason, at=total)
    return _moved(x, *_combined(right, c, op.neg(d) if total.op is op.sub else d))


@rule(shared="keep")
def merge_integer_differences(x: Integers, c: Constant, d: Constant):
    """So are those of which the rest is subtracted: d - (x + c) is (d - c) - x."""
    right, left = (op.add | op.sub)(x, c), op.sub(c, x)
    difference = op.sub(d, right | left)
    yield difference
    if reason := _no_constant(x, c, d):
        return decline(reason, at=difference)
    sign, offset = _combined(right, c, op.neg(d))
    return _moved(x, -sign, op.neg(offset))


@rule(shared="keep")
def drop_added_and_subtracted(x: Integers, y):
    """Integers from which others are taken away again that they were added to are these, for they wrap around."""
    inner = (op.add | op.sub)(x, y)
    rest = op.sub(inner, x)
    yield rest
    if y.type != rest.type:
        return decline("the other operand broadcasts it", at=rest)
    return y if inner.op is op.add else op.neg(y)


@rule(shared="keep")
def drop_subtracted_and_added(x: Integers, y):
    """What is subtracted from integers and added again leaves them as they were."""
    back = op.add(op.sub(x, y), y)
    yield back
    return x if x.type == back.type else decline("it broadcasts them", at=back)


@rule(shared="keep")
def drop_subtracted_from_itself(x: Integers, y):
    """Integers less what is their sum with others are these, negated; and so their difference."""
    inner = (op.add | op.sub)(x, y)
    rest = op.sub(x, inner)
    yield rest
    if y.type != rest.type:
        return decline("the other operand broadcasts it", at=rest)
    return op.neg(y) if inner.op is op.add else y


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


@rule(keeps="rounding")
def merge_scale_of_line(x: Floats, a: Constant, b: Constant, c: Constant):
    """A line that is scaled is another line: (x · a + b) · c is x · (a · c) + b · c, but for rounding."""
    scaled = op.mul(op.add(op.mul(x, a), b), c)
    yield scaled
    if reason := _no_constant(x, a, c) or _no_constant(x, b, c):
        return decline(reason, at=scaled)
    with np.errstate(all="ignore"):
        factor, offset = a * c, b * c
    if not all(map(_is_normal, (factor.value, offset.value, a.value, b.value, c.value))):
        return decline("a product of its constants is 0, too small, or not finite", at=scaled)
    return op.add(op.mul(x, factor), offset)


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
