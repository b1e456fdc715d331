"""Reductions along an axis."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import ALONG_AXIS
from graphrewrite.op.domain import ANY, FLOATS
from graphrewrite.types import FixedPoint, Quantised, Tensor

__all__ = ["arg_max", "softmax"]


def _infer_arg_max(x: Tensor, *, axis: int = -1, keep_dims: bool = True) -> Tensor:
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise TypeMismatchError(f"axis {axis} is outside of {x}")
    axis %= rank
    size = x.shape[axis]
    shape = (*x.shape[:axis], *([1] if keep_dims else []), *x.shape[axis + 1 :])
    layout = x.layout if keep_dims or x.layout is None else x.layout[:axis] + x.layout[axis + 1 :]
    if isinstance(x.element, Quantised) and x.element.axis == axis:
        raise TypeMismatchError(f"the entries along axis {axis} have a scale each; op.from_quantised dequantises first")
    if isinstance(x.element, FixedPoint) and isinstance(size, int):
        return Tensor(FixedPoint.holding(0, size - 1), shape, layout)
    return Tensor("i64", shape, layout)


@define_op(infer=_infer_arg_max, elements=ANY, derived=ALONG_AXIS)
def arg_max(x: np.ndarray, *, axis: int = -1, keep_dims: bool = True) -> np.ndarray:
    """Index of the first greatest entry (ONNX specification, ArgMax). Works on mantissas as well.

    Examples
    --------
    >>> arg_max(np.array([[1.0, 5.0, 5.0]])).tolist()
    [[1]]
    """
    return np.argmax(x, axis=axis, keepdims=keep_dims)


def _infer_softmax(x: Tensor, *, axis: int = -1) -> Tensor:
    if not -len(x.shape) <= axis < len(x.shape):
        raise TypeMismatchError(f"axis {axis} is outside of {x}")
    return x


@define_op(infer=_infer_softmax, elements=FLOATS, derived=ALONG_AXIS)
def softmax(x: np.ndarray, *, axis: int = -1) -> np.ndarray:
    """Normalised exponentials ``exp(x - max) / sum(exp(x - max))`` along an axis.

    Examples
    --------
    >>> softmax(np.array([[0.0, 0.0]])).tolist()
    [[0.5, 0.5]]
    """
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    y: np.ndarray = e / e.sum(axis=axis, keepdims=True)
    return y
