"""Gradients of pools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.gradients.shapes import fitted, integers, number, numbered, zeros
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.nn.pooling import has_window_in_border

__all__ = ["DIFFERENTIATE_POOLS"]


@rule(keeps="rounding")
def differentiate_max_pool(g, x):
    """The first greatest entry of each window has its gradient."""
    d = (op.max_pool.vjp | op.max_pool_with_indices.vjp)(g, x)
    yield d
    windows = {"strides": d.strides, "pads": d.pads, "dilations": d.dilations, "ceil_mode": d.ceil_mode}
    if has_window_in_border(x.shape[2:], d.kernel, **windows):
        return decline("a window lies in the border alone, where nothing is the greatest", at=d)
    if sum(isinstance(size, str) for size in x.shape) > 1:
        return decline("several of its sizes are symbolic", at=d)
    _, at = op.max_pool_with_indices(x, kernel=d.kernel, **windows)
    flat = op.reshape(zeros(x), shape=(-1,))
    added = op.scatter_elements(flat, op.reshape(at, shape=(-1,)), op.reshape(g, shape=(-1,)), axis=0, reduction="add")
    return op.reshape(added, shape=x.shape)


@rule(keeps="rounding")
def differentiate_average_pool(g, x):
    """Every entry has its share of the gradients of the windows that read it."""
    d = op.average_pool.vjp(g, x)
    yield d
    if reason := _obstacle(g, x):
        return decline(reason, at=d)
    return _read_back(g * _shares(d, x), x, d)


@rule(keeps="rounding")
def differentiate_lp_pool(g, x):
    """d(y) = (|x| / y)**(p - 1) * sign(x) dx, y the norm of a window, and zero where that is zero."""
    d = op.lp_pool.vjp(g, x)
    yield d
    if reason := _obstacle(g, x):
        return decline(reason, at=d)
    y = op.lp_pool(
        x, kernel=d.kernel, strides=d.strides, pads=d.pads, dilations=d.dilations, ceil_mode=d.ceil_mode, p=d.p
    )
    return _sides(x, d.p) * _read_back(_over_norm(g, y, d.p), x, d)


@rule(keeps="rounding")
def differentiate_global_lp_pool(g, x):
    """d(y) = (|x| / y)**(p - 1) * sign(x) dx, y the norm of a channel, and zero where that is zero."""
    d = op.global_lp_pool.vjp(g, x)
    yield d
    return _sides(x, d.p) * _over_norm(g, op.global_lp_pool(x, p=d.p), d.p)


def _sides(x: Any, p: int) -> Any:
    """The numbers with their signs, to the power of p - 1."""
    return op.sign(x) if p == 1 else x if p == 2 else op.sign(x) * op.pow(op.abs(x), number(p - 1, x))


def _over_norm(g: Any, y: Any, p: int) -> Any:
    if p == 1:
        return g
    is_zero = op.equal(y, 0.0)
    scale = op.pow(op.where(is_zero, number(1, y), y), number(1 - p, y))
    return op.where(is_zero, number(0, g), g * scale)


def _obstacle(g: Any, x: Any) -> str | None:
    """Return why no constants say which windows read an entry."""
    if any(isinstance(size, str) for size in x.shape[1:]) or 0 in (*x.shape, *g.shape):
        return "a size besides the batch is symbolic, or there are no entries"
    return None


def _windows(d: Any, x: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Strides, pads and dilations, one an axis."""
    rank = len(x.shape) - 2
    return per_axis(d.strides, rank, 1), per_axis(d.pads, 2 * rank, 0), per_axis(d.dilations, rank, 1)


def _read_back(g: Any, x: Any, d: Any) -> Any:
    """The sums over all windows that read an entry, each channel of each sample by itself."""
    rank = len(x.shape) - 2
    strides, pads, dilations = _windows(d, x)
    images = op.reshape(g, shape=(-1, 1, *g.shape[2:]))
    window = number(np.ones((1, 1, *d.kernel)), x)
    spread = op.conv_transpose(
        images, window, strides=strides, pads=(0,) * (2 * rank), dilations=dilations, output_padding=(0,) * rank
    )
    begins = [-p for p in pads[:rank]]
    ends = [n - m - b for n, m, b in zip(x.shape[2:], spread.shape[2:], begins, strict=True)]
    return op.reshape(fitted(spread, begins, ends), shape=x.shape)


def _shares(d: Any, x: Any) -> np.ndarray:
    """Return by how much each window divides the sum of what it reads of the image, as numbers [1, 1, …]."""
    rank = len(x.shape) - 2
    strides, pads, dilations = _windows(d, x)
    means = op.average_pool.function(
        np.ones((1, 1, *x.shape[2:])),
        kernel=d.kernel,
        strides=strides,
        pads=pads,
        dilations=dilations,
        ceil_mode=d.ceil_mode,
        count_include_pad=d.count_include_pad,
    )
    counts = np.ones(means.shape)
    for axis in range(rank):
        starts = np.arange(means.shape[2 + axis]) * strides[axis] - pads[axis]
        taps = starts[:, None] + np.arange(d.kernel[axis]) * dilations[axis]
        read = ((taps >= 0) & (taps < x.shape[2 + axis])).sum(1)
        counts = counts * read.reshape([-1 if i == axis + 2 else 1 for i in range(rank + 2)])
    return number(np.where(counts == 0, 0, means / np.maximum(counts, 1)), x)


@rule(keeps="rounding")
def differentiate_global_average_pool(g, x):
    """Every position has its share of the gradient of its channel."""
    d = op.global_average_pool.vjp(g, x)
    yield d
    sizes = x.shape[2:]
    if any(isinstance(size, str) for size in sizes):
        count = op.cast(op.size(x), element=x.type.element) / op.cast(op.size(g), element=x.type.element)
        return op.expand(g / count, shape=x.shape)
    return op.expand(g / float(math.prod(sizes)), shape=x.shape)


@rule(keeps="rounding")
def differentiate_max_unpool(g, x, at):
    """A maximum that was put back has the gradient of its place; of several for one place, the last one."""
    d = op.max_unpool.vjp(g, x, at)
    yield d
    if max(sum(isinstance(size, str) for size in each.shape) for each in (g, x)) > 1:
        return decline("several of its sizes are symbolic", at=d)
    whole = op.max_unpool.infer(x.type, at.type, kernel=d.kernel, strides=d.strides, pads=d.pads)[0].shape
    if tuple(whole) != tuple(g.shape):  # the zeros at the ends are not counted
        axes = tuple(range(2, len(whole)))
        g = op.slice(g, starts=(0,) * len(axes), ends=tuple(whole[2:]), axes=axes)
    places, flat = op.reshape(at, shape=(-1,)), op.reshape(g, shape=(-1,))
    numbers = numbered(places.shape)
    stays = op.gather(op.scatter_elements(integers(flat.shape), places, numbers, axis=0), places)
    read = op.where(op.equal(stays, numbers), op.gather(flat, places), number(0, g))
    return op.reshape(read, shape=x.shape)


DIFFERENTIATE_POOLS = (
    differentiate_max_pool,
    differentiate_average_pool,
    differentiate_lp_pool,
    differentiate_global_lp_pool,
    differentiate_global_average_pool,
    differentiate_max_unpool,
)
"""Gradients of pools."""
