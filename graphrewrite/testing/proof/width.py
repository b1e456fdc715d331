"""Widths of bit-vectors."""

from __future__ import annotations

__all__ = ["width_of"]


def width_of(low: int, high: int) -> int:
    """Return the bits that a signed bit-vector needs for every whole number between two.

    Examples
    --------
    >>> width_of(-8, 7), width_of(0, 7), width_of(0, 8), width_of(0, 0)
    (4, 4, 5, 1)
    """
    return max((low if low >= 0 else ~low).bit_length(), (high if high >= 0 else ~high).bit_length()) + 1
