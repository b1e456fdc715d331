"""Gradients of convolutions: a transposed one for the images, and one of images with gradients for the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.products import flipped_weights
from graphrewrite.lowering.gradients.shapes import fitted, number
from graphrewrite.op.nn.convolution import per_axis

__all__ = ["DIFFERENTIATE_CONVOLUTIONS"]


@rule(keeps="rounding")
def differentiate_conv(g, x, w, b=None):
    """Each window's gradient goes back to where it was read (Dumoulin and Visin 2016)."""
    d = op.conv.vjp(g, x, w, b)
    yield d
    if d.wrt == 2:
        return _of_bias(g)
    if any(isinstance(size, str) for size in (*x.shape[1:], *w.shape)):
        return decline("a size besides the batch is symbolic", at=d)
    if 0 in (*x.shape, *w.shape, *g.shape):
        return decline("there are no entries", at=d)
    windows = _windows(d, x)
    if d.wrt == 1:
        return _of_weights(x, g, w.shape, d.groups, *windows)
    strides, pads, dilations = windows
    rank = len(strides)
    if set(strides) == {1}:  # a convolution with flipped windows, which is faster
        begins, ends = (
            [t * (k - 1) - p for t, k, p in zip(dilations, w.shape[2:], half, strict=True)]
            for half in (pads[:rank], pads[rank:])
        )
        return op.conv(
            fitted(g, begins, ends),
            flipped_weights(w, d.groups),
            strides=strides,
            pads=(0,) * (2 * rank),
            dilations=dilations,
            groups=d.groups,
        )
    wide = [n + a + e for n, a, e in zip(x.shape[2:], pads[:rank], pads[rank:], strict=True)]
    made = [
        s * (n - 1) + t * (k - 1) + 1 for n, k, s, t in zip(g.shape[2:], w.shape[2:], strides, dilations, strict=True)
    ]
    image = op.conv_transpose(
        g, w, strides=strides, pads=(0,) * (2 * rank), dilations=dilations, groups=d.groups, output_padding=(0,) * rank
    )
    # What no window reads has no gradient, and what was read of the border goes nowhere.
    ends = [n - m - e for n, m, e in zip(wide, made, pads[rank:], strict=True)]
    return fitted(image, [-a for a in pads[:rank]], ends)


@rule(keeps="rounding")
def differentiate_conv_transpose(g, x, w, b=None):
    """The gradient of a transposed convolution is a convolution with the same weights."""
    d = op.conv_transpose.vjp(g, x, w, b)
    yield d
    if d.wrt == 2:
        return _of_bias(g)
    if any(isinstance(size, str) for size in (*x.shape[1:], *w.shape)):
        return decline("a size besides the batch is symbolic", at=d)
    if 0 in (*x.shape, *w.shape, *g.shape):
        return decline("there are no entries", at=d)
    strides, pads, dilations = _windows(d, x)
    rank = len(strides)
    # As if nothing had been cropped: what was cropped has no gradient.
    needed = [
        s * (n - 1) + t * (k - 1) + 1 for n, k, s, t in zip(x.shape[2:], w.shape[2:], strides, dilations, strict=True)
    ]
    ends = [n - m - a for n, m, a in zip(needed, g.shape[2:], pads[:rank], strict=True)]
    whole = fitted(g, pads[:rank], ends)
    if d.wrt == 1:
        return _of_weights(whole, x, w.shape, d.groups, strides, (0,) * (2 * rank), dilations)
    return op.conv(whole, w, strides=strides, pads=(0,) * (2 * rank), dilations=dilations, groups=d.groups)


def _windows(d: Any, x: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Strides, pads and dilations, one an axis."""
    rank = len(x.shape) - 2
    return per_axis(d.strides, rank, 1), per_axis(d.pads, 2 * rank, 0), per_axis(d.dilations, rank, 1)


def _of_bias(g: Any) -> Any:
    return op.reduce_sum(g, axes=(0, *range(2, len(g.shape))), keep_dims=False)


def _of_weights(
    image: Any,
    g: Any,
    shape: Sequence[int],
    groups: int,
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
) -> Any:
    """Images, channels and samples exchanged, convolved with the gradients: a step of a window is a stride here."""
    rank, inner = len(strides), shape[1]
    swap = (1, 0, *range(2, rank + 2))
    if groups == 1:
        channels = op.transpose(image, perm=swap)
    else:  # the samples of each group are its channels: [inner, groups * samples, …]
        sizes = image.shape[2:]
        apart = op.reshape(image, shape=(image.shape[0], groups, inner, *sizes))
        channels = op.reshape(op.transpose(apart, perm=(2, 1, 0, *range(3, rank + 3))), shape=(inner, -1, *sizes))
    made = op.conv(channels, op.transpose(g, perm=swap), strides=dilations, pads=pads, dilations=strides, groups=groups)
    if tuple(made.shape[2:]) != tuple(shape[2:]):  # beyond the last window there were entries that no window reads
        axes = tuple(range(2, rank + 2))
        made = op.slice(made, starts=(0,) * rank, ends=tuple(shape[2:]), axes=axes)
    return op.transpose(made, perm=swap)


@rule(keeps="rounding")
def differentiate_fold(g, x):
    """The gradient of a sum of windows is the windows: a convolution with windows of one 1 each."""
    d = op.fold.vjp(g, x)
    yield d
    rank = len(d.size)
    channels = g.shape[1]
    if any(isinstance(size, str) for size in (channels, *x.shape[1:])) or 0 in (*x.shape, *g.shape):
        return decline("a size besides the batch is symbolic, or there are no entries", at=d)
    count = x.shape[1] // channels
    windows = number(np.tile(np.eye(count).reshape(count, 1, *d.kernel), (channels, *[1] * (rank + 1))), g)
    pads, strides = per_axis(d.pads, 2 * rank, 0), per_axis(d.strides, rank, 1)
    dilations = per_axis(d.dilations, rank, 1)
    read = op.conv(g, windows, strides=strides, pads=pads, dilations=dilations, groups=channels)
    return op.reshape(read, shape=x.shape)


DIFFERENTIATE_CONVOLUTIONS = (differentiate_conv, differentiate_conv_transpose, differentiate_fold)
"""Gradients of convolutions."""
