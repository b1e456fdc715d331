"""Quotients and remainders in numpy, of floats and of integers."""

from __future__ import annotations

import numpy as np

__all__ = ["quotient", "remainder"]


def quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return ``x / y``, of integers rounded towards zero, and 0 where y is 0.

    Parameters
    ----------
    x, y : ndarray
        Both floats or both integers.

    Returns
    -------
    ndarray

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
        # Rounded down, a negative quotient that is not exact is one too low; numpy gives 0 for one by zero.
        low = (y != 0) & (np.less(x, 0) != np.less(y, 0)) & (np.multiply(whole, y) != x)
        return np.add(whole, low)


def remainder(x: np.ndarray, y: np.ndarray, *, truncated: bool) -> np.ndarray:
    """Return what is left of x behind a division, and 0 where an integer is divided by 0.

    Parameters
    ----------
    x, y : ndarray
        Both floats or both integers.
    truncated : bool
        Whether the quotient is rounded towards zero, or down.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> remainder(np.array([-7.5, 7.5]), np.array([2.0, -2.0]), truncated=False).tolist()
    [0.5, -0.5]
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        return np.fmod(x, y) if truncated else np.mod(x, y)
