"""Softmax of 8-bit integers in fixed point, as TensorFlow Lite's reference kernels compute it."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.quantised.fixed_point_functions import exponential, twice_reciprocal
from graphrewrite.op.quantised.multipliers import high_product, rounded_shift
from graphrewrite.types import Tensor

__all__ = ["exponentials", "fixed_point_softmax", "quantised_multiplier"]

_ONE = 1 << 31
_INTEGER_BITS = 5
"""Bits left of the binary point of what is exponentiated."""
_SUM_BITS = 12
"""Bits left of the binary point of sums: at most so many terms as 12 bits count."""
_MOST_TERMS = (1 << _SUM_BITS) - 1


def quantised_multiplier(real: float) -> tuple[int, int]:
    """Return a real factor as a multiplier of 31 bits and an exponent (gemmlowp, QuantizeMultiplier).

    Examples
    --------
    >>> quantised_multiplier(0.25), quantised_multiplier(0.0), quantised_multiplier(1e-30)
    ((1073741824, -1), (0, 0), (0, 0))
    """
    fraction, exponent = math.frexp(real)
    multiplier = math.floor(abs(fraction) * _ONE + 0.5)
    if multiplier == _ONE:
        multiplier, exponent = _ONE >> 1, exponent + 1
    if not multiplier or exponent < -31:
        return 0, 0
    return (multiplier if real > 0 else -multiplier), exponent


def _reciprocal(a: np.ndarray) -> np.ndarray:
    """Return ``1 / (1 + a)`` with 31 bits right of the point, of such numbers from 0 to 1."""
    return np.clip(2 * twice_reciprocal(a), -_ONE, _ONE - 1)


def _factor(scale: float, beta: float) -> float:
    return min(beta * scale * (1 << (31 - _INTEGER_BITS)), _ONE - 1.0)


def exponentials(scale: float, beta: float) -> np.ndarray:
    """Return the exponentials of the differences 0 to -255 of stored numbers; 0 where one is too far below.

    Examples
    --------
    >>> exponentials(0.5, 1.0)[:2].tolist()
    [2147483647, 1302515042]
    """
    multiplier, exponent = quantised_multiplier(_factor(scale, beta))
    farthest = ((1 << _INTEGER_BITS) - 1) * 2.0 ** (31 - _INTEGER_BITS - exponent)
    differences = -np.arange(256, dtype=np.int64)
    near = -differences <= math.floor(farthest)
    scaled = high_product(np.where(near, differences, 0) << exponent, multiplier)
    return np.where(near, exponential(scaled, _INTEGER_BITS), 0)


def _infer_softmax(x: Tensor, *, scale: float, beta: float) -> Tensor:
    if x.element != "i8":
        raise TypeMismatchError(f"it is defined for i8, not for {x.element}")
    if not x.shape:
        raise TypeMismatchError("it needs an axis, and its operand has none")
    if not (math.isfinite(beta * scale) and _factor(scale, beta) > 1):
        raise TypeMismatchError(f"scale={scale!r} times beta={beta!r} must be a finite number above 2**-26")
    if isinstance(x.shape[-1], int) and x.shape[-1] > _MOST_TERMS:
        raise TypeMismatchError(f"sums of {x.shape[-1]} terms overflow; at most {_MOST_TERMS} fit")
    return Tensor("i8", x.shape, x.layout)


@define_op(infer=_infer_softmax, elements=frozenset({"integer"}))
def fixed_point_softmax(x: np.ndarray, *, scale: float, beta: float = 1.0) -> np.ndarray:
    """Softmax of stored numbers along the last axis, stored as ``256 * y - 128`` (TensorFlow Lite's reference kernel).

    Exponentials, their sum and its reciprocal are numbers of 32 bits with fixed points (gemmlowp).

    Parameters
    ----------
    x
        Integers of 8 bits.
    scale
        What one step of them stands for.
    beta
        Factor of the exponents.

    Examples
    --------
    >>> fixed_point_softmax(np.array([[0, 0], [9, 1]], np.int8), scale=0.25).tolist()
    [[0, 0], [97, -97]]
    """
    wide = x.astype(np.int64)
    terms = exponentials(scale, beta)[wide.max(axis=-1, keepdims=True, initial=-128) - wide]
    total = rounded_shift(terms, _SUM_BITS).sum(axis=-1, keepdims=True)
    # Leading zeros of a word of 32 bits; without an axis's entries there are no sums to be inverted.
    zeros = 32 - np.frexp(np.maximum(total, 1).astype(np.float64))[1]
    quotients = high_product(_reciprocal((np.maximum(total, 1) << zeros) - _ONE), terms)
    return np.clip(rounded_shift(quotients, 35 - zeros) - 128, -128, 127).astype(np.int8)
