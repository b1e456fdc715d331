"""Shapes of gradients: sums over repeated entries, entries repeated, zeros, and positions along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.types import element_dtype

__all__ = [
    "added_along",
    "all_axes",
    "fitted",
    "integers",
    "number",
    "numbered",
    "placed",
    "repeated",
    "spread",
    "summed",
    "zeros",
]


def number(value: Any, x: Any) -> np.ndarray:
    """Return a number, or an array, in the element type of a value."""
    return np.asarray(value, element_dtype(x.type.element))


def zeros(x: Any, shape: Sequence[Any] | None = None) -> Any:
    """Return zeros in the element type of a value, and in its shape where no other is given."""
    return op.constant_of_shape(shape=tuple(x.shape if shape is None else shape), element=x.type.element)


def integers(shape: Sequence[Any]) -> Any:
    """Return integers of a shape, all of them 0."""
    return op.constant_of_shape(shape=tuple(shape), element="i64")


def numbered(shape: Sequence[Any]) -> Any:
    """Return integers of a shape, each of them another one, from 1 on."""
    ones = op.constant_of_shape(shape=tuple(shape), value=1, element="i64")
    if len(shape) == 1:
        return op.cum_sum(ones, axis=0)
    return op.reshape(op.cum_sum(op.reshape(ones, shape=(-1,)), axis=0), shape=tuple(shape))


def summed(value: Any, x: Any) -> Any:
    """Return a gradient summed over the entries for which an operand was repeated by broadcasting."""
    more = len(value.shape) - len(x.shape)
    held = (*(None for _ in range(more)), *x.shape)
    axes = tuple(i for i, size in enumerate(held) if size is None or (size == 1 and value.shape[i] != 1))
    if axes:
        value = op.reduce_sum(value, axes=axes)
    return op.squeeze(value, axes=tuple(range(more))) if more else value


def all_axes(x: Any, axes: Sequence[int] | None) -> tuple[int, ...]:
    """Return the axes of a reduction as they are counted from the first one."""
    rank = len(x.shape)
    return tuple(range(rank)) if axes is None else tuple(sorted(axis % rank for axis in axes))


def spread(g: Any, x: Any, node: Any) -> Any:
    """Return the gradient of a reduction with an axis of size 1 for each that the reduction dropped."""
    axes = all_axes(x, node.axes)
    return g if node.keep_dims or not axes else op.unsqueeze(g, axes=axes)


def repeated(value: Any, shape: Sequence[Any]) -> Any:
    """Return a value repeated to a shape."""
    return value if tuple(value.shape) == tuple(shape) else op.expand(value, shape=tuple(shape))


def fitted(image: Any, begins: Sequence[int], ends: Sequence[int]) -> Any:
    """Return images [N, C, …] with zeros around their positions, or without some where a number is negative."""
    for border in ([max(p, 0) for p in (*begins, *ends)], [min(p, 0) for p in (*begins, *ends)]):
        if any(border):
            rank = len(begins)
            image = op.pad(image, pads=(0, 0, *border[:rank], 0, 0, *border[rank:]))
    return image


def placed(g: Any, axis: int, before: Any, after: Any) -> Any:
    """Return a gradient with so many zeros before and after it along an axis."""
    rank = len(g.shape)
    pads: list[Any] = [0] * (2 * rank)
    pads[axis], pads[rank + axis] = before, after
    return op.pad(g, pads=tuple(pads)) if before or after else g


def added_along(g: Any, shape: Sequence[Any], axis: int, places: np.ndarray) -> Any:
    """Return zeros of a shape, to which the slices of a gradient along an axis are added at some places."""
    rank = len(shape)
    column = places.astype(np.int64).reshape([len(places) if i == axis else 1 for i in range(rank)])
    at = op.expand(column, shape=tuple(g.shape))
    return op.scatter_elements(zeros(g, shape), at, g, axis=axis, reduction="add")
