"""Axes that an op reduces or goes along: which they are, and what is left of a type without them."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import Element, Tensor

__all__ = ["axis_of", "chosen_axes", "distinct_axes", "without_axes"]


def axis_of(x: Tensor, axis: int) -> int:
    """Return an axis counted from the front.

    Parameters
    ----------
    x : Tensor
        The operand.
    axis : int
        Counted from the front, or if it is negative from the end.

    Returns
    -------
    int

    Raises
    ------
    TypeMismatchError
        If there is no such axis.

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
    """Return axes counted from the front, in the order in which they are given.

    Parameters
    ----------
    x : Tensor
        The operand.
    axes : sequence of int
        Negative ones count from the back.

    Returns
    -------
    list of int

    Raises
    ------
    TypeMismatchError
        If one of them does not exist, or is named twice.

    Examples
    --------
    >>> distinct_axes(Tensor("f32", ("N", 3)), (-1, 0))
    [1, 0]
    """
    found = [axis_of(x, axis) for axis in axes]
    if len(set(found)) != len(found):
        raise TypeMismatchError(f"the axes {list(axes)} name an axis of {x} twice")
    return found


def chosen_axes(x: Tensor, axes: Sequence[int] | None) -> tuple[int, ...]:
    """Return axes counted from the front, in order.

    Parameters
    ----------
    x : Tensor
        The operand.
    axes : sequence of int, optional
        All where not given.

    Returns
    -------
    tuple of int

    Raises
    ------
    TypeMismatchError
        If one of them does not exist, or is named twice.

    Examples
    --------
    >>> chosen_axes(Tensor("f32", ("N", 3, 4)), (-1, 0))
    (0, 2)
    """
    if axes is None:
        return tuple(range(len(x.shape)))
    return tuple(sorted(distinct_axes(x, axes)))


def without_axes(x: Tensor, axes: Sequence[int], *, keep_dims: bool, element: Element | None = None) -> Tensor:
    """Return the type of what is left when some axes are reduced.

    Parameters
    ----------
    x : Tensor
        The operand.
    axes : sequence of int
        Counted from the front.
    keep_dims : bool
        Whether they stay, with size 1.
    element : Element, optional
        Of the result; the operand's where not given.

    Returns
    -------
    Tensor

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
