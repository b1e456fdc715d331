"""Entries picked by indices that run time gives."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.sizes import advice, exceeds
from graphrewrite.op.tensor.along import axis_of
from graphrewrite.op.tensor.cutting import check_indices, check_whole_channels, without_axes
from graphrewrite.types import Quantised, Tensor

__all__ = ["check_bounds", "gather", "gather_elements", "gather_nd", "indices_fit"]


def check_bounds(indices: np.ndarray, size: int, axis: int) -> np.ndarray:
    """Return indices counted from the front.

    Examples
    --------
    >>> check_bounds(np.array([-1, 0]), 3, 0).tolist()
    [2, 0]
    """
    # Unsigned indices are not compared with a negative number.
    wrong = (indices >= size) if indices.dtype.kind == "u" else (indices < -size) | (indices >= size)
    if wrong.any():
        raise EvaluationError(
            f"the index {indices[wrong].ravel()[0]} is outside of axis {axis} of size {size}; "
            f"give one from {-size} to {size - 1}"
        )
    whole = indices.astype(np.int64)
    return np.where(whole < 0, whole + size, whole)


def _infer_gather(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    check_indices(indices)
    at = axis_of(x, axis)
    check_whole_channels(x, [at])
    more = len(indices.shape) - 1  # axes come in, or one goes
    element = x.element
    if isinstance(element, Quantised) and element.axis is not None and element.axis > at:
        element = element.at_axis(element.axis + more)
    layout = x.layout
    if layout is not None:
        layout = layout if more == 0 else layout[:at] + layout[at + 1 :] if more < 0 else None
    return Tensor(element, (*x.shape[:at], *indices.shape, *x.shape[at + 1 :]), layout)


@define_op(infer=_infer_gather)
def gather(x: np.ndarray, indices: np.ndarray, *, axis: int = 0) -> np.ndarray:
    """Slices of an axis, one per index: the axes of the indices replace it (ONNX specification, Gather).

    Negative indices count from the back; one that is outside raises.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    indices
        Integers of any shape.
    axis
        The axis.

    Examples
    --------
    >>> gather(np.array([[1, 2], [3, 4], [5, 6]]), np.array([-1, 0])).tolist()
    [[5, 6], [1, 2]]
    """
    return np.asarray(np.take(x, check_bounds(np.asarray(indices), x.shape[axis], axis), axis=axis))


def indices_fit(x: Tensor, indices: Tensor, axis: int) -> int:
    """Return an axis counted from the front; raise if indices exceed a tensor along any other axis.

    Examples
    --------
    >>> indices_fit(Tensor("f32", ("N", 3)), Tensor("i64", ("N", 7)), -1)
    1
    """
    check_indices(indices)
    at = axis_of(x, axis)
    if len(indices.shape) != len(x.shape):
        raise TypeMismatchError(f"the indices {indices} must have as many axes as {x}; add some with op.unsqueeze")
    for i, (size, own) in enumerate(zip(indices.shape, x.shape, strict=True)):
        if i != at and exceeds(size, own):
            raise TypeMismatchError(f"the indices {indices} are larger than {x} on axis {i}; cut them with op.slice")
    return at


def _infer_gather_elements(x: Tensor, indices: Tensor, *, axis: int = 0) -> Tensor:
    check_whole_channels(x, [indices_fit(x, indices, axis)])
    at = getattr(x.element, "axis", None)
    if at is not None and indices.shape[at] != x.shape[at]:
        check_whole_channels(x, [at])
    return Tensor(x.element, indices.shape, x.layout)


@define_op(infer=_infer_gather_elements)
def gather_elements(x: np.ndarray, indices: np.ndarray, *, axis: int = 0) -> np.ndarray:
    """One entry per index, at the position of the index except along one axis (ONNX specification, GatherElements).

    Of two axes, ``y[i, j] = x[indices[i, j], j]`` along the first one.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    indices
        Integers of the same rank.
    axis
        The axis.

    Examples
    --------
    >>> gather_elements(np.array([[1, 2], [3, 4]]), np.array([[0, 0], [1, 0]]), axis=1).tolist()
    [[1, 1], [4, 3]]
    """
    return np.asarray(x[positions_of(x, indices, axis)])


def positions_of(x: np.ndarray, indices: np.ndarray, axis: int) -> tuple[np.ndarray, ...]:
    """Return the positions in an array to which indices along one axis refer."""
    at = axis % x.ndim
    if any(size > own for i, (size, own) in enumerate(zip(indices.shape, x.shape, strict=True)) if i != at):
        raise EvaluationError(
            f"indices of the shape {list(indices.shape)} are larger than {list(x.shape)} besides axis {axis}; "
            "cut them with op.slice"
        )
    grid = list(np.ogrid[tuple(slice(size) for size in indices.shape)])
    grid[at] = check_bounds(np.asarray(indices), x.shape[at], axis)
    return tuple(grid)


def _infer_gather_nd(x: Tensor, indices: Tensor, *, batch_dims: int = 0) -> Tensor:
    check_indices(indices)
    rank, last = len(x.shape), indices.shape[-1] if indices.shape else "?"
    if not 0 <= batch_dims < min(rank, len(indices.shape)) or x.shape[:batch_dims] != indices.shape[:batch_dims]:
        pairs = zip(x.shape[: max(batch_dims, 0)], indices.shape, strict=False)
        unequal = next((pair for pair in pairs if pair[0] != pair[1]), ())
        raise TypeMismatchError(
            f"{x} and the indices {indices} do not have {batch_dims} first axes in common{advice(*unequal)}"
        )
    if isinstance(last, str) or not 1 <= last <= rank - batch_dims:
        raise TypeMismatchError(
            f"the last axis of the indices {indices} must have 1 to {rank - batch_dims} entries, one per axis of {x}"
        )
    return without_axes(x, (*indices.shape[:-1], *x.shape[batch_dims + last :]))


@define_op(infer=_infer_gather_nd)
def gather_nd(x: np.ndarray, indices: np.ndarray, *, batch_dims: int = 0) -> np.ndarray:
    """Slices at positions that the last axis of the indices states, axis by axis (ONNX specification, GatherND).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    indices
        Integers [..., K], positions on the K axes after those of the batch.
    batch_dims
        Number of first axes that both operands have in common.

    Examples
    --------
    >>> gather_nd(np.array([[1, 2], [3, 4]]), np.array([[0, 1], [1, 0]])).tolist()
    [2, 3]
    """
    sizes = x.shape[batch_dims:]
    grid = np.ogrid[tuple(slice(size) for size in indices.shape[:-1])][:batch_dims] if indices.ndim > 1 else []
    parts = np.moveaxis(np.asarray(indices), -1, 0)
    named = [check_bounds(part, sizes[i], batch_dims + i) for i, part in enumerate(parts)]
    return np.asarray(x[(*grid, *named)])
