"""Canonical signed digits, and the pairs of them that occur several times in the rows of a matrix.

A term of a row is a number times ``±2**shift``; it is coded as one integer, ``number * 64 + shift``. A pair of terms
has the same key wherever both numbers have the same distance, with equal or opposite signs: these are the same sum or
difference of two shifted numbers, shifted and perhaps negated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphrewrite.lowering.shift_add.ops import bounds_of

__all__ = ["Pair", "Row", "count_digits", "matrix_of", "rows_of", "share"]

_SHIFTS = 64
_SHIFT = _SHIFTS - 1
_HIGH = 30
"""Bits of a key below the first number of a pair."""
_LOW = (1 << _HIGH) - 1

Row = dict[int, int]
"""Terms and their signs."""


class Pair(NamedTuple):
    """A sum of two shifted numbers: ``(first << shifts[0]) ± (second << shifts[1])``."""

    first: int
    second: int
    shifts: tuple[int, int]
    subtract: bool


def rows_of(matrix: np.ndarray) -> list[Row]:
    """Return the rows of a matrix as canonical signed digits: no two nonzero digits are adjacent (Reitwieser 1960).

    Examples
    --------
    >>> rows_of(np.array([[7, 0], [0, -3]]))
    [{0: -1, 3: 1}, {64: 1, 66: -1}]
    """
    rows: list[Row] = [{} for _ in matrix]
    rest, shift = np.asarray(matrix, np.int64).copy(), 0
    while rest.any():
        digits = np.where(rest & 1, 2 - (rest & 3), 0)
        for row, column in zip(*(at.tolist() for at in np.nonzero(digits)), strict=True):
            rows[row][column * _SHIFTS + shift] = int(digits[row, column])
        rest, shift = (rest - digits) >> 1, shift + 1
    return rows


def matrix_of(rows: Sequence[Row], columns: int) -> np.ndarray:
    """Return the matrix whose rows have those terms; the inverse of `rows_of`.

    Examples
    --------
    >>> matrix_of([{0: -1, 3: 1}, {64: 1, 66: -1}], 2).tolist()
    [[7, 0], [0, -3]]
    """
    matrix = np.zeros((len(rows), columns), np.int64)
    for entries, row in zip(matrix, rows, strict=True):
        for term, sign in row.items():
            entries[term // _SHIFTS] += sign << (term & _SHIFT)
    return matrix


def count_digits(matrix: np.ndarray) -> np.ndarray:
    """Return the number of nonzero digits of each row.

    Examples
    --------
    >>> count_digits(np.array([[7, 1], [0, -4]])).tolist()
    [3, 1]
    """
    return np.array([len(row) for row in rows_of(matrix)])


def share(rows: list[Row], bounds: Sequence[tuple[int, int]], *, down_to: float) -> list[Pair]:
    """Extract pairs that occur several times from rows, in place, those that save most first; return them.

    A pair that occurs n times saves n - 1 adders, each of which costs the bits in which the two numbers overlap. The
    pair becomes a number of its own, with the next free column. The last pair saves at least `down_to` times what the
    first saves.

    Examples
    --------
    >>> rows = rows_of(np.array([[1, 2, 1], [2, 4, 0]]))
    >>> share(rows, [(0, 15)] * 3, down_to=0.5)
    [Pair(first=0, second=1, shifts=(0, 1), subtract=False)]
    >>> matrix_of(rows, 4).tolist()
    [[0, 0, 1, 1], [0, 0, 0, 2]]
    """
    table = _Table(rows, bounds)
    pairs: list[Pair] = []
    least = 0.0
    while (best := table.best(least)) is not None:
        key, saved = best
        pair = table.take(key)
        if pair is not None:
            least = least or saved * down_to
            pairs.append(pair)
    return pairs


class _Table:
    """Counts and savings of all pairs, kept up to date while pairs are extracted."""

    def __init__(self, rows: list[Row], bounds: Sequence[tuple[int, int]]) -> None:
        self.rows = rows
        self.bounds = list(bounds)
        self.widths = [_width(*both) for both in bounds]
        self.having: list[set[int]] = [set() for _ in bounds]
        """Rows that contain each number."""
        self.counts: dict[int, int] = {}
        self.overlaps: dict[int, int] = {}
        self.by_saving: list[list[int]] = []
        """Keys by their saving when entered, which may be out of date."""
        for number, row in enumerate(rows):
            self._enter(number, row)
        for key, count in self.counts.items():
            if count > 1:
                self._rank(key, count)

    def _enter(self, number: int, row: Row) -> None:
        counts, terms = self.counts, sorted(row.items())
        get = counts.get
        for position, (low, sign) in enumerate(terms):
            self.having[low // _SHIFTS].add(number)
            base = (low // _SHIFTS) << _HIGH
            for high, other in terms[position + 1 :]:
                key = base + (high - low) * 2 + (sign == other)
                counts[key] = get(key, 0) + 1

    def _rank(self, key: int, count: int) -> None:
        overlap = self.overlaps.get(key)
        if overlap is None:
            first, second, shift, _ = _read(key)
            widths = self.widths
            overlap = max(0, min(widths[first], shift + widths[second]) - max(0, shift))
            self.overlaps[key] = overlap
        saved = (count - 1) * overlap
        while len(self.by_saving) <= saved:
            self.by_saving.append([])
        self.by_saving[saved].append(key)

    def best(self, least: float) -> tuple[int, int] | None:
        """The pair that saves most and its saving, or None if no saving is positive and at least ``least``."""
        # A key whose saving has fallen is out of date, and ranked again; one whose saving rises is ranked at once.
        ranks = self.by_saving
        while ranks and len(ranks) - 1 >= max(least, 1):
            saved = len(ranks) - 1
            if not ranks[-1]:
                ranks.pop()
                continue
            key = ranks[-1].pop()
            count = self.counts[key]
            if (count - 1) * self.overlaps[key] == saved:
                return key, saved
            if count > 1:
                self._rank(key, count)
        return None

    def take(self, key: int) -> Pair | None:
        """Replace all occurrences of a pair; None if they overlap, so that it occurs only once."""
        first, second, shift, same = _read(key)
        occurrences = self._places(key, first, second, same)
        if len(occurrences) < 2:
            self.counts[key] = 1
            return None
        lowest = min(0, shift)
        pair = Pair(first, second, (-lowest, shift - lowest), not same)
        number_of_sum, distance = len(self.widths), (key & _LOW) >> 1
        self.bounds.append(bounds_of(self.bounds[first], self.bounds[second], pair.shifts, pair.subtract))
        self.widths.append(_width(*self.bounds[-1]))
        self.having.append(set())
        for number, term in occurrences:
            row = self.rows[number]
            sign = self._remove(row, term)
            self._remove(row, term + distance)
            self._insert(row, number_of_sum * _SHIFTS + (term & _SHIFT) + lowest, sign)
            self.having[number_of_sum].add(number)
        # Rows that lost their last digit of a number no longer have it.
        for number in self.having[number_of_sum]:
            standing = {term // _SHIFTS for term in self.rows[number]}
            for column in {first, second} - standing:
                self.having[column].discard(number)
        return pair

    def _places(self, key: int, first: int, second: int, same: bool) -> list[tuple[int, int]]:
        """Rows and first terms of a pair's occurrences, no term twice."""
        distance, occurrences = (key & _LOW) >> 1, []
        for number in sorted(self.having[first] & self.having[second]):
            row, used = self.rows[number], set()
            for term in range(first * _SHIFTS, (first + 1) * _SHIFTS):
                other = term + distance
                if term in row and other in row and (row[term] == row[other]) == same and term not in used:
                    used.add(other)
                    occurrences.append((number, term))
        return occurrences

    def _remove(self, row: Row, term: int) -> int:
        sign, counts = row.pop(term), self.counts
        for other, its in row.items():
            low, distance = (term, other - term) if term < other else (other, term - other)
            counts[((low // _SHIFTS) << _HIGH) + distance * 2 + (sign == its)] -= 1
        return sign

    def _insert(self, row: Row, term: int, sign: int) -> None:
        counts = self.counts
        get = counts.get
        for other, its in row.items():
            low, distance = (term, other - term) if term < other else (other, term - other)
            key = ((low // _SHIFTS) << _HIGH) + distance * 2 + (sign == its)
            count = get(key, 0) + 1
            counts[key] = count
            if count > 1:
                self._rank(key, count)
        row[term] = sign


def _read(key: int) -> tuple[int, int, int, bool]:
    """First and second number of a pair, their distance in bits, and whether their signs agree."""
    # A distance codes that of the numbers and that of the shifts, which may be negative: it is rounded to numbers.
    first, distance = key >> _HIGH, (key & _LOW) >> 1
    shift = ((distance + _SHIFTS // 2) & _SHIFT) - _SHIFTS // 2
    return first, first + (distance - shift) // _SHIFTS, shift, bool(key & 1)


def _width(low: int, high: int) -> int:
    return (high - low).bit_length()
