"""Powers in numpy, of floats and of integers, to exponents of any element type."""

from __future__ import annotations

import numpy as np

from graphrewrite.op.precision import truncated

__all__ = ["power"]


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``x ** y`` in the dtype of x.

    Parameters
    ----------
    x, y : ndarray
        Floats or integers.

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
        if base == exponent:
            return _to_whole(x, y) if base.kind == "i" else np.power(x, y)
        if base.kind == "f":
            return np.power(x, y).astype(base)
        if exponent.kind == "f":
            return truncated(np.power(np.asarray(x).astype(np.float64), y), base)
        return _modular(x, y)


def _to_whole(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    negative = np.asarray(y) < 0
    whole = np.power(x, np.where(negative, np.bitwise_and(y, 1), y))  # of 1 and -1, odd powers and even ones differ
    return np.where(negative & (np.abs(x) != 1), whole.dtype.type(0), whole)


def _modular(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of two types of integers: powers modulo 2**64 are the same modulo less."""
    if np.asarray(y).dtype.kind == "u":
        negative = np.zeros(np.shape(y), np.bool_)
    else:
        negative = np.less(y, 0)
    exponent = np.where(negative, np.bitwise_and(y, 1), y).astype(np.uint64)
    whole = np.power(np.asarray(x).astype(np.uint64), exponent).astype(x.dtype)
    unit = (x == 1) | ((x == -1) if x.dtype.kind == "i" else False)
    return np.where(negative & ~unit, x.dtype.type(0), whole)
