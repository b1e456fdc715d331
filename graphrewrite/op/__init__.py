"""The op library, and the one notation: ``op.relu(op.conv(x, w))`` computes, builds a node, or is a pattern.

An op is a value (`graphrewrite.op.define.Op`), made of a numpy function by `define_op`. Called with arrays it computes;
with values of a graph it adds a node; with variables of a rule it is a pattern.

Examples
--------
>>> import numpy as np
>>> from graphrewrite import op
>>> op.relu(np.array([-1.0, 2.0])).tolist()
[0.0, 2.0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite.errors import UnknownOpError, did_you_mean
from graphrewrite.op import (
    activation,
    arithmetic,
    convolution,
    integer,
    linear_algebra,
    normalisation,
    pooling,
    quantised,
    reduction,
    shapes,
    structure,
)
from graphrewrite.op.define import define_op
from graphrewrite.op.generic import generic
from graphrewrite.op.op import Op
from graphrewrite.types import Type, element_dtype

__all__ = ["LIBRARY", "Op", "as_constant", "define_op", "generic"]

_FAMILIES = (
    activation,
    arithmetic,
    convolution,
    integer,
    linear_algebra,
    normalisation,
    pooling,
    quantised,
    reduction,
    shapes,
    structure,
)

LIBRARY: dict[str, Op] = {
    found.name: found for family in _FAMILIES for found in vars(family).values() if isinstance(found, Op)
}
"""Every op of the library by name."""


def as_constant(value: Any, like: Type | None = None) -> np.ndarray:
    """Return the array of a literal operand: a bare number takes the element type of the values that it meets.

    Parameters
    ----------
    value : array-like
        An array or a number.
    like : Tensor or Stream, optional
        The type of another operand.

    Returns
    -------
    ndarray
    """
    if isinstance(value, int | float | bool) and like is not None:
        return np.asarray(value, element_dtype(like.element))
    return np.asarray(value)


def __getattr__(name: str) -> Op:
    try:
        return LIBRARY[name]
    except KeyError:
        raise AttributeError(str(UnknownOpError(f"no op is called {name!r}{did_you_mean(name, LIBRARY)}"))) from None


def __dir__() -> list[str]:
    return sorted([*__all__, *LIBRARY])
