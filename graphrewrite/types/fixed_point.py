"""FixedPoint: an integer mantissa times a power of two."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.runtime.display import Displayed

__all__ = ["FixedPoint"]

_FARTHEST = 1000
"""Bits between a mantissa and its binary point, so that the value of each mantissa is a float64."""
_FLOATS = {"f16": (11, -24, 15), "bf16": (8, -133, 127), "f32": (24, -149, 127), "f64": (53, -1074, 1023)}
"""Bits of the significand, and the exponents of the least and of the greatest power of two (IEEE 754-2019, 3.6)."""


@dataclass(frozen=True)
class FixedPoint(Displayed):
    """A number format: an integer mantissa times a power of two.

    Parameters
    ----------
    signed : bool
        Two's complement if true.
    width : int
        Bits of the mantissa, sign included, 1 to 63.
    fraction : int
        Bits right of the binary point; the value is ``mantissa * 2**-fraction``. May be negative or exceed the width.

    Examples
    --------
    >>> fmt = FixedPoint(True, 8, 4)
    >>> print(fmt, fmt.minimum, fmt.maximum, fmt.step)
    s8f4 -128 127 0.0625
    """

    signed: bool
    width: int
    fraction: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.signed, bool | np.bool_ | int):
            raise TypeMismatchError(f"signed is True or False, got {self.signed!r}")
        try:  # numbers of numpy, say, become Python's, which print alike everywhere
            numbers = operator.index(self.width), operator.index(self.fraction)
        except TypeError as error:
            raise TypeMismatchError(f"width and fraction are integers: {error}") from error
        for name, value in zip(("signed", "width", "fraction"), (bool(self.signed), *numbers), strict=True):
            object.__setattr__(self, name, value)
        if not 1 <= self.width <= 63:
            raise TypeMismatchError(f"fixed-point widths are 1 to 63 bits, got {self.width}")
        if abs(self.fraction) > _FARTHEST:
            raise TypeMismatchError(f"fractions are -{_FARTHEST} to {_FARTHEST} bits, got {self.fraction}")

    @property
    def minimum(self) -> int:
        """The least mantissa."""
        return -(1 << (self.width - 1)) if self.signed else 0

    @property
    def maximum(self) -> int:
        """The greatest mantissa."""
        return (1 << (self.width - self.signed)) - 1

    @property
    def step(self) -> float:
        """The value of one unit of the mantissa."""
        return math.ldexp(1.0, -self.fraction)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The narrowest numpy integer type that holds every mantissa."""
        bits = next(size for size in (8, 16, 32, 64) if self.width <= size)
        return np.dtype(f"{'int' if self.signed else 'uint'}{bits}")

    def is_held_by(self, element: str) -> bool:
        """Tell whether every number of the format is also a number of a float type, so that nothing is rounded.

        Parameters
        ----------
        element : str
            The element type; integers hold no format.

        Examples
        --------
        >>> FixedPoint(True, 25, 4).is_held_by("f32"), FixedPoint(False, 25).is_held_by("f32")
        (True, False)
        """
        if element not in _FLOATS:
            return False
        digits, least, greatest = _FLOATS[element]
        # The sign bit needs no digit: the least mantissa is a power of two, of which one digit suffices.
        return (
            self.width - self.signed <= digits
            and least <= -self.fraction
            and self.width - 1 - self.fraction <= greatest
        )

    @classmethod
    def holding(cls, low: int, high: int, fraction: int = 0) -> FixedPoint:
        """Return the narrowest format whose mantissas include ``low`` and ``high``.

        Parameters
        ----------
        low, high : int
            The least and the greatest mantissa.
        fraction : int
            Bits right of the binary point.

        Returns
        -------
        FixedPoint
            Signed if ``low`` is negative.

        Examples
        --------
        >>> print(FixedPoint.holding(-5, 100), FixedPoint.holding(0, 9, fraction=2))
        s8f0 u4f2
        """
        if low < 0:  # in two's complement, -8 needs as many bits as 7
            return cls(True, max(int(-low - 1).bit_length(), max(int(high), 0).bit_length()) + 1, fraction)
        return cls(False, max(int(high).bit_length(), 1), fraction)

    def __str__(self) -> str:
        return f"{'s' if self.signed else 'u'}{self.width}f{self.fraction}"
