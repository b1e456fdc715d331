"""Interpolation along an axis: the entries (taps) that make an entry of the result, and their weights.

Each entry of the result has a coordinate between entries of the operand; those around it are its taps.
The definitions are those of the ONNX specification, Resize; the cubic weights are those of Keys (1981).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

__all__ = ["COORDINATES", "MODES", "NEAREST", "Sampling", "Taps", "taps"]

COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
"""Transformations of the index of an entry of the result to a coordinate of the operand."""
MODES = ("nearest", "linear", "cubic")
"""The number of entries around that coordinate, and their weights."""
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
"""Choices of the nearest entry."""


class Sampling(NamedTuple):
    """How to interpolate.

    Attributes
    ----------
    coordinates, mode, nearest : str
        One of `COORDINATES`, of `MODES` and of `NEAREST`.
    cubic : float
        Slope of the cubic weights at 1.
    exclude_outside : bool
        Whether taps outside of the axis weigh nothing; otherwise the axis continues with its last entry.
    antialias : bool
        Whether a smaller result has more taps.
    """

    coordinates: str
    mode: str
    nearest: str
    cubic: float
    exclude_outside: bool
    antialias: bool


class Taps(NamedTuple):
    """The entries of an operand that make those of a result.

    Attributes
    ----------
    indices : ndarray of int
        Of the entries of the operand, [taps, size of the result].
    weights : ndarray of float, optional
        Weights of these; None for a single tap of weight 1.
    outside : ndarray of bool
        Whether each entry of the result lies outside of a crop.
    """

    indices: np.ndarray
    weights: np.ndarray | None
    outside: np.ndarray


def taps(sampling: Sampling, own: int, size: int, scale: float, part: tuple[float, float]) -> Taps:
    """Return the taps of an axis.

    Parameters
    ----------
    own, size : int
        Size of the axis in the operand and in the result.
    scale : float
        Requested scale; the ratio of the sizes may differ by rounding.
    part : tuple of float
        Start and end of a crop; the whole axis is from 0 to 1.

    Examples
    --------
    >>> linear = Sampling("half_pixel", "linear", "floor", -0.75, False, False)
    >>> t = taps(linear, 2, 4, 2.0, (0.0, 1.0))
    >>> t.indices.tolist(), t.weights.tolist()
    ([[0, 0, 0, 1], [0, 1, 1, 1]], [[0.25, 0.75, 0.25, 0.75], [0.75, 0.25, 0.75, 0.25]])
    """
    positions = _positions(sampling.coordinates, own, size, scale, part)
    outside = np.zeros(size, np.bool_)
    if sampling.coordinates == "tf_crop_and_resize":
        outside = (positions < 0) | (positions > own - 1)
    # The left tap is strictly less than the coordinate, so that the ratio lies in (0, 1]: 1 means exactly on an entry.
    left = np.ceil(positions) - 1
    ratio = positions - left
    base = np.clip(left, -(2**31), 2**31).astype(np.int64)
    if sampling.mode == "nearest":
        chosen = base + _rounds_up(sampling.nearest, ratio)
        return Taps(np.clip(chosen, 0, own - 1)[None], None, outside)
    offsets, weights = _weights(sampling, ratio, scale)
    indices = base + offsets[:, None]
    inside = (indices >= 0) & (indices < own)
    if sampling.exclude_outside:  # the weights of taps inside are scaled to a sum of 1, unless there are none
        kept = np.where(inside, weights, 0)
        total = kept.sum(axis=0)
        weights = np.where(total == 0, weights, kept / np.where(total == 0, 1, total))
    return Taps(np.clip(indices, 0, own - 1), weights, outside)


def _positions(coordinates: str, own: int, size: int, scale: float, part: tuple[float, float]) -> np.ndarray:
    i = np.arange(size, dtype=np.float64)
    width = scale * own  # of the result, before it was rounded
    last = own - 1
    if coordinates == "align_corners":
        return i * last / (width - 1) if width != 1 else np.zeros(size)
    if coordinates == "tf_crop_and_resize":
        start, end = part
        along = i * (end - start) * last / (width - 1) if width != 1 else np.full(size, (end - start) * last / 2)
        return along + start * last
    if coordinates == "asymmetric":
        return i / scale
    if coordinates == "tf_half_pixel_for_nn":
        # TensorFlow computes in float32, and at the border between entries its rounding decides.
        if math.isclose(width, size):
            return ((i + 0.5).astype(np.float32) * (np.float32(own) / np.float32(size))).astype(np.float64)
        return (i + 0.5) / scale
    positions: np.ndarray = (i + 0.5) / scale - 0.5
    if coordinates == "half_pixel_symmetric":
        return positions + own / 2 * (1 - size / width)
    if coordinates == "pytorch_half_pixel" and width == 1:
        return np.full(size, -0.5)
    return positions


def _rounds_up(nearest: str, ratio: np.ndarray) -> np.ndarray:
    up = {
        "round_prefer_floor": ratio > 0.5,
        "round_prefer_ceil": ratio >= 0.5,
        "floor": ratio == 1,
        "ceil": np.ones(ratio.shape, np.bool_),
    }[nearest]
    return up.astype(np.int64)


def _weights(sampling: Sampling, ratio: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the taps from the left one, and their weights."""
    narrowing = min(scale, 1.0) if sampling.antialias else 1.0
    reach = 1 if sampling.mode == "linear" else 2
    first = math.floor(-reach / narrowing) + 1
    offsets = np.arange(first, 2 - first)
    distance = np.abs(offsets[:, None] - ratio) * narrowing
    weights = np.clip(1 - distance, 0, 1) if sampling.mode == "linear" else _cubic(distance, sampling.cubic)
    if sampling.antialias:
        weights = weights / weights.sum(axis=0)
    return offsets, weights


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys (1981), equation 15, with any slope at 1."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    values: np.ndarray = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
    return values
