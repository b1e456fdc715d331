"""Read constants that lie on a fixed-point grid as mantissas."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import FixedPoint
from graphrewrite.types import Element, element_dtype

__all__ = ["LayerMantissas", "format_of", "inexact", "infinite", "least_fractions", "of_layer"]

_FINEST = 60


class LayerMantissas(NamedTuple):
    """A layer's weights and bias as whole numbers.

    Attributes
    ----------
    weights : ndarray of int64, shape [O, …]
    bias : ndarray of int64, shape [O]
    fractions : ndarray of int, shape [O]
        Binary point of each channel's sums: the input's plus the weights'.
    element : FixedPoint
        The narrowest accumulator that holds every sum exactly, as mantissas (one binary point where all agree).
    """

    weights: np.ndarray
    bias: np.ndarray
    fractions: np.ndarray
    element: FixedPoint


def least_fractions(rows: np.ndarray) -> np.ndarray:
    """Return for each row the least fraction f for which every entry is a whole multiple of 2**-f.

    Examples
    --------
    >>> least_fractions(np.array([[0.5, 2.0], [4.0, 8.0], [0.0, 0.0]])).tolist()
    [1, -2, 0]
    """
    digits, exponents = np.frexp(rows)
    # digits is an odd whole number times 2**-k with k <= 53: the position of its lowest set bit.
    whole = np.ldexp(digits, 53).astype(np.int64)
    lowest = np.where(whole == 0, 0, np.log2(np.maximum(whole & -whole, 1)).astype(np.int64))
    needed = np.where(whole == 0, -_FINEST, 53 - lowest - exponents)
    result = needed.max(axis=1, initial=-_FINEST)
    return np.where((rows == 0).all(axis=1), 0, result).astype(np.int64)


def of_layer(w: np.ndarray, b: np.ndarray, operand_format: FixedPoint) -> LayerMantissas | str:
    """Return a layer's weights [O, …] and bias [O] as mantissas, or the reason why they have none.

    A binary point for each channel is used only where it makes the weights narrower.

    Examples
    --------
    >>> layer = of_layer(np.array([[0.5, -1.0]]), np.array([0.25]), FixedPoint(True, 8, 1))
    >>> layer.weights.tolist(), layer.bias.tolist(), layer.fractions.tolist(), str(layer.element)
    ([[1, -2]], [1], [2], 's10f2')
    """
    if not np.size(w):
        return "it has no weights"
    rows = np.asarray(w, np.float64).reshape(len(w), -1)
    bias = np.asarray(b, np.float64)
    if not (np.isfinite(rows).all() and np.isfinite(bias).all()):
        return "its weights or its bias are not all finite"
    least = np.maximum(least_fractions(rows), least_fractions(bias[:, None]) - operand_format.fraction)
    uniform = np.full_like(least, least.max())
    widths = [_width(rows, fractions) for fractions in (uniform, least)]
    fractions = least if widths[1] < widths[0] else uniform
    if min(widths) > 24:
        return f"its weights need {min(widths)} bits and are not quantised; quantise the graph first"
    if min(widths) + operand_format.width + rows.shape[1].bit_length() > 62:
        return f"its sums of products of {min(widths)} and {operand_format.width} bits may need more than 63 bits"
    weights = np.ldexp(rows, fractions[:, None]).astype(np.int64)
    offsets = np.ldexp(bias, fractions + operand_format.fraction)
    if np.abs(offsets).max(initial=0.0) >= 2.0**47:
        return "its bias is too large for an accumulator of 48 bits"
    whole = offsets.astype(np.int64)
    # Zero is in the range of every term, so the accumulator also holds each partial sum, in whatever order.
    terms = (weights * operand_format.maximum, weights * operand_format.minimum)
    high = int((np.maximum(*terms).sum(axis=1) + np.maximum(whole, 0)).max())
    low = int((np.minimum(*terms).sum(axis=1) + np.minimum(whole, 0)).min())
    sums = fractions + operand_format.fraction
    point = int(sums[0]) if (sums == sums[0]).all() else 0
    element = FixedPoint.holding(min(low, 0), max(high, 0), point)
    return LayerMantissas(weights.reshape(w.shape), whole, sums, element)


def _width(rows: np.ndarray, fractions: np.ndarray) -> int:
    scaled = np.ldexp(rows, fractions[:, None])
    low, high = scaled.min(initial=0), scaled.max(initial=0)
    return 64 if max(-low, high) >= 2.0**62 else FixedPoint.holding(int(low), int(high)).width + (low >= 0)


def format_of(x: Any, real: Any) -> FixedPoint:
    """Return the format in which a ``from_fixed`` reads mantissas: it may have its own binary point."""
    element: FixedPoint = x.type.element
    return FixedPoint(element.signed, element.width, real.fraction)


def infinite(x: Any, real: Any) -> str:
    """Return why real numbers of mantissas may be infinite, or an empty text: sums of infinities are no numbers."""
    element = format_of(x, real)
    is_reached = _reaches(real.element, element)
    return "" if is_reached else f"{real.element} does not reach every number of {element}"


@lru_cache(maxsize=256)
def _reaches(floats: Element, element: FixedPoint) -> bool:
    """Tell whether the least and the greatest number of a format are finite floats."""
    with np.errstate(over="ignore"):
        ends = np.ldexp([float(element.minimum), float(element.maximum)], -element.fraction)
        return bool(np.isfinite(ends.astype(element_dtype(floats))).all())


def inexact(x: Any, real: Any) -> str:
    """Return why real numbers do not equal their mantissas exactly, or an empty text."""
    element = format_of(x, real)
    return "" if element.is_held_by(real.element) else f"{real.element} does not hold every number of {element}"
