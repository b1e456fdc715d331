"""Numbers rounded to float types that numpy has not."""

from __future__ import annotations

import numpy as np

from graphrewrite.types.small_float import nearest_small

__all__ = ["narrowed", "rounded"]

_UPPER = np.uint32(0xFFFF0000)
"""The half of a float32 that is a bfloat16."""


def rounded(name: str, array: np.ndarray) -> np.ndarray:
    """Return numbers rounded once to a float type that is held in float32.

    Parameters
    ----------
    name : str
        ``"bf16"``, ``"f8e5m2"``, ….
    array : ndarray
        Any numbers; of smaller types than bf16 the greatest stands for what lies beyond it.

    Returns
    -------
    ndarray of float32
        The array itself where there is nothing to do.

    Examples
    --------
    >>> rounded("bf16", np.array([1.001, 3.14159])).tolist(), rounded("f4e2m1", np.array([2**60, -1])).tolist()
    ([1.0, 3.140625], [6.0, -1.0])
    """
    return _to_bfloat16(array) if name == "bf16" else nearest_small(name, narrowed(array))


def _to_bfloat16(array: np.ndarray) -> np.ndarray:
    array = np.asarray(narrowed(array), order="C")
    bits = array.view(np.uint32)
    if not (bits & ~_UPPER).any():
        return array
    half = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    rounded = np.where(np.isnan(array), bits | np.uint32(0x00400000), bits + half) & _UPPER
    return np.asarray(rounded).view(np.float32)


def narrowed(array: np.ndarray) -> np.ndarray:
    """Return float32, rounded to odd: rounding again gives what rounding once does (Boldo and Melquiond 2005).

    Parameters
    ----------
    array : ndarray
        Any numbers.

    Returns
    -------
    ndarray of float32
        The array itself where it has that dtype.

    Examples
    --------
    >>> narrowed(np.array([1 + 2.0**-30])).tolist()
    [1.0000001192092896]
    """
    if array.dtype == np.float32:
        return array
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # What a float64 has no room for is said by one bit: whether there was anything.
        low, mark = array.dtype.type(0xFFF), array.dtype.type(0x1000)
        jammed = np.where((array & low) != 0, (array & ~low) | mark, array)
        array = np.where(np.abs(array.astype(np.float64)) < 2.0**52, array, jammed)
    exact = array.astype(np.float64)
    with np.errstate(over="ignore", under="ignore"):
        near = exact.astype(np.float32)
    back = near.astype(np.float64)
    toward = np.where(np.abs(back) > np.abs(exact), np.nextafter(near, np.float32(0)), near)
    inexact = (toward != exact) & np.isfinite(exact)
    return np.asarray(np.where(inexact, toward.view(np.uint32) | np.uint32(1), toward.view(np.uint32))).view(np.float32)
