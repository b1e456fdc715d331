"""Stream: tensors that travel beat by beat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types.fixed_point import FixedPoint
from graphrewrite.types.tensor import checked_shape

__all__ = ["Stream"]


@dataclass(frozen=True)
class Stream:
    """A stream of beats that carries one tensor (without its batch) after the other.

    The first dimension is the channels: they travel side by side as the lanes of a beat. The other dimensions are
    positions, one a beat, in raster order.

    Parameters
    ----------
    element : FixedPoint
        The format of one lane.
    shape : tuple of int
        Channels first, without the batch.

    Examples
    --------
    >>> s = Stream(FixedPoint(False, 8), (3, 4, 5))
    >>> print(s, s.lanes, s.beats, s.payload_width)
    stream u8f0[3,4,5] 3 20 24
    """

    element: FixedPoint
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.element, FixedPoint):
            raise TypeMismatchError(f"a stream carries mantissas of a fixed-point format, not {self.element!r}")
        sizes = tuple(d for d in checked_shape(self.shape) if isinstance(d, int))
        if not sizes or len(sizes) != len(self.shape):
            raise TypeMismatchError(f"a stream has its channels first and whole sizes only, not {self.shape!r}")
        object.__setattr__(self, "shape", sizes)

    @property
    def lanes(self) -> int:
        """Channels, carried side by side in one beat."""
        return self.shape[0]

    @cached_property
    def beats(self) -> int:
        """Beats of one frame."""
        return math.prod(self.shape[1:])

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

        Returns
        -------
        ndarray of int64, shape [N, beats, lanes]

        Examples
        --------
        >>> Stream(FixedPoint(False, 8), (2, 1, 2)).to_beats(np.array([[[[1, 2]], [[3, 4]]]])).tolist()
        [[[1, 3], [2, 4]]]
        """
        flat = np.asarray(values, np.int64).reshape(len(values), self.lanes, self.beats)
        return np.ascontiguousarray(flat.transpose(0, 2, 1))

    def from_beats(self, beats: np.ndarray) -> np.ndarray:
        """Return the tensors that a sequence of beats carries; the inverse of `to_beats`.

        Parameters
        ----------
        beats : ndarray of int, shape [N, beats, lanes]

        Returns
        -------
        ndarray, shape [N, *shape]

        Examples
        --------
        >>> s = Stream(FixedPoint(False, 8), (2, 3))
        >>> s.from_beats(s.to_beats(np.arange(6).reshape(1, 2, 3))).tolist()
        [[[0, 1, 2], [3, 4, 5]]]
        """
        return np.ascontiguousarray(np.asarray(beats).transpose(0, 2, 1)).reshape(len(beats), *self.shape)

    def __str__(self) -> str:
        return f"stream {self.element}[{','.join(map(str, self.shape))}]"
