"""Grids of constants: integers times a scale."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

__all__ = ["Grid", "grid_of", "multiples_of"]

_MOST = 1 << 15
"""The greatest integer that is searched for."""
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
    common = _on_one(rows.ravel())
    if common is not None:
        return Grid(common[0].reshape(w.shape), np.array([common[1]]))
    grids = [grid for row in rows if (grid := _on_one(row)) is not None] if len(rows) > 1 else []
    if len(grids) < len(rows):
        return None
    whole, scales = zip(*grids, strict=True)
    return Grid(np.stack(whole).reshape(w.shape), np.array(scales))


def _on_one(values: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Integers and the common scale of some numbers."""
    different = np.unique(np.abs(values[values != 0]))
    if not different.size:
        return np.zeros(values.shape, np.int64), 1.0
    precision = float(np.finfo(values.dtype).eps)
    # If the greatest entry is n steps of the grid, then n times the ratio of each entry to it is nearly an integer.
    ratios = different.astype(np.float64) / float(different[-1])
    greatest = np.arange(1, _MOST, dtype=np.float64)[:, None]
    probes = greatest * ratios[np.linspace(0, len(ratios) - 1, min(_PROBES, len(ratios))).astype(int)]
    # Each entry is a product that was rounded once: a ratio of two is off by two roundings at most.
    close = (np.abs(probes - np.rint(probes)) <= 2 * precision * probes).all(axis=1) & (np.rint(probes) > 0).all(axis=1)
    # The coarsest grid comes first, and counts only if all its products are the entries bit for bit.
    for most in greatest[close, 0]:
        whole = np.rint(most * ratios)
        for scale in _scales(different, whole):
            if np.array_equal((whole.astype(values.dtype) * values.dtype.type(scale)), different):
                return np.rint(values.astype(np.float64) / scale).astype(np.int64), float(scale)
    return None


def _scales(values: np.ndarray, whole: np.ndarray) -> list[float]:
    """Candidate scales in the precision of the values, the likeliest first."""
    quotients = values.astype(np.float64) / whole
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
