"""Where mantissas and the real numbers that they are read as tell the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphrewrite.types import Dimension, FixedPoint

__all__ = ["format_of", "has_window_in_border", "inexact"]


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


def has_window_in_border(sizes: Sequence[Dimension], pool: Any) -> bool:
    """Tell whether a first or last window of a pooling reads nothing of the axis that it moves along.

    Parameters
    ----------
    sizes : sequence of int or str
        Of the axes that are pooled.
    pool : node of a match
        With kernel, strides and pads (ONNX specification, MaxPool).

    Examples
    --------
    >>> from types import SimpleNamespace as Node
    >>> has_window_in_border((4,), Node(kernel=(2,), strides=(1,), pads=(1, 1)))
    False
    >>> has_window_in_border((4,), Node(kernel=(2,), strides=(1,), pads=(0, 2)))
    True
    """
    rank = len(sizes)
    return any(
        before >= kernel or (size + before + after - kernel) // stride * stride >= size + before
        for size, before, after, kernel, stride in zip(
            sizes, pool.pads[:rank], pool.pads[rank:], pool.kernel, pool.strides, strict=False
        )
        if not isinstance(size, str)
    )
