"""Parts of tensors, and repetitions of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.derived import ALONG_AXIS
from graphrewrite.op.tensor.along import axis_of, distinct_axes
from graphrewrite.op.tensor.cutting import check_whole_channels
from graphrewrite.types import Dimension, Tensor

__all__ = ["expand", "slice_", "split", "tile"]

_FAR = 2**31 - 1
"""An end that lies after the last entry of every axis."""


def _infer_split(x: Tensor, *, axis: int = 0, sizes: Sequence[int]) -> tuple[Tensor, ...]:
    at = axis_of(x, axis)
    whole = x.shape[at]
    if isinstance(whole, str):
        raise TypeMismatchError(f"axis {axis} of {x} has a symbolic size, which cannot be split; give it a number")
    if not sizes or min(sizes) < 0 or sum(sizes) != whole:
        raise TypeMismatchError(f"the sizes {list(sizes)} do not add up to the {whole} of axis {axis} of {x}")
    check_whole_channels(x, [at])
    return tuple(Tensor(x.element, (*x.shape[:at], size, *x.shape[at + 1 :]), x.layout) for size in sizes)


def _how_many(attributes: Mapping[str, Any]) -> int:
    return len(attributes["sizes"])


@define_op(infer=_infer_split, results=_how_many, derived=ALONG_AXIS)
def split(x: np.ndarray, *, axis: int = 0, sizes: Sequence[int]) -> tuple[np.ndarray, ...]:
    """Consecutive parts of given sizes along an axis, one result each (ONNX specification, Split).

    Examples
    --------
    >>> [part.tolist() for part in split(np.array([1, 2, 3]), sizes=(1, 2))]
    [[1], [2, 3]]
    """
    return tuple(np.split(x, np.cumsum(sizes)[:-1], axis=axis))


def _axes_and_steps(
    count: int, axes: Sequence[int] | None, steps: Sequence[int] | None
) -> tuple[Sequence[int], Sequence[int]]:
    return (range(count) if axes is None else axes), ((1,) * count if steps is None else steps)


def _infer_slice(
    x: Tensor,
    *,
    starts: Sequence[int],
    ends: Sequence[int],
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
        if isinstance(size, str):
            _check_whole(x, at, start, end, step)
            continue
        sizes[at] = len(range(size)[_picked(size, start, end, step)])
        if (start, end, step) != (0, size, 1):
            check_whole_channels(x, [at])
    return Tensor(x.element, tuple(sizes), x.layout)


def _picked(size: int, start: int, end: int, step: int) -> slice:
    """Return a Python slice of an axis; ONNX lets one that goes backwards from before the axis start at entry 0."""
    return slice(max(start, -size) if step < 0 else start, end, step)


def _check_whole(x: Tensor, axis: int, start: int, end: int, step: int) -> None:
    forwards = step == 1 and start == 0 and end >= _FAR
    backwards = step == -1 and (start == -1 or start >= _FAR) and end <= -_FAR
    if not forwards and not backwards:
        raise TypeMismatchError(
            f"axis {axis} of {x} has a symbolic size, which can only be sliced as a whole: from 0 to {_FAR}, "
            f"or backwards from -1 to {-_FAR}; give it a number"
        )


@define_op(infer=_infer_slice)
def slice_(
    x: np.ndarray,
    *,
    starts: Sequence[int],
    ends: Sequence[int],
    axes: Sequence[int] | None = None,
    steps: Sequence[int] | None = None,
) -> np.ndarray:
    """Every so many entries from a start to before an end, on some axes (ONNX specification, Slice).

    Negative positions count from the back, those beyond an axis are its ends; negative steps go backwards. A symbolic
    size is taken whole, forwards or backwards.

    Examples
    --------
    >>> slice_(np.arange(5), starts=(-1,), ends=(-99,), steps=(-2,)).tolist()
    [4, 2, 0]
    """
    named, strides = _axes_and_steps(len(starts), axes, steps)
    picks = [slice(None)] * x.ndim
    for axis, start, end, step in zip(named, starts, ends, strides, strict=True):
        picks[axis] = _picked(x.shape[axis], start, end, step)
    return x[tuple(picks)]


def _infer_expand(x: Tensor, *, shape: Sequence[Dimension]) -> Tensor:
    sizes = broadcast_shape(x.shape, tuple(shape))
    added = len(sizes) - len(x.shape)
    for size, own in zip(sizes, (1,) * added + x.shape, strict=True):
        if isinstance(size, str) and size != own:
            raise TypeMismatchError(f"{x} does not have the symbolic size {size!r}; give a number")
    at = getattr(x.element, "axis", None)
    if at is not None and sizes[at + added] != x.shape[at]:
        check_whole_channels(x, [at])
    element = x.element if at is None else x.element.at_axis(at + added)  # type: ignore[union-attr]
    return Tensor(element, sizes, x.layout if not added else None)


@define_op(infer=_infer_expand)
def expand(x: np.ndarray, *, shape: Sequence[Dimension]) -> np.ndarray:
    """Entries repeated along axes of size 1, or along new ones in front, up to a shape (ONNX specification, Expand).

    Where the shape has a 1 or a symbol, the size of the operand stays.

    Examples
    --------
    >>> expand(np.array([[1], [2]]), shape=(2, 1, 2)).tolist()
    [[[1, 1], [2, 2]], [[1, 1], [2, 2]]]
    """
    wanted = tuple(1 if isinstance(d, str) else d for d in shape)
    return np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, wanted)))


def _infer_tile(x: Tensor, *, repeats: Sequence[int]) -> Tensor:
    if len(repeats) != len(x.shape) or min(repeats, default=0) < 0:
        raise TypeMismatchError(f"{x} needs {len(x.shape)} repeats, one per axis, got {list(repeats)}")
    for size, times in zip(x.shape, repeats, strict=True):
        if isinstance(size, str) and times != 1:
            raise TypeMismatchError(
                f"the symbolic size {size!r} of {x} cannot be repeated {times} times; give it a number"
            )
    check_whole_channels(x, [axis for axis, times in enumerate(repeats) if times != 1])
    sizes = tuple(d if isinstance(d, str) else d * times for d, times in zip(x.shape, repeats, strict=True))
    return Tensor(x.element, sizes, x.layout)


@define_op(infer=_infer_tile)
def tile(x: np.ndarray, *, repeats: Sequence[int]) -> np.ndarray:
    """The whole operand repeated along each axis (ONNX specification, Tile).

    Examples
    --------
    >>> tile(np.array([[1, 2]]), repeats=(2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    return np.tile(x, tuple(repeats))
