"""Formats of values by their histograms: by the squared error, by the ends, by a percentile, or by the divergence.

The methods are those that quantisers of integers usually have (Wu et al. 2020, Integer quantization for deep learning
inference); here a range ends at a power of two, so that they choose one of a few formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite.errors import did_you_mean
from graphrewrite.lowering.errors import QuantisationError
from graphrewrite.lowering.quantisation.fixed_point_formats import best_fraction, widest
from graphrewrite.lowering.quantisation.value_histogram import ValueHistogram
from graphrewrite.types import FixedPoint

__all__ = ["METHODS", "Method", "check_method", "divergence", "format_by", "format_for", "share_beyond"]

METHODS = ("mse", "minmax", "percentile", "entropy")
Method = str | float
"""One of `METHODS`, or a percentile from 50 to 100."""

_PERCENTILE = 99.99
"""The usual percentile (McKinstry et al. 2018)."""
_TRIED = 8
"""So many formats are tried, from the one at which nothing saturates; in each the range is half as long."""


def check_method(method: Any) -> None:
    """Raise unless there is such a method."""
    if isinstance(method, str):
        if method not in METHODS:
            raise QuantisationError(
                f"there is no way {method!r} to choose ranges{did_you_mean(method, METHODS)}; there are "
                f"{', '.join(METHODS)}, or a number for a percentile, as 99.9"
            )
    elif isinstance(method, bool) or not isinstance(method, int | float) or not 50 <= method <= 100:
        raise QuantisationError(
            f"{method!r} is no percentile; give a number from 50 to 100, as 99.9, or one of {', '.join(METHODS)}"
        )


def format_by(
    method: Method,
    values: ValueHistogram,
    width: int,
    *,
    through: Callable[[np.ndarray], np.ndarray] | None = None,
) -> FixedPoint:
    """Return the format of so many bits that a method chooses.

    Parameters
    ----------
    method : str or float
        ``"mse"``: the least squared error. ``"minmax"``: no value is off by a step or more. ``"percentile"``: the
        shortest range beyond which there are no more than 0.01 % of the values on both sides together; a number is
        another percentile.
        ``"entropy"``: the least divergence of Kullback and Leibler between the values and what they become (Migacz
        2017, 8-bit inference with TensorRT), in which zeros do not count.
    values : ValueHistogram
    width : int
    through : callable, optional
        A function of values in an array, whose squared error counts instead.

    Examples
    --------
    >>> values = ValueHistogram.of(np.append(np.random.default_rng(0).normal(size=100_000), 30.0))
    >>> [str(format_by(method, values, 8)) for method in ("minmax", "mse", 99.9, "entropy")]
    ['s8f2', 's8f3', 's8f5', 's8f5']
    """
    check_method(method)
    signed = values.low < 0
    if method == "mse":
        points, weights = values.points(4 if through is None else 1)
        return best_fraction(points, width, signed=signed, through=through, weights=weights)
    first = widest(max(abs(values.low), abs(values.high)), width, signed=signed)
    formats = [first, *(FixedPoint(signed, width, first.fraction + finer) for finer in range(1, _TRIED))]
    if method == "minmax" or not values.counts.size:
        return first
    if method == "entropy":
        return min(formats, key=lambda element: divergence(values, element))
    allowed = 1 - (_PERCENTILE if isinstance(method, str) else float(method)) / 100
    return [element for element in formats if element is first or share_beyond(values, element) <= allowed][-1]


def format_for(low: float, high: float, width: int) -> FixedPoint:
    """Return the finest format in which the ends of a range are off by less than a step.

    Examples
    --------
    >>> print(format_for(-1.0, 0.99, 8), format_for(0, 6, 4), format_for(0, 1, 8), format_for(0, 0.999, 8))
    s8f7 u4f1 u8f7 u8f8
    """
    safe = widest(max(abs(low), abs(high)), width, signed=low < 0)
    finer = FixedPoint(safe.signed, width, safe.fraction + 1)  # signed formats end with a power of two below, not above
    least, most = np.ldexp([low, high], finer.fraction)
    return finer if least >= finer.minimum and most < finer.maximum + 1 else safe


def share_beyond(values: ValueHistogram, element: FixedPoint) -> float:
    """Return the share of values that saturate in a format, as far as bins tell.

    Examples
    --------
    >>> share_beyond(ValueHistogram.of(np.arange(10.0)), FixedPoint(False, 3))
    0.2
    """
    points, weights = values.points()
    whole = np.rint(np.ldexp(points, element.fraction))
    beyond = weights[(whole < element.minimum) | (whole > element.maximum)].sum()
    return float(beyond / values.count) if values.count else 0.0


def divergence(values: ValueHistogram, element: FixedPoint) -> float:
    """Return how far the values are from what they become in a format: the divergence of Kullback and Leibler.

    What saturates counts at the ends; what becomes one number is spread over all bins that do.
    """
    bins = np.flatnonzero(values.counts)
    counts = values.counts[bins].astype(np.float64)
    if not bins.size:
        return 0.0
    middles = (values.first + bins + 0.5) * values.width
    whole = np.rint(np.ldexp(middles, element.fraction))
    levels = np.clip(whole, element.minimum, element.maximum).astype(np.int64)
    inside = whole == levels
    if not inside.any():
        return np.inf
    _, order = np.unique(levels[inside], return_inverse=True)
    spread = (np.bincount(order, counts[inside]) / np.bincount(order))[order]
    wanted = counts[inside]
    low, high = np.flatnonzero(inside)[[0, -1]]
    wanted[0] += counts[:low].sum()
    wanted[-1] += counts[high + 1 :].sum()
    # What saturates is missing in the second distribution: without that, a range with one bin would be perfect.
    p, q = wanted / counts.sum(), spread / counts.sum()
    return float(np.sum(p * np.log(p / q)))
