"""Element-wise arithmetic with numpy's broadcasting."""

from __future__ import annotations

import numpy as np

from graphrewrite.op.axes import common_layout
from graphrewrite.op.cost import one_each
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.domain import FLOATS, NUMBERS, ORDERED
from graphrewrite.op.tensor.numpy_arithmetic import power, quotient, remainder
from graphrewrite.types import Tensor

__all__ = ["abs_", "add", "div", "exp", "fma", "log", "maximum", "minimum", "mod", "mul", "neg", "pow_", "sqrt", "sub"]


@define_op(commutative=True)
def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Sum of two operands.

    Examples
    --------
    >>> add(np.array([1, 2]), 3).tolist()
    [4, 5]
    """
    return np.add(x, y)


@define_op(elements=NUMBERS)
def sub(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Difference ``x - y``.

    Examples
    --------
    >>> sub(np.array([1, 2]), 3).tolist()
    [-2, -1]
    """
    return np.subtract(x, y)


@define_op(commutative=True)
def mul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Product of two operands.

    Examples
    --------
    >>> mul(np.array([1, 2]), 3).tolist()
    [3, 6]
    """
    return np.multiply(x, y)


@define_op(elements=NUMBERS)
def div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Quotient ``x / y``; of integers the whole part, rounded towards zero (ONNX specification, Div).

    A division of floats by zero gives an infinity or NaN (IEEE 754), one of integers 0, which ONNX leaves open.

    Examples
    --------
    >>> div(np.array([1.0, 3.0]), 2.0).tolist(), div(np.array([7, -7, 7]), np.array([2, 2, 0])).tolist()
    ([0.5, 1.5], [3, -3, 0])
    """
    return quotient(x, y)


@define_op(elements=NUMBERS)
def mod(x: np.ndarray, y: np.ndarray, *, fmod: bool = False) -> np.ndarray:
    """Remainder of ``x / y`` with the sign of ``y``, or with ``fmod`` of ``x`` (ONNX specification, Mod).

    Modulo zero floats give NaN, and integers 0, which ONNX leaves open.

    Parameters
    ----------
    fmod
        Whether the result has the sign of the dividend.

    Examples
    --------
    >>> mod(np.array([-4, 7, 5]), np.array([3, -3, 0])).tolist()
    [2, -2, 0]
    >>> mod(np.array([-4, 7, 5]), np.array([3, -3, 8]), fmod=True).tolist()
    [-1, 1, 5]
    """
    return remainder(x, y, truncated=fmod)


@define_op(commutative=True, elements=ORDERED | {"bool"})
def maximum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The greater of two operands; NaN if either is NaN. Works on mantissas of one format as well.

    Examples
    --------
    >>> maximum(np.array([1, 5]), 3).tolist()
    [3, 5]
    """
    return np.maximum(x, y)


@define_op(commutative=True, elements=ORDERED | {"bool"})
def minimum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The lesser of two operands; NaN if either is NaN. Works on mantissas of one format as well.

    Examples
    --------
    >>> minimum(np.array([1, 5]), 3).tolist()
    [1, 3]
    """
    return np.minimum(x, y)


@define_op(cost=one_each)
def fma(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Multiply-add ``x * y + z``, rounded after each of the two operations.

    Examples
    --------
    >>> fma(np.array([1.0, 2.0]), 3.0, 1.0).tolist()
    [4.0, 7.0]
    """
    return np.add(np.multiply(x, y), z)


@define_op(elements=NUMBERS)
def neg(x: np.ndarray) -> np.ndarray:
    """Negation.

    Examples
    --------
    >>> neg(np.array([1, -2])).tolist()
    [-1, 2]
    """
    return np.negative(x)


@define_op
def abs_(x: np.ndarray) -> np.ndarray:
    """Absolute value.

    Examples
    --------
    >>> abs_(np.array([1, -2])).tolist()
    [1, 2]
    """
    return np.abs(x)


@define_op(elements=FLOATS)
def sqrt(x: np.ndarray) -> np.ndarray:
    """Square root; NaN below zero.

    Examples
    --------
    >>> sqrt(np.array([4.0])).tolist()
    [2.0]
    """
    with np.errstate(invalid="ignore"):
        return np.sqrt(x)


@define_op(elements=FLOATS)
def exp(x: np.ndarray) -> np.ndarray:
    """Exponential function.

    Examples
    --------
    >>> exp(np.array([0.0])).tolist()
    [1.0]
    """
    with np.errstate(over="ignore"):
        return np.exp(x)


@define_op(elements=FLOATS)
def log(x: np.ndarray) -> np.ndarray:
    """Natural logarithm.

    Examples
    --------
    >>> log(np.array([1.0])).tolist()
    [0.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(x)


def _infer_pow(x: Tensor, y: Tensor) -> Tensor:
    shape = broadcast_shape(x.shape, y.shape)
    return Tensor(x.element, shape, common_layout((x, y), len(shape)))


@define_op(infer=_infer_pow, elements=NUMBERS)
def pow_(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Power ``x ** y`` in the element type of ``x``, whatever that of ``y`` is (ONNX specification, Pow).

    Of integers the whole part, which to a negative whole power is 0 but for 1 and -1. What ONNX leaves open: to whole
    powers integers wrap around, to real ones those beyond the type give its nearest number, and NaN gives 0.

    Parameters
    ----------
    x
        The base, of any shape.
    y
        The exponent; the shapes broadcast.

    Examples
    --------
    >>> pow_(np.array([2.0]), 3.0).tolist(), pow_(np.array([2, -1]), np.array([-1, -3])).tolist()
    ([8.0], [0, -1])
    >>> pow_(np.array([9, 2]), np.array([0.5, 9.5])).tolist(), pow_(np.array([0.5]), np.array([-2])).tolist()
    ([3, 724], [4.0])
    """
    return power(x, y)
