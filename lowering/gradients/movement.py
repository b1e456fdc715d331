"""Gradients of ops that move, repeat or leave out entries: each goes back to where it was."""

from __future__ import annotations

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.axes import reshaped, unsaid
from graphrewrite.lowering.gradients.shapes import added_along, placed, summed
from graphrewrite.op.tensor.slice_sizes import picked
from graphrewrite.types import as_size

__all__ = ["DIFFERENTIATE_MOVEMENT"]


_FAR = 2**31 - 1
"""An end beyond every axis."""


@rule(keeps="rounding")
def differentiate_reshape(g, x):
    """The same entries in the shape of the operand."""
    d = (op.reshape.vjp | op.flatten.vjp)(g, x)
    yield d
    reason = unsaid(x.shape)
    return decline(reason, at=d) if reason else reshaped(g, x.shape)


@rule(keeps="rounding")
def differentiate_squeeze(g, x):
    """With the axes of size 1 again."""
    d = op.squeeze.vjp(g, x)
    yield d
    given = [i for i, size in enumerate(x.shape) if size == 1] if d.axes is None else d.axes
    axes = tuple(sorted(axis % len(x.shape) for axis in given))
    return op.unsqueeze(g, axes=axes) if axes else g


@rule(keeps="rounding")
def differentiate_unsqueeze(g, x):
    """Without the axes of size 1."""
    d = op.unsqueeze.vjp(g, x)
    yield d
    axes = tuple(sorted(axis % len(g.shape) for axis in d.axes))
    return op.squeeze(g, axes=axes) if axes else g


@rule(keeps="rounding")
def differentiate_transpose(g, x):
    """The axes in their order again."""
    d = op.transpose.vjp(g, x)
    yield d
    return op.transpose(g, perm=tuple(d.perm.index(i) for i in range(len(d.perm))))


@rule(keeps="rounding")
def differentiate_expand(g, x):
    """The sum over the entries for which one was repeated."""
    d = op.expand.vjp(g, x)
    yield d
    return summed(g, d)


@rule(keeps="rounding")
def differentiate_tile(g, x):
    """The sum over all repetitions."""
    d = op.tile.vjp(g, x)
    yield d
    shape = [size for pair in zip(d.repeats, x.shape, strict=True) for size in pair]
    if not shape:
        return g
    if reason := unsaid(shape):
        return decline(reason, at=d)
    return op.reduce_sum(reshaped(g, shape), axes=tuple(range(0, len(shape), 2)), keep_dims=False)


@rule(keeps="rounding")
def differentiate_concat(g, xs):
    """Each operand has its part of the gradient."""
    d = op.concat.vjp(g, *xs)
    yield d
    axis = d.axis % len(g.shape)
    sizes = [as_size(x.shape[axis]) for x in xs[: d.wrt + 1]]
    start = sum(sizes[:-1], start=as_size(0))
    return op.slice(g, starts=(start,), ends=(start + sizes[-1],), axes=(axis,))


@rule(keeps="rounding")
def differentiate_split(g, x):
    """The part of the operand has the gradient, all others none."""
    d = op.split.vjp(g, x)
    yield d
    axis = d.axis % len(x.shape)
    if any(isinstance(size, str) for size in d.sizes):
        return decline("a size along its axis is symbolic", at=d)
    return placed(g, axis, sum(d.sizes[: d.of_result]), sum(d.sizes[d.of_result + 1 :]))


@rule(keeps="rounding")
def differentiate_slice(g, x):
    """What was read has the gradient, and what lies between none."""
    d = op.slice.vjp(g, x)
    yield d
    axes = range(len(d.starts)) if d.axes is None else d.axes
    steps = (1,) * len(d.starts) if d.steps is None else d.steps
    shape = list(g.shape)
    for axis, start, end, step in zip(axes, d.starts, d.ends, steps, strict=True):
        at = axis % len(shape)
        size = x.shape[at]
        if any(isinstance(each, str) for each in (size, start, end)):
            backwards = isinstance(start, int) and start < 0
            if step != 1 or (backwards and (isinstance(end, str) or end < _FAR)):
                return decline("a size along an axis that it cuts is symbolic", at=d)
            rest = as_size(size) - as_size(g.shape[at])
            g = placed(g, at, *((rest, 0) if backwards else (as_size(start), rest - as_size(start))))
            shape[at] = size
            continue
        places = np.arange(size)[picked(size, start, end, step)]
        if len(places) == size and step == 1:
            continue
        shape[at] = size
        if step == 1 and len(places):
            g = placed(g, at, int(places[0]), size - 1 - int(places[-1]))
        else:
            g = added_along(g, shape, at, places)
    return g


@rule(keeps="rounding")
def differentiate_pad(g, x):
    """What was put around has no gradient of its own; what repeats entries adds to theirs."""
    d = op.pad.vjp(g, x)
    yield d
    rank = len(x.shape)
    if any(isinstance(p, str) for p in d.pads):
        return decline("a border is symbolic", at=d)
    if d.mode == "constant":
        return op.pad(g, pads=tuple(-p for p in d.pads))
    shape = list(g.shape)
    for axis, (before, after) in enumerate(zip(d.pads[:rank], d.pads[rank:], strict=True)):
        if before or after:
            size = x.shape[axis]
            if isinstance(size, str):
                return decline("a size along an axis with a border is symbolic", at=d)
            pads = [before if i == axis else 0 for i in range(rank)] + [after if i == axis else 0 for i in range(rank)]
            ramp = np.arange(size).reshape([size if i == axis else 1 for i in range(rank)])
            places = op.pad.function(ramp, pads=tuple(pads), mode=d.mode)
            shape[axis] = size
            g = added_along(g, shape, axis, places.ravel())
    return g


@rule(keeps="rounding")
def differentiate_trilu(g, x):
    """What stays has the gradient."""
    d = op.trilu.vjp(g, x)
    yield d
    return op.trilu(g, k=d.k, upper=d.upper)


@rule(keeps="rounding")
def differentiate_reverse_sequence(g, x, lengths):
    """Backwards again."""
    d = op.reverse_sequence.vjp(g, x, lengths)
    yield d
    return op.reverse_sequence(g, lengths, batch_axis=d.batch_axis, time_axis=d.time_axis)


DIFFERENTIATE_MOVEMENT = (
    differentiate_reshape,
    differentiate_squeeze,
    differentiate_unsqueeze,
    differentiate_transpose,
    differentiate_expand,
    differentiate_tile,
    differentiate_concat,
    differentiate_split,
    differentiate_slice,
    differentiate_pad,
    differentiate_trilu,
    differentiate_reverse_sequence,
)
"""Gradients of ops that move, repeat or leave out entries."""
