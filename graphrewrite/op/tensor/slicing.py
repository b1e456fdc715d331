"""Parts of tensors, and repetitions of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.sizes import advice, exceeds
from graphrewrite.op.tensor.along import axis_of, distinct_axes
from graphrewrite.op.tensor.cutting import check_whole_channels
from graphrewrite.op.tensor.slice_sizes import picked, picked_size
from graphrewrite.types import Dimension, Tensor, as_size

__all__ = ["expand", "slice_", "split", "tile"]


def _infer_split(x: Tensor, *, axis: int = 0, sizes: Sequence[Dimension]) -> tuple[Tensor, ...]:
    at = axis_of(x, axis)
    whole, parts = x.shape[at], [as_size(size) for size in sizes]
    if not parts or any(exceeds(0, size) for size in parts) or sum(parts) != whole:
        raise TypeMismatchError(
            f"the sizes {list(sizes)} do not add up to the {whole} of axis {axis} of {x}{advice(whole, sum(parts))}"
        )
    check_whole_channels(x, [at])
    return tuple(Tensor(x.element, (*x.shape[:at], size, *x.shape[at + 1 :]), x.layout) for size in parts)


def _how_many(attributes: Mapping[str, Any]) -> int:
    return len(attributes["sizes"])


@define_op(infer=_infer_split, results=_how_many)
def split(x: np.ndarray, *, axis: int = 0, sizes: Sequence[Dimension]) -> tuple[np.ndarray, ...]:
    """Consecutive parts of given sizes along an axis, one result each (ONNX specification, Split).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.
    sizes
        Sizes of the parts, which add up to that of the axis.

    Examples
    --------
    >>> [part.tolist() for part in split(np.array([1, 2, 3]), sizes=(1, 2))]
    [[1], [2, 3]]
    """
    return tuple(np.split(x, np.cumsum([int(size) for size in sizes])[:-1], axis=axis))


def _axes_and_steps(
    count: int, axes: Sequence[int] | None, steps: Sequence[int] | None
) -> tuple[Sequence[int], Sequence[int]]:
    return (range(count) if axes is None else axes), ((1,) * count if steps is None else steps)


def _infer_slice(
    x: Tensor,
    *,
    starts: Sequence[Dimension],
    ends: Sequence[Dimension],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> Tensor:
    named, strides = _axes_and_steps(len(starts), axes, steps)
    if not len(starts) == len(ends) == len(named) == len(strides):
        counts = ", ".join(str(len(numbers)) for numbers in (starts, ends, named, strides))
        raise TypeMismatchError(f"starts, ends, axes and steps must have the same length, got {counts}")
    if 0 in strides:
        raise TypeMismatchError("the step of a slice must not be 0; give a positive or negative one")
    sizes = list(x.shape)
    for at, start, end, step in zip(distinct_axes(x, named), starts, ends, strides, strict=True):
        size = sizes[at]
        sizes[at] = picked_size(size, start, end, step)
        if (start, end, step) != (0, size, 1):
            check_whole_channels(x, [at])
    return Tensor(x.element, tuple(sizes), x.layout)


@define_op(infer=_infer_slice)
def slice_(
    x: np.ndarray,
    *,
    starts: Sequence[Dimension],
    ends: Sequence[Dimension],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> np.ndarray:
    """Every so many entries from a start to before an end, on some axes (ONNX specification, Slice).

    Negative positions count from the back, those beyond an axis are its ends; negative steps go backwards. A symbolic
    position says that it lies inside of the axis.

    Parameters
    ----------
    x
        Any shape.
    starts
        First position on each axis; negative ones count from the back.
    ends
        Position before which to end on each axis; beyond the axis it is its end.
    axes
        The axes; the first ones if not given.
    steps
        Distance of the entries, negative to go backwards; 1 if not given.

    Examples
    --------
    >>> slice_(np.arange(5), starts=(-1,), ends=(-99,), steps=(-2,)).tolist()
    [4, 2, 0]
    """
    named, strides = _axes_and_steps(len(starts), axes, steps)
    picks = [slice(None)] * x.ndim
    for axis, start, end, step in zip(named, starts, ends, strides, strict=True):
        picks[axis] = picked(x.shape[axis], int(start), int(end), step)
    return x[tuple(picks)]


def _infer_expand(x: Tensor, *, shape: Sequence[Dimension]) -> Tensor:
    sizes = broadcast_shape(x.shape, tuple(map(as_size, shape)))
    added = len(sizes) - len(x.shape)
    at = getattr(x.element, "axis", None)
    if at is not None and sizes[at + added] != x.shape[at]:
        check_whole_channels(x, [at])
    element = x.element if at is None else x.element.at_axis(at + added)  # type: ignore[union-attr]
    return Tensor(element, sizes, x.layout if not added else None)


@define_op(infer=_infer_expand)
def expand(x: np.ndarray, *, shape: Sequence[Dimension]) -> np.ndarray:
    """Entries repeated along axes of size 1, or along new ones in front, up to a shape (ONNX specification, Expand).

    Parameters
    ----------
    x
        Any shape.
    shape
        Sizes of the result; where it has a 1, that of the operand stays.

    Examples
    --------
    >>> expand(np.array([[1], [2]]), shape=(2, 1, 2)).tolist()
    [[[1, 1], [2, 2]], [[1, 1], [2, 2]]]
    """
    wanted = tuple(1 if isinstance(d, str) else d for d in shape)
    return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, wanted)))


def _infer_tile(x: Tensor, *, repeats: Sequence[Dimension]) -> Tensor:
    times = [as_size(count) for count in repeats]
    if len(times) != len(x.shape) or any(exceeds(0, count) for count in times):
        raise TypeMismatchError(f"{x} needs {len(x.shape)} repeats, one per axis, got {list(repeats)}")
    check_whole_channels(x, [axis for axis, count in enumerate(times) if count != 1])
    return Tensor(x.element, tuple(d * count for d, count in zip(x.shape, times, strict=True)), x.layout)


@define_op(infer=_infer_tile)
def tile(x: np.ndarray, *, repeats: Sequence[Dimension]) -> np.ndarray:
    """The whole operand repeated along each axis (ONNX specification, Tile).

    Parameters
    ----------
    x
        Any shape.
    repeats
        Number of repetitions along each axis.

    Examples
    --------
    >>> tile(np.array([[1, 2]]), repeats=(2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return np.tile(x, [int(count) for count in repeats])
