"""Carriers: floating-point types that compute integers exactly."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

__all__ = ["FLOAT32", "FLOAT64", "Map", "carrier"]

FLOAT32 = np.dtype(np.float32)
FLOAT64 = np.dtype(np.float64)


def carrier(bound: int) -> np.dtype | None:
    """Return the narrowest float type that represents every integer up to a bound exactly, or None if there is none.

    Integers of magnitude up to 2**24 are float32 numbers, those up to 2**53 float64 numbers (IEEE 754-2019, table 3.5:
    24 and 53 digits). A sum of integers whose partial sums are within the bound is therefore exact in any order, with
    or without fused multiply-add; and so is its product with a power of two.

    Examples
    --------
    >>> carrier(1 << 24), carrier((1 << 24) + 1), carrier(1 << 60)
    (dtype('float32'), dtype('float64'), None)
    """
    if bound <= 1 << 24:
        return FLOAT32
    return FLOAT64 if bound <= 1 << 53 else None


class Map(NamedTuple):
    """A monotone function of each entry: ``x * scale + offset``, optionally rounded half to even, then limited.

    Biases, shifts, requantisation, relu, and conversions from and to real numbers have this form. As it is monotone in
    each channel, it commutes with a maximum over positions, and is cheaper after it.

    Attributes
    ----------
    scale : float or ndarray
        A power of two, or an array of shape [C, 1] with one per channel, in float64 until it is `held`.
    offset : float, ndarray or None
        A number, or such an array; None adds nothing, while adding 0.0 makes every zero positive.
    rounded : bool
        Whether the sum is rounded.
    low, high : float
        Limits, integers or infinite.

    Examples
    --------
    >>> bias, requantise = Map(offset=8.0), Map(scale=0.25, rounded=True, low=0, high=15)
    >>> both = bias.then(requantise)
    >>> both.scale, both.offset, both.rounded
    (0.25, 2.0, True)
    >>> requantise.then(bias) is None
    True
    """

    scale: float | np.ndarray = 1.0
    offset: float | np.ndarray | None = None
    rounded: bool = False
    low: float = -math.inf
    high: float = math.inf

    @property
    def limited(self) -> bool:
        """Whether it has a limit."""
        return self.low > -math.inf or self.high < math.inf

    def held(self, kind: np.dtype) -> Map:
        """Return the map whose arrays are of a carrier, in which it is computed."""
        scale = self.scale.astype(kind) if isinstance(self.scale, np.ndarray) else self.scale
        offset = self.offset.astype(kind) if isinstance(self.offset, np.ndarray) else self.offset
        return self._replace(scale=scale, offset=offset)

    def then(self, other: Map) -> Map | None:
        """Return the map that computes this one and then the other, or None if a single one cannot."""
        if not (self.rounded or self.limited):
            scale = self.scale * other.scale
            # Exact: an integer of the carrier times a power of two.
            scaled = None if self.offset is None else self.offset * other.scale
            offset = other.offset if scaled is None else scaled if other.offset is None else scaled + other.offset
            return Map(scale, offset, other.rounded, other.low, other.high)
        if (
            isinstance(other.scale, float)
            and other.scale == 1.0
            and other.offset is None
            and (self.rounded or not other.rounded)
        ):
            low, high = (min(max(bound, other.low), other.high) for bound in (self.low, self.high))
            return Map(self.scale, self.offset, self.rounded, low, high)
        return None
