"""Images sampled at positions between their entries, and grids of such positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Literal

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, NUMBERS, check_elements
from graphrewrite.op.precision import narrowed, truncated, widened
from graphrewrite.types import Dimension, Tensor

__all__ = [
    "CUBIC_SLOPE",
    "FARTHEST",
    "affine_grid",
    "check_positions",
    "check_word",
    "grid_sample",
    "interpolated",
]

CUBIC_SLOPE = -0.75
"""Of the cubic weights at 1."""
FARTHEST = 2.0**30
"""Further than any entry of an axis, and no further than integers reach."""
_MODES = ("linear", "nearest", "cubic")
_PADDING = ("zeros", "border", "reflection")


def check_word(name: str, word: str, known: Sequence[str]) -> None:
    """Raise unless an attribute is one of some words."""
    if word not in known:
        shown = ", ".join(map(repr, known))
        raise TypeMismatchError(f"{name} is one of {shown}, got {word!r}{did_you_mean(str(word), known)}")


def check_positions(x: Tensor) -> None:
    """Raise if images have no entry along an axis, so that nothing lies at any position.

    Examples
    --------
    >>> check_positions(Tensor("f32", ("N", 0, 2)))
    """
    for axis, size in enumerate(x.shape[2:], start=2):
        if size == 0:
            raise TypeMismatchError(f"axis {axis} of {x} is empty: nothing can be interpolated")


def _infer_grid_sample(x: Tensor, grid: Tensor, *, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    check_elements(NUMBERS, [x])
    check_elements(FLOATS, [grid])
    check_word("mode", mode, _MODES)
    check_word("padding_mode", padding_mode, _PADDING)
    rank = len(x.shape) - 2
    if rank < 1 or len(grid.shape) != rank + 2 or grid.shape[-1] != rank:
        raise TypeMismatchError(
            f"an image [N,C,D1,…,Dr] needs a grid [N,O1,…,Or,r], one coordinate an axis, got {x} and {grid}"
        )
    check_positions(x)
    if x.shape[0] != grid.shape[0]:
        raise TypeMismatchError(f"{x} and the grid {grid} differ in the size of the batch")
    return Tensor(x.element, (*x.shape[:2], *grid.shape[1:-1]))


@define_op(infer=_infer_grid_sample)
def grid_sample(
    x: np.ndarray,
    grid: np.ndarray,
    *,
    mode: Literal["linear", "nearest", "cubic"] = "linear",
    padding_mode: Literal["zeros", "border", "reflection"] = "zeros",
    align_corners: bool = False,
) -> np.ndarray:
    """Image sampled at positions of a grid (ONNX specification, GridSample; Jaderberg et al. 2015).

    Parameters
    ----------
    x
        Images [N, C, …].
    grid
        Positions [N, …, axes], the last coordinate first.
    mode
        Values between entries: interpolated ("linear", "cubic"), or the "nearest" one, the even one of two.
    padding_mode
        Outside are "zeros", the "border", or the "reflection" of what is inside.
    align_corners
        Whether -1 and 1 are the centres of an axis's outer entries, not their outer edges.

    Examples
    --------
    >>> grid_sample(np.array([[[1.0, 3.0, 5.0]]]), np.array([[[-1.0], [0.5]]]), align_corners=True).tolist()
    [[[1.0, 4.0]]]
    """
    sizes = np.array(x.shape[2:])
    unit = widened(grid)[..., ::-1]
    positions = (unit + 1) / 2 * (sizes - 1) if align_corners else ((unit + 1) * sizes - 1) / 2
    found = interpolated(x, positions.astype(unit.dtype), mode, padding_mode, align_corners=align_corners)
    return found if x.dtype == found.dtype else _rounded(found, x)


def _rounded(y: np.ndarray, like: np.ndarray) -> np.ndarray:
    return narrowed(y, like) if like.dtype.kind == "f" else truncated(y, like.dtype)


def interpolated(
    x: np.ndarray, positions: np.ndarray, mode: str, padding: str, *, align_corners: bool = False
) -> np.ndarray:
    """Return values of an image [N, C, D1, …, Dr] at positions [N, …, r], counted in entries: [N, C, …].

    Examples
    --------
    >>> interpolated(np.array([[[1.0, 3.0]]]), np.array([[[0.25], [1.5]]]), "linear", "zeros").tolist()
    [[[1.5, 1.5]]]
    """
    each = [
        _taps(positions[..., axis], size, mode, padding, align_corners=align_corners)
        for axis, size in enumerate(x.shape[2:])
    ]
    places = positions.shape[1:-1]
    flat = widened(x).reshape(*x.shape[:2], math.prod(x.shape[2:]))
    if mode == "nearest":
        flat = x.reshape(flat.shape)  # whose entries stay what they are, large integers too
    elif flat.dtype.kind != "f":
        flat = flat.astype(np.float64)
    total: np.ndarray | None = None
    for taps in product(*each):
        index, weight = np.zeros((), np.int64), np.ones((), flat.dtype)
        for size, (at, factor) in zip(x.shape[2:], taps, strict=True):
            index, weight = index * size + at, weight * factor.astype(flat.dtype)
        picked = np.take_along_axis(flat, index.reshape(len(x), 1, math.prod(places)), 2).reshape(*x.shape[:2], *places)
        part = picked * weight[:, None]
        total = part if total is None else total + part
    assert total is not None  # an image has an axis
    return total


def _taps(
    at: np.ndarray, size: int, mode: str, padding: str, *, align_corners: bool
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Entries along one axis that make the values at some positions, and their weights."""
    low, high = (0.0, size - 1.0) if align_corners else (-0.5, size - 0.5)
    at = np.clip(np.nan_to_num(at, nan=-FARTHEST), -FARTHEST, FARTHEST)
    at = np.rint(at) if mode == "nearest" else at
    outside = (at < low) | (at > high)
    if padding == "border":
        at = np.where(outside, np.clip(at, 0, size - 1), at)
    elif padding == "reflection":
        at = np.where(outside, _reflected(at, low, high), at)
    first = np.floor(at)
    if mode == "nearest":
        weights = [np.ones(at.shape)]
    elif mode == "linear":
        weights = [1 - (at - first), at - first]
    else:
        weights = [_cubic(np.abs(at - first - offset)) for offset in (-1, 0, 1, 2)]
        first = first - 1
    return [_within(first + offset, weight, size, padding, low, high) for offset, weight in enumerate(weights)]


def _within(
    index: np.ndarray, weight: np.ndarray, size: int, padding: str, low: float, high: float
) -> tuple[np.ndarray, np.ndarray]:
    outside = (index < 0) | (index > size - 1)
    if padding == "reflection":
        index = np.where(outside, _reflected(index, low, high), index)
    elif padding == "zeros":
        weight = np.where(outside, 0, weight)
    return np.clip(index, 0, size - 1).astype(np.int64), weight


def _reflected(at: np.ndarray, low: float, high: float) -> np.ndarray:
    """Positions reflected at both ends until they lie between them."""
    span = high - low
    if span <= 0:
        return np.full_like(at, low)
    distance = np.abs(at - low)
    turns = np.floor(distance / span)
    rest = distance - turns * span
    return np.where(turns % 2 == 0, low + rest, high - rest)


def _cubic(x: np.ndarray) -> np.ndarray:
    """Keys (1981), equation 15, with a slope of its own at 1."""
    near = ((CUBIC_SLOPE + 2) * x - (CUBIC_SLOPE + 3)) * x * x + 1
    far = ((CUBIC_SLOPE * x - 5 * CUBIC_SLOPE) * x + 8 * CUBIC_SLOPE) * x - 4 * CUBIC_SLOPE
    return np.where(x <= 1, near, far)


def _infer_affine_grid(theta: Tensor, *, size: Sequence[Dimension], align_corners: bool) -> Tensor:
    rank = len(size) - 2
    if rank not in (2, 3):
        raise TypeMismatchError(f"size is that of an image, (N, C, H, W) or (N, C, D, H, W), got {tuple(size)}")
    if len(theta.shape) != 3 or theta.shape[1] != rank or theta.shape[2] != rank + 1:
        raise TypeMismatchError(f"a size of {rank} positions needs matrices [N,{rank},{rank + 1}], got {theta}")
    if theta.shape[0] != size[0]:
        raise TypeMismatchError(f"there are {theta.shape[0]} matrices for a batch of {size[0]}")
    return Tensor(theta.element, (theta.shape[0], *size[2:], rank))


@define_op(infer=_infer_affine_grid, elements=FLOATS)
def affine_grid(theta: np.ndarray, *, size: Sequence[Dimension], align_corners: bool = False) -> np.ndarray:
    """Grid of positions to which affine maps bring those of an image (ONNX specification, AffineGrid).

    `grid_sample` reads the result.

    Parameters
    ----------
    theta
        Maps [N, 2, 3] or [N, 3, 4], the translation in the last column.
    size
        Shape of the image, batch and channels included.
    align_corners
        As of `grid_sample`.

    Examples
    --------
    >>> affine_grid(np.eye(3)[None, :2], size=(1, 1, 1, 2)).tolist()
    [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    axes, counts = [], tuple(map(int, size[2:]))
    for count in counts:
        # Centres of equal parts; or with the outer ones at the ends, of which a single one is.
        steps = np.arange(count)
        at = 2 * steps / max(count - 1, 1) - 1 if align_corners else (2 * steps + 1) / max(count, 1) - 1
        axes.append(at)
    grid = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(counts)], axis=-1)
    wide = widened(theta)
    moved = np.matmul(grid.reshape(-1, len(axes) + 1).astype(wide.dtype), wide.transpose(0, 2, 1))
    return narrowed(moved.reshape(len(theta), *counts, len(axes)), theta)
