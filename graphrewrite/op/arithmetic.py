"""Element-wise arithmetic with numpy's broadcasting."""

from __future__ import annotations

import numpy as np

from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, NUMBERS, ORDERED

__all__ = ["abs_", "add", "div", "exp", "fma", "log", "maximum", "minimum", "mul", "neg", "pow_", "sqrt", "sub"]


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


@define_op(elements=FLOATS)
def div(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Quotient ``x / y`` of floats (IEEE 754: a division by zero gives an infinity or NaN).

    Examples
    --------
    >>> div(np.array([1.0, 3.0]), 2.0).tolist()
    [0.5, 1.5]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(x, y)


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


@define_op
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


@define_op(elements=NUMBERS)
def pow_(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Power ``x ** y``; of integers to negative powers the whole part, which is 0 but for 1 and -1.

    Examples
    --------
    >>> pow_(np.array([2.0]), 3.0).tolist(), pow_(np.array([2, -1]), np.array([-1, -3])).tolist()
    ([8.0], [0, -1])
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if np.asarray(x).dtype.kind != "i" or np.asarray(y).dtype.kind != "i":
            return np.power(x, y)
        negative = np.asarray(y) < 0
        whole = np.power(x, np.where(negative, np.bitwise_and(y, 1), y))  # of 1 and -1, odd powers and even ones differ
        return np.where(negative & (np.abs(x) != 1), whole.dtype.type(0), whole)
