"""Ops of a scalar graph of shifts and additions: a sum of two shifted numbers, and all sums of a matrix."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.types import FixedPoint, Tensor

__all__ = ["bounds_of", "linear_sums", "shifted_sum"]

_PLACES = 48
"""The farthest shift: lanes have at most as many bits."""
_LARGEST = 2**31 - 1
"""The largest constant: its digits are at most 31 places apart."""


def bounds_of(x: tuple[int, int], y: tuple[int, int], shifts: Sequence[int], subtract: bool) -> tuple[int, int]:
    """Return the least and the greatest ``(x << shifts[0]) ± (y << shifts[1])``, from those of x and of y.

    Examples
    --------
    >>> bounds_of((0, 15), (0, 7), (0, 1), True)
    (-14, 15)
    """
    low, high = sorted((y[0], y[1])) if not subtract else sorted((-y[1], -y[0]))
    return (x[0] << shifts[0]) + (low << shifts[1]), (x[1] << shifts[0]) + (high << shifts[1])


def _format(tensor: Tensor) -> FixedPoint:
    if not isinstance(tensor.element, FixedPoint):
        raise TypeMismatchError(f"{tensor} holds no mantissas of a fixed-point format; convert it with to_fixed")
    if tensor.element.fraction:
        raise TypeMismatchError(f"{tensor.element} has a fraction; shift the numbers instead, and give a format f0")
    return tensor.element


def _infer_sum(x: Tensor, y: Tensor, *, shifts: Sequence[int], subtract: bool) -> Tensor:
    if len(shifts) != 2 or not all(0 <= places <= _PLACES for places in shifts):
        raise TypeMismatchError(f"shifts {tuple(shifts)}: give two left shifts from 0 to {_PLACES}")
    if x.shape != y.shape:
        raise TypeMismatchError(f"{x} and {y} differ in shape; give equal shapes")
    left, right = _format(x), _format(y)
    bounds = bounds_of((left.minimum, left.maximum), (right.minimum, right.maximum), shifts, subtract)
    return Tensor(FixedPoint.holding(*bounds), x.shape)


@define_op(level="integer", infer=_infer_sum, elements=MANTISSAS)
def shifted_sum(x: np.ndarray, y: np.ndarray, *, shifts: Sequence[int] = (0, 0), subtract: bool = False) -> np.ndarray:
    """Sum or difference of two numbers, each shifted left: one adder.

    Parameters
    ----------
    x, y : ndarray of int
        Mantissas of the same shape.

    Examples
    --------
    >>> shifted_sum(np.array([5]), np.array([1]), shifts=(0, 3), subtract=True).tolist()
    [-3]
    """
    left, right = x.astype(np.int64) << shifts[0], y.astype(np.int64) << shifts[1]
    return np.asarray(left - right if subtract else left + right)


def _infer_sums(*xs: Tensor, matrix: ArrayLike, element: FixedPoint) -> Tensor:
    rows = np.asarray(matrix)
    if rows.ndim != 2 or rows.dtype.kind not in "iu" or rows.shape[1] != len(xs) or not len(rows):
        raise TypeMismatchError(
            f"a matrix of shape {rows.shape} does not fit {len(xs)} numbers; give a column for each"
        )
    if rows.size and int(np.abs(rows.astype(object)).max()) > _LARGEST:
        raise TypeMismatchError(f"a constant exceeds {_LARGEST}; quantise the constants to a narrower format")
    if any(x.shape != xs[0].shape or len(x.shape) != 1 for x in xs):
        raise TypeMismatchError("sums are made of scalars, one a sample; give operands of shape [N]")
    for x in xs:
        _format(x)
    return Tensor(element, (*xs[0].shape, len(rows)))


@define_op(level="integer", infer=_infer_sums, elements=MANTISSAS)
def linear_sums(*xs: np.ndarray, matrix: ArrayLike, element: FixedPoint) -> np.ndarray:
    """All sums of numbers times constants: ``matrix @ xs``, of which the element type keeps the lowest bits.

    Examples
    --------
    >>> x, y = np.array([1, 2]), np.array([10, 20])
    >>> linear_sums(x, y, matrix=[[1, 1], [2, -1]], element=FixedPoint(True, 8)).tolist()
    [[11, -8], [22, -16]]
    >>> linear_sums(x, y, matrix=[[0, -1]], element=FixedPoint(False, 4)).tolist()
    [[6], [12]]
    """
    sums = np.stack([x.astype(np.int64) for x in xs], axis=1) @ np.asarray(matrix, np.int64).T
    least = element.minimum
    return np.asarray((((sums - least) & ((1 << element.width) - 1)) + least).astype(element.dtype))
