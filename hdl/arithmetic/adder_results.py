"""The end of the sums of a network of adders: rounding and limits, whose constants are added to the bias."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrewrite.types import FixedPoint

__all__ = ["Finish", "RowEnd", "row_ends"]


class Finish(NamedTuple):
    """The way from sums to results: divided by a power of two for each row, rounded, moved and limited.

    Attributes
    ----------
    places : sequence of int
        For each row the power of two, as bits to the right.
    low, high : int
        The least and the greatest result.
    offset : int
        What is added after rounding.
    rounding : str
        ``half_even``, ``half_up`` or ``down``.
    """

    places: Sequence[int]
    low: int
    high: int
    offset: int
    rounding: str


class RowEnd(NamedTuple):
    """The hardware that ends a row; a constant is added to its sum.

    Attributes
    ----------
    added : int
        What the bias is increased by: one half for rounding, the offset, and the least result where that is a limit, so
        that the limit is zero.
    bits : int
        Of the sum.
    signed : bool
        Whether the sum may be negative.
    places : int
        Bits that are cut off.
    limits : int
        0: none. 1: only negative sums are limited. 2: those above as well. Limited results count from the least one.
    tie : int
        What the lowest bit becomes of a half. 0: nothing else. 1: zero, if all bits that are cut off are zero. 2: one,
        if they are all one.
    """

    added: int
    bits: int
    signed: bool
    places: int
    limits: int
    tie: int

    @property
    def row(self) -> tuple[int, ...]:
        """All but the constant, as integers."""
        return tuple(int(value) for value in self[1:])


def row_ends(
    sums: tuple[NDArray[np.int64], NDArray[np.int64]],
    results: tuple[NDArray[np.int64], NDArray[np.int64]],
    finish: Finish | None,
) -> list[RowEnd]:
    """Return how each row ends.

    Examples
    --------
    A half is added for rounding; only the first row needs limits:

    >>> sums = np.array([-40, 8]), np.array([80, 20])
    >>> for end in row_ends(sums, (sums[0] >> 2, sums[1] >> 2), Finish([2, 2], 0, 15, 0, "half_up")):
    ...     print(end)
    RowEnd(added=2, bits=8, signed=True, places=2, limits=2, tie=0)
    RowEnd(added=2, bits=5, signed=False, places=2, limits=0, tie=0)
    """
    ends = []
    for row, (least, most, low, high) in enumerate(zip(*(array.tolist() for array in (*sums, *results)), strict=True)):
        added = places = limits = tie = 0
        if finish is not None:
            places = finish.places[row]
            limits = 2 if high > finish.high else int(low < finish.low)
            offset = finish.offset - (finish.low if limits else 0)
            added = offset << places
            if finish.rounding != "down":
                added += (1 << places) >> 1
            if finish.rounding == "half_even" and places:
                # Halves go up, and the lowest bit is cleared; where an even quotient becomes odd, down, and it is set.
                tie = 1 + (offset & 1)
                added -= offset & 1
        # One bit at least is left of the places that are cut off, and a sign where a sum may be negative.
        held = FixedPoint.holding(least + added, most + added)
        bits = max(held.width, places + 1 + held.signed)
        ends.append(RowEnd(added, bits, held.signed, places, limits, tie))
    return ends
