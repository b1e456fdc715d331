"""Interpolation along an axis: the entries (taps) that make an entry of the result, and their weights.

For each entry of the result there is a place between entries of the operand, and around it some of these, the taps.
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
"""Where an entry of the result lies in the operand."""
MODES = ("nearest", "linear", "cubic")
"""How many entries around that place there are, and how they count."""
NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
"""Which entry is taken as the nearest one."""


class Sampling(NamedTuple):
    """How to interpolate.

    Attributes
    ----------
    coordinates, mode, nearest : str
        One of `COORDINATES`, of `MODES` and of `NEAREST`.
    cubic : float
        The slope that cubic weights have at 1.
    exclude_outside : bool
        Whether taps outside of the axis weigh nothing; else the last entry is there.
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
    """What makes the entries of a result.

    Attributes
    ----------
    indices : ndarray of int
        Of the entries of the operand, [taps, size of the result].
    weights : ndarray of float, optional
        Of these; None where there is one tap, which counts as it is.
    outside : ndarray of bool
        Of each entry of the result, whether it lies outside of a crop.
    """

    indices: np.ndarray
    weights: np.ndarray | None
    outside: np.ndarray


def taps(how: Sampling, own: int, size: int, scale: float, part: tuple[float, float]) -> Taps:
    """Return the taps of an axis.

    Parameters
    ----------
    own, size : int
        Size of the axis in the operand and in the result.
    scale : float
        Of the axis, which the sizes need not have exactly.
    part : tuple of float
        Which part of the axis a crop takes; the whole is from 0 to 1.

    Examples
    --------
    >>> linear = Sampling("half_pixel", "linear", "floor", -0.75, False, False)
    >>> found = taps(linear, 2, 4, 2.0, (0.0, 1.0))
    >>> found.indices.tolist(), found.weights.tolist()
    ([[0, 0, 0, 1], [0, 1, 1, 1]], [[0.25, 0.75, 0.25, 0.75], [0.75, 0.25, 0.75, 0.25]])
    """
    places = _places(how.coordinates, own, size, scale, part)
    outside = np.zeros(size, np.bool_)
    if how.coordinates == "tf_crop_and_resize":
        outside = (places < 0) | (places > own - 1)
    # The tap to the left of a place is never the place itself, so that what is behind it is in (0, 1].
    left = np.ceil(places) - 1
    ratio = places - left
    base = np.clip(left, -(2**31), 2**31).astype(np.int64)
    if how.mode == "nearest":
        chosen = base + _rounds_up(how.nearest, ratio)
        return Taps(np.clip(chosen, 0, own - 1)[None], None, outside)
    offsets, weights = _weights(how, ratio, scale)
    indices = base + offsets[:, None]
    inside = (indices >= 0) & (indices < own)
    if how.exclude_outside:
        kept = np.where(inside, weights, 0)
        total = kept.sum(axis=0)
        weights = np.where(total == 0, weights, kept / np.where(total == 0, 1, total))
    return Taps(np.clip(indices, 0, own - 1), weights, outside)


def _places(coordinates: str, own: int, size: int, scale: float, part: tuple[float, float]) -> np.ndarray:
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
        return (i + 0.5) / scale
    places: np.ndarray = (i + 0.5) / scale - 0.5
    if coordinates == "half_pixel_symmetric":
        return places + own / 2 * (1 - size / width)
    if coordinates == "pytorch_half_pixel" and width == 1:
        return np.full(size, -0.5)
    return places


def _rounds_up(nearest: str, ratio: np.ndarray) -> np.ndarray:
    up = {
        "round_prefer_floor": ratio > 0.5,
        "round_prefer_ceil": ratio >= 0.5,
        "floor": ratio == 1,
        "ceil": np.ones(ratio.shape, np.bool_),
    }[nearest]
    return up.astype(np.int64)


def _weights(how: Sampling, ratio: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of the taps from the left one, and their weights."""
    narrowing = min(scale, 1.0) if how.antialias else 1.0
    reach = 1 if how.mode == "linear" else 2
    first = math.floor(-reach / narrowing) + 1
    offsets = np.arange(first, 2 - first)
    distance = np.abs(offsets[:, None] - ratio) * narrowing
    weights = np.clip(1 - distance, 0, 1) if how.mode == "linear" else _cubic(distance, how.cubic)
    if how.antialias:
        weights = weights / weights.sum(axis=0)
    return offsets, weights


def _cubic(x: np.ndarray, a: float) -> np.ndarray:
    """Keys (1981), equation 15, with any slope at 1."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    found: np.ndarray = np.where(x <= 1, near, np.where(x < 2, far, 0.0))
    return found
