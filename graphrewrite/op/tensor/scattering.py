"""Entries written to positions that are known at run time only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import NUMBERS, ORDERED, check_elements, one_element
from graphrewrite.op.sizes import shown
from graphrewrite.op.tensor.along import axis_of
from graphrewrite.op.tensor.cutting import check_indices, check_whole_channels
from graphrewrite.op.tensor.gathering import check_bounds, indices_fit, positions_of
from graphrewrite.types import Tensor

__all__ = ["scatter_elements", "scatter_nd", "tensor_scatter"]

_REDUCTIONS: Mapping[str, Any] = {
    "none": None,
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


def _check_reduction(x: Tensor, updates: Tensor, reduction: str) -> None:
    one_element(x, updates)
    check_whole_channels(x, range(len(x.shape)))
    if reduction not in _REDUCTIONS:
        raise TypeMismatchError(f"unknown reduction {reduction!r}; known are {', '.join(_REDUCTIONS)}")
    if reduction != "none":
        check_elements(NUMBERS if reduction in ("add", "mul") else ORDERED | {"bool"}, [x])


def _write(x: np.ndarray, at: tuple[np.ndarray, ...], updates: np.ndarray, reduction: str) -> np.ndarray:
    result = np.array(x)
    if reduction == "none":
        result[at] = updates  # of several updates of one entry, the last one stays
    else:
        with np.errstate(all="ignore"):
            _REDUCTIONS[reduction].at(result, at, updates)  # unlike +=, once for each update of one entry
    return result


def _infer_elements(x: Tensor, indices: Tensor, updates: Tensor, *, axis: int = 0, reduction: str = "none") -> Tensor:
    indices_fit(x, indices, axis)
    if indices.shape != updates.shape:
        raise TypeMismatchError(f"updates must have the shape of the indices, got {updates} for the indices {indices}")
    _check_reduction(x, updates, reduction)
    return x


@define_op(infer=_infer_elements)
def scatter_elements(
    x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, axis: int = 0, reduction: str = "none"
) -> np.ndarray:
    """The operand with one update per index, written at the position of the index except along one axis.

    The entry there is replaced by the last of them ("none"), or combined with all of them: "add", "mul", "max", "min"
    (ONNX specification, ScatterElements).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    indices
        Integers of the same rank.
    updates
        Entries, in the shape of the indices.
    axis
        The axis.
    reduction
        "none", "add", "mul", "max" or "min".

    Examples
    --------
    >>> scatter_elements(np.zeros(3), np.array([2, 0, 2]), np.ones(3), reduction="add").tolist()
    [1.0, 0.0, 2.0]
    """
    return _write(x, positions_of(x, indices, axis), updates, reduction)


def _infer_nd(x: Tensor, indices: Tensor, updates: Tensor, *, reduction: str = "none") -> Tensor:
    check_indices(indices)
    last = indices.shape[-1] if indices.shape else "?"
    if isinstance(last, str) or not 1 <= last <= len(x.shape):
        raise TypeMismatchError(
            f"the last axis of the indices {indices} must have 1 to {len(x.shape)} entries, one per axis of {x}"
        )
    wanted = (*indices.shape[:-1], *x.shape[last:])
    if updates.shape != wanted:
        raise TypeMismatchError(f"the indices {indices} select slices of {shown(wanted)} of {x}, got {updates}")
    _check_reduction(x, updates, reduction)
    return x


@define_op(infer=_infer_nd)
def scatter_nd(x: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, reduction: str = "none") -> np.ndarray:
    """The operand with slices written to positions that the last axis of the indices states.

    The entry there is replaced by the last of them ("none"), or combined with all of them: "add", "mul", "max", "min"
    (ONNX specification, ScatterND).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    indices
        Integers [..., K], positions on the first K axes.
    updates
        Slices, one a position.
    reduction
        "none", "add", "mul", "max" or "min".

    Examples
    --------
    >>> scatter_nd(np.zeros((2, 2)), np.array([[1]]), np.array([[5.0, 6.0]])).tolist()
    [[0.0, 0.0], [5.0, 6.0]]
    """
    parts = np.moveaxis(np.asarray(indices), -1, 0)
    at = tuple(check_bounds(part, x.shape[i], i) for i, part in enumerate(parts))
    return _write(x, at, updates, reduction)


def _infer_cache(x: Tensor, updates: Tensor, indices: Tensor | None = None, *, mode: str, axis: int) -> Tensor:
    at = axis_of(x, axis)
    one_element(x, updates)
    check_whole_channels(x, range(len(x.shape)))
    if mode not in ("linear", "circular"):
        raise TypeMismatchError(f"the mode is 'linear' or 'circular', got {mode!r}")
    if at == 0 or len(updates.shape) != len(x.shape):
        raise TypeMismatchError(f"updates have the axes of {x}, and steps along one after the batch, got {updates}")
    for i, (own, new) in enumerate(zip(x.shape, updates.shape, strict=True)):
        if new != own and (i != at or (isinstance(own, int) and isinstance(new, int) and new > own)):
            raise TypeMismatchError(f"the updates {updates} do not fit {x} on axis {i}")
    if indices is not None:
        check_indices(indices)
        if indices.shape != x.shape[:1]:
            raise TypeMismatchError(f"{x} needs an index for each of its samples, got {indices}")
    return x


@define_op(infer=_infer_cache)
def tensor_scatter(
    x: np.ndarray,
    updates: np.ndarray,
    indices: np.ndarray | None = None,
    *,
    mode: Literal["linear", "circular"] = "linear",
    axis: int = -2,
) -> np.ndarray:
    """Cache into which steps are written, from an index of each sample on (ONNX specification, TensorScatter).

    Parameters
    ----------
    x
        The cache, batch first.
    updates
        The steps, as many as they are along the axis.
    indices
        First place of each sample [N]; 0 if not given.
    mode
        "circular" where steps beyond the end go on at the beginning, else "linear".
    axis
        The axis of the steps.

    Examples
    --------
    >>> tensor_scatter(np.zeros((1, 3, 1)), np.ones((1, 2, 1)), np.array([2]), mode="circular").ravel().tolist()
    [1.0, 0.0, 1.0]
    >>> last = np.array([2**63 - 1])  # divided by 3, 1 is left
    >>> tensor_scatter(np.zeros((1, 3, 1)), np.ones((1, 2, 1)), last, mode="circular").ravel().tolist()
    [0.0, 1.0, 1.0]
    """
    at, size = axis % x.ndim, x.shape[axis]
    first = np.zeros(len(x), np.int64) if indices is None else np.asarray(indices).astype(np.int64)
    if mode == "circular":  # before anything is added, which may leave the word
        first = first % max(size, 1)
    steps = first[:, None] + np.arange(updates.shape[at])
    steps = steps % size if mode == "circular" else check_bounds(steps, size, at)
    result = np.moveaxis(np.array(x), at, 1)
    result[np.arange(len(x))[:, None], steps] = np.moveaxis(updates, at, 1)
    return np.moveaxis(result, 1, at)
