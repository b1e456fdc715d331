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
    """Integers and the scale of each row, coarse grids first; None if a row is on none."""
    whole, scales = np.zeros(rows.shape, np.int64), np.ones(len(rows))
    left = np.flatnonzero(rows.any(axis=1))
    for first, last in itertools.pairwise(_LIMITS):
        missing = []
        for start in range(0, len(left), _ROWS):
            part = left[start : start + _ROWS]
            fits = _coarsest(rows[part], np.arange(first, last, dtype=np.float64))
            if fits is None:  # no other row matters then
                return None
            whole[part], scales[part], is_found = fits
            missing.append(part[~is_found])
        left = np.concatenate([np.zeros(0, np.intp), *missing])
        if not left.size:
            return whole, scales
    return None


def _coarsest(rows: np.ndarray, greatest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Integers and scales of rows whose greatest entry is one of some integers, and which rows these are.

    None if some row is close to no grid up to the finest that is searched for.
    """
    magnitudes = np.abs(rows)
    # If the greatest entry is n steps of the grid, then n times the ratio of each entry to it is nearly an integer.
    ratios = magnitudes / magnitudes.max(axis=1, keepdims=True).astype(np.float64)
    probed = np.sort(ratios[:, np.linspace(0, rows.shape[1] - 1, min(_PROBES, rows.shape[1])).astype(int)], axis=1)
    # Each entry is a product that was rounded once: a ratio of two is off by two roundings at most.
    precision = 2 * float(np.finfo(rows.dtype).eps)
    close = np.ones((len(rows), len(greatest)), bool)
    for ratio in probed.T[:, :, None]:
        multiples = greatest * ratio
        nearest = np.rint(multiples)
        close &= (np.abs(multiples - nearest) <= precision * multiples) & ((nearest > 0) | (ratio == 0))
    whole, scales, is_found = np.zeros(rows.shape, np.int64), np.ones(len(rows)), np.zeros(len(rows), bool)
    candidates = np.argsort(~close, axis=1, kind="stable")
    counts = close.sum(axis=1)
    # The coarsest grid comes first, and counts only if all its products are the entries bit for bit.
    for place in range(int(counts.max(initial=0))):
        for row in np.flatnonzero((counts > place) & ~is_found):
            steps = np.rint(greatest[candidates[row, place]] * ratios[row])
            for scale in _scales(magnitudes[row], steps):
                if np.array_equal(steps.astype(rows.dtype) * rows.dtype.type(scale), magnitudes[row]):
                    whole[row] = np.where(rows[row] < 0, -steps, steps)
                    scales[row], is_found[row] = scale, True
                    break
    is_finest = greatest[-1] == _LIMITS[-1] - 1
    return None if is_finest and not is_found.all() else (whole, scales, is_found)


def _scales(values: np.ndarray, whole: np.ndarray) -> list[float]:
    """Candidate scales in the precision of the values, the likeliest first."""
    if (whole[values > 0] == 0).any():
        return []
    quotients = values[whole > 0].astype(np.float64) / whole[whole > 0]
    first = values.dtype.type((quotients.max() + quotients.min()) / 2)
    scales, below, above = [float(first)], first, first
    for _ in range(2):
        below, above = np.nextafter(below, -np.inf, dtype=first.dtype), np.nextafter(above, np.inf, dtype=first.dtype)
        scales += [float(below), float(above)]
    return [scale for scale in scales if scale > 0]


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
