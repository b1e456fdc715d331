"""Quotients, remainders and powers in numpy, of floats and of integers."""

from __future__ import annotations

import numpy as np

from graphrewrite.op.precision import truncated as truncated_to

__all__ = ["power", "quotient", "remainder"]


def quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``x / y``, of integers rounded towards zero, and 0 where y is 0.

    Examples
    --------
    >>> quotient(np.array([-7, 7, 7], np.int8), np.array([2, -7, 0], np.int8)).tolist()
    [-3, -1, 0]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        if np.result_type(x, y).kind == "f":
            return np.divide(x, y)
        whole = np.floor_divide(x, y)
        if whole.dtype.kind == "u":
            return whole
        # floor_divide rounds down: an inexact negative quotient is one too low. numpy gives 0 for division by zero.
        low = (y != 0) & (np.less(x, 0) != np.less(y, 0)) & (np.multiply(whole, y) != x)
        return np.add(whole, low)


def remainder(x: np.ndarray, y: np.ndarray, *, truncated: bool) -> np.ndarray:
    """Return the remainder of a division, and 0 where an integer is divided by 0.

    Examples
    --------
    >>> remainder(np.array([-7.5, 7.5]), np.array([2.0, -2.0]), truncated=False).tolist()
    [0.5, -0.5]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.fmod(x, y) if truncated else np.mod(x, y)


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``x ** y`` in the dtype of x.

    Returns
    -------
    ndarray
        Of integers to whole powers, modulo their range; to real ones limited to it, with 0 for NaN.

    Examples
    --------
    >>> power(np.array([3, -3], np.int8), np.array([5, 5], np.int64)).tolist()  # 243 and -243, modulo 256
    [-13, 13]
    """
    base, exponent = np.asarray(x).dtype, np.asarray(y).dtype
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        if base.kind == "f":
            return _to_real(x, y)
        if base == exponent:
            return _to_whole(x, y) if base.kind == "i" else np.power(x, y)
        if exponent.kind == "f":
            return truncated_to(np.power(np.asarray(x).astype(np.float64), y), base)
        return _modular(x, y)


def _to_real(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Floats to real powers; what numpy computes for many numbers at once may miss x to the power of 1 by a bit."""
    return np.where(np.equal(y, 1), x, np.power(x, y).astype(np.asarray(x).dtype))


def _to_whole(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    negative = np.asarray(y) < 0
    whole = np.power(x, np.where(negative, np.bitwise_and(y, 1), y))  # of 1 and -1, odd powers and even ones differ
    return np.where(negative & (np.abs(x) != 1), whole.dtype.type(0), whole)


def _modular(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return powers for exponents of another integer type: modulo 2**64, and so modulo smaller powers of two."""
    if np.asarray(y).dtype.kind == "u":
        negative = np.zeros(np.shape(y), np.bool_)
    else:
        negative = np.less(y, 0)
    exponent = np.where(negative, np.bitwise_and(y, 1), y).astype(np.uint64)
    whole = np.power(np.asarray(x).astype(np.uint64), exponent).astype(x.dtype)
    unit = (x == 1) | ((x == -1) if x.dtype.kind == "i" else False)
    return np.where(negative & ~unit, x.dtype.type(0), whole)
