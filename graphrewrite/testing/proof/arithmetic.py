"""numpy's element-wise functions on exact numbers: one entry per ufunc."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import z3

from graphrewrite.testing.proof.choice import choice, magnitude, of_truth
from graphrewrite.testing.proof.holding import bits_of, rounded, truncated
from graphrewrite.testing.proof.number import Number, aligned, width_of
from graphrewrite.testing.proof.refusal import Untranslatable
from graphrewrite.testing.proof.sign import agreed, both, opposite

__all__ = ["ELEMENTWISE", "maximum", "minimum"]

_ONE, _ZERO = Number(1, 1), Number(0, 0)
_MOST_SQUARINGS = 8


def maximum(a: Number, b: Number) -> Number:
    """Return the greater of two numbers.

    Examples
    --------
    >>> maximum(Number.of(-1), Number.of(2)).value
    2
    """
    x, y = aligned(a, b)
    if x.low >= y.high:
        return _with_zero_of(a, b)
    if y.low >= x.high:
        return _with_zero_of(b, a)
    return _narrowed(choice(a.less(b), b, a), x, y, max)


def minimum(a: Number, b: Number) -> Number:
    """Return the lesser of two numbers.

    Examples
    --------
    >>> minimum(Number.of(-1), Number.of(2)).value
    -1
    """
    x, y = aligned(a, b)
    if x.high <= y.low:
        return _with_zero_of(a, b)
    if y.high <= x.low:
        return _with_zero_of(b, a)
    return _narrowed(choice(a.less(b), a, b), x, y, min)


def _with_zero_of(chosen: Number, other: Number) -> Number:
    """Return a number whose sign of zero is open if numpy may return either of two zeros."""
    if chosen.is_infinite or not (chosen.may_be_zero and other.may_be_zero):
        return chosen
    return replace(chosen, negative_zero=agreed(chosen.negative_zero, other.negative_zero))


def _narrowed(number: Number, a: Number, b: Number, bound: Callable[[int, int], int]) -> Number:
    """Return an extreme of two numbers with tighter bounds."""
    if number.is_known:
        return number
    zero_sign = number.negative_zero
    if a.may_be_zero and b.may_be_zero:
        zero_sign = agreed(a.negative_zero, b.negative_zero)
    narrow = Number.of_term(number.term, bound(a.low, b.low), bound(a.high, b.high), number.point, zero_sign)
    return replace(narrow, digits=number.digits)


def _compared(relation: Callable[[Number, Number], Any]) -> Callable[..., Number]:
    def compare(a: Number, b: Number, dtype: Any) -> Number:
        return of_truth(relation(a, b))

    return compare


def _whole(round_: Callable[[Number], Number], sign: Callable[[Number], Any]) -> Callable[[Number], Number]:
    """Return a rounding to whole numbers, whose zeros have a sign (IEEE 754-2019, 5.9)."""

    def apply(a: Number) -> Number:
        if a.is_infinite or a.point <= 0:
            return a
        whole = round_(a)
        return Number(whole.low, whole.high, whole.term, 0, sign(a))

    return apply


_floor = _whole(lambda a: a.shifted_down(a.point), lambda a: both(a.negative_zero, opposite(a.truth)))
_ceil = _whole(lambda a: -((-a.mantissa).shifted_down(a.point)), lambda a: a.is_negative)
_trunc = _whole(truncated, lambda a: a.is_negative)


def _sign(a: Number) -> Number:
    return choice(a.less(_ZERO), -_ONE, of_truth(a.truth))


def _divided(a: Number, b: Number) -> Number:
    """Return a quotient by a power of two, which is exact."""
    if not b.is_known or b.is_infinite or a.is_infinite:
        raise Untranslatable("a quotient is exact only where a power of two divides")
    size = abs(b.low)
    if size == 0 or size & (size - 1):
        raise Untranslatable(f"a quotient by {b.value} is rounded")
    quotient = a.scaled(b.point - (size.bit_length() - 1))
    return -quotient if b.low < 0 else quotient


def floor_divided(a: Number, b: Number) -> Number:
    """Return a quotient of integers, rounded down; by zero it is 0, as in numpy."""
    if max(a.point, b.point) > 0:
        raise Untranslatable("floats are not divided with a remainder here")
    a, b = a.at_point(0), b.at_point(0)
    if b.is_known and b.low > 0 and not b.low & (b.low - 1):
        return a.shifted_down(b.low.bit_length() - 1)
    if a.is_known and b.is_known:
        return Number(a.low // b.low, a.low // b.low) if b.low else _ZERO
    most = max(abs(a.low), abs(a.high))
    width = max(width_of(-most - 1, most), b.width) + 1
    x, y = a.resized(width), b.resized(width)
    quotient, rest = x / y, z3.SRem(x, y)
    lower = z3.If(z3.And(rest != 0, (rest < 0) != (y < 0)), quotient - 1, quotient)
    return choice(b.truth, Number.of_term(lower, -most - 1, most), _ZERO)


def _remainder(a: Number, b: Number) -> Number:
    return choice(b.truth, a - floor_divided(a, b) * b, _ZERO)


def _power(a: Number, b: Number, dtype: np.dtype[Any]) -> Number:
    if dtype.kind == "f" or not b.is_known or not 0 <= b.value <= _MOST_SQUARINGS:
        raise Untranslatable(f"a power is exact for whole numbers and known exponents from 0 to {_MOST_SQUARINGS} only")
    return math.prod([a] * int(b.value), start=_ONE)


def bitwise(kind: str, a: Number, b: Number) -> Number:
    a, b = a.at_point(0), b.at_point(0)
    width = max(a.width, b.width)
    x, y = a.resized(width), b.resized(width)
    term = x & y if kind == "and" else x | y if kind == "or" else x ^ y
    if a.is_known and b.is_known:
        return Number.of(int(z3.simplify(term).as_signed_long()))
    if kind == "and" and b.is_known and b.low > 0 and not b.low & (b.low + 1):
        return a.last_bits(b.low.bit_length())
    if kind == "and" and max(a.low, b.low) >= 0:
        most = min(n.high for n in (a, b) if n.low >= 0)
        return Number.of_term(term, 0, most)
    low = 0 if min(a.low, b.low) >= 0 else -(1 << (width - 1))
    return Number.of_term(term, low, (1 << (width - 1)) - 1)


def _shifted(left: bool) -> Callable[..., Number]:
    """Return a shift as numpy computes it: beyond the bits of the dtype, or below 0, only the sign is left."""

    def shift(a: Number, b: Number, dtype: np.dtype[Any]) -> Number:
        limits, signed = np.iinfo(dtype), dtype.kind == "i"
        if b.is_known:
            by = b.at_point(0).low
            inside = 0 <= by < limits.bits
            if left:
                return a.at_point(0).scaled(by).at_point(0) if inside else _ZERO
            return a.at_point(0).shifted_down(by if inside else limits.bits)
        x, y = bits_of(a, dtype), bits_of(b, dtype)
        if left:
            term = x << y
            return Number.of_term(term if signed else z3.ZeroExt(1, term), int(limits.min), int(limits.max))
        term = x >> y if signed else z3.ZeroExt(1, z3.LShR(x, y))
        return Number.of_term(term, min(a.low, 0), max(a.high, -1 if a.high < 0 else 0))

    return shift


def _scaled(a: Number, b: Number) -> Number:
    if not b.is_known:
        raise Untranslatable("the exponent of ldexp is not known")
    return a.scaled(int(b.value))


def _alone(function: Callable[..., Number]) -> Callable[..., Number]:
    """Return a function that ignores the dtype."""

    def apply(*numbers: Number) -> Number:
        return function(*numbers[:-1])

    return apply


def _signbit(a: Number) -> Number:
    if a.is_negative is None:
        raise Untranslatable("signbit asks for the sign of a zero, which numpy leaves open")
    return of_truth(a.is_negative)


def _invert(a: Number, dtype: np.dtype[Any]) -> Number:
    return of_truth(opposite(a.truth)) if dtype.kind == "b" else -a - 1


_ALONE: Mapping[Any, Callable[..., Number]] = {
    np.add: lambda a, b: a + b,
    np.subtract: lambda a, b: a - b,
    np.multiply: lambda a, b: a * b,
    np.negative: lambda a: -a,
    np.positive: lambda a: a,
    np.absolute: magnitude,
    np.fabs: magnitude,
    np.square: lambda a: a * a,
    np.sign: _sign,
    np.maximum: maximum,
    np.minimum: minimum,
    np.fmax: maximum,
    np.fmin: minimum,
    np.rint: rounded,
    np.floor: _floor,
    np.ceil: _ceil,
    np.trunc: _trunc,
    np.ldexp: _scaled,
    np.true_divide: _divided,
    np.floor_divide: floor_divided,
    np.remainder: _remainder,
    np.bitwise_and: lambda a, b: bitwise("and", a, b),
    np.bitwise_or: lambda a, b: bitwise("or", a, b),
    np.bitwise_xor: lambda a, b: bitwise("xor", a, b),
    np.logical_and: lambda a, b: of_truth(both(a.truth, b.truth)),
    np.logical_or: lambda a, b: of_truth(opposite(both(opposite(a.truth), opposite(b.truth)))),
    np.logical_xor: lambda a, b: bitwise("xor", of_truth(a.truth), of_truth(b.truth)),
    np.logical_not: lambda a: of_truth(opposite(a.truth)),
    np.signbit: _signbit,
    np.isnan: lambda a: _ZERO,
    np.isinf: lambda a: of_truth(a.is_infinite),
    np.isfinite: lambda a: of_truth(not a.is_infinite),
}

ELEMENTWISE: Mapping[Any, Callable[..., Number]] = {
    **{ufunc: _alone(function) for ufunc, function in _ALONE.items()},
    np.less: _compared(lambda a, b: a.less(b)),
    np.greater: _compared(lambda a, b: b.less(a)),
    np.less_equal: _compared(lambda a, b: opposite(b.less(a))),
    np.greater_equal: _compared(lambda a, b: opposite(a.less(b))),
    np.equal: _compared(lambda a, b: a.equals(b)),
    np.not_equal: _compared(lambda a, b: opposite(a.equals(b))),
    np.left_shift: _shifted(left=True),
    np.right_shift: _shifted(left=False),
    np.invert: _invert,
    np.power: _power,
}
"""The exact meaning of each ufunc: a function of the operands and of the dtype in which numpy computes, whose result is
then rounded or wrapped to the dtype of the result."""
