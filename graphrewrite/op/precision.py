"""Ranges of dtypes, and precision: half precision has too few digits, and too small a range, for sums and squares."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["greatest_of", "least_of", "matrix_product", "narrowed", "times_weights", "truncated", "widened"]


_SMALL = 100**3
"""Multiplications up to which OpenBLAS has kernels of their own on processors with AVX-512."""
_FEW = 2**12
"""Weights that are copied sooner than a network is called."""


def matrix_product(x: np.ndarray, y: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return `numpy.matmul`, with the same bits wherever the entries lie in memory.

    BLAS adds up a matrix times a vector, and on some processors small matrices, in an order that depends on which axis
    lies in a row.

    Examples
    --------
    >>> matrix_product(np.array([[1.0, 2.0]]), np.array([[3.0], [4.0]])).tolist()
    [[11.0]]
    """
    if _depends_on_order(x, y):
        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    return np.matmul(x, y, out=out)


def times_weights(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return a matrix product with weights, which lie as the network has them: only few of them are copied.

    Examples
    --------
    >>> times_weights(np.ones((1, 2)), np.array([[1.0], [2.0]])).tolist()
    [[3.0]]
    """
    if w.shape[1] == 1 or w.size <= _FEW:
        return matrix_product(x, w)
    is_row = x.ndim < 2 or x.shape[-2] == 1
    return np.matmul(np.ascontiguousarray(x) if not is_row and _depends_on_order(x, w) else x, w)


def _depends_on_order(x: np.ndarray, y: np.ndarray) -> bool:
    """Tell whether the bits of a product may depend on where the entries of operands lie in memory."""
    if x.dtype.kind != "f" or not type(x) is np.ndarray is type(y):
        return False
    rows, columns = x.shape[-2] if x.ndim > 1 else 1, y.shape[-1] if y.ndim > 1 else 1
    return 1 in (rows, columns) or rows * x.shape[-1] * columns <= _SMALL


def widened(x: np.ndarray) -> np.ndarray:
    """Return half precision as single precision, anything else as it is.

    Examples
    --------
    >>> widened(np.ones(1, np.float16)).dtype, widened(np.ones(1, np.int8)).dtype
    (dtype('float32'), dtype('int8'))
    """
    return x.astype(np.float32) if x.dtype == np.float16 else x


def narrowed(y: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Return a result in the dtype of an operand; what is beyond its range is infinite.

    Parameters
    ----------
    y : ndarray
        Computed in the operand's dtype, or in a wider one of its kind.

    Examples
    --------
    >>> narrowed(np.array([1e5]), np.ones(1, np.float16)).tolist()
    [inf]
    """
    if y.dtype == like.dtype:
        return y
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(y).astype(like.dtype)


def least_of(dtype: np.dtype[Any]) -> Any:
    """Return the least value of a dtype, which changes no maximum."""
    return -np.inf if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def greatest_of(dtype: np.dtype[Any]) -> Any:
    """Return the greatest value of a dtype, which changes no minimum."""
    return np.inf if dtype.kind == "f" else True if dtype.kind == "b" else np.iinfo(dtype).max


def truncated(y: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Return floats as integers, rounded towards zero.

    Parameters
    ----------
    y : ndarray
        Floats, of float64 for integers of 64 bits.

    Examples
    --------
    >>> truncated(np.array([-1.9, 300.0, np.nan]), np.dtype(np.int8)).tolist()
    [-1, 127, 0]
    """
    limits, kind = np.iinfo(dtype), dtype.type
    whole = np.trunc(y).astype(np.float64)
    # The maximum of a wide type is no float64, but one more is a power of two, and so exact.
    inside = (whole >= limits.min) & (whole < float(limits.max + 1))
    exact = np.where(inside, whole, 0.0).astype(dtype)
    limit = np.where(whole > 0, kind(limits.max), kind(limits.min))
    return np.where(inside | np.isnan(whole), exact, limit)
