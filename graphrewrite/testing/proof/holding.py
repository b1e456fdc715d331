"""Exact numbers as a numpy dtype stores them: integers wrap around, floats are rounded or must be exact."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import z3

from graphrewrite.testing.proof.choice import choice, of_truth
from graphrewrite.testing.proof.number import Number
from graphrewrite.testing.proof.refusal import RoundedSum, Undefined, Untranslatable
from graphrewrite.testing.proof.rounding import nearest_float

__all__ = ["bits_of", "check_sums", "converted", "held", "rounded", "truncated"]

_WIDEST = 96
"""Bits of a number that is rounded to a float."""


def held(number: Number, dtype: np.dtype[Any]) -> Number:
    """Return an exact result as an array of a dtype stores it.

    Integers wrap around in two's complement, as numpy's do. A float is the nearest one, half to even (IEEE 754-2019,
    4.3).

    Raises
    ------
    Untranslatable
        If a float might be infinite or subnormal, or needs too many bits here.

    Examples
    --------
    >>> held(Number.of(200), np.dtype(np.int8)).value
    -56
    """
    if dtype.kind == "f":
        return _float(number, dtype)
    if dtype.kind == "b":
        return of_truth(number.truth)
    if dtype.kind not in "iu":
        raise Untranslatable(f"{dtype} is no dtype of numbers")
    if number.is_infinite or number.point > 0:
        raise Untranslatable(f"{dtype} holds whole numbers only")
    whole = number.at_point(0).unsigned
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    if low <= whole.low and whole.high <= high:
        return whole
    if whole.is_known:
        wrapped = (whole.low - low) % (high - low + 1) + low
        return Number(wrapped, wrapped)
    bits = whole.resized(limits.bits)
    return Number.of_term(bits if low < 0 else z3.ZeroExt(1, bits), low, high)


def _float(number: Number, dtype: np.dtype[Any]) -> Number:
    if number.is_infinite:
        return number
    limits = np.finfo(dtype)
    digits = limits.nmant + 1
    if number.is_known and number.low == 0:
        return number
    if number.is_known:
        with np.errstate(over="ignore", under="ignore"):
            return Number.of(_nearest(number, dtype))
    if number.point > digits - 1 - int(limits.minexp) or number.greatest > Fraction(float(limits.max)) / 2:
        raise Untranslatable(f"a number here may be too great or too small for {dtype}")
    if number.significant <= digits:
        return number
    if number.width > _WIDEST:
        raise Untranslatable(f"a number here needs {number.width} bits, more than the limit of {_WIDEST}")
    return nearest_float(number, digits)


def rounded(number: Number) -> Number:
    """Return the nearest whole number, half to even (IEEE 754-2019, 4.3.1).

    Examples
    --------
    >>> rounded(Number.of(2.5)).value, rounded(Number.of(3.5)).value, rounded(Number.of(-0.75)).value
    (2, 4, -1)
    """
    if number.is_infinite or number.point <= 0:
        return number
    if number.is_known:
        nearest = round(Fraction(number.value))
        return Number(nearest, nearest, None, 0, number.is_negative)
    floor = number.shifted_down(number.point)
    half = Number((1 << (number.point - 1)) - 1, (1 << (number.point - 1)) - 1)
    whole = (number.mantissa + (half + floor.last_bits(1))).shifted_down(number.point)
    return Number(whole.low, whole.high, whole.term, 0, number.is_negative)


def _nearest(number: Number, dtype: np.dtype[Any]) -> Any:
    exact = Fraction(number.value)
    wide = float(exact) if abs(exact) < 2.0**1000 else math.copysign(math.inf, exact)
    if dtype.itemsize < 8 and Fraction(wide) != exact:
        raise Untranslatable(f"{dtype} would round {exact} twice")
    return dtype.type(wide)


def check_sums(sizes: Fraction, point: int, dtype: np.dtype[Any]) -> None:
    """Raise unless a float holds every partial sum, in any order of the terms.

    Parameters
    ----------
    point : int
        Bits behind the binary point of the finest term.
    """
    if dtype.kind == "f" and sizes * Fraction(2) ** point > 1 << (np.finfo(dtype).nmant + 1):
        bits = math.ceil(sizes * Fraction(2) ** point).bit_length()
        raise RoundedSum(f"{dtype} holds {np.finfo(dtype).nmant + 1} bits exactly, and a sum here may need {bits}")


def converted(number: Number, source: np.dtype[Any], target: np.dtype[Any]) -> Number:
    """Return the result of ``astype`` for a number.

    Raises
    ------
    Untranslatable
        If numpy leaves the result open: a float beyond an integer type.
    """
    number.check()
    if source.kind == "f" and target.kind in "iu":
        if number.is_infinite:
            raise Untranslatable(f"an infinity has no {target}")
        whole = truncated(number)
        limits = np.iinfo(target)
        if whole.low < limits.min or whole.high > limits.max:
            raise Undefined(f"a float here may lie beyond {target}, whose conversion numpy leaves open")
        return whole
    return held(number, target)


def truncated(number: Number) -> Number:
    """Return a number rounded towards zero."""
    if number.is_infinite:
        return number
    if number.point <= 0:
        return number.at_point(0).unsigned
    down, up = number.shifted_down(number.point), -((-number.mantissa).shifted_down(number.point))
    return choice(number.less(Number(0, 0)), up, down).unsigned


def bits_of(number: Number, dtype: np.dtype[Any]) -> Any:
    """Return the bits of an integer in the width of its dtype.

    Parameters
    ----------
    number : Number
        Held by the dtype.
    """
    return number.at_point(0).resized(np.iinfo(dtype).bits)
