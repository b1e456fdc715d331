"""Floats of eight and of four bits: their values, and rounding to them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from graphrewrite.errors import TypeMismatchError

__all__ = ["SMALL_FLOATS", "SmallFloat", "nearest_small", "small_float"]


class SmallFloat(NamedTuple):
    """A float format of few bits (OCP 8-bit Floating Point Specification 1.0; OCP Microscaling Formats 1.0).

    Attributes
    ----------
    mantissa : int
        Bits of the mantissa after the point.
    smallest : int
        Exponent of the least normal number.
    finite : int
        Number of finite codes from zero on; without a zero, from the least number on.
    signed : bool
        Whether there are negative numbers; without them there is no zero either.
    infinite : bool
        Whether there are infinities.
    nan : bool
        Whether there is a NaN.
    negative_zero : bool
        Whether a zero has a sign.
    """

    mantissa: int
    smallest: int
    finite: int
    signed: bool = True
    infinite: bool = False
    nan: bool = True
    negative_zero: bool = True

    @property
    def magnitudes(self) -> np.ndarray:
        """The finite numbers that are not negative, in order, in float64."""
        return _magnitudes(self, self.finite)

    @property
    def greatest(self) -> float:
        """The greatest finite number."""
        return float(self.magnitudes[-1])

    @property
    def least(self) -> float:
        """The least number above zero."""
        return float(self.magnitudes[int(self.signed)])

    @property
    def step(self) -> float:
        """The distance from 1 to the next number."""
        return 2.0**-self.mantissa


SMALL_FLOATS: dict[str, SmallFloat] = {
    "f8e4m3fn": SmallFloat(3, -6, 0x7F),
    "f8e4m3fnuz": SmallFloat(3, -7, 0x80, negative_zero=False),
    "f8e5m2": SmallFloat(2, -14, 0x7C, infinite=True),
    "f8e5m2fnuz": SmallFloat(2, -15, 0x80, negative_zero=False),
    "f8e8m0": SmallFloat(0, -127, 0xFF, signed=False, negative_zero=False),
    "f4e2m1": SmallFloat(1, 0, 0x8, nan=False),
}
"""The formats by the names of their element types."""


def small_float(name: object) -> SmallFloat | None:
    """Return the format of an element type, if it is a float of eight or four bits.

    Parameters
    ----------
    name : object
        An element type.

    Examples
    --------
    >>> small_float("f4e2m1").magnitudes.tolist()
    [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    >>> small_float("f8e4m3fn").greatest, small_float("f32")
    (448.0, None)
    """
    return SMALL_FLOATS.get(name) if isinstance(name, str) else None


@cache
def _magnitudes(kind: SmallFloat, count: int) -> np.ndarray:
    """Return the first numbers in order; codes after the greatest finite one continue the same pattern."""
    codes = np.arange(count)
    if not kind.signed:
        return np.asarray(np.ldexp(1.0, kind.smallest + codes))
    # As in IEEE 754: without a leading 1 for the exponent code 0 (subnormal numbers), which counts as code 1.
    exponents, rest = codes >> kind.mantissa, codes & ((1 << kind.mantissa) - 1)
    whole = np.where(exponents > 0, rest + (1 << kind.mantissa), rest)
    return np.asarray(np.ldexp(whole.astype(np.float64), kind.smallest - kind.mantissa + np.maximum(exponents - 1, 0)))


@cache
def _middles(kind: SmallFloat) -> np.ndarray:
    """Return the midpoints of neighbours; the last one lies half a step beyond the greatest."""
    grid = _magnitudes(kind, kind.finite + 1)
    return np.asarray((grid[1:] + grid[:-1]) / 2, np.float32)


def nearest_small(
    name: str, array: np.ndarray, *, saturate: bool = True, infinities: bool = True, mode: str = "nearest"
) -> np.ndarray:
    """Return the numbers of a small float format nearest to floats, ties to even (ONNX specification, Cast).

    Parameters
    ----------
    name : str
        One of `SMALL_FLOATS`.
    array : ndarray of float32
        Any numbers; what was wider before must be rounded to odd.
    saturate : bool
        Whether the greatest number stands for what lies beyond it; otherwise an infinity or NaN does. A format without
        both saturates always.
    infinities : bool
        Whether infinities of a format that has them are left as they are, even if it saturates.
    mode : str
        Of powers of two, which have no even ones: ``"nearest"`` (ties go up), ``"up"`` or ``"down"``.

    Returns
    -------
    ndarray of float32
        The array itself where there is nothing to do. What the format has no number for is 0, where it has no NaN.

    Examples
    --------
    >>> nearest_small("f8e5m2", np.array([1.1, -3.2, 1e9, np.inf], np.float32)).tolist()
    [1.0, -3.0, 57344.0, inf]
    >>> nearest_small("f8e8m0", np.array([3.0, 5.0, 0.0], np.float32), mode="up").tolist()
    [4.0, 8.0, 5.877471754111438e-39]
    """
    kind = SMALL_FLOATS[name]
    bare = np.isnan(array)
    near = _signed(kind, array, saturate) if kind.signed else _power(kind, array, saturate, mode)
    if kind.infinite and infinities:
        near = np.where(np.isinf(array), array, near)
    nearest = np.asarray(np.where(bare, np.float32(np.nan if kind.nan else 0), near), np.float32)
    same = ((array == nearest) & (np.signbit(array) == np.signbit(nearest))) | (bare & np.isnan(nearest))
    return array if same.all() else nearest


def _signed(kind: SmallFloat, array: np.ndarray, saturate: bool) -> np.ndarray:
    middles, magnitudes = _middles(kind), np.abs(array)
    low = np.searchsorted(middles, magnitudes, "left")
    tied = np.searchsorted(middles, magnitudes, "right") > low
    # A tie goes to the neighbour with an even code: the index of a magnitude is its code.
    indices = np.where(tied, low + (low & 1), low)
    beyond = np.float32(kind.greatest if saturate or not kind.nan else np.inf if kind.infinite else np.nan)
    grid = np.append(kind.magnitudes.astype(np.float32), beyond)
    near = np.copysign(grid[indices], array)
    return np.asarray(near if kind.negative_zero else near + np.float32(0))  # -0.0 + 0.0 is 0.0


def _power(kind: SmallFloat, array: np.ndarray, saturate: bool, mode: str) -> np.ndarray:
    grid = kind.magnitudes.astype(np.float32)
    if mode == "up":
        indices = np.searchsorted(grid, array, "left")
    elif mode == "down":
        indices = np.searchsorted(grid, array, "right") - 1
    elif mode == "nearest":
        indices = np.searchsorted(_middles(kind), array, "right")
    else:
        raise TypeMismatchError(f"the rounding mode is 'up', 'down' or 'nearest', got {mode!r}")
    near = grid[np.clip(indices, 0, len(grid) - 1)]
    return near if saturate else np.where((array < grid[0]) | (array > grid[-1]), np.float32(np.nan), near)
