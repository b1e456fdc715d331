"""Piecewise linear activations, sigmoid and tanh: element-wise functions of one operand."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.blockwise import entrywise
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.derived import ACTIVATED, BOUNDED, CLIPPED
from graphrewrite.op.domain import FLOATS, NUMBERS, ORDERED, one_element
from graphrewrite.types import SHORT_INTEGERS, FixedPoint, Tensor, integer_limits

__all__ = [
    "clip",
    "hard_sigmoid",
    "hard_swish",
    "hard_tanh",
    "leaky_relu",
    "prelu",
    "relu",
    "sigmoid",
    "tanh",
    "threshold",
]


def _same(x: Tensor, **_: object) -> Tensor:
    return x


@define_op(infer=_same, elements=ORDERED)
def relu(x: np.ndarray) -> np.ndarray:
    """Rectified linear unit, ``max(x, 0)``; works on mantissas as well.

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> relu(np.array([-2, 0, 3])).tolist()
    [0, 0, 3]
    """
    return rectified(x)


_FEW = 1 << 10
_ZEROS = np.zeros(1 << 13)
"""What floats are compared with, a block of so many bytes at a time: of two arrays numpy takes the maximum faster than
of an array and a number, unless there are few.
"""


def rectified(x: np.ndarray, *, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``max(x, 0)``.

    Examples
    --------
    >>> rectified(np.array([-1.0, -0.0, np.nan, 3.0])).tolist()
    [0.0, 0.0, nan, 3.0]
    """
    size, dtype = x.size, x.dtype
    if size <= _FEW or dtype.char not in "fd":
        return np.maximum(x, dtype.type(0), out=out)
    y = np.empty(x.shape, dtype) if out is None else out
    if not (x.flags.c_contiguous and y.flags.c_contiguous):
        return limited(x, 0, out=y)
    entries, results, zeros = x.reshape(-1), y.reshape(-1), _ZEROS.view(dtype)
    most = zeros.size
    for first in range(0, size, most):
        block = entries[first : first + most]
        np.maximum(block, zeros[: block.size], out=results[first : first + most])
    return y


def limited(
    x: np.ndarray, low: float | None = None, high: float | None = None, *, out: np.ndarray | None = None
) -> np.ndarray:
    """Return ``min(max(x, low), high)``, in one pass of numpy for floats, which is several times as fast.

    Examples
    --------
    >>> limited(np.array([-1.0, -0.0, np.nan, 3.0]), 0, 2).tolist()
    [0.0, 0.0, nan, 2.0]
    """
    least = None if low is None else np.asarray(low, x.dtype)
    most = None if high is None else np.asarray(high, x.dtype)
    if x.dtype.char in "fd" and (least is not None or most is not None):
        start, end = -math.inf if least is None else float(least), math.inf if most is None else float(most)
        # Of two zeros, numpy's maximum takes the bound, but the one pass takes the operand, to which 0.0 is added.
        if start < end and end != 0 and (start != 0 or math.copysign(1, start) > 0):
            y = x.clip(x.dtype.type(start), x.dtype.type(end), out=out)
            return np.add(y, x.dtype.type(0), out=y if y.ndim else None) if start == 0 else y
    if least is not None:
        x = np.maximum(x, least, out=out)
    return x if most is None else np.minimum(x, most, out=out)


@define_op(infer=_same, elements=FLOATS, derived=ACTIVATED)
def leaky_relu(x: np.ndarray, *, alpha: float = 0.01) -> np.ndarray:
    """Leaky rectified linear unit, ``x if x >= 0 else alpha * x`` (ONNX LeakyRelu).

    Parameters
    ----------
    x
        Any shape.
    alpha
        Slope below zero.

    Examples
    --------
    >>> leaky_relu(np.array([-2.0, 3.0]), alpha=0.5).tolist()
    [-1.0, 3.0]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _sloped(x, x.dtype.type(alpha), is_flat=0 < alpha <= 1)


def _sloped(x: np.ndarray, slope: Any, *, is_flat: bool) -> np.ndarray:
    """Return x where it is not negative, and a multiple of it elsewhere."""
    below = np.multiply(x, slope)
    # The greater of both is the same where the slope is from 0 to 1, and takes a tenth of the time.
    return np.maximum(x, below, out=below if below.ndim else None) if is_flat else np.where(x < 0, below, x)


@define_op(infer=_same, elements=FLOATS)
def sigmoid(x: np.ndarray) -> np.ndarray:
    """Logistic function ``1 / (1 + exp(-x))``, computed without overflow.

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> sigmoid(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    return entrywise(_sigmoid, x)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    y = np.negative(x)
    np.exp(y, out=y)
    y += 1
    np.divide(1, y, out=y)
    return mended(y, x, lambda far: np.exp(x[far]))


def mended(y: np.ndarray, x: np.ndarray, exact: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Return results in which those are exact of operands so far below zero that ``exp(-x)`` overflows."""
    limit = -math.log(np.finfo(x.dtype).max)
    if not np.minimum.reduce(x, axis=None, initial=0) > limit:  # or NaN
        far = x <= limit
        y[far] = exact(far)
    return y


@define_op(infer=_same, elements=FLOATS)
def tanh(x: np.ndarray) -> np.ndarray:
    """Hyperbolic tangent.

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> tanh(np.array([0.0])).tolist()
    [0.0]
    """
    return np.tanh(x)


def _infer_clip(x: Tensor, *, low: float | None = None, high: float | None = None) -> Tensor:
    element = x.element
    holds = (element.minimum, element.maximum) if isinstance(element, FixedPoint) else None
    if element in SHORT_INTEGERS:  # numpy's integers, which hold them, have more bits
        holds = integer_limits(str(element))
    if holds is not None and not ((low is None or low <= holds[1]) and (high is None or high >= holds[0])):
        raise TypeMismatchError(
            f"limits {low} to {high} leave no number of {element}, which ranges from {holds[0]} to {holds[1]}"
        )
    return x


@define_op(infer=_infer_clip, elements=ORDERED, derived=CLIPPED)
def clip(x: np.ndarray, *, low: int | float | None = None, high: int | float | None = None) -> np.ndarray:
    """Limit to ``[low, high]``; a missing bound does not limit (ONNX Clip). Works on mantissas as well.

    A bound beyond what the element type holds does not limit either.

    Parameters
    ----------
    x
        Any shape.
    low
        Lower bound; none if not given.
    high
        Upper bound; none if not given.

    Examples
    --------
    >>> clip(np.array([-2.0, 0.5, 9.0]), low=0.0, high=6.0).tolist()
    [0.0, 0.5, 6.0]
    """
    if x.dtype.kind in "iu":  # numpy does not convert a bound beyond the type
        limits = np.iinfo(x.dtype)
        low, high = (None if b is None else min(max(b, limits.min), limits.max) for b in (low, high))
    return limited(x, low, high)


def _infer_hard_tanh(x: Tensor, *, low: float = -1.0, high: float = 1.0) -> Tensor:
    if not low <= high:
        raise TypeMismatchError(f"the limits {low} and {high} are in the wrong order; the lower one comes first")
    return x


@define_op(infer=_infer_hard_tanh, elements=FLOATS, derived=BOUNDED)
def hard_tanh(x: np.ndarray, *, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Hyperbolic tangent of straight pieces, ``min(max(x, low), high)`` (Collobert 2004).

    Parameters
    ----------
    x
        Any shape.
    low
        Least result.
    high
        Greatest result.

    Examples
    --------
    >>> hard_tanh(np.array([-2.0, 0.5, 9.0])).tolist()
    [-1.0, 0.5, 1.0]
    """
    return np.minimum(np.maximum(x, x.dtype.type(low)), x.dtype.type(high))


@define_op(infer=_same, elements=FLOATS)
def hard_sigmoid(x: np.ndarray, *, alpha: float = 0.2, beta: float = 0.5) -> np.ndarray:
    """Logistic function of straight pieces, ``min(max(alpha * x + beta, 0), 1)`` (ONNX specification, HardSigmoid).

    Parameters
    ----------
    x
        Any shape.
    alpha
        Slope between the bounds.
    beta
        Result at zero.

    Examples
    --------
    >>> hard_sigmoid(np.array([-9.0, 0.0, 9.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    return entrywise(partial(_hard_sigmoid, alpha=alpha, beta=beta), x)


def _hard_sigmoid(x: np.ndarray, *, alpha: float, beta: float) -> np.ndarray:
    y = x * x.dtype.type(alpha)
    y += x.dtype.type(beta)
    np.maximum(y, 0, out=y)
    return np.minimum(y, 1, out=y)


@define_op(infer=_same, elements=FLOATS)
def hard_swish(x: np.ndarray) -> np.ndarray:
    """Swish of straight pieces, ``x * min(max(x / 6 + 1/2, 0), 1)`` (Howard et al. 2019; ONNX HardSwish).

    Parameters
    ----------
    x
        Any shape.

    Examples
    --------
    >>> hard_swish(np.array([-9.0, 3.0])).tolist()
    [0.0, 3.0]
    """
    return entrywise(_hard_swish, x)


def _hard_swish(x: np.ndarray) -> np.ndarray:
    above = np.maximum(x, -3)  # a share of 0 would make -inf NaN
    y = above / 6
    y += 0.5
    np.minimum(y, 1, out=y)
    y *= above
    np.copyto(y, 0, where=x <= -3)  # the share of -3 is 0, and makes -0
    return y


def _infer_prelu(x: Tensor, slope: Tensor) -> Tensor:
    one_element(x, slope)
    if broadcast_shape(x.shape, slope.shape) != x.shape:
        raise TypeMismatchError(
            f"the slopes {slope} do not broadcast to {x}; give one per channel as [C,1,1], or a number"
        )
    return x


@define_op(infer=_infer_prelu, elements=NUMBERS)
def prelu(x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Rectified linear unit with a learnt slope, ``x if x >= 0 else slope * x`` (He et al. 2015; ONNX PRelu).

    Parameters
    ----------
    x
        Any shape.
    slope
        Slopes below zero; broadcast to the shape of the first operand.

    Examples
    --------
    >>> prelu(np.array([[-2.0, 3.0], [-2.0, -4.0]]), np.array([0.5, 0.25])).tolist()
    [[-1.0, 3.0], [-1.0, -1.0]]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return _sloped(x, slope, is_flat=x.dtype.kind == "f" and bool(np.all((slope > 0) & (slope <= 1))))


@define_op(infer=_same, elements=FLOATS)
def threshold(x: np.ndarray, *, alpha: float = 1.0) -> np.ndarray:
    """Nothing up to a threshold, ``x if x > alpha else 0`` (Konda et al. 2015; ONNX ThresholdedRelu).

    Parameters
    ----------
    x
        Any shape.
    alpha
        The threshold.

    Examples
    --------
    >>> threshold(np.array([-2.0, 1.0, 3.0])).tolist()
    [0.0, 0.0, 3.0]
    """
    return np.where(x > x.dtype.type(alpha), x, x.dtype.type(0))
