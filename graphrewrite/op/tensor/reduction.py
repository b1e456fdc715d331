"""Along an axis: its greatest entries and where they stand, shares of a whole, and running sums."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import ANY, FLOATS, NUMBERS, ORDERED
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.op.sizes import exceeds
from graphrewrite.op.tensor.along import axis_of, without_axes
from graphrewrite.op.tensor.cutting import check_whole_channels
from graphrewrite.types import Dimension, FixedPoint, Tensor, as_size

__all__ = [
    "arg_max",
    "arg_min",
    "cum_prod",
    "cum_sum",
    "hardmax",
    "log_softmax",
    "softmax",
    "softmin",
    "top_k",
]


def _infer_place(x: Tensor, *, axis: int = -1, keep_dims: bool = True, select_last_index: bool = False) -> Tensor:
    at = axis_of(x, axis)
    size = x.shape[at]
    check_whole_channels(x, [at])
    if size == 0:
        raise TypeMismatchError(f"{x} has no entries along axis {axis}, and so no extremum")
    fixed = isinstance(x.element, FixedPoint)
    element = FixedPoint.holding(0, size - 1) if fixed and isinstance(size, int) else "i64"
    return without_axes(x, (at,), keep_dims=keep_dims, element=element)


def _extremum(find: Callable[..., np.ndarray], x: np.ndarray, axis: int, keep_dims: bool, last: bool) -> np.ndarray:
    if not last:
        return find(x, axis=axis, keepdims=keep_dims)
    return _from_the_end(find(np.flip(x, axis), axis=axis, keepdims=keep_dims), x, axis)


def _from_the_end(indices: np.ndarray, x: np.ndarray, axis: int) -> np.ndarray:
    return x.shape[axis] - 1 - indices


@define_op(infer=_infer_place, elements=ANY)
def arg_max(x: np.ndarray, *, axis: int = -1, keep_dims: bool = True, select_last_index: bool = False) -> np.ndarray:
    """Index of the first greatest entry, or of the last one (ONNX specification, ArgMax). Works on mantissas as well.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.
    keep_dims
        Whether it stays, with size 1.
    select_last_index
        Whether the last of equal entries counts, not the first.

    Examples
    --------
    >>> arg_max(np.array([[1.0, 5.0, 5.0]])).tolist()
    [[1]]
    >>> arg_max(np.array([[1.0, 5.0, 5.0]]), select_last_index=True).tolist()
    [[2]]
    """
    return _extremum(np.argmax, x, axis, keep_dims, select_last_index)


@define_op(infer=_infer_place, elements=ANY)
def arg_min(x: np.ndarray, *, axis: int = -1, keep_dims: bool = True, select_last_index: bool = False) -> np.ndarray:
    """Index of the first least entry, or of the last one (ONNX specification, ArgMin). Works on mantissas as well.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.
    keep_dims
        Whether it stays, with size 1.
    select_last_index
        Whether the last of equal entries counts, not the first.

    Examples
    --------
    >>> arg_min(np.array([[5.0, 1.0, 1.0]])).tolist()
    [[1]]
    """
    return _extremum(np.argmin, x, axis, keep_dims, select_last_index)


def _infer_top_k(
    x: Tensor, *, k: Dimension, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Tensor, Tensor]:
    at = axis_of(x, axis)
    size, count = x.shape[at], as_size(k)
    if exceeds(0, count) or exceeds(count, size):
        raise TypeMismatchError(f"axis {axis} of {x} has {size} entries, fewer than k={k}")
    shape: tuple[Dimension, ...] = (*x.shape[:at], count, *x.shape[at + 1 :])
    return Tensor(x.element, shape, x.layout), Tensor("i64", shape, x.layout)


@define_op(infer=_infer_top_k, elements=ORDERED, results=2)
def top_k(
    x: np.ndarray, *, k: Dimension, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The k greatest entries along an axis, or the least ones, and their indices (ONNX specification, TopK).

    The first of them comes first, of equal ones that with the lower index; NaN counts as the greatest number.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    k
        Number of entries.
    axis
        The axis.
    largest
        Whether the greatest ones are meant.
    sorted
        Whether their order matters; they come in order anyway.

    Examples
    --------
    >>> values, indices = top_k(np.array([3, 1, 4, 1, 5]), k=2)
    >>> values.tolist(), indices.tolist()
    ([5, 4], [4, 2])
    """
    count = int(k)
    if not 0 <= count <= x.shape[axis]:
        raise EvaluationError(
            f"axis {axis} of {list(x.shape)} has {x.shape[axis]} entries, fewer than k={count}; give less"
        )
    if largest:  # ascending from the end and then flipped, so that equal entries stay in order, as ONNX asks
        order = np.flip(_from_the_end(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), x, axis), axis)
    else:
        order = np.argsort(x, axis=axis, kind="stable")
    chosen = np.take(order, np.arange(count), axis=axis)
    return np.take_along_axis(x, chosen, axis), chosen


def _infer_along(x: Tensor, *, axis: int, **_: object) -> Tensor:
    axis_of(x, axis)
    return x


_LEAST = 2.0**-10
"""Exponentials of a lesser sum may be so small that they lose digits: they are computed less the greatest entry."""


def _most(x: np.ndarray) -> float:
    """Return the sum of exponentials from which on they may be infinite."""
    return math.sqrt(np.finfo(x.dtype).max)


def _shifted(x: np.ndarray, axis: int) -> np.ndarray:
    """Return entries less the greatest, so that no exponential overflows, in a new array, whose memory is in order."""
    return np.subtract(x, np.maximum.reduce(x, axis=axis, keepdims=True), order="C")


@define_op(infer=_infer_along, elements=FLOATS)
def softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """Normalised exponentials ``exp(x - max) / sum(exp(x - max))`` along an axis.

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.

    Examples
    --------
    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    if not x.size:
        return x
    with np.errstate(under="ignore", invalid="ignore", over="ignore", divide="ignore"):
        if x.dtype == np.float16:  # sums of exponentials leave its range soon
            shares = np.exp(_shifted(x, axis))
            shares /= np.add.reduce(shares, axis=axis, keepdims=True)
            return shares
        y = np.exp(x, order="C")
        total = np.add.reduce(y, axis=axis, keepdims=True)
        y /= total
        if not (np.minimum.reduce(total, axis=None) > _LEAST and np.maximum.reduce(total, axis=None) < _most(x)):
            is_far = ~((total > _LEAST) & (total < _most(x))).squeeze(axis)
            shares = np.exp(_shifted(np.moveaxis(x, axis, -1)[is_far], -1))
            np.moveaxis(y, axis, -1)[is_far] = shares / np.add.reduce(shares, axis=-1, keepdims=True)
    return y


@define_op(infer=_infer_along, elements=FLOATS)
def softmin(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """Normalised exponentials of the negated operand, ``softmax(-x)`` (PyTorch, Softmin).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.

    Examples
    --------
    >>> softmin(np.array([[0.0, 1000.0]])).tolist()
    [[1.0, 0.0]]
    """
    return softmax.function(np.negative(x), axis=axis)


@define_op(infer=_infer_along, elements=FLOATS)
def log_softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """Logarithm of softmax, ``x - max - log(sum(exp(x - max)))``, exact where that is tiny (ONNX LogSoftmax).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.

    Examples
    --------
    >>> log_softmax(np.array([[1000.0, 0.0]])).tolist()
    [[0.0, -1000.0]]
    """
    if not x.size:
        return x
    with np.errstate(under="ignore", invalid="ignore", over="ignore"):
        y = _shifted(widened(x), axis)
        y -= np.log(np.add.reduce(np.exp(y), axis=axis, keepdims=True))
    return narrowed(y, x)


@define_op(infer=_infer_along, elements=FLOATS)
def hardmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """1 at the first greatest entry along an axis, and 0 elsewhere (ONNX specification, Hardmax).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.

    Examples
    --------
    >>> hardmax(np.array([[1.0, 5.0, 5.0]])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    if not x.size:
        return x
    indices = np.arange(x.shape[axis]).reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])
    return (indices == np.argmax(x, axis=axis, keepdims=True)).astype(x.dtype)


def _running(fold: np.ufunc, x: np.ndarray, axis: int, exclusive: bool, reverse: bool) -> np.ndarray:
    wide = widened(np.flip(x, axis) if reverse else x)
    if exclusive:  # the neutral element comes first, and the last entry is left out
        shape = [1 if i == axis % x.ndim else size for i, size in enumerate(x.shape)]
        before = np.full(shape, fold.identity, wide.dtype)
        wide = np.take(np.concatenate([before, wide], axis), np.arange(x.shape[axis]), axis=axis)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        result = narrowed(fold.accumulate(wide, axis=axis, dtype=wide.dtype), x)
    return np.flip(result, axis) if reverse else result


@define_op(infer=_infer_along, elements=NUMBERS)
def cum_sum(x: np.ndarray, *, axis: int, exclusive: bool = False, reverse: bool = False) -> np.ndarray:
    """Sums of all entries up to each, or before each, or from each to the last (ONNX specification, CumSum).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.
    exclusive
        Whether an entry is left out of its own sum.
    reverse
        Whether sums begin at the end.

    Examples
    --------
    >>> cum_sum(np.array([1, 2, 3]), axis=0).tolist()
    [1, 3, 6]
    >>> cum_sum(np.array([1, 2, 3]), axis=0, exclusive=True, reverse=True).tolist()
    [5, 3, 0]
    """
    return _running(np.add, x, axis, exclusive, reverse)


@define_op(infer=_infer_along, elements=NUMBERS)
def cum_prod(x: np.ndarray, *, axis: int, exclusive: bool = False, reverse: bool = False) -> np.ndarray:
    """Products of all entries up to each, or before each, or from each to the last (ONNX specification, CumProd).

    Parameters
    ----------
    x
        Any shape but a scalar's.
    axis
        The axis.
    exclusive
        Whether an entry is left out of its own product.
    reverse
        Whether products begin at the end.

    Examples
    --------
    >>> cum_prod(np.array([2, 3, 4]), axis=0).tolist()
    [2, 6, 24]
    """
    return _running(np.multiply, x, axis, exclusive, reverse)
