"""Resizing by interpolation as windows: the same weights everywhere, but for what lies beyond the ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import op

__all__ = ["Interpolation", "interpolation_of"]

_NEAR = 1e-9
"""What float64 makes of weights that are equal."""


class Interpolation(NamedTuple):
    """How one axis is resized: each window of the operand becomes several entries, or one of several steps.

    Attributes
    ----------
    times, stride : int
        Entries that a window becomes, and entries from window to window; one of them is 1.
    before, after : int
        Entries that the first window lacks before the operand, and the last one behind it.
    weights : ndarray of float64, shape [times, K]
        Of the entries of a window, where all of them are there.
    factors : ndarray of float64, of the size of the result
        What makes the weights of those that are there add up to 1.
    """

    times: int
    stride: int
    before: int
    after: int
    weights: np.ndarray
    factors: np.ndarray


def interpolation_of(attributes: dict[str, Any], shape: Sequence[int], axis: int) -> Interpolation | str:
    """Return how an axis is resized, or in words why windows do not do that.

    Parameters
    ----------
    attributes : dict
        Of `graphrewrite.op.resize`.
    shape : sequence of int
        Of the operand; batch and channels keep their sizes.
    axis : int
        Of positions.

    Returns
    -------
    Interpolation or str

    Examples
    --------
    >>> found = interpolation_of({"scales": (1, 1, 2), "mode": "linear"}, (1, 1, 3), 2)
    >>> found.weights.tolist(), found.before, found.after
    ([[0.25, 0.75, 0.0], [0.0, 0.75, 0.25]], 1, 1)
    >>> np.round(found.factors, 3).tolist()
    [1.333, 1.0, 1.0, 1.0, 1.0, 1.333]
    """
    own = shape[axis]
    basis = np.eye(own).reshape([own if a in (0, axis) else 1 for a in range(len(shape))])
    made = np.asarray(op.resize(np.broadcast_to(basis, (own, 1, *shape[2:])), **attributes))
    if not made.size:
        return "nothing is left of it"
    matrix = np.moveaxis(made, axis, 1).reshape(own, made.shape[axis], -1)[:, :, 0].T
    size = len(matrix)
    if size % own and own % size:
        return f"{own} entries do not become {size} by one whole number"
    times, stride = max(size // own, 1), max(own // size, 1)
    count = size // times
    patterns = [_pattern(matrix[phase::times], stride) for phase in range(times)]
    low, high = min(0, *(min(p) for p in patterns)), max(max(p) for p in patterns)
    weights = np.array([[p.get(offset, 0.0) for offset in range(low, high + 1)] for p in patterns])
    at = np.arange(count)[:, None] * stride + np.arange(low, high + 1)
    there = np.where((at >= 0) & (at < own), 1.0, 0.0)
    sums = (there @ weights.T).reshape(size)
    if (sums < _NEAR).any():
        return "some of its entries are made of nothing"
    again = np.zeros_like(matrix)
    for window, phase in np.ndindex(count, times):
        kept = there[window] > 0
        again[window * times + phase, at[window, kept]] = weights[phase, kept] / sums[window * times + phase]
    if np.abs(again - matrix).max() > _NEAR:
        return "the weights of its entries differ from place to place"
    after = max(0, int(at[-1, -1]) + 1 - own)
    if (own + after - low - weights.shape[1]) // stride + 1 != count:
        return "its windows do not begin and end with the operand"
    return Interpolation(times, stride, -low, after, weights, 1 / sums)


def _pattern(rows: np.ndarray, stride: int) -> dict[int, float]:
    """The weights of a row that has the most of them, by their distance from where its window begins."""
    window = int(np.argmax((np.abs(rows) > _NEAR).sum(axis=1)))
    found = np.flatnonzero(np.abs(rows[window]) > _NEAR)
    return {int(at) - window * stride: float(rows[window, at]) for at in found} or {0: 0.0}
