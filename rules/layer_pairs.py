"""Two layers in a row as one."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.precision import narrowed, widened
from graphrewrite.rules.affine import by_input

__all__ = ["merge_layers"]


@rule(keeps="rounding")
def merge_layers(x, w: Constant, b: Constant, v: Constant, c: Constant):
    """Two layers in a row, one of them of single positions, are one, unless that has more weights than both."""
    first = (op.linear | op.conv)(x, w, b)
    last = (op.linear | op.conv)(first, v, c)
    yield last
    one, other = _Windows(first, w), _Windows(last, v)
    groups = math.gcd(one.groups, other.groups)
    if other.is_pointwise:
        kernel = one
    elif one.is_pointwise and set(one.strides) == {1}:
        kernel = other
    else:
        return decline("both have windows of several positions", at=last)
    if any(other.pads) and b.value.any():
        return decline("the border is zero, and the first layer makes something else of zero", at=last)
    if 0 in w.shape or 0 in v.shape:
        return decline("it has no weights", at=last)
    inputs, results = w.shape[1] * one.groups, v.shape[0]
    if other.is_pointwise and v.shape[1] == 1:
        # Each result reads one channel of the first layer: its window is that channel's, scaled.
        repeats = results // w.shape[0]
        weights = np.repeat(w.value, repeats, axis=0) * v.value.reshape(-1, *[1] * len(kernel.sizes), 1)
        groups = one.groups
    elif one.is_pointwise and w.shape[1] == 1 and w.shape[0] == inputs:
        weights, groups = v.value * by_input(w.value.reshape(-1), v, last), other.groups
    elif results * inputs // groups * math.prod(kernel.sizes) > w.value.size + v.value.size:
        return decline("one layer has more weights than both", at=last)
    else:
        weights = _composed(widened(w.value), widened(v.value), one, other, groups)
    moved = widened(v.value) * by_input(widened(b.value), v, last)
    offset = narrowed(widened(c.value) + moved.sum(axis=tuple(range(1, moved.ndim)), dtype=moved.dtype), c.value)
    weights = narrowed(weights.reshape(results, inputs // groups, *kernel.sizes), w.value)
    if first.op is op.linear:
        return op.linear(x, weights, offset)
    strides = tuple(p * q for p, q in zip(one.strides, other.strides, strict=True))
    pads = tuple(p + q for p, q in zip(one.pads, other.pads, strict=True))
    return op.conv(x, weights, offset, strides=strides, pads=pads, dilations=kernel.dilations, groups=groups)


class _Windows:
    """The windows of a layer, one number an axis; a fully-connected layer has none."""

    def __init__(self, layer, w) -> None:
        rank, is_conv = w.value.ndim - 2, layer.op is op.conv
        self.sizes = w.shape[2:]
        self.strides = per_axis(layer.strides, rank, 1) if is_conv else ()
        self.pads = per_axis(layer.pads, 2 * rank, 0) if is_conv else ()
        self.dilations = per_axis(layer.dilations, rank, 1) if is_conv else ()
        self.groups = layer.groups if is_conv else 1
        self.is_pointwise = set(self.sizes) <= {1} and not any(self.pads)


def _composed(w, v, one, other, groups):
    """Weights [groups, O, C, kernel] of one layer after another."""
    first, last = _dense(w, one.groups, groups), _dense(v, other.groups, groups)
    if other.is_pointwise:
        return np.matmul(last[..., 0], first.reshape(*first.shape[:2], -1))
    return np.matmul(last.swapaxes(-1, -2), first[..., 0][:, None]).swapaxes(-1, -2)


def _dense(w, groups, fewer):
    """Weights [O, C/groups, …] for fewer groups, [fewer, O/fewer, C/fewer, kernel]: zero between the others."""
    blocks, outputs, inputs = groups // fewer, w.shape[0] // groups, w.shape[1]
    apart = w.reshape(fewer, blocks, outputs, inputs, -1)
    dense = np.zeros((fewer, blocks, outputs, blocks, inputs, apart.shape[-1]), w.dtype)
    for block in range(blocks):
        dense[:, block, :, block] = apart[:, block]
    return dense.reshape(fewer, blocks * outputs, blocks * inputs, -1)
