"""Foldings of one matrix product over cycles."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Folding", "divisors", "foldings"]


class Folding(NamedTuple):
    """One way to compute a matrix product.

    Attributes
    ----------
    lanes_in, lanes_out : int
        Columns and rows that are worked on in one cycle.
    multipliers : int
        Products in one cycle.
    steps : int
        Cycles of one product.
    """

    lanes_in: int
    lanes_out: int
    multipliers: int
    steps: int


def divisors(number: int) -> list[int]:
    """Return the divisors of a number, ascending.

    Examples
    --------
    >>> divisors(12)
    [1, 2, 3, 4, 6, 12]
    """
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    return sorted({*small, *(number // d for d in small)})


def foldings(outputs: int, inputs: int, groups: int = 1, widest: int | None = None) -> list[Folding]:
    """Return the foldings of a matrix product, by number of multipliers, then by rows at once.

    ``outputs`` and ``inputs`` are rows and columns of all groups together. The lanes in divide ``widest``: the channels
    of a stream, where the columns are those of a whole frame.

    Examples
    --------
    >>> [(f.lanes_in, f.lanes_out, f.steps) for f in foldings(2, 4)][:4]
    [(1, 1, 8), (2, 1, 4), (1, 2, 4), (4, 1, 2)]
    >>> foldings(6, 54, groups=6)[-1]
    Folding(lanes_in=54, lanes_out=6, multipliers=54, steps=1)
    """
    rows, columns = outputs // groups, inputs // groups
    products = rows * columns * groups
    options = [
        Folding(lanes_in, lanes_out, lanes_in * lanes_out, products // (lanes_in * lanes_out))
        for lanes_in in divisors(columns)
        for lanes_out in divisors(rows)
        if widest is None or widest % lanes_in == 0
    ]
    # Whole groups side by side: k of them take k times the lanes.
    options += [Folding(k * columns, k * rows, k * columns * rows, groups // k) for k in divisors(groups)[1:]]
    return sorted(options, key=lambda f: (f.multipliers, f.lanes_out))
