"""Ranges of whole numbers: from those of the operands to that of the exact result.

Plain functions of limits, which compare and compute only, so that `tests/rewriting/facts/test_proofs.py` runs them on
symbols: z3 proves for all limits and all numbers within that the result is within, too. Of floats, the limits are
rounded afterwards.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "absolute",
    "difference",
    "greater",
    "lesser",
    "limited",
    "negative",
    "product",
    "quotient",
    "remainder",
    "rounded_shift",
    "shifted_right",
    "square",
    "sum_of",
]

Range = tuple[Any, Any]


def sum_of(x: Range, y: Range) -> Range:
    """Return the range of a sum.

    Examples
    --------
    >>> sum_of((1, 2), (-5, 5))
    (-4, 7)
    """
    return x[0] + y[0], x[1] + y[1]


def difference(x: Range, y: Range) -> Range:
    """Return the range of a difference.

    Examples
    --------
    >>> difference((1, 2), (-5, 5))
    (-4, 7)
    """
    return x[0] - y[1], x[1] - y[0]


def product(x: Range, y: Range) -> Range:
    """Return the range of a product.

    Examples
    --------
    >>> product((-1, 2), (-5, 5))
    (-10, 10)
    """
    corners = [_times(a, b) for a in x for b in y]
    return min(corners), max(corners)


def _times(a: Any, b: Any) -> Any:
    """Return a product; of 0 and infinity 0, which finite numbers beside the infinity give."""
    found = a * b
    return found if found == found else 0


def square(x: Range) -> Range:
    """Return the range of a number times itself.

    Examples
    --------
    >>> square((-1, 2)), square((-3, -2))
    ((0, 4), (4, 9))
    """
    low, high = absolute(x)
    return low * low, high * high


def negative(x: Range) -> Range:
    """Return the range of a negation.

    Examples
    --------
    >>> negative((-1, 2))
    (-2, 1)
    """
    return -x[1], -x[0]


def absolute(x: Range) -> Range:
    """Return the range of an absolute value.

    Examples
    --------
    >>> absolute((-3, 2)), absolute((-3, -2))
    ((0, 3), (2, 3))
    """
    low, high = x
    if low >= 0:
        return x
    if high <= 0:
        return -high, -low
    return 0, max(-low, high)


def greater(x: Range, y: Range) -> Range:
    """Return the range of the greater of two numbers.

    Examples
    --------
    >>> greater((-3, 2), (0, 1))
    (0, 2)
    """
    return max(x[0], y[0]), max(x[1], y[1])


def lesser(x: Range, y: Range) -> Range:
    """Return the range of the lesser of two numbers.

    Examples
    --------
    >>> lesser((-3, 2), (0, 1))
    (-3, 1)
    """
    return min(x[0], y[0]), min(x[1], y[1])


def limited(x: Range, low: Any, high: Any) -> Range:
    """Return the range of a number that is at least ``low``, and then at most ``high``.

    Examples
    --------
    >>> limited((-3, 2), 0, 1)
    (0, 1)
    """
    return min(max(x[0], low), high), min(max(x[1], low), high)


def quotient(x: Range, y: Range) -> Range:
    """Return the range of a quotient that is rounded towards zero, and 0 where the divisor is.

    Examples
    --------
    >>> quotient((-7, 20), (2, 3)), quotient((-7, 20), (-3, 3))
    ((-3, 10), (-20, 20))
    """
    low, high = y
    if low <= 0 and high >= 0:  # of all divisors, 1 and -1 give the greatest quotients
        most = max(absolute(x))
        return -most, most
    corners = [_towards_zero(a, b) for a in x for b in y]
    # Between limits of two signs lies 0, whose quotient is 0.
    return min(corners), max(corners)


def _towards_zero(a: Any, b: Any) -> Any:
    if (a >= 0) == (b > 0):
        return abs(a) // abs(b)
    return -(abs(a) // abs(b))


def remainder(x: Range, y: Range) -> Range:
    """Return the range of a remainder with the sign of the divisor, 0 where the divisor is.

    Examples
    --------
    >>> remainder((-7, 20), (1, 5)), remainder((0, 3), (5, 8)), remainder((-7, 20), (-4, 5))
    ((0, 4), (0, 3), (-3, 4))
    """
    low, high = y
    if low > 0 and x[0] >= 0 and x[1] < low:
        return x
    return min(low + 1, 0), max(high - 1, 0)


def shifted_right(x: Range, y: Range) -> Range:
    """Return the range of ``floor(a / 2**b)``; the numbers of bits are not negative.

    Examples
    --------
    >>> shifted_right((-7, 20), (1, 2))
    (-4, 10)
    """
    corners = [a >> b for a in x for b in y]
    return min(corners), max(corners)


def rounded_shift(x: Range, bits: int) -> Range:
    """Return the range of ``a / 2**bits``, rounded half to even; negative bits multiply.

    Examples
    --------
    >>> rounded_shift((-7, 22), 2), rounded_shift((-7, 22), -1)
    ((-2, 6), (-14, 44))
    """
    return _rounded(x[0], bits), _rounded(x[1], bits)


def _rounded(number: Any, bits: int) -> Any:
    if bits <= 0:
        return number * (1 << -bits)
    whole = number >> bits
    rest, half = number - whole * (1 << bits), 1 << (bits - 1)
    if rest > half or (rest == half and whole & 1 == 1):
        return whole + 1
    return whole
