"""Activations: element-wise functions of one operand."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.derived import ACTIVATED, CLIPPED
from graphrewrite.op.domain import FLOATS, ORDERED
from graphrewrite.types import FixedPoint, Tensor

__all__ = ["clip", "leaky_relu", "relu", "sigmoid", "tanh"]


def _same(x: Tensor, **_: object) -> Tensor:
    return x


@define_op(infer=_same, elements=ORDERED)
def relu(x: np.ndarray) -> np.ndarray:
    """Rectified linear unit, ``max(x, 0)``; works on mantissas as well.

    Examples
    --------
    >>> relu(np.array([-2, 0, 3])).tolist()
    [0, 0, 3]
    """
    return np.maximum(x, x.dtype.type(0))


@define_op(infer=_same, elements=FLOATS, derived=ACTIVATED)
def leaky_relu(x: np.ndarray, *, alpha: float = 0.01) -> np.ndarray:
    """Leaky rectified linear unit, ``x if x >= 0 else alpha * x`` (ONNX LeakyRelu).

    Examples
    --------
    >>> leaky_relu(np.array([-2.0, 3.0]), alpha=0.5).tolist()
    [-1.0, 3.0]
    """
    return np.where(x >= 0, x, x * x.dtype.type(alpha))


@define_op(infer=_same, elements=FLOATS)
def sigmoid(x: np.ndarray) -> np.ndarray:
    """Logistic function ``1 / (1 + exp(-x))``, computed without overflow.

    Examples
    --------
    >>> sigmoid(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


@define_op(infer=_same, elements=FLOATS)
def tanh(x: np.ndarray) -> np.ndarray:
    """Hyperbolic tangent.

    Examples
    --------
    >>> tanh(np.array([0.0])).tolist()
    [0.0]
    """
    return np.tanh(x)


def _infer_clip(x: Tensor, *, low: float | None = None, high: float | None = None) -> Tensor:
    element = x.element
    if isinstance(element, FixedPoint) and not (
        (low is None or low <= element.maximum) and (high is None or high >= element.minimum)
    ):
        raise TypeMismatchError(
            f"limits {low} to {high} leave no mantissa of {element}, which reaches from {element.minimum} to "
            f"{element.maximum}"
        )
    return x


@define_op(infer=_infer_clip, elements=ORDERED, derived=CLIPPED)
def clip(x: np.ndarray, *, low: float | None = None, high: float | None = None) -> np.ndarray:
    """Limit to ``[low, high]``; a missing bound does not limit (ONNX Clip). Works on mantissas as well.

    A bound beyond what the element type holds does not limit either.

    Examples
    --------
    >>> clip(np.array([-2.0, 0.5, 9.0]), low=0.0, high=6.0).tolist()
    [0.0, 0.5, 6.0]
    """
    if x.dtype.kind in "iu":
        limits = np.iinfo(x.dtype)
        low, high = (None if b is None else min(max(b, limits.min), limits.max) for b in (low, high))
    if low is not None:
        x = np.maximum(x, x.dtype.type(low))
    return x if high is None else np.minimum(x, x.dtype.type(high))
