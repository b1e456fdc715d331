"""Equality of two arrays: bit for bit, or within a bound."""

from __future__ import annotations

import numpy as np

from graphrewrite.schema.equality import same_data

__all__ = ["agreeing", "equal_bits"]


def equal_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return where two arrays of one dtype have the same bits, or are both NaN.

    Parameters
    ----------
    a, b : ndarray
        Of one shape.

    Examples
    --------
    >>> equal_bits(np.array([0.0, np.nan, 1.0]), np.array([-0.0, np.nan, 1.0])).tolist()
    [False, True, True]
    """
    if a.dtype == object:  # a value that is no tensor
        return np.asarray(same_data(a.item(), b.item()))
    same = a == b
    if np.issubdtype(a.dtype, np.floating):
        same = (same & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    return np.asarray(same)


def agreeing(a: np.ndarray, b: np.ndarray, bound: float | None) -> np.ndarray:
    """Return where two arrays of one dtype agree.

    Parameters
    ----------
    a, b : ndarray
        Of one shape.
    bound : float, optional
        Maximum difference; by default every bit counts.

    Examples
    --------
    >>> agreeing(np.array([1.0, np.inf]), np.array([1.1, np.inf]), 0.2).tolist()
    [True, True]
    """
    if bound is None or a.dtype.kind in "OU":
        return equal_bits(a, b)
    with np.errstate(invalid="ignore"):  # the difference of two infinities
        near = np.abs(a.astype(np.float64) - b.astype(np.float64)) <= bound
    return np.asarray(near | equal_bits(a, b))
