"""In which element type a composite op computes: small floats are held in float32, half precision has few digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.types import HELD_WIDER, element_dtype, element_kind

__all__ = ["converted", "exact_floats", "like", "widened"]


def converted(x: Any, element: Any) -> Any:
    """Return a value in an element type: itself, or a cast of it.

    Parameters
    ----------
    x : value of a rule
        Any.
    element : str
        An element type.

    Returns
    -------
    value of a rule
    """
    return x if x.type.element == element else op.cast(x, element=element)


def exact_floats(x: Any) -> Any:
    """Return bfloat16 and smaller floats as the float32 in which ops compute them, anything else as it is.

    Parameters
    ----------
    x : value of a rule
        Any.

    Returns
    -------
    value of a rule
    """
    element = x.type.element
    return converted(x, "f32") if element in HELD_WIDER and element_kind(element) == "float" else x


def widened(x: Any) -> Any:
    """Return all floats of less than 32 bits as float32: so compute the ops whose sums and squares would lose too much.

    Parameters
    ----------
    x : value of a rule
        Any.

    Returns
    -------
    value of a rule
    """
    return converted(x, "f32") if x.type.element == "f16" else exact_floats(x)


def like(value: Any, x: Any) -> np.ndarray:
    """Return a constant in the element type of a value, beside operands of other types.

    Parameters
    ----------
    value : array-like
        A number, or several.
    x : value of a rule
        Of an element type that numpy has.

    Returns
    -------
    ndarray
    """
    return np.asarray(value, element_dtype(x.type.element))
