"""Equality of data that may hold arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["same_data"]


def same_data(a: Any, b: Any) -> bool:
    """Tell whether two pieces of data are equal, arrays included: type, shape and entries, NaN equal to NaN.

    Examples
    --------
    >>> same_data({"w": np.ones(2)}, {"w": np.ones(2)}), same_data((1,), [1])
    (True, False)
    """
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return (
            isinstance(a, np.ndarray)
            and isinstance(b, np.ndarray)
            and a.dtype == b.dtype
            and a.shape == b.shape
            and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")
        )
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_data(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(same_data, a, b))
    return a is b or bool(a == b)
