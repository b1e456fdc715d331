"""Elementary functions of one operand, and sums and means of many."""

from __future__ import annotations

from functools import reduce

import numpy as np

from graphrewrite.op.define import define_op
from graphrewrite.op.domain import FLOATS, NUMBERS
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.op.tensor.error_function import error_function

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "erf",
    "floor",
    "mean",
    "reciprocal",
    "round_",
    "sign",
    "sin",
    "sinh",
    "sum_",
    "tan",
]


@define_op(elements=FLOATS)
def reciprocal(x: np.ndarray) -> np.ndarray:
    """Reciprocal ``1 / x`` (IEEE 754: infinite at zero).

    Examples
    --------
    >>> reciprocal(np.array([4.0])).tolist()
    [0.25]
    """
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        return np.divide(x.dtype.type(1), x)


@define_op(elements=FLOATS)
def erf(x: np.ndarray) -> np.ndarray:
    """Error function, ``2 / sqrt(pi)`` times the integral of ``exp(-t**2)`` from 0 to x (Cody 1969; ONNX Erf).

    Examples
    --------
    >>> erf(np.array([0.0, 1.0])).round(6).tolist()
    [0.0, 0.842701]
    """
    return error_function(x)


@define_op(elements=FLOATS)
def sin(x: np.ndarray) -> np.ndarray:
    """Sine; NaN at the infinities.

    Examples
    --------
    >>> sin(np.array([0.0])).tolist()
    [0.0]
    """
    with np.errstate(invalid="ignore"):
        return np.sin(x)


@define_op(elements=FLOATS)
def cos(x: np.ndarray) -> np.ndarray:
    """Cosine; NaN at the infinities.

    Examples
    --------
    >>> cos(np.array([0.0])).tolist()
    [1.0]
    """
    with np.errstate(invalid="ignore"):
        return np.cos(x)


@define_op(elements=FLOATS)
def tan(x: np.ndarray) -> np.ndarray:
    """Tangent; NaN at the infinities.

    Examples
    --------
    >>> tan(np.array([0.0])).tolist()
    [0.0]
    """
    with np.errstate(invalid="ignore"):
        return np.tan(x)


@define_op(elements=FLOATS)
def asin(x: np.ndarray) -> np.ndarray:
    """Inverse of the sine, in ``[-pi/2, pi/2]``; NaN outside of ``[-1, 1]``.

    Examples
    --------
    >>> asin(np.array([0.0])).tolist()
    [0.0]
    """
    with np.errstate(invalid="ignore"):
        return np.arcsin(x)


@define_op(elements=FLOATS)
def acos(x: np.ndarray) -> np.ndarray:
    """Inverse of the cosine, in ``[0, pi]``; NaN outside of ``[-1, 1]``.

    Examples
    --------
    >>> acos(np.array([1.0])).tolist()
    [0.0]
    """
    with np.errstate(invalid="ignore"):
        return np.arccos(x)


@define_op(elements=FLOATS)
def atan(x: np.ndarray) -> np.ndarray:
    """Inverse of the tangent, in ``[-pi/2, pi/2]``.

    Examples
    --------
    >>> atan(np.array([0.0])).tolist()
    [0.0]
    """
    return np.arctan(x)


@define_op(elements=FLOATS)
def sinh(x: np.ndarray) -> np.ndarray:
    """Hyperbolic sine.

    Examples
    --------
    >>> sinh(np.array([0.0])).tolist()
    [0.0]
    """
    with np.errstate(over="ignore"):
        return np.sinh(x)


@define_op(elements=FLOATS)
def cosh(x: np.ndarray) -> np.ndarray:
    """Hyperbolic cosine.

    Examples
    --------
    >>> cosh(np.array([0.0])).tolist()
    [1.0]
    """
    with np.errstate(over="ignore"):
        return np.cosh(x)


@define_op(elements=FLOATS)
def asinh(x: np.ndarray) -> np.ndarray:
    """Inverse of the hyperbolic sine.

    Examples
    --------
    >>> asinh(np.array([0.0])).tolist()
    [0.0]
    """
    return np.arcsinh(x)


@define_op(elements=FLOATS)
def acosh(x: np.ndarray) -> np.ndarray:
    """Inverse of the hyperbolic cosine, not negative; NaN below 1.

    Examples
    --------
    >>> acosh(np.array([1.0])).tolist()
    [0.0]
    """
    with np.errstate(invalid="ignore"):
        return np.arccosh(x)


@define_op(elements=FLOATS)
def atanh(x: np.ndarray) -> np.ndarray:
    """Inverse of the hyperbolic tangent; infinite at 1 and -1, NaN outside of them.

    Examples
    --------
    >>> atanh(np.array([0.0])).tolist()
    [0.0]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.arctanh(x)


@define_op(elements=FLOATS)
def floor(x: np.ndarray) -> np.ndarray:
    """Greatest whole number that is not above the operand.

    Examples
    --------
    >>> floor(np.array([-1.5])).tolist()
    [-2.0]
    """
    return np.floor(x)


@define_op(elements=FLOATS)
def ceil(x: np.ndarray) -> np.ndarray:
    """Least whole number that is not below the operand.

    Examples
    --------
    >>> ceil(np.array([-1.5])).tolist()
    [-1.0]
    """
    return np.ceil(x)


@define_op(elements=FLOATS)
def round_(x: np.ndarray) -> np.ndarray:
    """Nearest whole number, of two the even one (ONNX specification, Round).

    Examples
    --------
    >>> round_(np.array([0.5, 1.5, -2.6])).tolist()
    [0.0, 2.0, -3.0]
    """
    return np.rint(x)


@define_op(elements=NUMBERS)
def sign(x: np.ndarray) -> np.ndarray:
    """-1, 0 or 1, as the operand is negative, zero or positive; NaN of NaN (ONNX specification, Sign).

    Examples
    --------
    >>> sign(np.array([-3, 0, 5])).tolist()
    [-1, 0, 1]
    """
    return np.sign(x)


@define_op(name="sum", elements=NUMBERS)
def sum_(*xs: np.ndarray) -> np.ndarray:
    """Sum of any number of operands, from the left to the right; their shapes broadcast (ONNX specification, Sum).

    Examples
    --------
    >>> sum_(np.array([1, 2]), np.array([3]), np.array([4, 5])).tolist()
    [8, 10]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        return reduce(np.add, xs)


@define_op(elements=FLOATS)
def mean(*xs: np.ndarray) -> np.ndarray:
    """Arithmetic mean of any number of operands; their shapes broadcast (ONNX specification, Mean).

    Examples
    --------
    >>> mean(np.array([1.0, 2.0]), np.array([3.0])).tolist()
    [2.0, 2.5]
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        total = reduce(np.add, map(widened, xs))
        return narrowed(total / total.dtype.type(len(xs)), xs[0])
