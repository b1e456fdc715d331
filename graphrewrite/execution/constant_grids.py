"""Grids of constants: integers times a scale."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

__all__ = ["Grid", "grid_of", "multiples_of"]

_LIMITS = (1, 1 << 8, 1 << 15)
"""Ends of the ranges in which the greatest integer is searched for, one after the other."""
_ROWS = 64
"""Rows at a time, so that what is computed of them stays in the cache."""
_ENDS = ((np.minimum, np.inf), (np.maximum, 0.0))
_PROBES = 8
"""Entries that are tested first, to exclude most grids."""


class Grid(NamedTuple):
    """Constants as integers and scales.

    Attributes
    ----------
    whole : ndarray of int64, shape [O, …]
    scales : ndarray of float64, shape [1] or [O]
        Positive; one for all rows, or one each.
    """

    whole: np.ndarray
    scales: np.ndarray


def grid_of(w: np.ndarray) -> Grid | None:
    """Return constants as integers of up to 16 bits times a scale for all rows, else one a row; None if impossible.

    The products, rounded to the element type of the constants, equal them bit for bit, on the coarsest such grid.
    Weights that a model stored as integers with scales are found even after folding.

    Examples
    --------
    >>> grid = grid_of(np.array([[0.3, -0.2], [0.1, 0.5]], np.float32))
    >>> grid.whole.tolist(), grid.scales.round(6).tolist()
    ([[3, -2], [1, 5]], [0.1])
    >>> grid_of(np.float32(0.1) * np.array([[3, -2], [7, 77]], np.float32)).whole.tolist()
    [[3, -2], [7, 77]]
    >>> grid_of(np.array([[np.pi, np.e]])) is None
    True
    """
    rows = np.asarray(w)
    if not np.isfinite(rows).all():
        return None
    rows = rows.reshape(len(rows), -1)
    if not rows.size:
        return Grid(np.zeros(w.shape, np.int64), np.ones(1))
    common = _on_grids(rows.reshape(1, -1))
    found = common if common is not None or len(rows) == 1 else _on_grids(rows)
    return None if found is None else Grid(found[0].reshape(w.shape), found[1])


def _on_grids(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Integers and the scale of each row, on the coarsest grid; None if a row is on none."""
    whole, scales = np.zeros(rows.shape, rows.dtype), np.ones(len(rows))
    left = np.flatnonzero(rows.any(axis=1))
    for first, last in itertools.pairwise(_LIMITS):
        greatest, missing = np.arange(first, last, dtype=np.float64), []
        for start in range(0, len(left), _ROWS):
            part = left[start : start + _ROWS]
            whole[part], scales[part], is_found = _coarsest(_taken(rows, part), greatest)
            missing.append(part[~is_found])
            if last == _LIMITS[-1] and len(missing[-1]):  # no other row matters then
                return None
        left = np.concatenate([np.zeros(0, np.intp), *missing])
    return whole.astype(np.int64), scales


def _taken(rows: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Return some rows in order, without a copy of all of them."""
    return rows if len(at) == len(rows) else rows[at]


def _coarsest(rows: np.ndarray, greatest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whole numbers and scales of rows whose greatest entry is one of some integers, and which rows these are."""
    magnitudes = np.abs(rows)
    most = magnitudes.max(axis=1)
    whole, scales, is_found = np.zeros(rows.shape, rows.dtype), np.ones(len(rows)), np.zeros(len(rows), bool)
    at, steps = _candidates(magnitudes, most, greatest)
    # The coarsest grid comes first, and counts only if all its products are the entries bit for bit.
    while at.size:
        at, firsts, counts = np.unique(at, return_index=True, return_counts=True)
        some = _taken(magnitudes, at)
        of_most = some * (steps[firsts] / most[at])[:, None].astype(rows.dtype)
        fitting = _scales(some, np.rint(of_most, out=of_most))
        done = fitting > 0
        signed = np.copysign(of_most, _taken(rows, at), out=of_most)
        if len(at) == len(rows) and done.all():
            return signed, fitting, done
        whole[at[done]] = signed[done]
        scales[at[done]], is_found[at[done]] = fitting[done], True
        rest = [np.arange(first + 1, first + count) for first, count in zip(firsts[~done], counts[~done], strict=True)]
        taken = np.concatenate([np.zeros(0, np.intp), *rest])
        at, steps = np.repeat(at[~done], counts[~done] - 1), steps[taken]
    return whole, scales, is_found


def _candidates(magnitudes: np.ndarray, most: np.ndarray, greatest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a row and what its greatest entry may be, row by row, by some entries of each."""
    # If the greatest entry is n steps of the grid, then n times the ratio of each entry to it is nearly an integer.
    picked = np.linspace(0, magnitudes.shape[1] - 1, min(_PROBES, magnitudes.shape[1])).astype(int)
    ratios = np.sort(magnitudes[:, picked] / most[:, None].astype(np.float64), axis=1)
    at, steps = np.repeat(np.arange(len(magnitudes)), len(greatest)), np.tile(greatest, len(magnitudes))
    # Each entry is a product that was rounded once: a ratio of two is off by two roundings at most.
    precision = 2 * float(np.finfo(magnitudes.dtype).eps)
    for probe in np.roll(ratios, ratios.shape[1] // 2, axis=1).T:
        multiples = steps * probe[at]
        nearest = np.rint(multiples)
        close = (np.abs(multiples - nearest) <= precision * multiples) & ((nearest > 0) | (multiples == 0))
        at, steps = at[close], steps[close]
    return at, steps


def _scales(values: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The scale of each row with which its products are the values, in their precision; 0 where there is none."""
    is_there = values > 0
    found = np.zeros(len(values))
    fits = ~(is_there & (whole == 0)).any(axis=1)
    with np.errstate(all="ignore"):
        quotients = values / np.asarray(whole, np.float64)
    least, most = (fold.reduce(quotients, axis=1, where=is_there, initial=end) for fold, end in _ENDS)
    middle = np.where(fits, (most + least) / 2, 0).astype(values.dtype)
    likeliest, below, above = [middle], middle, middle
    for _ in range(2):
        below, above = (np.nextafter(each, values.dtype.type(end)) for each, end in ((below, -np.inf), (above, np.inf)))
        likeliest += [below, above]
    for scale in likeliest:
        left = np.flatnonzero(fits & (found == 0) & (scale > 0))
        if not left.size:
            break
        equal = (_taken(whole, left) * scale[left, None] == _taken(values, left)).all(axis=1)
        found[left[equal]] = scale[left[equal]]
    return found


def multiples_of(b: np.ndarray, scales: np.ndarray) -> np.ndarray | None:
    """Return constants divided by positive scales as integers, up to float32 rounding; None if they are not integers.

    Examples
    --------
    >>> multiples_of(np.array([0.3, -0.1], np.float32), np.array([0.1])).tolist()
    [3, -1]
    >>> multiples_of(np.array([0.35]), np.array([0.1])) is None
    True
    """
    quotients = np.asarray(b, np.float64) / scales
    if not np.isfinite(quotients).all() or np.abs(quotients).max(initial=0) >= 2.0**31:
        return None
    whole = np.rint(quotients)
    within = np.minimum(np.abs(whole) * 2.0**-22, 0.25)
    return whole.astype(np.int64) if (np.abs(quotients - whole) <= within).all() else None
