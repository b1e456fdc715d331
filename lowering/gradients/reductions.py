"""Gradients of reductions, and of sums and products along an axis."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.gradients.shapes import all_axes, number, repeated, spread

__all__ = ["DIFFERENTIATE_REDUCTIONS"]


@rule(keeps="rounding")
def differentiate_reduce_sum(g, x):
    """Every entry that was added has the gradient of the sum."""
    d = op.reduce_sum.vjp(g, x)
    yield d
    return repeated(spread(g, x, d), x.shape)


@rule(keeps="rounding")
def differentiate_reduce_mean(g, x):
    """Every entry has its share of the gradient of the mean."""
    d = op.reduce_mean.vjp(g, x)
    yield d
    sizes = [x.shape[axis] for axis in all_axes(x, d.axes)]
    whole = spread(g, x, d)
    if any(isinstance(size, str) for size in sizes):  # only run time counts them
        count = op.cast(op.size(x), element=x.type.element) / op.cast(op.size(g), element=x.type.element)
    else:
        count = number(math.prod(sizes), x)
    return repeated(whole / count, x.shape)


@rule(keeps="rounding")
def differentiate_reduce_prod(g, x):
    """Every entry has the product of all others, one axis after the other."""
    d = op.reduce_prod.vjp(g, x)
    yield d
    axes, made = all_axes(x, d.axes), [x]
    for axis in axes:
        made.append(op.reduce_prod(made[-1], axes=(axis,)))
    g = spread(g, x, d)
    for axis, whole in zip(reversed(axes), reversed(made[:-1]), strict=True):
        before = op.cum_prod(whole, axis=axis, exclusive=True)
        after = op.cum_prod(whole, axis=axis, exclusive=True, reverse=True)
        g = g * (before * after)
    return repeated(g, x.shape)


@rule(keeps="rounding")
def differentiate_extreme(g, x):
    """The entries that are the extreme have equal shares of the gradient."""
    d = (op.reduce_max.vjp | op.reduce_min.vjp)(g, x)
    yield d
    axes = all_axes(x, d.axes)
    if not axes:
        return repeated(g, x.shape)
    extreme = op.reduce_max if d.op is op.reduce_max.vjp else op.reduce_min
    reached = op.cast(op.equal(x, extreme(x, axes=axes)), element=x.type.element)
    return reached * (spread(g, x, d) / op.reduce_sum(reached, axes=axes))


@rule(keeps="rounding")
def differentiate_reduce_l1(g, x):
    """d(sum|x|) = sign(x) dx."""
    d = op.reduce_l1.vjp(g, x)
    yield d
    return op.sign(x) * spread(g, x, d)


@rule(keeps="rounding")
def differentiate_reduce_sum_square(g, x):
    """d(sum(x**2)) = 2 * x dx."""
    d = op.reduce_sum_square.vjp(g, x)
    yield d
    return x * 2.0 * spread(g, x, d)


@rule(keeps="rounding")
def differentiate_reduce_l2(g, x):
    """d(y) = x / y dx, y the root of the sum of squares, and zero where that is zero."""
    d = op.reduce_l2.vjp(g, x)
    yield d
    y = op.reduce_l2(x, axes=d.axes)
    return x * (spread(g, x, d) * op.where(op.equal(y, 0.0), number(0, y), op.reciprocal(y)))


@rule(keeps="rounding")
def differentiate_reduce_log_sum(g, x):
    """d(log(sum(x))) = 1 / sum(x) dx."""
    d = op.reduce_log_sum.vjp(g, x)
    yield d
    return repeated(spread(g, x, d) / op.reduce_sum(x, axes=d.axes), x.shape)


@rule(keeps="rounding")
def differentiate_reduce_log_sum_exp(g, x):
    """d(log(sum(exp(x)))) = softmax(x) dx."""
    d = op.reduce_log_sum_exp.vjp(g, x)
    yield d
    return spread(g, x, d) * op.exp(x - op.reduce_log_sum_exp(x, axes=d.axes))


@rule(keeps="rounding")
def differentiate_cum_sum(g, x):
    """Every entry has the gradients of all sums that it is in: a sum from the other end."""
    d = op.cum_sum.vjp(g, x)
    yield d
    return op.cum_sum(g, axis=d.axis, exclusive=d.exclusive, reverse=not d.reverse)


@rule(keeps="rounding")
def differentiate_cum_prod(g, x):
    """Every entry has, for each product that it is in, the gradient times the product of all others."""
    d = op.cum_prod.vjp(g, x)
    yield d
    axis = d.axis % len(x.shape)
    size = x.shape[axis]
    if isinstance(size, str):
        return decline("only run time tells how long its axis is", at=d)
    rank = len(x.shape)
    # Products in which an entry is 1, along a new axis in front of that of the products: [..., entry, product, ...].
    own = np.eye(size, dtype=bool).reshape(*[1] * axis, size, size, *[1] * (rank - axis - 1))
    others = op.where(own, number(1, x), op.unsqueeze(x, axes=(axis,)))
    products = op.cum_prod(others, axis=axis + 1, exclusive=d.exclusive, reverse=d.reverse)
    member = np.triu(np.ones((size, size)), 1 if d.exclusive else 0)
    member = number(member.T if d.reverse else member, x).reshape(own.shape)
    terms = products * member * op.unsqueeze(g, axes=(axis,))
    return op.reduce_sum(terms, axes=(axis + 1,), keep_dims=False)


DIFFERENTIATE_REDUCTIONS = (
    differentiate_reduce_sum,
    differentiate_reduce_mean,
    differentiate_reduce_prod,
    differentiate_extreme,
    differentiate_reduce_l1,
    differentiate_reduce_sum_square,
    differentiate_reduce_l2,
    differentiate_reduce_log_sum,
    differentiate_reduce_log_sum_exp,
    differentiate_cum_sum,
    differentiate_cum_prod,
)
"""Gradients of reductions, and of sums and products along an axis."""
