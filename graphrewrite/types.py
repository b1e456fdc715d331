"""What an edge carries: tensors, fixed-point formats, streams."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from graphrewrite.errors import TypeMismatchError

__all__ = ["Dimension", "FixedPoint", "Stream", "Tensor", "Type", "element_dtype", "element_of", "one_object"]

Dimension = int | str
"""A size, or the name of a size that is not known until run time (``"N"``)."""

_FLOATS_AND_INTEGERS: dict[str, Any] = {
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bool": np.bool_,
    **{
        f"{kind}{bits}": np.dtype(f"{name}{bits}").type
        for kind, name in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
}


@dataclass(frozen=True)
class FixedPoint:
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
        if not 1 <= self.width <= 63:
            raise TypeMismatchError(f"a fixed-point width is 1 to 63 bits, not {self.width}")

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
        if low < 0:
            return cls(True, max(int(-low - 1).bit_length(), max(int(high), 0).bit_length()) + 1, fraction)
        return cls(False, max(int(high).bit_length(), 1), fraction)

    def __str__(self) -> str:
        return f"{'s' if self.signed else 'u'}{self.width}f{self.fraction}"


Element = str | FixedPoint
"""An element type: a name such as ``"f32"``, or a fixed-point format."""


_TENSORS: WeakValueDictionary[Any, Any] = WeakValueDictionary()
"""Every tensor type that is in use, by what it is made of."""


@dataclass(frozen=True)
class Tensor:
    """A tensor: element type and shape, batch included where there is one.

    Parameters
    ----------
    element : str or FixedPoint
        ``"f32"``, ``"i64"``, ``"bool"``, …, or a fixed-point format.
    shape : tuple of int or str
        Sizes; a string is a size that run time decides.

    Examples
    --------
    >>> print(Tensor("f32", ("N", 8, 26, 26)))
    f32[N,8,26,26]
    """

    element: Element
    shape: tuple[Dimension, ...]

    def __new__(cls, element: Element, shape: tuple[Dimension, ...]) -> Tensor:
        """Return the one object of its kind, as long as somebody has it: rewriting compares types by identity first."""
        known = _TENSORS.get((cls, element, shape)) if type(shape) is tuple else None
        return super().__new__(cls) if known is None else known

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.element, self.shape

    def __post_init__(self) -> None:
        if isinstance(self.element, str) and self.element not in _FLOATS_AND_INTEGERS:
            raise TypeMismatchError(
                f"unknown element type {self.element!r}; known are {', '.join(_FLOATS_AND_INTEGERS)}"
            )
        object.__setattr__(self, "shape", tuple(d if isinstance(d, str) else int(d) for d in self.shape))
        _TENSORS.setdefault((type(self), self.element, self.shape), self)

    def __str__(self) -> str:
        return f"{self.element}[{','.join(map(str, self.shape))}]"


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


Type = Tensor | Stream
"""What an edge carries."""


@lru_cache(maxsize=4096)
def one_object(kind: Type) -> Type:
    """Return one object for equal types, so that comparing them is a look at their identity.

    Parameters
    ----------
    kind : Tensor or Stream
        Any type.

    Returns
    -------
    Tensor or Stream

    Examples
    --------
    >>> one_object(Tensor("f32", ("N",))) is one_object(Tensor("f32", ("N",)))
    True
    """
    return kind


def element_dtype(element: Element) -> np.dtype[Any]:
    """Return the numpy dtype in which values of an element type are held.

    Parameters
    ----------
    element : str or FixedPoint
        An element type.

    Returns
    -------
    numpy.dtype

    Examples
    --------
    >>> element_dtype("f32"), element_dtype(FixedPoint(False, 9))
    (dtype('float32'), dtype('uint16'))
    """
    return element.dtype if isinstance(element, FixedPoint) else np.dtype(_FLOATS_AND_INTEGERS[element])


def element_of(dtype: Any) -> str:
    """Return the element type's name of a numpy dtype.

    Parameters
    ----------
    dtype : dtype-like
        Any numpy dtype of the table.

    Returns
    -------
    str

    Raises
    ------
    TypeMismatchError
        If no element type has that dtype.

    Examples
    --------
    >>> element_of(np.float32)
    'f32'
    """
    for name, kind in _FLOATS_AND_INTEGERS.items():
        if np.dtype(kind) == np.dtype(dtype):
            return name
    raise TypeMismatchError(
        f"no element type for numpy's {np.dtype(dtype)}; convert it to one of {', '.join(_FLOATS_AND_INTEGERS)}"
    )
