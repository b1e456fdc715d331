"""Entries chosen by what they are: how many there are, the data decides."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import ORDERED, TEXTS
from graphrewrite.op.tensor.along import axis_of
from graphrewrite.op.tensor.cutting import check_whole_channels, without_axes
from graphrewrite.types import Size, Tensor, element_kind, product

__all__ = ["compress", "nonzero", "unique"]


@define_op(infer=lambda x: Tensor("i64", (len(x.shape), Size.unknown())), elements=ORDERED | {"bool"})
def nonzero(x: np.ndarray) -> np.ndarray:
    """Positions of the entries that are not zero, one a column (ONNX specification, NonZero).

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> nonzero(np.array([[1, 0], [2, 3]])).tolist()
    [[0, 1, 1], [0, 0, 1]]
    """
    if not x.ndim:  # a position of no axes
        return np.zeros((0, int(x != 0)), np.int64)
    return np.array(np.nonzero(x), np.int64)


def _infer_compress(x: Tensor, condition: Tensor, *, axis: int | None) -> Tensor:
    if element_kind(condition.element) != "bool" or len(condition.shape) != 1:
        raise TypeMismatchError(f"the condition is bool[C], got {condition}; op.greater(x, …) gives one")
    if axis is None:
        return without_axes(x, (Size.unknown(),))
    at = axis_of(x, axis)
    check_whole_channels(x, [at])
    return Tensor(x.element, (*x.shape[:at], Size.unknown(), *x.shape[at + 1 :]), x.layout)


@define_op(infer=_infer_compress)
def compress(x: np.ndarray, condition: np.ndarray, *, axis: int | None = None) -> np.ndarray:
    """Slices of an axis for which a condition holds, or entries without an axis (ONNX specification, Compress).

    Where condition and axis differ in length, what lies beyond the shorter one is left out.

    Parameters
    ----------
    x
        Any shape.
    condition
        Bool [K], which slices stay.
    axis
        The axis; the entries in C order if not given.

    Examples
    --------
    >>> compress(np.array([[1, 2], [3, 4], [5, 6]]), np.array([False, True, True]), axis=0).tolist()
    [[3, 4], [5, 6]]
    """
    return np.compress(condition[: x.size if axis is None else x.shape[axis]], x, axis=axis)


def _infer_unique(x: Tensor, *, axis: int | None, **_: Any) -> tuple[Tensor, ...]:
    at = None if axis is None else axis_of(x, axis)
    check_whole_channels(x, range(len(x.shape)) if at is None else [at])
    count = Size.unknown()
    shape = (count,) if at is None else (*x.shape[:at], count, *x.shape[at + 1 :])
    entries = product(x.shape) if at is None else x.shape[at]
    found = without_axes(x, shape) if at is None else Tensor(x.element, shape, x.layout)
    return found, Tensor("i64", (count,)), Tensor("i64", (entries,)), Tensor("i64", (count,))


@define_op(infer=_infer_unique, results=4, elements=ORDERED | {"bool"} | TEXTS)
def unique(
    x: np.ndarray, *, axis: int | None = None, sorted: bool = True
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Different entries, or slices of an axis; where each is first, which each entry is, and how many there are.

    Sorted, or in the order in which they are first met (ONNX specification, Unique).

    Parameters
    ----------
    x
        Any shape.
    axis
        The axis; the entries in C order if not given.
    sorted
        Whether they are sorted, not in the order in which they are first met.

    Examples
    --------
    >>> [found.tolist() for found in unique(np.array([5, 2, 5, 1]), sorted=False)]
    [[5, 2, 1], [0, 1, 3], [0, 1, 0, 2], [2, 1, 1]]
    """
    values, first, which, counts = np.unique(x, True, True, True, axis=axis)
    which = which.reshape(-1)
    if not sorted:
        order = np.argsort(first)
        values = np.take(values, order, axis=0 if axis is None else axis)
        first, counts, which = first[order], counts[order], np.argsort(order)[which]
    return values, first.astype(np.int64), which.astype(np.int64), counts.astype(np.int64)
