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
    >>> resized = interpolation_of({"scales": (1, 1, 2), "mode": "linear"}, (1, 1, 3), 2)
    >>> resized.weights.tolist(), resized.before, resized.after
    ([[0.25, 0.75, 0.0], [0.0, 0.75, 0.25]], 1, 1)
    >>> np.round(resized.factors, 3).tolist()
    [1.333, 1.0, 1.0, 1.0, 1.0, 1.333]
    """
    length, rank = shape[axis], len(shape)
    axes = range(rank) if attributes.get("axes") is None else [a % rank for a in attributes["axes"]]
    count, scales = len(axes), attributes.get("scales") or [1.0] * len(axes)
    crops = attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    part = (attributes.get("roi") if crops else None) or [0.0] * count + [1.0] * count
    along = zip(axes, scales, part[:count], part[count:], strict=True)
    if any(a < 2 and (scale, start, end) != (1, 0, 1) for a, scale, start, end in along):
        return "it resizes more than positions"
    if sizes := attributes.get("sizes"):  # the basis keeps its own batch and channels
        kept = tuple((length, 1)[a] if a < 2 else size for a, size in zip(axes, sizes, strict=True))
        attributes = attributes | {"sizes": kept}
    basis = np.eye(length).reshape([length if a in (0, axis) else 1 for a in range(len(shape))])
    responses = np.asarray(op.resize(np.broadcast_to(basis, (length, 1, *shape[2:])), **attributes))
    if not responses.size:
        return "nothing is left of it"
    # The response to a unit impulse at each entry: the matrix of the resize along this axis, whatever its mode is.
    matrix = np.moveaxis(responses, axis, 1).reshape(length, responses.shape[axis], -1)[:, :, 0].T
    size = len(matrix)
    if size % length and length % size:
        return f"{length} entries do not become {size} by one whole number"
    times, stride = max(size // length, 1), max(length // size, 1)
    count = size // times
    patterns = [_pattern(matrix[phase::times], stride) for phase in range(times)]
    low, high = min(0, *(min(p) for p in patterns)), max(max(p) for p in patterns)
    weights = np.array([[p.get(offset, 0.0) for offset in range(low, high + 1)] for p in patterns])
    at = np.arange(count)[:, None] * stride + np.arange(low, high + 1)
    is_inside = np.where((at >= 0) & (at < length), 1.0, 0.0)
    sums = (is_inside @ weights.T).reshape(size)
    if (sums < _NEAR).any():
        return "some of its entries are made of nothing"
    # A convolution has the same weights everywhere. The matrix is rebuilt from them, to compare it with the op's own.
    rebuilt = np.zeros_like(matrix)
    for window, phase in np.ndindex(count, times):
        inside = is_inside[window] > 0
        rebuilt[window * times + phase, at[window, inside]] = weights[phase, inside] / sums[window * times + phase]
    if np.abs(rebuilt - matrix).max() > _NEAR:
        return "its weights differ from position to position"
    after = max(0, int(at[-1, -1]) + 1 - length)
    if (length + after - low - weights.shape[1]) // stride + 1 != count:
        return "its windows do not begin and end with the operand"
    return Interpolation(times, stride, -low, after, weights, 1 / sums)


def _pattern(rows: np.ndarray, stride: int) -> dict[int, float]:
    """The weights of the row that has the most, by their distance from the start of its window."""
    window = int(np.argmax((np.abs(rows) > _NEAR).sum(axis=1)))
    entries = np.flatnonzero(np.abs(rows[window]) > _NEAR)
    return {int(at) - window * stride: float(rows[window, at]) for at in entries} or {0: 0.0}
