"""Windows of convolutions and pools: their borders, and what lies in them."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.nn.pooling import has_window_in_border
from graphrewrite.op.precision import least_of
from graphrewrite.rules.operands import again, operands_of
from graphrewrite.types import element_dtype

__all__ = [
    "crop_window",
    "dilate_conv",
    "fold_pad",
    "fold_pad_into_average_pool",
    "fold_pad_into_max_pool",
    "pool_before_relu",
]


def _pads(border, reader):
    """The pads of a border along the positions, in the order in which its reader has them, or why there are none."""
    if any(isinstance(pad, str) for pad in border.pads):
        return decline("the width of the border is symbolic", at=border)
    if min(border.pads) < 0:
        return decline("a negative pad crops, which a window cannot", at=border)
    if border.type.layout is not None and "N" not in border.type.layout:
        return decline("it has no batch", at=border)
    rank, arrangement = len(border.shape), reader.op.arrangement((border.type,))
    order = range(rank) if arrangement is None else arrangement.operand
    begins, ends = [border.pads[axis] for axis in order], [border.pads[rank + axis] for axis in order]
    if any((*begins[:2], *ends[:2])):
        return decline("the border is not around the positions only", at=border)
    return *begins[2:], *ends[2:]


@rule
def fold_pad(x, w, b=None):
    """A border of zeros before a convolution is padding of the convolution."""
    border = op.pad(x, mode="constant", fill=0)
    conv = op.conv(border, w, b)
    yield conv
    added = _pads(border, conv)
    if not isinstance(added, tuple):
        return added
    pads = tuple(p + q for p, q in zip(per_axis(conv.pads, len(added), 0), added, strict=True))
    return op.conv(x, w, b, like=conv, pads=pads)


def _into_pool(border, pool):
    """The padding of a pool with a border before it, or why the pool cannot have it."""
    added = _pads(border, pool)
    if not isinstance(added, tuple):
        return added
    if pool.ceil_mode:
        return decline("a last window may start in the border, but not in padding", at=pool)
    pads = tuple(p + q for p, q in zip(per_axis(pool.pads, len(added), 0), added, strict=True))
    if any(max(pads[axis :: len(pool.kernel)]) >= size for axis, size in enumerate(pool.kernel)):
        return decline("the padding would be as large as a window", at=pool)
    return pads


@rule
def fold_pad_into_average_pool(x):
    """A border of zeros before a mean over windows is padding that counts."""
    border = op.pad(x, mode="constant", fill=0)
    pool = op.average_pool(border)
    yield pool
    pads = _into_pool(border, pool)
    if not isinstance(pads, tuple):
        return pads
    if any(pool.pads) and not pool.count_include_pad:
        return decline("it has padding already, which does not count", at=pool)
    return op.average_pool(x, like=pool, pads=pads, count_include_pad=True)


@rule(keeps="rounding")
def fold_pad_into_max_pool(x):
    """A border that never wins, of the least number or of zeros around what is never negative, is padding."""
    border = op.pad(x, mode="constant")
    pool = op.max_pool(border)
    yield pool
    pads = _into_pool(border, pool)
    if not isinstance(pads, tuple):
        return pads
    if not isinstance(x.type.element, str):
        return decline("its numbers have formats", at=border)
    if border.fill == least_of(element_dtype(x.type.element)):
        return op.max_pool(x, like=pool, pads=pads)
    # Of zeros with a sign either may win: the sign is as if it were rounded.
    if border.fill != 0 or x.fact().low < 0:
        return decline("the border may win", at=border)
    if has_window_in_border(_positions(pool, x), pool.kernel, pool.strides, pads, pool.dilations):
        return decline("a window may lie in the border only", at=pool)
    return op.max_pool(x, like=pool, pads=pads)


def _positions(layer, x):
    """The sizes of the operand along the positions, in the order of the layer's windows."""
    (kind,) = layer.op.axes.in_order((x.type,))
    return kind.shape[2:]


@rule(keeps="rounding")
def crop_window(x, w: Constant, b):
    """A convolution that looks at one position needs no weights for the border around it, and no steps."""
    conv = op.conv(x, w, b)
    yield conv
    sizes, results = _positions(conv, x), _positions(conv, conv)
    if set(results) != {1} or any(isinstance(size, str) for size in sizes):
        return decline("it has several positions, or a symbolic size", at=conv)
    rank = len(sizes)
    pads, old_strides = per_axis(conv.pads, 2 * rank, 0), per_axis(conv.strides, rank, 1)
    cropped, strides = [], []
    for axis, (size, begin, step) in enumerate(zip(sizes, pads, per_axis(conv.dilations, rank, 1), strict=False)):
        # Of the taps, these read an entry; the first of them must be the first entry.
        inside = range(-(-begin // step), min(w.shape[2 + axis], -(-(size + begin) // step)))
        if begin % step or not inside:
            return decline("its first weight that reads an entry does not read the first one", at=conv)
        cropped.append(slice(inside.start, inside.stop))
        strides.append(size - step * (len(inside) - 1))  # beyond the last entry: there is one window
    weights = w.value[(slice(None), slice(None), *cropped)]
    if not np.isfinite(w.value).all():
        return decline("a weight is not finite, and zeros of the border do not make it vanish", at=w)
    if not any(pads) and weights.shape == w.shape and tuple(strides) == old_strides:
        return decline("all its weights read an entry", at=conv)
    return op.conv(x, weights, b, like=conv, strides=tuple(strides), pads=(0,) * 2 * rank)


@rule
def pool_before_relu(x):
    """Limits keep the order of numbers: the maximum over windows may come first, and leaves fewer to limit."""
    limited = (op.relu | op.clip)(x)
    pool = op.max_pool(limited)
    yield pool
    windows = {"strides": pool.strides, "pads": pool.pads, "dilations": pool.dilations}
    if has_window_in_border(_positions(pool, x), pool.kernel, ceil_mode=pool.ceil_mode, **windows):
        return decline("a window may lie in the border only, and is then less than any number", at=pool)
    return limited.op(op.max_pool(x, like=pool), like=limited)


def _carried(below, params):
    """What puts axes in another order, names them, or stores and reads numbers by one scale."""
    return (op.transpose | op.name_axes | op.quantize_linear | op.dequantize_linear)(below, *params)


def _swaps(run, source, target):
    """Whether a run brings the batch of an op to where another one has its channels, and the other way round."""
    axes: tuple[int, ...] = (0, 1, 2, 3)
    for link in run.links:
        if link.op is op.transpose:
            axes = tuple(axes[p] for p in link.perm)
        if any(set(each.shape) - {1} for each in operands_of(link)[1:]):
            return False  # a scale for each entry of an axis
    first, second = (arranged.operand if arranged else (0, 1, 2, 3) for arranged in (source, target))
    return [axes[axis] for axis in second] == [first[1], first[0], *first[2:]]


@rule(keeps="rounding", shared="keep")
def dilate_conv(x, w, bias):
    """A convolution of every so many positions, which are a batch of their own, is one with holes in its windows.

    TensorFlow writes it so: the positions of a block go to the batch, and come back.
    """
    apart = op.space_to_depth(x)
    before = rule.repeated(apart, _carried)
    conv = op.conv(before, w, *bias)
    after = rule.repeated(conv, _carried)
    together = op.depth_to_space(after)
    yield together
    if (apart.block_size, apart.mode) != (together.block_size, together.mode):
        return decline("what is put together is not what was taken apart", at=together)
    if any(conv.pads) or set(conv.strides) != {1}:
        return decline("it has steps, or a border around each part", at=conv)
    taken, of_conv, given = (
        each.op.arrangement((kind,))
        for each, kind in ((apart, x.type), (conv, before.links[-1].type), (together, after.links[-1].type))
    )
    if not _swaps(before, taken, of_conv) or not _swaps(after, of_conv, given):
        return decline("not all of its positions are a batch of their own", at=conv)
    holes = tuple(step * apart.block_size for step in per_axis(conv.dilations, 2, 1))
    whole = op.conv(again(before, x), w, *bias, like=conv, dilations=holes)
    result = again(after, whole)
    return result if result.type == together.type else decline("its sizes are symbolic", at=together)
