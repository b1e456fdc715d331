"""Axes that an op reduces or runs along: normalised, and removed from types."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Element, Tensor

__all__ = ["axis_of", "chosen_axes", "distinct_axes", "without_axes"]


def axis_of(x: Tensor, axis: int) -> int:
    """Return an axis counted from the front.

    Examples
    --------
    >>> axis_of(Tensor("f32", ("N", 3)), -1)
    1
    """
    rank = len(x.shape)
    if not -rank <= axis < rank:
        raise TypeMismatchError(f"axis {axis} is outside of {x}")
    return axis % rank


def distinct_axes(x: Tensor, axes: Sequence[int]) -> list[int]:
    """Return axes counted from the front, in the same order.

    Examples
    --------
    >>> distinct_axes(Tensor("f32", ("N", 3)), (-1, 0))
    [1, 0]
    """
    counted = [axis_of(x, axis) for axis in axes]
    # No set: numbers that a proof leaves open have no hash.
    if any(axis in counted[:place] for place, axis in enumerate(counted)):
        raise TypeMismatchError(f"the axes {list(axes)} contain an axis of {x} twice")
    return counted


def chosen_axes(x: Tensor, axes: Sequence[int] | None) -> tuple[int, ...]:
    """Return axes counted from the front, in order.

    Examples
    --------
    >>> chosen_axes(Tensor("f32", ("N", 3, 4)), (-1, 0))
    (0, 2)
    """
    if axes is None:
        return tuple(range(len(x.shape)))
    return tuple(sorted(distinct_axes(x, axes)))


def without_axes(x: Tensor, axes: Sequence[int], *, keep_dims: bool, element: Element | None = None) -> Tensor:
    """Return a type with some axes reduced.

    Examples
    --------
    >>> print(without_axes(Tensor("f32", ("N", 3, 4), "NCW"), (2,), keep_dims=False))
    f32[N,3] NC
    """
    kind = x.element if element is None else element
    if keep_dims:
        return Tensor(kind, tuple(1 if i in axes else size for i, size in enumerate(x.shape)), x.layout)
    left = [i for i in range(len(x.shape)) if i not in axes]
    layout = None if x.layout is None else "".join(x.layout[i] for i in left)
    return Tensor(kind, tuple(x.shape[i] for i in left), layout)
