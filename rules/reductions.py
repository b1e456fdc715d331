"""Reductions in one form: axes counted from the front, and kept where they are put back."""

from __future__ import annotations

from typing import Annotated, Any

from graphrewrite import decline, op, rule

__all__ = ["count_reduced_axes_from_front", "keep_reduced_axes"]

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
    """Axes of a reduction that a reshape puts back are kept."""
    reduced = _REDUCTIONS(x, keep_dims=False)
    shaped = op.reshape(reduced)
    yield shaped
    axes = {axis % len(x.shape) for axis in (range(len(x.shape)) if reduced.axes is None else reduced.axes)}
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    if shaped.shape != kept or {value.type.layout for value in (x, reduced, shaped)} != {None}:
        return decline("the reshape does more than put the axes back, or they have names", at=shaped)
    return reduced.op(x, like=reduced, keep_dims=True)
