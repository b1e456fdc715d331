"""Data movement: the same entries in another order."""

from __future__ import annotations

import math
from functools import reduce
from operator import or_

import numpy as np

from graphrewrite import decline, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.hdl.components.concat import concat
from graphrewrite.hdl.components.pad import pad
from graphrewrite.hdl.components.refold import refold
from graphrewrite.hdl.components.repeat import repeat
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.components.select_lanes import select
from graphrewrite.hdl.components.split import split
from graphrewrite.lowering.streaming.bridge import alike, leave, too_wide, whole
from graphrewrite.lowering.streaming.rearrangements import interleaved, of_windows

__all__ = ["MAP_MOVEMENT", "split_channels"]


@rule(shared="keep", kind="lowering")
def map_reshape(x):
    """A reshape collects the beats of a frame and gives them in the new order."""
    shaped = op.reshape(leave(x))
    yield shaped
    if reason := too_wide(x):
        return decline(reason, at=shaped)
    if not isinstance(shaped.shape[0], str):
        return decline("the batch is not symbolic", at=shaped)
    if shaped.shape[0] != "N":
        return decline("the batch changes its size", at=shaped)
    if len(shaped.shape) < 2:
        return decline("a stream needs channels, and only the batch is left", at=shaped)
    return leave(reshape(x, shape=tuple(shaped.shape[1:])))


@rule(shared="keep", kind="lowering")
def map_transpose(x):
    """A transpose between one channel and many positions, or the reverse, is a reshape."""
    transposed = op.transpose(leave(x))
    yield transposed
    if reason := too_wide(x):
        return decline(reason, at=transposed)
    long = [p for p in transposed.perm if _size(x, p) != 1]
    if long != sorted(long) or transposed.perm[0] != 0:
        return decline("axes longer than 1 change their order, and no component does that", at=transposed)
    return leave(reshape(x, shape=tuple(transposed.shape[1:])))


def _size(x, axis):
    """The size of an axis of the tensor that a stream carries; the batch counts as long."""
    return 2 if axis == 0 else x.shape[axis - 1]


_MOVEMENTS = (
    *("flatten", "squeeze", "unsqueeze", "slice", "tile", "identity", "channel_shuffle", "depth_to_space"),
    *("space_to_depth", "resize"),
)
_SELECTING = reduce(or_, [getattr(op, name) for name in _MOVEMENTS])
"""Ops whose results are entries of their operand."""


@rule(shared="keep", kind="lowering")
def map_selection(x):
    """The index of each entry tells what an op does: reshape, choose channels, repeat or choose positions."""
    movement = _SELECTING(leave(x))
    yield movement
    if reason := too_wide(x):
        return decline(reason, at=movement)
    if not isinstance(movement.shape[0], str) or len(movement.shape) < 2:
        return decline("its batch is not symbolic, or there are no channels", at=movement)
    if movement.shape[0] != "N":
        return decline("its batch changes its size", at=movement)
    if 0 in (*x.shape, *movement.shape):
        return decline("a frame is empty", at=movement)
    # The op is applied to the numbers of the entries of two frames: its result says which entry comes where.
    frames = np.arange(2 * math.prod(x.shape)).reshape(2, *x.shape)
    moved, indices = movement.op(frames, **movement.graph.attributes(movement.node)), frames[:1]
    sources = moved[0]
    if len(moved) != 2 or (moved[1] != sources + indices.size).any():  # an op along the batch
        return decline("it takes numbers from another frame", at=movement)
    if sources.size == indices.size and (sources.ravel() == indices.ravel()).all():
        return leave(reshape(x, shape=sources.shape))
    if sources.shape[1:] == x.shape[1:]:
        order = sources.reshape(len(sources), -1)[:, 0] // math.prod(x.shape[1:])
        if (indices[0][order] == sources).all():
            return leave(select(whole(x), order=tuple(order.tolist())))
    if sources.ndim in (2, 3) and sources.ndim == len(x.shape) and len(sources) == x.shape[0]:
        factors = tuple(new // old for new, old in zip(sources.shape[1:], x.shape[1:], strict=True))
        if min(factors) > 0:
            repeated = repeat(indices, factors=factors)[0]
            if repeated.shape == sources.shape and (repeated == sources).all():
                return leave(repeat(x, factors=factors))
    for rearranged in (of_windows(whole(x), sources), interleaved(whole(x), sources)):
        if rearranged is not None:
            return leave(rearranged)
    return decline("it neither reshapes nor selects channels, nor repeats, interleaves or skips positions", at=movement)


@rule(shared="keep", kind="lowering")
def map_pad(x):
    """A border of one number around the positions."""
    padded = op.pad(leave(x))
    yield padded
    if reason := too_wide(x):
        return decline(reason, at=padded)
    rank = len(x.shape) + 1
    begins, ends = padded.pads[:rank], padded.pads[rank:]
    if padded.mode != "constant" or any((*begins[:2], *ends[:2])) or min(padded.pads) < 0 or rank not in (3, 4):
        return decline("only a constant border around one or two axes of positions has a component", at=padded)
    fill = int(padded.fill)
    if fill != padded.fill:
        return decline(f"its border of {padded.fill} is no whole number", at=padded)
    return leave(pad(x, pads=(*begins[2:], *ends[2:]), fill=fill))


@pass_(kind="lowering")
def split_channels(graph):
    """Split a stream into groups of channels by a chain of splits in two.

    A pass, since a pattern has a fixed number of results.
    """
    removed = []
    for node in graph.in_order():
        if graph.nodes[node]["type"] != "split":
            continue
        (operand,), attributes = graph.operands(node), graph.attributes(node)
        rank = len(graph.result_type(node).shape)
        if graph.nodes[operand.node]["type"] != "leave" or attributes["axis"] not in (1, 1 - rank):
            continue
        sizes, (stream,) = attributes["sizes"], graph.operands(operand.node)
        rest, origin = graph.value(*stream), graph.origin(node)
        if min(sizes) < 1:
            continue
        if rest.type.folds > 1:
            rest = graph.add(refold, [rest], {"lanes": rest.type.channels}, origin=origin)
        for index, size in enumerate(sizes):
            part = rest
            if index < len(sizes) - 1:
                part, rest = graph.add(split, [rest], {"at": size}, origin=origin)
            rewire(graph, node, Operand(graph.add(leave, [part], origin=origin).node), index)
        graph.remove_node(node)
        removed.append(node)
    return removed


@rule
def pair_concat(xs):
    """Several tensors are concatenated two at a time."""
    concatenated = op.concat(*xs)
    yield concatenated
    if len(xs) < 3:
        return decline("it joins two already", at=concatenated)
    return op.concat(op.concat(*xs[:-1], like=concatenated), xs[-1], like=concatenated)


@rule(shared="keep", kind="lowering")
def map_concat(x, y):
    """Two streams, one after the other along the channels or an axis of positions."""
    concatenated = op.concat(leave(x), leave(y))
    yield concatenated
    axis = concatenated.axis % len(concatenated.shape)
    if axis == 0:
        return decline("streams are not concatenated along the batch", at=concatenated)
    if reason := too_wide(x, y):
        return decline(reason, at=concatenated)
    return leave(concat(*alike(x, y), axis=axis))


@rule(shared="keep", kind="lowering")
def map_concat_with_itself(x):
    """A stream concatenated with itself, whose pattern needs one operand twice."""
    operand = leave(x)
    concatenated = op.concat(operand, operand)
    yield concatenated
    axis = concatenated.axis % len(concatenated.shape)
    if axis == 0:
        return decline("streams are not concatenated along the batch", at=concatenated)
    if reason := too_wide(x):
        return decline(reason, at=concatenated)
    if axis > 1:
        return leave(concat(x, x, axis=axis))
    return leave(select(whole(x), order=tuple(range(x.shape[0])) * 2))


MAP_MOVEMENT = (map_reshape, map_transpose, map_selection, map_pad, pair_concat, map_concat_with_itself, map_concat)
"""Data movement."""
