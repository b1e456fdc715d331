"""Reductions in one form: axes counted from the front, kept where they are put back, and reduced at once."""

from __future__ import annotations

from typing import Annotated, Any

from graphrewrite import decline, op, rule
from graphrewrite.types import element_kind

__all__ = ["count_reduced_axes_from_front", "keep_reduced_axes", "merge_extremes", "merge_sums"]

_REDUCTIONS = (
    op.reduce_l1 | op.reduce_l2 | op.reduce_log_sum | op.reduce_log_sum_exp | op.reduce_max | op.reduce_mean
    | op.reduce_min | op.reduce_prod | op.reduce_sum | op.reduce_sum_square
)  # fmt: skip
FromTheEnd = Annotated[Any, rule.where(lambda axes: axes is not None and min(axes, default=0) < 0, "one is negative")]


@rule
def count_reduced_axes_from_front(x, axes: FromTheEnd):
    """Axes of a reduction that are counted from the end are the same ones counted from the front."""
    reduced = _REDUCTIONS(x, axes=axes)
    yield reduced
    rank = len(x.shape)
    return reduced.op(x, like=reduced, axes=tuple(axis % rank for axis in axes))


@rule
def keep_reduced_axes(x):
    """Axes of a reduction that a reshape puts back are kept, and those that it takes away are not."""
    reduced = _REDUCTIONS(x)
    shaped = op.reshape(reduced)
    yield shaped
    axes = _axes(reduced, len(x.shape))
    if reduced.keep_dims:
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    else:
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    if not axes or shaped.shape != shape or {value.type.layout for value in (x, reduced, shaped)} != {None}:
        return decline("the reshape does more than put the axes back, or they have names", at=shaped)
    return reduced.op(x, like=reduced, keep_dims=not reduced.keep_dims)


def _axes(reduced, rank):
    """The axes of a reduction, counted from the front."""
    return {axis % rank for axis in (range(rank) if reduced.axes is None else reduced.axes)}


@rule
def merge_extremes(x):
    """The greatest of the greatest entries is the greatest of all; and so the least."""
    inner = (op.reduce_max | op.reduce_min)(x)
    outer = (op.reduce_max | op.reduce_min)(inner)
    yield outer
    return _at_once(x, inner, outer)


_SUMMING = op.reduce_sum | op.reduce_mean | op.reduce_prod | op.reduce_l1


@rule(keeps="rounding")
def merge_sums(x):
    """So are sums of sums, means of means and products of products, which are then rounded in another order."""
    inner = _SUMMING(x)
    outer = _SUMMING(inner)
    yield outer
    if outer.op is op.reduce_mean and element_kind(x.type.element) != "float":
        return decline("a mean of integers drops a fraction", at=outer)
    return _at_once(x, inner, outer)


def _at_once(x, inner, outer):
    """A reduction along the axes of two."""
    if inner.op is not outer.op:
        return decline("they are of two kinds", at=outer)
    rank = len(x.shape)
    own, left = _axes(inner, rank), list(range(rank))
    if not inner.keep_dims:
        left = [axis for axis in left if axis not in own]
    other = {left[axis] for axis in _axes(outer, len(left))}
    axes = inner.axes if other <= own else tuple(sorted(own | other))
    result = outer.op(x, axes=axes, keep_dims=outer.keep_dims)
    return result if result.type == outer.type else decline("one of them keeps its axes", at=outer)
