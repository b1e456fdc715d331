"""Resizing by interpolation as a convolution, with factors where windows reach beyond the ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import op

__all__ = ["Interpolation", "interpolation_of"]

_NEAR = 1e-9
"""Tolerance within which float64 weights are equal."""


class Interpolation(NamedTuple):
    """Resizing of one axis: each window gives several entries, or windows move by several steps.

    Attributes
    ----------
    times, stride : int
        Results a window, and entries from window to window; one of them is 1.
    before, after : int
        Entries of the first window before the operand, and of the last one after it.
    weights : ndarray of float64, shape [times, K]
        Weights of a window that lies wholly inside.
    factors : ndarray of float64, of the size of the result
        Factors that make the weights inside the operand add up to 1.
    """

    times: int
    stride: int
    before: int
    after: int
    weights: np.ndarray
    factors: np.ndarray


def interpolation_of(attributes: dict[str, Any], shape: Sequence[int], axis: int) -> Interpolation | str:
    """Return how an axis is resized, or the reason why windows cannot do that.

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
    responses = np.asarray(op.resize(np.broadcast_to(basis, (own, 1, *shape[2:])), **attributes))
    if not responses.size:
        return "nothing is left of it"
    matrix = np.moveaxis(responses, axis, 1).reshape(own, responses.shape[axis], -1)[:, :, 0].T
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
        return "its weights differ from position to position"
    after = max(0, int(at[-1, -1]) + 1 - own)
    if (own + after - low - weights.shape[1]) // stride + 1 != count:
        return "its windows do not begin and end with the operand"
    return Interpolation(times, stride, -low, after, weights, 1 / sums)


def _pattern(rows: np.ndarray, stride: int) -> dict[int, float]:
    """The weights of the row that has the most, by their distance from the start of its window."""
    window = int(np.argmax((np.abs(rows) > _NEAR).sum(axis=1)))
    entries = np.flatnonzero(np.abs(rows[window]) > _NEAR)
    return {int(at) - window * stride: float(rows[window, at]) for at in entries} or {0: 0.0}
