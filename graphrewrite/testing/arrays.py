"""Arrays of generated constants."""

from __future__ import annotations

import numpy as np

from graphrewrite.types import FixedPoint, Type, element_dtype

__all__ = ["constant_array"]


def constant_array(kind: Type, style: int, *, positive: bool = False) -> np.ndarray:
    """Return the array of a generated constant: few bits each, so that sums of products are exact.

    Parameters
    ----------
    kind : Tensor
        Without symbolic sizes.
    style : int
        0 for ones, 1 for zeros, another number seeds random multiples of a quarter.
    positive : bool
        Whether all entries are above zero.

    Returns
    -------
    ndarray

    Examples
    --------
    >>> constant_array(Tensor("f32", (3,)), 0).tolist()
    [1.0, 1.0, 1.0]
    """
    shape = tuple(int(d) for d in kind.shape)
    element = kind.element
    dtype = element_dtype(element)
    if style == 0 or (style == 1 and positive):
        return np.ones(shape, dtype)
    if style == 1:
        return np.zeros(shape, dtype)
    rng = np.random.default_rng(style)
    if isinstance(element, FixedPoint):
        return rng.integers(max(element.minimum, -128), min(element.maximum, 127), shape, endpoint=True).astype(dtype)
    if np.issubdtype(dtype, np.floating):
        quarters = rng.integers(1 if positive else -8, 8, shape, endpoint=True)
        return (quarters / 4).astype(dtype)
    return rng.integers(0 if positive or np.issubdtype(dtype, np.unsignedinteger) else -4, 5, shape).astype(dtype)
