"""Stream: tensors that are transmitted beat by beat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.runtime.display import Displayed
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.tensor import checked_shape

__all__ = ["Stream"]


@dataclass(frozen=True)
class Stream(Displayed):
    """A stream of beats that carries one tensor (without its batch) after the other.

    The first dimension is the channels, the others are positions, in raster order. All channels of a position travel
    side by side as the lanes of one beat, or, where there are fewer lanes, one group of channels after the other.

    Parameters
    ----------
    element : FixedPoint
        The format of one lane.
    shape : tuple of int
        Channels first, without the batch.
    lanes : int, optional
        Channels in a beat, a divisor of their number; all by default.

    Examples
    --------
    >>> s = Stream(FixedPoint(False, 8), (6, 4, 5))
    >>> print(s, s.lanes, s.beats, s.payload_width)
    stream u8f0[6,4,5] 6 20 48
    >>> s = Stream(FixedPoint(False, 8), (6, 4, 5), lanes=2)
    >>> print(s, s.folds, s.beats, s.payload_width)
    stream u8f0[6,4,5] 2 lanes 3 60 16
    """

    element: FixedPoint
    shape: tuple[int, ...]
    lanes: int = 0
    unknowns: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.element, FixedPoint):
            raise TypeMismatchError(f"stream elements are FixedPoint formats, got {self.element!r}")
        sizes = tuple(d for d in checked_shape(self.shape) if isinstance(d, int))
        if not sizes or len(sizes) != len(self.shape):
            raise TypeMismatchError(f"stream shapes have channels first and no symbolic sizes, got {self.shape!r}")
        object.__setattr__(self, "shape", sizes)
        object.__setattr__(self, "lanes", self.lanes or self.channels)
        if self.lanes < 1 or self.channels % self.lanes:
            raise TypeMismatchError(
                f"{self.lanes} lanes do not divide the {self.channels} channels of a stream of {self.shape}; "
                "give a divisor"
            )

    @property
    def channels(self) -> int:
        """Numbers at one position."""
        return self.shape[0]

    @property
    def folds(self) -> int:
        """Beats of one position: groups of channels that travel one after the other."""
        return self.channels // self.lanes

    @property
    def positions(self) -> int:
        """Positions of one frame."""
        return math.prod(self.shape[1:])

    @cached_property
    def beats(self) -> int:
        """Beats of one frame."""
        return self.positions * self.folds

    @property
    def payload_width(self) -> int:
        """Bits of one beat."""
        return self.lanes * self.element.width

    def to_beats(self, values: np.ndarray) -> np.ndarray:
        """Return the beats of a batch of frames.

        Parameters
        ----------
        values : ndarray of int, shape [N, *shape]
            Mantissas.

        Examples
        --------
        >>> Stream(FixedPoint(False, 8), (2, 1, 2)).to_beats(np.array([[[[1, 2]], [[3, 4]]]])).tolist()
        [[[1, 3], [2, 4]]]
        """
        flat = np.asarray(values, np.int64).reshape(len(values), self.channels, self.positions)
        return np.ascontiguousarray(flat.transpose(0, 2, 1)).reshape(len(values), self.beats, self.lanes)

    def from_beats(self, beats: np.ndarray) -> np.ndarray:
        """Return the tensors that a sequence of beats carries; the inverse of `to_beats`.

        Parameters
        ----------
        beats : ndarray of int, shape [N, beats, lanes]

        Examples
        --------
        >>> s = Stream(FixedPoint(False, 8), (2, 3))
        >>> s.from_beats(s.to_beats(np.arange(6).reshape(1, 2, 3))).tolist()
        [[[0, 1, 2], [3, 4, 5]]]
        """
        flat = np.asarray(beats).reshape(len(beats), self.positions, self.channels)
        return np.ascontiguousarray(flat.transpose(0, 2, 1)).reshape(len(beats), *self.shape)

    def with_lanes(self, lanes: int) -> Stream:
        """Return the same stream with another number of lanes.

        Examples
        --------
        >>> print(Stream(FixedPoint(False, 8), (6, 4)).with_lanes(3))
        stream u8f0[6,4] 3 lanes
        """
        return Stream(self.element, self.shape, lanes)

    def __str__(self) -> str:
        folded = f" {self.lanes} lanes" if self.folds > 1 else ""
        return f"stream {self.element}[{','.join(map(str, self.shape))}]{folded}"
