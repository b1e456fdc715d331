"""Element types in which a composite op computes: small floats are stored as float32, half precision has few digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.types import HELD_WIDER, element_dtype, element_kind

__all__ = ["converted", "exact_floats", "like", "widened"]


def converted(x: Any, element: Any) -> Any:
    """Return a value in an element type: itself, or a cast of it."""
    return x if x.type.element == element else op.cast(x, element=element)


def exact_floats(x: Any) -> Any:
    """Return bfloat16 and smaller floats as float32, in which ops compute them; anything else unchanged."""
    element = x.type.element
    return converted(x, "f32") if element in HELD_WIDER and element_kind(element) == "float" else x


def widened(x: Any) -> Any:
    """Return floats of less than 32 bits as float32, for ops whose sums and squares would lose too much precision."""
    return converted(x, "f32") if x.type.element == "f16" else exact_floats(x)


def like(value: Any, x: Any) -> np.ndarray:
    """Return a constant in the element type of a value, beside operands of other types."""
    return np.asarray(value, element_dtype(x.type.element))
