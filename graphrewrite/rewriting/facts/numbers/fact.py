"""The fact of the analysis of numbers: a range, known bits, and which special numbers there may be."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from graphrewrite.types import FixedPoint, Quantised, Type, integer_limits
from graphrewrite.types.small_floats import small_float

__all__ = ["Fact", "both", "either", "integers", "of_array", "of_element", "of_type"]

_INFINITE = math.inf
_GREATEST = {"f16": 65504.0, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38, "f64": 1.7976931348623157e308}


class Fact(NamedTuple):
    """What is known of all entries of a value.

    Parameters
    ----------
    low, high : int or float
        No entry is less or greater, NaN aside: numbers as they are stored, of integers and mantissas exact ones.
    nan : bool
        Whether an entry may be NaN.
    minus_zero : bool
        Whether an entry may be -0.
    whole : bool
        Whether all finite entries are whole numbers.
    zeros, ones : int
        Bits that are 0, and bits that are 1, in every entry, in two's complement: of a number that is not negative
        all upper bits are 0, so that ``zeros`` is negative.
    constant : bool
        Whether the value is the same in every evaluation.

    Examples
    --------
    >>> print(Fact(0, 12, nan=False, minus_zero=False, whole=True, zeros=~12))
    0 to 12, bits ..00??00
    >>> print(Fact(0.0, math.inf))
    at least 0.0, may be NaN, may be -0
    """

    low: int | float = -_INFINITE
    high: int | float = _INFINITE
    nan: bool = True
    minus_zero: bool = True
    whole: bool = False
    zeros: int = 0
    ones: int = 0
    constant: bool = False

    @property
    def range(self) -> str:
        """The range in words: ``[-1, 3]``."""
        return f"[{self.low}, {self.high}]"

    @property
    def is_finite(self) -> bool:
        """Whether there is neither NaN nor an infinity."""
        return not self.nan and self.low > -_INFINITE and self.high < _INFINITE

    @property
    def is_nonnegative(self) -> bool:
        """Whether no entry is below zero; it may be NaN or -0."""
        return self.low >= 0

    def is_within(self, low: float | None, high: float | None) -> bool:
        """Tell whether limits change no entry, either of which may be missing; of two zeros each may make the other."""
        if (low is not None and not low <= self.low) or (high is not None and not self.high <= high):
            return False
        zeros = [math.copysign(1, limit) for limit in (low, high) if limit == 0]
        return not (zeros and self.minus_zero) and not (-1 in zeros and self.may_be_zero)

    @property
    def may_be_zero(self) -> bool:
        """Whether an entry may be 0 or -0."""
        return self.low <= 0 <= self.high and not self.ones

    @property
    def sign(self) -> str:
        """The sign: one of ``"-"``, ``"-0"``, ``"0"``, ``"0+"``, ``"+"``, or ``""`` where it is not known."""
        if self.low > 0 or (self.low >= 0 and self.ones):
            return "+"
        if self.high < 0:
            return "-"
        return "0" if self.low == self.high == 0 else "0+" if self.low >= 0 else "-0" if self.high <= 0 else ""

    @property
    def number(self) -> int | float | None:
        """The number that every entry is; None if there may be several, or two zeros."""
        is_one = self.low == self.high and not self.nan and not (self.minus_zero and self.low == 0)
        return self.low if is_one else None

    def __str__(self) -> str:
        if self.low > -_INFINITE and self.high < _INFINITE:
            words = [f"{self.low} to {self.high}" if self.low != self.high else f"{self.low}"]
        elif self.low > -_INFINITE:
            words = [f"at least {self.low}"]
        elif self.high < _INFINITE:
            words = [f"at most {self.high}"]
        else:
            words = ["any number"]
        if isinstance(self.low, float):
            words += ["whole"] * self.whole + ["may be NaN"] * self.nan + ["may be -0"] * self.minus_zero
        elif (bits := _bits_of(self)) is not None:
            words.append(f"bits {bits}")
        return ", ".join([*words, *["constant"] * self.constant])


def _bits_of(fact: Fact) -> str | None:
    """Return known bits, the lowest last; None where they follow from the range."""
    plain = integers(fact.low, fact.high)
    if (plain.zeros, plain.ones) == (fact.zeros, fact.ones) or not isinstance(fact.low, int):
        return None
    known = fact.zeros | fact.ones
    count = max(fact.low.bit_length(), int(fact.high).bit_length(), 1)
    bits = ["1" if fact.ones >> i & 1 else "0" if known >> i & 1 else "?" for i in reversed(range(count))]
    sign = "1" if fact.ones < 0 else "0" if fact.zeros < 0 else "?"
    return f"..{sign}{sign}{''.join(bits)}"


# ---------------------------------------------------------------------- making facts


def integers(low: Any, high: Any, zeros: int = 0, ones: int = 0, *, constant: bool = False) -> Fact:
    """Return the fact of whole numbers without NaN and -0: what the bits say of the range, and the range of the bits.

    Examples
    --------
    >>> integers(4, 6).ones, integers(0, 100, zeros=~6).high
    (4, 6)
    """
    if low <= high and isinstance(low, int) and isinstance(high, int):
        # Of numbers of one sign, the bits above the highest one in which the limits differ are those of both.
        if (low < 0) == (high < 0):
            above = -1 << (low ^ high).bit_length()
            ones, zeros = ones | (low & above), zeros | (~low & above)
        if not zeros & ones and (zeros < 0 or ones < 0):
            low, high = max(low, ones), min(high, ~zeros)
    return Fact(low, high, False, False, True, zeros, ones, constant)


def of_array(array: np.ndarray, kind: Type) -> Fact:
    """Return what is known of an array of a type.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> print(of_array(np.array([2.0, -1.0]), Tensor("f64", (2,))))
    -1.0 to 2.0, whole, constant
    >>> print(of_array(np.array([8, 24], np.uint8), Tensor("u8", (2,))))
    8 to 24, bits ..00?1000, constant
    """
    unknown = of_type(kind)
    if not array.size or array.dtype.kind not in "fiub":
        return unknown._replace(constant=True)
    if array.size == 1:  # as many are
        return _of_number(array.item(), unknown)
    if array.dtype.kind != "f":
        ones, some = (int(ufunc.reduce(array, axis=None)) for ufunc in (np.bitwise_and, np.bitwise_or))
        return integers(int(array.min()), int(array.max()), ~some, ones, constant=True)
    low, high = float(np.minimum.reduce(array, axis=None)), float(np.maximum.reduce(array, axis=None))
    nan = low != low
    if nan:
        array = array[~np.isnan(array)]
        if not array.size:
            return unknown._replace(constant=True)
        low, high = float(array.min()), float(array.max())
    minus_zero = low <= 0 <= high and not array.all() and bool(np.signbit(array[array == 0]).any())
    # Most arrays with a fraction anywhere have one in their first entry.
    first = float(array.flat[0])
    whole = (first.is_integer() or math.isinf(first)) and bool((np.floor(array) == array).all())
    return Fact(low + 0.0, high + 0.0, nan, minus_zero, whole, constant=True)


def _of_number(number: Any, unknown: Fact) -> Fact:
    """Return what is known of a constant of one number."""
    if not isinstance(number, float):
        return integers(int(number), int(number), ~int(number), int(number), constant=True)
    if number != number:
        return unknown._replace(constant=True)
    minus_zero = number == 0 and math.copysign(1.0, number) < 0
    return Fact(number + 0.0, number + 0.0, False, minus_zero, number.is_integer() or math.isinf(number), constant=True)


def of_type(kind: Type) -> Fact:
    """Return what is known of any value of a type.

    Examples
    --------
    >>> from graphrewrite import Tensor
    >>> print(of_type(Tensor(FixedPoint(False, 4), (2,))), "|", of_type(Tensor("f16", ("N",))))
    0 to 15 | any number, may be NaN, may be -0
    """
    return of_element(getattr(kind, "element", None))


@cache
def of_element(element: Any) -> Fact:
    """Return what is known of any number of an element type; of other values nothing."""
    if isinstance(element, FixedPoint | Quantised):
        return integers(element.minimum, element.maximum)
    if element == "bool":
        return integers(0, 1)
    if isinstance(element, str) and element in _GREATEST:
        return Fact()
    small = small_float(element)
    if small is not None:
        greatest = _INFINITE if small.infinite else small.greatest
        low = -greatest if small.signed else small.least
        return Fact(low, greatest, small.nan, small.negative_zero)
    limits = integer_limits(element) if isinstance(element, str) and element[0] in "iu" else None
    return Fact() if limits is None else integers(*limits)


# ---------------------------------------------------------------------- putting facts together


def either(a: Fact, b: Fact) -> Fact:
    """Return what is known of a value of which each entry is of one of two.

    Examples
    --------
    >>> print(either(integers(1, 2), integers(5, 5)))
    1 to 5
    """
    return Fact(
        min(a.low, b.low),
        max(a.high, b.high),
        a.nan or b.nan,
        a.minus_zero or b.minus_zero,
        a.whole and b.whole,
        a.zeros & b.zeros,
        a.ones & b.ones,
        a.constant and b.constant,
    )


def both(a: Fact, b: Fact) -> Fact:
    """Return what follows from two facts of one value; the second one where they contradict each other.

    Examples
    --------
    >>> print(both(Fact(low=3), integers(-8, 7)))
    3 to 7
    """
    low, high = max(a.low, b.low), min(a.high, b.high)
    zeros, ones = a.zeros | b.zeros, a.ones | b.ones
    if low > high or zeros & ones:
        return b
    constant = a.constant or b.constant
    if isinstance(b.low, int) and isinstance(b.high, int):
        return integers(math.ceil(low), math.floor(high), zeros, ones, constant=constant)
    minus_zero = a.minus_zero and b.minus_zero and low <= 0 <= high
    return Fact(float(low), float(high), a.nan and b.nan, minus_zero, a.whole or b.whole, constant=constant)


def greatest_finite(element: Any) -> float:
    """Return the greatest finite number of a float type."""
    small = small_float(element)
    return _GREATEST[element] if small is None else small.greatest
