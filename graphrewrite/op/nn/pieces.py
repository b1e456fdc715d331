"""Functions of large arrays in pieces: what they compute on the way takes little memory, and stays in the cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["in_pieces"]

_MOST = 1 << 20
"""Bytes of an operand at a time, unless stated."""


def in_pieces(
    function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, *, axis: int = 1, most: int = _MOST
) -> np.ndarray:
    """Return what a function gives for an array that it treats alike along the first axis and another one.

    Examples
    --------
    >>> in_pieces(np.negative, np.ones((1, 2))).tolist()
    [[-1.0, -1.0]]
    """
    size = x.size * x.dtype.itemsize
    if size <= most or x.ndim <= axis:
        return function(x)
    count, each = x.shape[axis], size // len(x)
    along = max(1, most * count // each)
    samples = max(1, along // count)
    along = -(-count // -(-count // along))  # as many pieces, of much the same size
    result = None
    for first in range(0, len(x), samples):
        for start in range(0, count, along):
            part = (slice(first, first + samples), *[slice(None)] * (axis - 1), slice(start, start + along))
            found = function(x[part])
            if result is None:
                shape = list(found.shape)
                shape[0], shape[axis] = len(x), count
                result = np.empty(shape, found.dtype)
            result[part] = found
    assert result is not None
    return result
