"""Arrays of a C program: a name, an element type, and where each entry lies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

__all__ = ["Array", "Reference", "c_type", "literal", "row_major"]

_TYPES = {"float16": "uint16_t", "float32": "float", "float64": "double", "bool": "uint8_t"}


def c_type(dtype: np.dtype) -> str:
    """Return the C type in which entries of a dtype are stored.

    Examples
    --------
    >>> c_type(np.dtype("float32")), c_type(np.dtype("int8")), c_type(np.dtype("bool"))
    ('float', 'int8_t', 'uint8_t')
    """
    return _TYPES.get(dtype.name, f"{dtype.name}_t")


def literal(number: object, dtype: np.dtype) -> str:
    """Return a number in C, with all digits that its type tells apart.

    Examples
    --------
    >>> literal(0.1, np.dtype("float32")), literal(np.inf, np.dtype("float64")), literal(-(2**31), np.dtype("int32"))
    ('0.1f', 'INFINITY', 'INT32_MIN')
    >>> literal(5, np.dtype("uint32")), literal(1 << 40, np.dtype("int64")), literal(True, np.dtype("bool"))
    ('5u', 'INT64_C(1099511627776)', '1')
    >>> literal(-1.5, np.dtype("float16"))
    '0xbe00'
    """
    if dtype == np.float16:  # its bits
        return f"{np.float16(number).view(np.uint16):#06x}"  # type: ignore[arg-type]  # a number of numpy or of Python
    if dtype.kind == "f":
        value = dtype.type(number)
        if not np.isfinite(value):
            return "NAN" if np.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"
        return f"{value!s}f" if dtype == np.float32 else repr(float(value))
    whole = int(number)  # type: ignore[call-overload]  # a number of numpy or of Python
    if dtype.kind != "i":
        return f"UINT64_C({whole})" if whole >= 1 << 32 else f"{whole}{'u' * (dtype.itemsize > 2)}"
    if whole == np.iinfo(dtype).min and dtype.itemsize > 2:
        return f"INT{8 * dtype.itemsize}_MIN"
    if abs(whole) < 1 << 31:
        return str(whole)
    return f"INT64_C({whole})" if whole > 0 else f"(-INT64_C({-whole}))"


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Return how many entries apart neighbours of each axis lie, the last axis closest.

    Examples
    --------
    >>> row_major((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


@dataclass(frozen=True)
class Reference:
    """An entry of an array, at an index that is an expression; or a number."""

    name: str
    index: str = ""

    def __str__(self) -> str:
        return f"{self.name}[{self.index}]" if self.index else self.name

    def plus(self, index: str) -> Reference:
        """Return the entry so many further."""
        return Reference(self.name, index if self.index in ("", "0") else f"{self.index} + {index}")


@dataclass(frozen=True)
class Array:
    """An array, or a part of one in which axes have another order, a stride, or a place of their own.

    Attributes
    ----------
    name : str
        The C pointer.
    dtype : numpy.dtype
        Of its entries.
    shape, strides : tuple of int
        Sizes, and by axis how many entries apart neighbours lie.
    offset : int
        The index of the first entry.
    value : numpy.ndarray, optional
        Of a constant.

    Examples
    --------
    >>> x = Array("x", np.dtype("float32"), (2, 3), (3, 1))
    >>> print(x.at("i", "j"), x.transposed((1, 0)).at("i", "j"), x.broadcast((5, 2, 3)).at("n", "i", 2))
    x[i * 3 + j] x[i + j * 3] x[i * 3 + 2]
    """

    name: str
    dtype: np.dtype
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    value: np.ndarray | None = None

    @property
    def size(self) -> int:
        """The number of its entries."""
        return math.prod(self.shape)

    @property
    def type(self) -> str:
        """The C type of its entries."""
        return c_type(self.dtype)

    @property
    def number(self) -> str | None:
        """The literal of a constant of one entry, which needs no memory."""
        return None if self.value is None or self.value.size != 1 else literal(self.value.ravel()[0], self.dtype)

    def at(self, *index: str | int) -> Reference:
        """Return the entry at an index, an expression or a number for each axis."""
        return self.entry(zip(index, self.strides, strict=True))

    def entry(self, terms: Iterable[tuple[str | int, int]]) -> Reference:
        """Return the entry at a sum of indices, each with its stride."""
        if self.number is not None:
            return Reference(self.number)
        first, texts = self.offset, []
        for index, stride in terms:
            if isinstance(index, int) or index.isdigit():
                first += int(index) * stride
            elif stride:
                simple = index if index.isidentifier() or stride == 1 else f"({index})"
                texts.append(simple if stride == 1 else f"{simple} * {stride}")
        text = " + ".join([*texts, *([str(first)] if first > 0 else [])]) or "0"
        return Reference(self.name, text if first >= 0 else f"{text} - {-first}")

    def broadcast(self, shape: Sequence[int]) -> Array:
        """Return it as an array of a shape to which its own broadcasts."""
        more = len(shape) - len(self.shape)
        strides = [0 if own == 1 else stride for own, stride in zip(self.shape, self.strides, strict=True)]
        return replace(self, shape=tuple(shape), strides=(*[0] * more, *strides))

    def transposed(self, perm: Sequence[int]) -> Array:
        """Return it with another order of its axes."""
        return replace(
            self,
            shape=tuple(self.shape[p] for p in perm),
            strides=tuple(self.strides[p] for p in perm),
            value=None if self.value is None else np.transpose(self.value, perm),
        )

    def with_ones(self, axes: Sequence[int]) -> Array:
        """Return it with further axes of size 1, at these positions of the result."""
        shape, strides = list(self.shape), list(self.strides)
        for axis in sorted(axes):
            shape.insert(axis, 1)
            strides.insert(axis, 0)
        return replace(self, shape=tuple(shape), strides=tuple(strides))

    def along(self, axes: Sequence[int]) -> Array:
        """Return the part of it that spans some axes only, from index 0 of the others."""
        return replace(
            self, shape=tuple(self.shape[a] for a in axes), strides=tuple(self.strides[a] for a in axes), value=None
        )

    def part(self, starts: Sequence[int], shape: Sequence[int]) -> Array:
        """Return a box of it."""
        first = self.offset + sum(start * stride for start, stride in zip(starts, self.strides, strict=True))
        return replace(self, shape=tuple(shape), offset=first, value=self.value if self.size == 1 else None)

    def positions(self) -> np.ndarray:
        """Return the index in memory of each entry."""
        found = np.full((), self.offset, np.int64)
        for size, stride in zip(self.shape, self.strides, strict=True):
            found = found[..., None] + np.arange(size) * stride
        return found
