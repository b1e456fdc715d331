"""Reductions over chosen axes: sums, means, products, extremes and norms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, NUMBERS
from graphrewrite.op.precision import greatest_of, least_of, narrowed, truncated, widened
from graphrewrite.op.tensor.along import chosen_axes, without_axes
from graphrewrite.op.tensor.numpy_arithmetic import quotient
from graphrewrite.types import Tensor

__all__ = [
    "reduce_l1",
    "reduce_l2",
    "reduce_log_sum",
    "reduce_log_sum_exp",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_prod",
    "reduce_sum",
    "reduce_sum_square",
]


def _infer(x: Tensor, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> Tensor:
    return without_axes(x, chosen_axes(x, axes), keep_dims=keep_dims)


def _infer_extreme(x: Tensor, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> Tensor:
    chosen = chosen_axes(x, axes)
    if x.element in ("i2", "i4", "u2", "u4") and any(x.shape[axis] == 0 for axis in chosen):
        raise TypeMismatchError(f"{x} has no entries along the axes {list(chosen)}, and so no extremum")
    return without_axes(x, chosen, keep_dims=keep_dims)


def _folded(fold: np.ufunc, x: np.ndarray, axes: Sequence[int] | None, keep_dims: bool, **keywords: Any) -> np.ndarray:
    """Reduce with a ufunc, in the operand's dtype but for half precision, whose sums would lose too much."""
    wide = widened(x)
    along = None if axes is None else tuple(axes)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        return narrowed(fold.reduce(wide, axis=along, dtype=wide.dtype, keepdims=keep_dims, **keywords), x)


def _count(x: np.ndarray, axes: Sequence[int] | None) -> int:
    return x.size if axes is None else math.prod(x.shape[axis] for axis in axes)


def _squares(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):
        return np.square(widened(x))


@define_op(infer=_infer, elements=NUMBERS)
def reduce_sum(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Sum of the entries along some axes, all if none are named, and 0 of none (ONNX specification, ReduceSum).

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_sum(np.array([[1, 2], [3, 4]]), axes=(1,)).tolist()
    [[3], [7]]
    """
    return _folded(np.add, x, axes, keep_dims)


@define_op(infer=_infer, elements=NUMBERS)
def reduce_mean(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Mean of the entries along some axes, all if none are named; NaN of none (ONNX specification, ReduceMean).

    Of integers the whole part, and 0 of none.

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_mean(np.array([[1.0, 2.0], [3.0, 5.0]]), axes=(1,), keep_dims=False).tolist()
    [1.5, 4.0]
    """
    wide = widened(x)
    if x.dtype.kind != "f":  # a sum of small integers may overflow their type
        wide = x.astype(np.int64 if x.dtype.kind == "i" else np.uint64)
    total = _folded(np.add, wide, axes, keep_dims)
    return narrowed(quotient(total, np.asarray(_count(x, axes), wide.dtype)), x)


@define_op(infer=_infer, elements=NUMBERS)
def reduce_prod(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Product of the entries along some axes, all if none are named, and 1 of none (ONNX ReduceProd).

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_prod(np.array([[1, 2], [3, 4]]), axes=(0,)).tolist()
    [[3, 8]]
    """
    return _folded(np.multiply, x, axes, keep_dims)


@define_op(infer=_infer_extreme, elements=NUMBERS | {"bool"})
def reduce_max(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Greatest entry along some axes, all if none are named; NaN if there is one (ONNX ReduceMax).

    Of none the least number of the type: negative infinity of floats.

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_max(np.array([[1, 2], [3, 4]]), axes=(0,)).tolist()
    [[3, 4]]
    """
    none = {} if _count(x, axes) else {"initial": least_of(x.dtype)}
    return _folded(np.maximum, x, axes, keep_dims, **none)


@define_op(infer=_infer_extreme, elements=NUMBERS | {"bool"})
def reduce_min(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Least entry along some axes, all if none are named; NaN if there is one (ONNX ReduceMin).

    Of none the greatest number of the type: infinity of floats.

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_min(np.array([[1, 2], [3, 4]]), axes=(0,)).tolist()
    [[1, 2]]
    """
    none = {} if _count(x, axes) else {"initial": greatest_of(x.dtype)}
    return _folded(np.minimum, x, axes, keep_dims, **none)


@define_op(infer=_infer, elements=NUMBERS)
def reduce_l1(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Sum of the absolute values along some axes, all if none are named (ONNX specification, ReduceL1).

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_l1(np.array([[1, -2], [3, 4]]), axes=(1,)).tolist()
    [[3], [7]]
    """
    return _folded(np.add, np.abs(x), axes, keep_dims)


@define_op(infer=_infer, elements=NUMBERS)
def reduce_sum_square(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Sum of the squares along some axes, all if none are named (ONNX specification, ReduceSumSquare).

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_sum_square(np.array([[1, 2], [3, 4]]), axes=(1,)).tolist()
    [[5], [25]]
    """
    return narrowed(_folded(np.add, _squares(x), axes, keep_dims), x)


@define_op(infer=_infer, elements=NUMBERS)
def reduce_l2(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Root of the sum of the squares along some axes, all if none are named (ONNX specification, ReduceL2).

    Of integers the whole part.

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_l2(np.array([[3.0, -4.0]]), axes=(1,)).tolist()
    [[5.0]]
    """
    wide = x.astype(np.float64) if x.dtype.kind != "f" else x
    root = np.sqrt(_folded(np.add, _squares(wide), axes, keep_dims))
    return narrowed(root, x) if x.dtype.kind == "f" else truncated(root, x.dtype)


@define_op(infer=_infer, elements=FLOATS)
def reduce_log_sum(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Logarithm of the sum along some axes, all if none are named (ONNX specification, ReduceLogSum).

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_log_sum(np.array([[0.5, 0.5]]), axes=(1,)).tolist()
    [[0.0]]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(_folded(np.add, x, axes, keep_dims))


@define_op(infer=_infer, elements=FLOATS)
def reduce_log_sum_exp(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> np.ndarray:
    """Logarithm of the sum of the exponentials along some axes, all if none are named, without overflow.

    It is ``max + log(sum(exp(x - max)))`` (ONNX specification, ReduceLogSumExp), and negative infinity of no entries.

    Parameters
    ----------
    x
        Any shape.
    axes
        The axes; all if not given.
    keep_dims
        Whether they stay, with size 1.

    Examples
    --------
    >>> reduce_log_sum_exp(np.array([[1000.0, 1000.0]]), axes=(1,)).round(3).tolist()
    [[1000.693]]
    """
    wide, along = widened(x), None if axes is None else tuple(axes)
    most = math.sqrt(np.finfo(wide.dtype).max)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        total = np.add.reduce(np.exp(wide, order="C"), axis=along, keepdims=True)
        logarithm = np.log(total)
        is_far = ~((total > 1 / most) & (total < most))  # what was added may be infinite, or 0
        if is_far.any():
            logarithm = np.where(is_far, _shifted_logarithm(wide, along), logarithm)
    if not keep_dims:
        logarithm = np.squeeze(logarithm, along)
    return narrowed(logarithm, x)


def _shifted_logarithm(x: np.ndarray, axes: tuple[int, ...] | None) -> np.ndarray:
    most = np.maximum.reduce(x, axis=axes, keepdims=True, initial=-np.inf)
    most = np.where(np.isfinite(most), most, most.dtype.type(0))  # inf - inf would be NaN
    return np.log(np.add.reduce(np.exp(np.subtract(x, most, order="C")), axis=axes, keepdims=True)) + most
