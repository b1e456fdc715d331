"""Quantised: integers that stand for real numbers by a scale and a zero point."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.runtime.display import Displayed
from graphrewrite.types.named import as_name, integer_limits, named_dtype

__all__ = ["STORAGES", "Quantised"]

STORAGES: tuple[str, ...] = tuple(f"{kind}{bits}" for kind in "iu" for bits in (4, 8, 16, 32))
"""The integers that quantised numbers are stored in."""


@dataclass(frozen=True)
class Quantised(Displayed):
    """A number format: ``scale * (q - zero_point)``, per tensor or per channel (ONNX specification, QuantizeLinear).

    Parameters
    ----------
    storage : str
        The type of the integers ``q``: ``"i8"``, ``"u4"``, ….
    scale : float or tuple of float
        Above zero; with an axis, one for each of its indices.
    zero_point : int or tuple of int
        The ``q`` of zero, a number of the storage; one for all indices of the axis, or one for each.
    axis : int, optional
        The channels' axis; None for one scale of the whole tensor.

    Examples
    --------
    >>> print(Quantised("i8", 0.5, 3), Quantised("u4", (0.5, 0.25), axis=1))
    i8<0.5:3> u4<0.5:0, 0.25:0 @1>
    """

    storage: str
    scale: float | tuple[float, ...]
    zero_point: int | tuple[int, ...] = 0
    axis: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "storage", as_name(self.storage))
        if self.storage not in STORAGES:
            raise TypeMismatchError(f"the storage is one of {', '.join(STORAGES)}, got {self.storage!r}")
        scale, zero_point = self._each(self.scale, float), self._each(self.zero_point, operator.index)
        if self.axis is None:
            if isinstance(scale, tuple) or isinstance(zero_point, tuple):
                raise TypeMismatchError("several scales or zero points need an axis")
        else:
            object.__setattr__(self, "axis", operator.index(self.axis))
            if not 0 <= operator.index(self.axis) < 32:
                raise TypeMismatchError(f"the channel axis is 0 to 31, got {self.axis}")
            if not isinstance(scale, tuple) or not scale:
                raise TypeMismatchError(f"axis {self.axis} needs a tuple of scales, one per index")
            zero_point = zero_point if isinstance(zero_point, tuple) else (zero_point,) * len(scale)
            if len(zero_point) != len(scale):
                raise TypeMismatchError(f"{len(scale)} scales need as many zero points, got {len(zero_point)}")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "zero_point", zero_point)
        for step, zero in self.channels:
            if not (math.isfinite(step) and step > 0):
                raise TypeMismatchError(f"scales are finite and positive, got {step}")
            if not self.minimum <= zero <= self.maximum:
                raise TypeMismatchError(f"the zero point {zero} does not fit into {self.storage}")

    def _each(self, values: Any, convert: Any) -> Any:
        """Return a number, or a tuple of numbers of a sequence or an array; an array without axes is a number."""
        try:
            array = isinstance(values, np.ndarray) and values.ndim
            return tuple(map(convert, values)) if array or isinstance(values, tuple | list) else convert(values)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeMismatchError(f"scales are floats and zero points ints, got {values!r}") from error

    @property
    def minimum(self) -> int:
        """The least stored integer."""
        return (integer_limits(self.storage) or (0, 0))[0]

    @property
    def maximum(self) -> int:
        """The greatest stored integer."""
        return (integer_limits(self.storage) or (0, 0))[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type of the stored integers."""
        return named_dtype(self.storage)

    @property
    def channels(self) -> tuple[tuple[float, int], ...]:
        """Scale and zero point of each channel; one pair if there is no axis."""
        if isinstance(self.scale, tuple) and isinstance(self.zero_point, tuple):
            return tuple(zip(self.scale, self.zero_point, strict=True))
        return ((self.scale, self.zero_point),)  # type: ignore[return-value]  # both numbers: see __post_init__

    def at_axis(self, axis: int) -> Quantised:
        """Return the format with its channels on another axis; itself if it has no axis.

        Parameters
        ----------
        axis : int
            Counted from 0.

        Examples
        --------
        >>> print(Quantised("i8", (0.5, 0.25), axis=1).at_axis(3))
        i8<0.5:0, 0.25:0 @3>
        """
        return self if self.axis in (None, axis) else Quantised(self.storage, self.scale, self.zero_point, axis)

    def __str__(self) -> str:
        channels = ", ".join(f"{step!r}:{zero}" for step, zero in self.channels)
        return f"{self.storage}<{channels}{'' if self.axis is None else f' @{self.axis}'}>"
