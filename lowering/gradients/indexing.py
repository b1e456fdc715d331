"""Gradients of ops that read or write at indices, and of losses and noise that do."""

from __future__ import annotations

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.precision import converted
from graphrewrite.lowering.gradients.shapes import integers, number, numbered, placed, repeated, zeros
from graphrewrite.types import product

__all__ = ["DIFFERENTIATE_INDEXING"]


@rule(keeps="rounding")
def differentiate_gather(g, x, at):
    """Each slice that was read has the sum of the gradients of its readings."""
    d = op.gather.vjp(g, x, at)
    yield d
    rank, more = len(x.shape), len(at.shape)
    axis = d.axis % rank
    # The axis that is read in front, in the operand and, as the axes of the indices, in the gradient.
    front = (axis, *(i for i in range(rank) if i != axis))
    back = tuple(front.index(i) for i in range(rank))
    lead = tuple(range(axis, axis + more))
    moved = (*lead, *(i for i in range(len(g.shape)) if i not in lead))
    slices = g if axis == 0 else op.transpose(g, perm=moved)
    empty = zeros(x, [x.shape[i] for i in front])
    added = op.scatter_nd(empty, op.unsqueeze(at, axes=(more,)), slices, reduction="add")
    return added if axis == 0 else op.transpose(added, perm=back)


@rule(keeps="rounding")
def differentiate_gather_elements(g, x, at):
    """Each entry that was read has the sum of the gradients of its readings."""
    d = op.gather_elements.vjp(g, x, at)
    yield d
    return op.scatter_elements(zeros(x), at, g, axis=d.axis, reduction="add")


@rule(keeps="rounding")
def differentiate_gather_nd(g, x, at):
    """Each slice that was read has the sum of the gradients of its readings."""
    d = op.gather_nd.vjp(g, x, at)
    yield d
    return op.scatter_nd(zeros(x), _from_first_axis(at, d.batch_dims), g, reduction="add")


def _from_first_axis(at, batch_dims):
    """Indices within samples as those from the first axis on: the number of the sample in front."""
    shape = (*at.shape[:-1], 1)
    own = []
    for axis in range(batch_dims):
        count = op.range(limit=shape[axis], element=at.type.element)
        others = tuple(i for i in range(len(shape)) if i != axis)
        own.append(repeated(op.unsqueeze(count, axes=others), shape))
    return op.concat(*own, at, axis=len(shape) - 1) if own else at


@rule(keeps="rounding")
def differentiate_scatter_elements(g, x, at, updates):
    """What was written over has no gradient, and what was written has it; of sums, both have it."""
    d = op.scatter_elements.vjp(g, x, at, updates)
    yield d

    def written(base, values, reduction="none"):
        return op.scatter_elements(base, at, values, axis=d.axis, reduction=reduction)

    return _of_scattered(d, g, x, updates, written, lambda values: op.gather_elements(values, at, axis=d.axis))


@rule(keeps="rounding")
def differentiate_scatter_nd(g, x, at, updates):
    """What was written over has no gradient, and what was written has it; of sums, both have it."""
    d = op.scatter_nd.vjp(g, x, at, updates)
    yield d

    def written(base, values, reduction="none"):
        return op.scatter_nd(base, at, values, reduction=reduction)

    return _of_scattered(d, g, x, updates, written, lambda values: op.gather_nd(values, at))


def _of_scattered(d, g, x, updates, written, read):
    """Of products, each factor has the product of the others; an extreme is shared by all that are it."""
    is_of_updates = d.wrt == 2
    if d.reduction == "add":
        return read(g) if is_of_updates else g
    if d.reduction == "none":
        if not is_of_updates:
            return written(g, zeros(updates))
        # Of several updates of one entry the last one stays: it is the one whose number is found there.
        numbers = numbered(updates.shape)
        return op.where(op.equal(read(written(integers(x.shape), numbers)), numbers), read(g), number(0, g))
    if d.reduction == "mul":
        if not is_of_updates:
            ones = op.constant_of_shape(shape=tuple(x.shape), value=1, element=x.type.element)
            return g * written(ones, updates, "mul")
        is_zero = op.equal(updates, 0.0)
        factors = op.where(is_zero, number(1, g), updates)
        own = converted(is_zero, "i64")
        others_are_not = op.equal(read(written(integers(x.shape), own, "add")), own)
        return op.where(others_are_not, read(g * written(x, factors, "mul")) / factors, number(0, g))
    extreme = written(x, updates, d.reduction)
    kept, taken = op.equal(x, extreme), op.equal(updates, read(extreme))
    kept, taken = (converted(each, x.type.element) for each in (kept, taken))
    share = g / written(kept, taken, "add")
    return taken * read(share) if is_of_updates else kept * share


@rule(keeps="rounding")
def differentiate_tensor_scatter(g, x, updates, at=None):
    """What was written over has no gradient, and what was written has it."""
    d = op.tensor_scatter.vjp(g, x, updates, at)
    yield d
    rank, axis = len(x.shape), d.axis % len(x.shape)
    if d.wrt == 0:
        operands = (g, zeros(updates)) if at is None else (g, zeros(updates), at)
        return op.tensor_scatter(*operands, mode=d.mode, axis=axis)
    steps = op.range(limit=updates.shape[axis], element="i64")
    places = op.unsqueeze(steps, axes=tuple(i for i in range(rank) if i != axis))
    size = op.squeeze(op.slice(op.shape(x), starts=(axis,), ends=(axis + 1,)), axes=(0,))
    if at is not None:
        first = converted(at, "i64")
        # Brought into the axis before anything is added, it does not leave its word.
        first = op.mod(first, size) if d.mode == "circular" else first
        places = places + op.unsqueeze(first, axes=tuple(range(1, rank)))
    if d.mode == "circular":
        places = op.mod(places, size)
    return op.gather_elements(g, repeated(places, updates.shape), axis=axis)


@rule(keeps="rounding")
def differentiate_compress(g, x, condition):
    """What stays has the gradient at its place among all that stays, and what is left out has none."""
    d = op.compress.vjp(g, x, condition)
    yield d
    flat = d.axis is None
    size, axis = (product(x.shape), 0) if flat else (x.shape[d.axis], d.axis % len(x.shape))
    given = condition.shape[0]
    if given != size:
        if isinstance(given, str) or isinstance(size, str):
            return decline("only run time tells whether there is a condition for each slice", at=d)
        condition = op.slice(condition, starts=(0,), ends=(size,), axes=(0,))
        condition = op.concat(condition, np.zeros(max(size - given, 0), bool), axis=0)
    # Counted from 1 on, behind a slice of zeros, which are for what is left out.
    numbers = op.cum_sum(converted(condition, "i64"), axis=0)
    made = op.gather(placed(g, axis, 1, 0), op.where(condition, numbers, 0), axis=axis)
    return op.reshape(made, shape=x.shape) if flat else made


@rule(keeps="rounding")
def differentiate_top_k(g, x):
    """The entries that were taken have the gradient."""
    d = op.top_k.vjp(g, x)
    yield d
    _, at = op.top_k(x, k=d.k, axis=d.axis, largest=d.largest, sorted=d.sorted)
    return op.scatter_elements(zeros(x), at, g, axis=d.axis, reduction="add")


@rule(keeps="rounding")
def differentiate_one_hot(g, at, values):
    """The second value has the gradients at the indices, the first one all others."""
    d = op.one_hot.vjp(g, at, values)
    yield d
    if d.wrt == 0:  # an index of another type is a float as well, and between two of them nothing changes
        return zeros(at)
    hot = op.one_hot(at, number([0, 1], g), depth=d.depth, axis=d.axis)
    sums = (op.reduce_sum(g * share, keep_dims=False) for share in (1.0 - hot, hot))
    return op.concat(*(op.unsqueeze(each, axes=(0,)) for each in sums), axis=0)


@rule(keeps="rounding")
def differentiate_nll_loss(g, x, target, weight=None):
    """The score of each target class has minus its weight, over all weights for a mean; classes left out have none."""
    d = op.nll_loss.vjp(g, x, target, weight)
    yield d
    if d.wrt != 0:
        return decline("weights of classes are not learnt", at=d)
    classes = x.shape[1]
    at = target
    each = op.one_hot(at, number([0, 1], x), depth=classes, axis=1)
    if d.ignore_index is not None:
        counted = op.logical_not(op.equal(target, d.ignore_index))
        each = op.where(op.unsqueeze(counted, axes=(1,)), each, number(0, x))
    if weight is not None:
        each = each * op.unsqueeze(weight, axes=tuple(i for i in range(len(x.shape)) if i != 1))
    if d.reduction == "none":
        return -(each * op.unsqueeze(g, axes=(1,)))
    return -(each * (g / op.reduce_sum(each, keep_dims=False) if d.reduction == "mean" else g))


@rule(keeps="rounding")
def differentiate_random_dropout(g, x):
    """What was kept has the gradient, scaled as it was."""
    d = op.random_dropout.vjp(g, x)
    yield d
    _, kept = op.random_dropout(x, ratio=d.ratio, seed=d.seed)
    return g * (converted(kept, x.type.element) * (1 / (1 - d.ratio)))


DIFFERENTIATE_INDEXING = (
    differentiate_gather,
    differentiate_gather_elements,
    differentiate_gather_nd,
    differentiate_scatter_elements,
    differentiate_scatter_nd,
    differentiate_tensor_scatter,
    differentiate_compress,
    differentiate_top_k,
    differentiate_one_hot,
    differentiate_nll_loss,
    differentiate_random_dropout,
)
"""Gradients of ops that read or write at indices."""
