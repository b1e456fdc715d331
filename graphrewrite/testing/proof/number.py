"""Unknown numbers: exact dyadic fractions, as bit-vectors with a binary point and bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import z3

from graphrewrite.testing.proof.refusal import Untranslatable
from graphrewrite.testing.proof.sign import both, either, opposite

__all__ = [
    "Number",
    "aligned",
    "stored_bits",
    "unknown_float",
    "unknown_number",
    "width_of",
]

_STORED = {"bf16": 16}
"""Types whose dtype has more bits than they have: theirs are the first ones."""


def width_of(low: int, high: int) -> int:
    """Return the bits that a signed bit-vector needs for all whole numbers from one to another.

    Examples
    --------
    >>> width_of(-8, 7), width_of(0, 7), width_of(0, 8), width_of(0, 0)
    (4, 4, 5, 1)
    """
    return max((low if low >= 0 else ~low).bit_length(), (high if high >= 0 else ~high).bit_length()) + 1


@dataclass(frozen=True, eq=False)
class Number:
    """A mantissa times ``2**-point``, the mantissa being a z3 bit-vector in two's complement, just as wide as needed.

    Sums, products and shifts are those of whole numbers, without a width: a result gets as many bits as its bounds
    need. Rounding and wrapping to a numpy dtype are in `graphrewrite.testing.proof.holding`.

    Attributes
    ----------
    low, high : int
        Bounds of the mantissa; equal for a known number. Those of an infinity are floats.
    term : z3.BitVecRef or None
        The mantissa, in `width_of(low, high)` bits; None for a known number.
    point : int
        Bits right of the binary point.
    negative_zero : bool, z3.BoolRef or None
        Whether a zero is the float -0.0; None if numpy leaves it open.
    opaque : str
        The type of a float that may have any bits, which are the term: such a number may be moved, but not computed
        with.
    condition : z3.BoolRef or None
        The condition under which a truth value is 1, else 0.
    digits : int
        Maximum number of significant digits of a rounded float; 0 if it is not rounded.

    Examples
    --------
    >>> from graphrewrite.testing.proof.number import unknown_number
    >>> x = unknown_number("x", -8, 7)
    >>> y = x * Number.of(0.75) + x
    >>> y.low, y.high, y.point
    (-56, 49, 2)
    """

    low: Any
    high: Any
    term: Any = None
    point: int = 0
    negative_zero: Any = False
    opaque: str = ""
    condition: Any = None
    digits: int = 0

    @classmethod
    def of(cls, value: Any) -> Number:
        """Return a known number."""
        if isinstance(value, Number):
            return value
        if isinstance(own := getattr(value, "number", None), Number):  # a whole number that is not known
            return own
        plain = value.item() if hasattr(value, "item") else value
        if isinstance(plain, int):
            return cls(int(plain), int(plain))
        if not isinstance(plain, float):
            raise Untranslatable(f"{type(value).__name__} is no number of a fixed-point format")
        if math.isnan(plain):
            raise Untranslatable("NaN is no exact number")
        if math.isinf(plain):
            return cls(plain, plain)
        numerator, denominator = plain.as_integer_ratio()
        point = denominator.bit_length() - 1
        if numerator and not point:
            point = -_zeros(numerator)
            numerator >>= -point
        return cls(numerator, numerator, None, point, math.copysign(1.0, plain) < 0)

    def check(self) -> None:
        """Raise unless it can be computed with."""
        if self.opaque:
            raise Untranslatable(f"it computes with any numbers of {self.opaque}, which rounds")

    @property
    def is_known(self) -> bool:
        """Whether it is one number."""
        return self.term is None

    @property
    def is_infinite(self) -> bool:
        """Whether it is an infinity of the floats."""
        return isinstance(self.low, float)

    @property
    def may_be_zero(self) -> bool:
        """Whether zero lies between its bounds."""
        return bool(self.low <= 0 <= self.high)

    @property
    def value(self) -> int | float | Fraction:
        """The value of a known number."""
        if self.is_infinite:
            return float(self.low)
        exact = Fraction(self.low) / Fraction(2) ** self.point
        return int(exact) if exact.denominator == 1 else exact

    @property
    def greatest(self) -> Fraction:
        """The greatest absolute value that it may have."""
        self.check()
        if self.is_infinite:
            raise Untranslatable("it computes with an infinity")
        return Fraction(max(abs(self.low), abs(self.high))) / Fraction(2) ** self.point

    @property
    def significant(self) -> int:
        """Maximum number of digits from the first to the last that is not 0."""
        if self.is_known:
            size = abs(int(self.low))
            return (size >> _zeros(size)).bit_length()
        most = int(max(abs(self.low), abs(self.high) - 1)).bit_length()
        return min(most, self.digits) if self.digits else most

    @cached_property
    def width(self) -> int:
        """Bits of the term."""
        if self.is_infinite:
            raise Untranslatable("it computes with an infinity")
        return width_of(self.low, self.high)

    # ------------------------------------------------------------------ forms

    def resized(self, width: int) -> Any:
        """Return the mantissa as a bit-vector of another width: with more bits of its sign, or the lower bits only."""
        if self.is_infinite:
            raise Untranslatable("it computes with an infinity")
        if self.term is None:
            return z3.BitVecVal(self.low, width)
        size = self.width
        if width == size:
            return self.term  # an extension by 0 bits would be another term, and hide that both are equal
        return z3.SignExt(width - size, self.term) if width > size else z3.Extract(width - 1, 0, self.term)

    @classmethod
    def of_term(cls, term: Any, low: int, high: int, point: int = 0, negative_zero: Any = False) -> Number:
        """Return a number whose mantissa a term gives, perhaps with more bits than its bounds need."""
        if low == high:
            return cls(low, high, None, point, negative_zero)
        width = width_of(low, high)
        size = term.size()
        if size > width:
            term = z3.Extract(width - 1, 0, term)
        elif size < width:
            term = z3.SignExt(width - size, term)
        return cls(low, high, term, point, negative_zero)

    def at_point(self, point: int) -> Number:
        """Return the same number with as many or more bits right of the binary point."""
        if self.is_infinite or point == self.point:
            return self
        by = point - self.point
        low, high = self.low << by, self.high << by
        if self.term is None:
            return Number(low, high, None, point, self.negative_zero)
        return replace(
            self, low=low, high=high, term=z3.Concat(self.term, z3.BitVecVal(0, by)), point=point, condition=None
        )

    def scaled(self, exponent: int) -> Number:
        """Return it times ``2**exponent``."""
        if self.is_infinite:
            return self
        return replace(self, point=self.point - exponent)

    def shifted_down(self, by: int) -> Number:
        """Return the mantissa divided by ``2**by`` and rounded down, as a whole number; ``by`` is at least 0."""
        low, high = self.low >> by, self.high >> by
        if low == high:
            return Number(low, high)
        return Number.of_term(z3.Extract(self.width - 1, min(by, self.width - 1), self.term), low, high)

    def last_bits(self, count: int) -> Number:
        """Return the last bits of the mantissa, which are none of its sign's, as a number that is not negative."""
        if self.is_known:
            return Number(self.low % (1 << count), self.low % (1 << count))
        last = z3.Extract(count - 1, 0, self.resized(max(count, self.width)))
        return Number(0, (1 << count) - 1, z3.ZeroExt(1, last))

    @property
    def mantissa(self) -> Number:
        """The mantissa alone."""
        return Number(self.low, self.high, self.term)

    # ------------------------------------------------------------------ arithmetic

    def __add__(self, other: Any) -> Number:
        summand = Number.of(other)
        zero_sign = both(self.negative_zero, summand.negative_zero)
        # A known zero leaves the term as it is, so that x + 0 and x are one term to the solver.
        for zero, rest in ((self, summand), (summand, self)):
            if zero.is_known and zero.low == 0:
                rest.check()
                return replace(rest, negative_zero=zero_sign, condition=None)
        a, b = aligned(self, summand)
        if a.is_infinite or b.is_infinite:
            raise Untranslatable("it computes with an infinity")
        low, high, point = a.low + b.low, a.high + b.high, a.point
        if a.is_known and b.is_known:
            return Number(low, high, None, point)
        if zero_sign is not False:  # opposite numbers that are not zero make +0.0
            zero_sign = both(zero_sign, both(opposite(a.truth), opposite(b.truth)))
        width = width_of(low, high)
        return Number.of_term(a.resized(width) + b.resized(width), low, high, point, zero_sign)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Number:
        return self + (-Number.of(other))

    def __rsub__(self, other: Any) -> Number:
        return Number.of(other) + (-self)

    def __neg__(self) -> Number:
        if self.is_infinite or self.is_known:
            return Number(-self.low, -self.low, None, self.point, opposite(self.negative_zero))
        low, high = -self.high, -self.low
        width = max(width_of(low, high), self.width)  # -(-128) needs a bit more than -128, -(128) one less
        negated = Number.of_term(-self.resized(width), low, high, self.point, opposite(self.negative_zero))
        return replace(negated, digits=self.digits)

    def __mul__(self, other: Any) -> Number:
        a, b = (self, Number.of(other)) if not self.is_known else (Number.of(other), self)  # a known factor is b
        a.check()
        b.check()
        if a.is_infinite or b.is_infinite:
            raise Untranslatable("it computes with an infinity")
        if b.is_known and b.low:  # powers of two aside, so that 3 * x / 4 and 6 * x / 8 are one term
            b = replace(b, low=b.low >> _zeros(b.low), high=b.low >> _zeros(b.low), point=b.point - _zeros(b.low))
        ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high, point = min(ends), max(ends), a.point + b.point
        zero_sign = either(a.negative_zero if not b.may_be_zero else a.is_negative, b.is_negative)
        if a.is_known:  # then both are
            return Number(low, high, None, point, zero_sign)
        if b.is_known and b.low == 1:
            return Number(a.low, a.high, a.term, point, zero_sign)
        width = width_of(low, high)
        return Number.of_term(a.resized(width) * b.resized(width), low, high, point, zero_sign)

    __rmul__ = __mul__

    @property
    def unsigned(self) -> Number:
        """The same number, whose zero is not negative."""
        return replace(self, negative_zero=False)

    # ------------------------------------------------------------------ comparisons

    @property
    def is_negative(self) -> Any:
        """Whether it has a minus sign, also as a zero: True, False, a condition, or None if numpy leaves it open."""
        below = self.mantissa.less(Number(0, 0))
        if not self.may_be_zero:
            return below
        if self.is_known:
            return self.negative_zero
        return opposite(both(opposite(below), opposite(both(self.negative_zero, opposite(self.truth)))))

    def less(self, other: Number) -> Any:
        """Return whether it is less than another number: True, False, or a condition."""
        a, b = aligned(self, other)
        if a.high < b.low:
            return True
        if a.low >= b.high:
            return False
        width = max(a.width, b.width)
        return a.resized(width) < b.resized(width)

    def equals(self, other: Number) -> Any:
        """Return whether it equals another number: True, False, or a condition; zeros of both signs are equal."""
        a, b = aligned(self, other)
        if a.high < b.low or b.high < a.low:
            return False
        if a.is_known and b.is_known:
            return True
        width = max(a.width, b.width)
        left, right = a.resized(width), b.resized(width)
        return True if left.eq(right) else left == right

    @property
    def truth(self) -> Any:
        """Whether it is not zero: True, False, or a condition."""
        if self.condition is not None:
            return self.condition
        is_zero = self.equals(Number.of(0))
        return not is_zero if isinstance(is_zero, bool) else z3.Not(is_zero)


def aligned(a: Number, b: Number) -> tuple[Number, Number]:
    """Return two numbers with the same binary point, which infinities do not have.

    Examples
    --------
    >>> [n.low for n in aligned(Number.of(1), Number.of(0.25))]
    [4, 1]
    """
    a.check()
    b.check()
    if a.is_infinite or b.is_infinite:
        return a, b
    point = max(a.point, b.point)
    return a.at_point(point), b.at_point(point)


def _zeros(mantissa: int) -> int:
    """Return the number of trailing zero bits."""
    return (mantissa & -mantissa).bit_length() - 1 if mantissa else 0


def unknown_number(name: str, low: int, high: int) -> Number:
    """Return an unknown whole number.

    Parameters
    ----------
    low, high : int
        Its bounds, for which a constraint is needed unless all values of its bits lie within them.

    Examples
    --------
    >>> unknown_number("x", 0, 15).term
    ZeroExt(1, x)
    """
    if low == high:
        return Number(low, high)
    width = width_of(low, high)
    if low == 0 and high == (1 << (width - 1)) - 1:
        return Number(low, high, z3.ZeroExt(1, z3.BitVec(name, width - 1)))
    return Number(low, high, z3.BitVec(name, width))


def stored_bits(element: str, width: int) -> int:
    """Return how many of the bits of its dtype a type of floats has."""
    return _STORED.get(element, width)


def unknown_float(name: str, width: int, element: str) -> Number:
    """Return any float, NaN and infinities included, as so many bits: it can be moved, but not computed with.

    Examples
    --------
    >>> unknown_float("x", 32, "f32").opaque
    'f32'
    """
    bits = z3.BitVec(name, stored_bits(element, width))
    term = bits if bits.size() == width else z3.Concat(bits, z3.BitVecVal(0, width - bits.size()))
    return Number(0, 0, term, opaque=element)
