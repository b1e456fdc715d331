"""Comparisons, whose results are true or false, and the choice that reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.axes import common_layout
from graphrewrite.op.define import broadcast_shape, define_op, elementwise
from graphrewrite.op.domain import FLOATS, ORDERED, TEXTS, one_element
from graphrewrite.types import Tensor

__all__ = ["equal", "greater", "greater_or_equal", "is_inf", "is_nan", "less", "less_or_equal", "where"]


def _truth(*types: Tensor, **_: Any) -> Tensor:
    common = elementwise(*types)
    return Tensor("bool", common.shape, common.layout)


@define_op(infer=_truth, elements=ORDERED | {"bool"} | TEXTS, commutative=True)
def equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether two operands are the same number; NaN equals nothing. Works on mantissas of one format as well.

    Parameters
    ----------
    x, y
        Shapes broadcast.

    Examples
    --------
    >>> equal(np.array([1, 2, 3]), 2).tolist()
    [False, True, False]
    """
    return np.equal(x, y)


@define_op(infer=_truth, elements=ORDERED)
def less(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether ``x < y``; false where either is NaN. Works on mantissas of one format as well.

    Parameters
    ----------
    x, y
        Shapes broadcast.

    Examples
    --------
    >>> less(np.array([1, 2, 3]), 2).tolist()
    [True, False, False]
    """
    return np.less(x, y)


@define_op(infer=_truth, elements=ORDERED)
def less_or_equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether ``x <= y``; false where either is NaN. Works on mantissas of one format as well.

    Parameters
    ----------
    x, y
        Shapes broadcast.

    Examples
    --------
    >>> less_or_equal(np.array([1, 2, 3]), 2).tolist()
    [True, True, False]
    """
    return np.less_equal(x, y)


@define_op(infer=_truth, elements=ORDERED)
def greater(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether ``x > y``; false where either is NaN. Works on mantissas of one format as well.

    Parameters
    ----------
    x, y
        Shapes broadcast.

    Examples
    --------
    >>> greater(np.array([1, 2, 3]), 2).tolist()
    [False, False, True]
    """
    return np.greater(x, y)


@define_op(infer=_truth, elements=ORDERED)
def greater_or_equal(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Whether ``x >= y``; false where either is NaN. Works on mantissas of one format as well.

    Parameters
    ----------
    x, y
        Shapes broadcast.

    Examples
    --------
    >>> greater_or_equal(np.array([1, 2, 3]), 2).tolist()
    [False, True, True]
    """
    return np.greater_equal(x, y)


@define_op(infer=_truth, elements=FLOATS)
def is_nan(x: np.ndarray) -> np.ndarray:
    """Whether an entry is NaN.

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> is_nan(np.array([1.0, np.nan])).tolist()
    [False, True]
    """
    return np.isnan(x)


@define_op(infer=_truth, elements=FLOATS)
def is_inf(x: np.ndarray, *, detect_negative: bool = True, detect_positive: bool = True) -> np.ndarray:
    """Whether an entry is infinite, of the signs that are asked for (ONNX specification, IsInf).

    Parameters
    ----------
    x
        Any shape.
    detect_negative
        Whether negative infinity counts.
    detect_positive
        Whether positive infinity counts.

    Examples
    --------
    >>> is_inf(np.array([-np.inf, 1.0, np.inf]), detect_negative=False).tolist()
    [False, False, True]
    """
    return np.isinf(x) & (((x < 0) & bool(detect_negative)) | ((x > 0) & bool(detect_positive)))


def _infer_where(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    if condition.element != "bool":
        raise TypeMismatchError(
            f"the condition must be bool, got {condition}; compare first, or op.cast(condition, element='bool')"
        )
    one_element(x, y)
    shape = broadcast_shape(condition.shape, x.shape, y.shape)
    return Tensor(x.element, shape, common_layout((condition, x, y), len(shape)))


@define_op(infer=_infer_where, elements=ORDERED | {"bool"} | TEXTS)
def where(condition: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Entries of ``x`` where the condition is true, and of ``y`` elsewhere; all three broadcast (ONNX Where).

    Parameters
    ----------
    condition
        Which entries are taken, as bool; all three shapes broadcast.
    x
        Entries where it is true.
    y
        Entries where it is false.

    Examples
    --------
    >>> where(np.array([True, False]), np.array([1, 2]), np.array([3, 4])).tolist()
    [1, 4]
    """
    return np.where(condition, x, y)
