"""Known bits of whole numbers in two's complement: from those of the operands to those of the result.

As in `ranges`, plain functions, which z3 runs on symbols. Bits are pairs: those that are 0, and those that are 1.
"""

from __future__ import annotations

from typing import Any

__all__ = ["difference", "negated", "product", "shifted_left", "shifted_right", "sum_of", "wrapped"]

Bits = tuple[Any, Any]


def conjunction(x: Bits, y: Bits) -> Bits:
    """Return the known bits of ``a & b``.

    Examples
    --------
    >>> conjunction((0b100, 0b001), (0b001, 0b010))
    (5, 0)
    """
    return x[0] | y[0], x[1] & y[1]


def disjunction(x: Bits, y: Bits) -> Bits:
    """Return the known bits of ``a | b``.

    Examples
    --------
    >>> disjunction((0b100, 0b001), (0b101, 0b010))
    (4, 3)
    """
    return x[0] & y[0], x[1] | y[1]


def exclusion(x: Bits, y: Bits) -> Bits:
    """Return the known bits of ``a ^ b``.

    Examples
    --------
    >>> exclusion((0b100, 0b001), (0b101, 0b010))
    (4, 1)
    """
    return (x[0] & y[0]) | (x[1] & y[1]), (x[0] & y[1]) | (x[1] & y[0])


def negated(x: Bits) -> Bits:
    """Return the known bits of ``~a``.

    Examples
    --------
    >>> negated((0b100, 0b001))
    (1, 4)
    """
    return x[1], x[0]


def sum_of(x: Bits, y: Bits, carry: int = 0) -> Bits:
    """Return the known bits of ``a + b + carry``: of the lowest ones, as far as both are known without a gap.

    Where the sum can be no more and no less than two numbers that agree in a bit and in its carry, that is known, too.

    Examples
    --------
    >>> sum_of((0b0011, 0b0100), (0b0001, 0b0110))
    (5, 2)
    """
    # The least and the greatest sum that the unknown bits allow; where both carries agree, so do all between.
    least, most = x[1] + y[1] + carry, ~x[0] + ~y[0] + carry
    carries_0 = ~(most ^ x[0] ^ y[0])
    carries_1 = least ^ x[1] ^ y[1]
    known = (x[0] | x[1]) & (y[0] | y[1]) & (carries_0 | carries_1)
    return ~most & known, least & known


def difference(x: Bits, y: Bits) -> Bits:
    """Return the known bits of ``a - b``, which is ``a + ~b + 1``.

    Examples
    --------
    >>> difference((~0b1000, 0b1000), (~0b0001, 0b0001))
    (-8, 7)
    """
    return sum_of(x, negated(y), 1)


def product(x: Bits, y: Bits) -> Bits:
    """Return the known bits of ``a * b``: as many zeros at the end as those of both.

    Examples
    --------
    >>> product((0b0011, 0b0100), (0b0001, 0b0000))
    (7, 0)
    """
    return lowest_zeros(x) * lowest_zeros(y) - 1, 0


def lowest_zeros(x: Bits) -> int:
    """Return the power of two that surely divides a number.

    Examples
    --------
    >>> lowest_zeros((0b1011, 0)), lowest_zeros((-1, 0))
    (4, 18446744073709551616)
    """
    lowest = ~x[0] & (x[0] + 1)
    return lowest or 1 << 64


def shifted_left(x: Bits, count: int) -> Bits:
    """Return the known bits of ``a << count``.

    Examples
    --------
    >>> shifted_left((0b0010, 0b0001), 2)
    (11, 4)
    """
    return (x[0] << count) | ((1 << count) - 1), x[1] << count


def shifted_right(x: Bits, count: int) -> Bits:
    """Return the known bits of ``a >> count``.

    Examples
    --------
    >>> shifted_right((0b0110, 0b0001), 1)
    (3, 0)
    """
    return x[0] >> count, x[1] >> count


def wrapped(x: Bits, width: int, signed: bool) -> Bits:
    """Return the known bits of a number of which only the lowest bits are kept.

    Examples
    --------
    >>> wrapped((0b0011, 0b1_0000_0100), 8, signed=False)
    (-253, 4)
    """
    kept = (1 << width) - 1
    zeros, ones = x[0] & kept, x[1] & kept
    if not signed:
        return zeros | ~kept, ones
    top = 1 << (width - 1)
    return (zeros | ~kept if zeros & top else zeros), (ones | ~kept if ones & top else ones)
