"""Where mantissas and the real numbers that they are read as tell the same."""

from __future__ import annotations

from typing import Any

from graphrewrite.types import FixedPoint

__all__ = ["format_of", "inexact"]


def format_of(x: Any, real: Any) -> FixedPoint:
    """Return the format in which mantissas are read: a conversion may place their binary point elsewhere.

    Parameters
    ----------
    x : value of a match
        Mantissas.
    real : node of a match
        The ``from_fixed`` that reads them.
    """
    element: FixedPoint = x.type.element
    return FixedPoint(element.signed, element.width, real.fraction)


def inexact(x: Any, real: Any) -> str:
    """Return why real numbers are not exactly those of their mantissas, or nothing if they are.

    Parameters
    ----------
    x : value of a match
        Mantissas.
    real : node of a match
        The ``from_fixed`` that reads them.
    """
    element = format_of(x, real)
    return "" if element.is_held_by(real.element) else f"{real.element} does not hold every number of {element}"
