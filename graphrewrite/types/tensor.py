"""Tensor: element type, shape and layout, one object of each kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, SupportsIndex
from weakref import WeakValueDictionary

from graphrewrite.errors import TypeMismatchError
from graphrewrite.runtime.display import Displayed
from graphrewrite.types.element import Element, as_element
from graphrewrite.types.layout import check_layout, permuted
from graphrewrite.types.quantised import Quantised
from graphrewrite.types.size import Size, as_size, is_at_most, symbols

__all__ = ["MOST_AXES", "Dimension", "Tensor", "checked_shape"]

Dimension = int | str
"""A size, or an expression of names that run time decides (``"N"``, ``"2*seq + 1"``), in a tensor a `Size`."""

MOST_AXES = 32
"""Greatest number of axes, that of numpy's arrays before version 2."""

_LARGEST = (1 << 63) - 1

_TENSORS: WeakValueDictionary[Any, Any] = WeakValueDictionary()
"""All tensor types in use, by their parts: equal types are one object."""


def checked_shape(shape: Iterable[Any]) -> tuple[Dimension, ...]:
    """Return a shape as a tuple of numbers and symbolic sizes in normal form.

    Raises
    ------
    TypeMismatchError
        If a size is negative, absurd, or no expression, or there are too many.

    Examples
    --------
    >>> checked_shape(["N", "seq*2+1", 3])
    ('N', '2*seq + 1', 3)
    """
    if isinstance(shape, str) or not isinstance(shape, Iterable):
        raise TypeMismatchError(f"shapes are tuples of sizes, as in ('N', 3), got {shape!r}")
    sizes = tuple(map(_checked_size, shape))
    if len(sizes) > MOST_AXES:
        raise TypeMismatchError(f"tensors have at most {MOST_AXES} axes, got {len(sizes)}")
    return sizes


def _checked_size(size: Any) -> Dimension:
    if type(size) is int and 0 <= size <= _LARGEST:  # first, as isinstance with a protocol is slow
        return size
    if isinstance(size, str):
        return _checked_text(size)
    if isinstance(size, SupportsIndex) or (isinstance(size, float) and size.is_integer()):
        whole = int(size)
        if 0 <= whole <= _LARGEST:
            return whole
    advice = "; write a size that is open as a name, as in ('N', 4)" if size == -1 else ""
    raise TypeMismatchError(f"sizes are integers from 0 to 2**63 - 1 or names such as 'N', got {size!r}{advice}")


@lru_cache(maxsize=4096)
def _checked_text(text: str) -> Dimension:
    size = as_size(text)
    if isinstance(size, int):
        return _checked_size(size)
    if is_at_most(size, -1):
        raise TypeMismatchError(f"the size {size} is negative, whatever its names stand for")
    return size


def _unknowns(shape: Iterable[Dimension]) -> tuple[str, ...]:
    names = [name for size in shape if isinstance(size, str) and "?" in size for name in symbols(size)]
    return tuple(dict.fromkeys(name for name in names if name.startswith("?")))


@dataclass(frozen=True, init=False, repr=False)
class Tensor(Displayed):
    """A tensor: element type and shape, batch included where there is one, and perhaps the names of its axes.

    Parameters
    ----------
    element : str, dtype, FixedPoint or Quantised
        ``"f32"``, ``"i4"``, ``"bool"``, …, or a number format; in words of numpy, PyTorch or ONNX too, as in
        ``"float32"`` or ``np.int8`` (`graphrewrite.types.as_element`).
    shape : tuple of int or str
        Sizes; a string is an expression of names that run time decides.
    layout : str, optional
        A capital letter for each axis; None if they are unknown.

    Raises
    ------
    TypeMismatchError
        If there is no such element type, size or layout.

    Examples
    --------
    >>> print(Tensor("f32", ("N", 8, 26, 26)), Tensor("i4", ("N", 26, 26, 8), "NHWC"))
    f32[N,8,26,26] i4[N,26,26,8] NHWC
    """

    element: Element
    shape: tuple[int | Size, ...]
    layout: str | None = None
    unknowns: ClassVar[tuple[str, ...]]
    """Names of its sizes that only the data decides, such as ``"?1"``."""
    _hash: ClassVar[int]

    def __new__(cls, element: Element, shape: tuple[Dimension, ...], layout: str | None = None) -> Tensor:
        """Return the one object of equal types: rewriting compares types by identity first."""
        if type(shape) is tuple:
            try:
                existing: Tensor | None = _TENSORS.get((cls, element, shape, layout))
            except TypeError:  # unhashable: reported below
                existing = None
            if existing is not None:
                return existing
        element = as_element(element)
        sizes = checked_shape(shape)
        if layout is not None:
            check_layout(layout, len(sizes))
            layout = layout or None  # without axes, "" is no layout
        if isinstance(element, Quantised) and element.axis is not None:
            channels = sizes[element.axis] if element.axis < len(sizes) else "none"
            if channels != len(element.channels):
                raise TypeMismatchError(
                    f"{element} has {len(element.channels)} channels, "
                    f"and axis {element.axis} of [{','.join(map(str, sizes))}] has {channels}"
                )
        tensor = super().__new__(cls)
        key = (cls, element, sizes, layout)
        tensor.__dict__.update(element=element, shape=sizes, layout=layout, unknowns=_unknowns(sizes), _hash=hash(key))
        first: Tensor = _TENSORS.setdefault(key, tensor)
        return first

    def __hash__(self) -> int:
        return self._hash  # computed once: rewriting asks for it at every step

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.element, self.shape, self.layout)

    def permuted(self, perm: Sequence[int]) -> Tensor:
        """Return the type of a transposed tensor: axis i of it is axis ``perm[i]`` of this one.

        Parameters
        ----------
        perm : sequence of int
            A permutation of the axes.

        Returns
        -------
        Tensor
            With the channels of a quantised element on their new axis.

        Examples
        --------
        >>> print(Tensor("f32", ("N", 8, 5, 6), "NCHW").permuted((0, 2, 3, 1)))
        f32[N,5,6,8] NHWC
        """
        element = self.element
        if isinstance(element, Quantised) and element.axis is not None:
            element = element.at_axis(list(perm).index(element.axis))
        return Tensor(element, tuple(self.shape[p] for p in perm), permuted(self.layout, perm))

    def __str__(self) -> str:
        name = f"{self.element}[{','.join(map(str, self.shape))}]"
        return name if self.layout is None else f"{name} {self.layout}"

    def __repr__(self) -> str:
        layout = "" if self.layout is None else f", layout={self.layout!r}"
        return f"{type(self).__name__}(element={self.element!r}, shape={self.shape!r}{layout})"
