"""Distribution of the numbers on one edge: range, histogram, use of the number format, errors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.types import Element, FixedPoint, Quantised, integer_limits

__all__ = ["BINS", "Distribution", "Error", "distribution_of", "error_between", "real_values"]

BINS = 32
"""Maximum number of bars of a histogram; fewer distinct numbers of a format have a bar each."""


@dataclass(frozen=True)
class Error:
    """The differences between numbers and those of a reference.

    Attributes
    ----------
    largest, mean : float
        Absolute difference; infinite where only one of two numbers is finite.
    relative : float
        Root mean square of the differences, divided by that of the reference; 0 if all are equal.
    unequal : int
        Number of different entries.
    node : str
        The node of the reference.
    """

    largest: float
    mean: float
    relative: float
    unequal: int
    node: str


@dataclass(frozen=True)
class Distribution:
    """The distribution of the numbers on an edge, as real numbers.

    Attributes
    ----------
    kind : str
        The op of the node.
    type : str
        The type of the edge as text; empty if it is not stated.
    count : int
        Number of entries, over the whole batch.
    low, high, mean : float
        Of the finite entries; NaN if there are none.
    zeros : int
        Number of zeros.
    not_finite : int
        Number of NaN and infinite entries.
    limits : tuple of two float, or None
        The least and the greatest number of the format; None for floats.
    clipped : int
        Number of entries at a limit of the format, which may have been clipped; the zero of unsigned formats and
        formats of one bit are not counted.
    bits, width : int or None
        Bits that the numbers would need, and bits that the format has; None for floats.
    counts : tuple of int
        The histogram of the finite entries.
    bounds : tuple of float
        Bounds of its bars, one more than bars.
    error : Error or None
        The differences from the reference, if it has the same edge.
    """

    kind: str
    type: str
    count: int
    low: float
    high: float
    mean: float
    zeros: int
    not_finite: int
    limits: tuple[float, float] | None
    clipped: int
    bits: int | None
    width: int | None
    counts: tuple[int, ...]
    bounds: tuple[float, ...]
    error: Error | None = None


def real_values(array: np.ndarray, element: Element | None) -> np.ndarray:
    """Return the real numbers of an array of mantissas or stored integers.

    Examples
    --------
    >>> real_values(np.array([3, -8]), FixedPoint(True, 4, 2)).tolist()
    [0.75, -2.0]
    """
    if isinstance(element, FixedPoint):
        return np.ldexp(array.astype(np.float64), -element.fraction)
    if not isinstance(element, Quantised):
        return array.astype(np.float64)
    scale, zero = (np.asarray(each, np.float64) for each in (element.scale, element.zero_point))
    if element.axis is not None:
        shape = [1] * array.ndim
        shape[element.axis] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    return np.asarray((array.astype(np.float64) - zero) * scale)


def distribution_of(
    array: np.ndarray, element: Element | None, *, kind: str = "", type: str = "", format: FixedPoint | None = None
) -> Distribution:
    """Return the distribution of an array; `format` is the number format of floats that were quantised.

    Examples
    --------
    >>> d = distribution_of(np.array([0, 3, 7, 7]), FixedPoint(True, 4, 2))
    >>> d.low, d.high, d.limits, d.clipped, d.bits, d.width
    (0.0, 1.75, (-2.0, 1.75), 2, 4, 4)
    >>> d.counts
    (1, 0, 0, 1, 0, 0, 0, 2)
    """
    values = real_values(array, element).ravel()
    finite = values if array.dtype.kind in "iub" else values[np.isfinite(values)]
    whole, least, most = _limits(element)
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (math.nan, math.nan)
    limits, clipped, bits, width = None, 0, None, None
    if isinstance(format, FixedPoint):
        limits = format.minimum * format.step, format.maximum * format.step
        clipped = _at(values, limits[0] if format.signed else math.nan, limits[1]) if format.width > 1 else 0
        width = format.width
        if finite.size:
            bits = _bits(round(low / format.step), round(high / format.step), is_signed=format.signed)
    elif whole:
        limits = _real_limits(element, least, most)
        width = (most - least).bit_length()
        clipped = _at(array, least if least < 0 else math.nan, most) if width > 1 else 0
        if array.size:
            bits = _bits(int(array.min()), int(array.max()), is_signed=least < 0)
    counts, bounds = _histogram(finite, low, high, _step(element, format))
    return Distribution(
        kind=kind,
        type=type,
        count=int(values.size),
        low=low,
        high=high,
        mean=_mean(finite),
        zeros=int(values.size - np.count_nonzero(values)),
        not_finite=int(values.size - finite.size),
        limits=limits,
        clipped=clipped,
        bits=bits,
        width=width,
        counts=counts,
        bounds=bounds,
    )


def error_between(values: np.ndarray, reference: np.ndarray, node: str) -> Error:
    """Return the differences between real numbers and those of a reference of the same shape.

    Examples
    --------
    >>> error_between(np.array([1.0, 2.5]), np.array([1.0, 2.0]), "relu_1")
    Error(largest=0.5, mean=0.25, relative=0.223..., unequal=1, node='relu_1')
    """
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(values - reference)
    alike = (values == reference) | (np.isnan(values) & np.isnan(reference))
    off = np.where(alike, 0.0, np.where(np.isnan(off), np.inf, off))
    if not off.size or not off.any():
        return Error(0.0, 0.0, 0.0, 0, node)
    largest = float(off.max())
    finite = reference[np.isfinite(reference)]
    most = float(np.abs(finite).max(initial=0.0))
    relative = math.inf
    if math.isfinite(largest) and most:  # normalised first: squares may underflow and overflow
        powers = [float(np.sum(np.square(each / top))) for each, top in ((off, largest), (finite, most))]
        relative = largest / most * math.sqrt(powers[0] / powers[1])
    return Error(largest, _mean(off), relative, int(np.count_nonzero(off)), node)


def _mean(finite: np.ndarray) -> float:
    if not finite.size:
        return math.nan
    with np.errstate(over="ignore"):
        mean = float(finite.mean())  # the sum of huge numbers may overflow, their mean does not
    return mean if math.isfinite(mean) else float((finite / finite.size).sum())


def _limits(element: Element | None) -> tuple[bool, int, int]:
    """Return whether an element type has limits, and its least and greatest stored integer."""
    if isinstance(element, FixedPoint | Quantised):
        return True, element.minimum, element.maximum
    limits = integer_limits(element) if isinstance(element, str) and element[0] in "iu" else None
    return (True, *limits) if limits else (False, 0, 0)


def _real_limits(element: Element | None, least: int, most: int) -> tuple[float, float]:
    if isinstance(element, Quantised):
        ends = [(end - zero) * step for end in (least, most) for step, zero in element.channels]
        return min(ends), max(ends)
    step = element.step if isinstance(element, FixedPoint) else 1.0
    return least * step, most * step


def _step(element: Element | None, format: FixedPoint | None) -> float | None:
    """Return the distance of adjacent numbers, if it is constant."""
    if isinstance(element, FixedPoint):
        return element.step
    if format is not None:
        return format.step
    if isinstance(element, Quantised):
        return element.scale if isinstance(element.scale, float) else None
    return 1.0 if isinstance(element, str) and (element[0] in "iu" or element == "bool") else None


def _at(values: np.ndarray, least: float, most: float) -> int:
    return int(np.count_nonzero(values == least)) + int(np.count_nonzero(values == most))


def _bits(low: int, high: int, *, is_signed: bool) -> int:
    """Return the number of bits of the narrowest format."""
    needed = max((-low - 1).bit_length() if low < 0 else 0, high.bit_length() if high > 0 else 0)
    return max(needed + is_signed, 1)


def _histogram(finite: np.ndarray, low: float, high: float, step: float | None) -> tuple[tuple[int, ...], Any]:
    """Return counts and bounds; numbers of a coarse grid get a bar each."""
    if not finite.size:
        return (), ()
    span = high - low
    if step is not None and span / step < BINS:
        bins = np.rint((finite - low) / step).astype(np.int64)
        counts = np.bincount(bins, minlength=1)
        return tuple(counts.tolist()), tuple(low + (i - 0.5) * step for i in range(len(counts) + 1))
    if not span:
        return (finite.size,), (low, high)
    unit = 1.0 if math.isfinite(span) else 0.25  # the difference of huge numbers overflows
    shrunk, start = finite * unit, low * unit
    width = high * unit - start
    bins = np.minimum((shrunk - start) / width * BINS, BINS - 1).astype(np.int64)
    edges = start + np.arange(BINS + 1) / BINS * width
    edges[-1] = high * unit
    return tuple(np.bincount(bins, minlength=BINS).tolist()), tuple((edges / unit).tolist())
