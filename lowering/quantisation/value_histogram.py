"""Histograms of values that grow batch by batch: bins are dyadic, so that the order of merging does not matter."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from graphrewrite.lowering.errors import QuantisationError

__all__ = ["BINS", "ValueHistogram"]

_LOG_BINS = 11
BINS = 1 << _LOG_BINS
"""Bins on each side of zero, up to the power of two beyond the greatest magnitude."""
_USUAL = 100
"""With a smaller exponent of its bins a histogram of float32 numbers is computed in float32."""
_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class ValueHistogram:
    """A histogram of finite values.

    A bin is ``[k·w, (k + 1)·w)``, with a power of two for ``w``, which doubles as values become larger: two bins
    become one. So the histogram of some values is the same whatever batches they came in: counts are exact.

    Attributes
    ----------
    low, high : float
        The least and the greatest value.
    zeros : int
        Number of zeros, which no bin counts.
    counts : ndarray
        Numbers of other values, by bin.
    first : int
        Index ``k`` of the first bin.

    Examples
    --------
    >>> parts = [ValueHistogram.of(np.array(part)) for part in ([0.5, 0.0], [3.0, -1.0])]
    >>> both = sum(parts, ValueHistogram())
    >>> both.low, both.high, both.zeros, both.count, both.width
    (-1.0, 3.0, 1, 4, 0.001953125)
    >>> both == ValueHistogram.of(np.array([3.0, 0.0, -1.0, 0.5]))
    True
    """

    low: float = 0.0
    high: float = 0.0
    zeros: int = 0
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    first: int = 0

    @classmethod
    def of(cls, values: np.ndarray) -> ValueHistogram:
        """Return the histogram of an array."""
        values = np.asarray(values, None if np.asarray(values).dtype == np.float32 else np.float64).ravel()
        if not values.size:
            return cls()
        low, high = float(values.min()), float(values.max())
        if not np.isfinite([low, high]).all():
            raise QuantisationError("values are NaN or infinite, and have no histogram; remove those samples")
        exponent, zeros = _exponent(low, high), values.size - int(np.count_nonzero(values))
        if not low and not high:
            return cls(zeros=zeros)
        # A product with a power of two is exact, as long as both are normal numbers.
        is_usual = abs(exponent) < _USUAL
        scaled = values * values.dtype.type(2.0**-exponent) if is_usual else np.ldexp(values.astype(float), -exponent)
        counts = np.bincount(np.floor(scaled).astype(np.int64) + BINS, minlength=2 * BINS)
        counts[BINS] -= zeros
        if low < 0:  # a product may be too small for a number, and lose its sign
            lost = int(np.count_nonzero(values < 0)) - int(counts[:BINS].sum())
            counts[BINS - 1 : BINS + 1] += lost, -lost
        taken = np.flatnonzero(counts)
        return cls(low, high, zeros, counts[taken[0] : taken[-1] + 1], int(taken[0]) - BINS)

    def __add__(self, other: ValueHistogram) -> ValueHistogram:
        """Return the histogram of the values of both."""
        if not self.count or not other.count:
            return self if self.count else other
        low, high = min(self.low, other.low), max(self.high, other.high)
        exponent = _exponent(low, high)
        parts = [each.coarser(exponent) for each in (self, other) if each.counts.size]
        first = min((start for start, _ in parts), default=0)
        counts = np.zeros(max((start + counts.size for start, counts in parts), default=0) - first, np.int64)
        for start, part in parts:
            counts[start - first : start - first + part.size] += part
        return ValueHistogram(low, high, self.zeros + other.zeros, counts, first)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ValueHistogram):
            return NotImplemented
        same = (self.low, self.high, self.zeros, self.first) == (other.low, other.high, other.zeros, other.first)
        return same and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]  # it holds an array

    @property
    def count(self) -> int:
        """Number of values."""
        return self.zeros + int(self.counts.sum())

    @property
    def fits(self) -> bool:
        """Whether the bins begin and end where the least and the greatest value are, and zeros are between them."""
        taken = self.first + np.flatnonzero(self.counts)
        if self.zeros and not self.low <= 0 <= self.high:
            return False
        if not taken.size:
            return not self.low and not self.high
        # A quotient may be too small for a number; its sign says the bin.
        first, last = (min(int(end // self.width), -1 if end < 0 else BINS) for end in (self.low, self.high))
        starts = taken[0] == first if self.low else taken[0] >= 0
        return bool(starts and (taken[-1] == last if self.high else taken[-1] < 0))

    @property
    def width(self) -> float:
        """Width of a bin."""
        return float(np.ldexp(1.0, _exponent(self.low, self.high)))

    @property
    def bounds(self) -> np.ndarray:
        """Bounds of the bins, one more than bins."""
        with np.errstate(over="ignore"):  # the last one may be beyond all numbers
            return np.arange(self.first, self.first + self.counts.size + 1) * self.width

    def coarser(self, exponent: int) -> tuple[int, np.ndarray]:
        """Return the first bin and the counts for bins of the width ``2**exponent``, not less than the own."""
        halvings = min(exponent - _exponent(self.low, self.high), _LOG_BINS + 1)  # more of them change nothing
        places = np.arange(self.first, self.first + self.counts.size) >> halvings
        return int(places[0]), np.bincount(places - places[0], weights=self.counts).astype(np.int64)

    def points(self, each: int = 4) -> tuple[np.ndarray, np.ndarray]:
        """Return numbers that stand for all values, so many for each bin, and how many values each stands for.

        Those of a bin are spread over it, off any grid; zero, the least and the greatest value are exact.
        """
        bins = np.flatnonzero(self.counts)
        places = (self.first + bins)[:, None]
        inside = (np.arange(each) + places * _GOLDEN % 1) / each
        with np.errstate(over="ignore"):
            points = np.clip((places + inside) * self.width, self.low, self.high).ravel()
        weights = np.repeat(self.counts[bins] / each, each)
        if self.zeros:
            points, weights = np.append(points, 0.0), np.append(weights, self.zeros)
        return points, weights

    def quantile(self, share: float) -> float:
        """Return the least bound of a bin below which there is at least a share of all values; `high` at most.

        The quantile of the values themselves is less than a bin below.

        Examples
        --------
        >>> values = np.arange(1000.0)
        >>> found = ValueHistogram.of(values)
        >>> found.quantile(0.9), found.width
        (899.5, 0.5)
        """
        ends = self.bounds[1:]
        ends, counts = np.append(ends, 0.0), np.append(self.counts, self.zeros)
        order = np.argsort(ends, kind="stable")
        below = np.cumsum(counts[order])
        place = int(np.searchsorted(below, share * self.count * (1 - 1e-12)))
        found = ends[order][min(place, len(order) - 1)]
        return float(min(max(found, self.low), self.high))


def _exponent(low: float, high: float) -> int:
    """The exponent of the width of bins for values between two ends."""
    greatest = max(abs(low), abs(high))
    return int(np.frexp(greatest)[1]) - _LOG_BINS if greatest else 0
