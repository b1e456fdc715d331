"""Movement: the same numbers in another order."""

from __future__ import annotations

import math
from functools import partial, reduce
from operator import or_

import numpy as np

from graphrewrite import decline, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.hdl.components.concat import concat
from graphrewrite.hdl.components.pad import pad
from graphrewrite.hdl.components.repeat import repeat
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.components.select_lanes import select
from graphrewrite.hdl.components.split import split
from graphrewrite.lowering.bridge import leave
from graphrewrite.lowering.streaming.places import interleaved, of_windows
from graphrewrite.lowering.streaming.values import too_wide
from graphrewrite.wiring import rewire

__all__ = [
    "MAP_MOVEMENT",
    "map_concat",
    "map_concat_with_itself",
    "map_pad",
    "map_reshape",
    "map_selection",
    "map_transpose",
    "pair_concat",
    "split_channels",
]


@rule(shared="keep", kind="lowering")
def map_reshape(x):
    """A reshape collects the beats of a frame and gives them in the new order."""
    shaped = op.reshape(leave(x))
    yield shaped
    if reason := too_wide(x):
        return decline(reason, at=shaped)
    if not isinstance(shaped.shape[0], str):
        return decline("the batch is not symbolic", at=shaped)
    if len(shaped.shape) < 2:
        return decline("a stream needs channels, and only the batch is left", at=shaped)
    return leave(reshape(x, shape=tuple(shaped.shape[1:])))


@rule(shared="keep", kind="lowering")
def map_transpose(x):
    """A transpose between one channel and many positions, or the reverse, is a reshape."""
    moved = op.transpose(leave(x))
    yield moved
    if reason := too_wide(x):
        return decline(reason, at=moved)
    long = [p for p in moved.perm if _size(x, p) != 1]
    if long != sorted(long) or moved.perm[0] != 0:
        return decline("axes longer than 1 change their order, for which there is no component", at=moved)
    return leave(reshape(x, shape=tuple(moved.shape[1:])))


def _size(x, axis):
    """The size of an axis of the tensor that a stream carries; the batch counts as long."""
    return 2 if axis == 0 else x.shape[axis - 1]


_SELECTING = reduce(
    or_,
    [
        getattr(op, name)
        for name in (
            *("flatten", "squeeze", "unsqueeze", "slice", "tile", "identity", "channel_shuffle", "depth_to_space"),
            *("space_to_depth", "resize"),
        )
    ],
)
"""Ops whose results are entries of their operand."""


@rule(shared="keep", kind="lowering")
def map_selection(x):
    """Where an op takes each number from tells what it does: reshape, choose channels, repeat or choose positions."""
    moved = _SELECTING(leave(x))
    yield moved
    if reason := too_wide(x):
        return decline(reason, at=moved)
    if moved.op_name == "resize" and moved.mode != "nearest":
        return decline("it computes between numbers", at=moved)
    if not isinstance(moved.shape[0], str) or len(moved.shape) < 2:
        return decline("its batch is not symbolic, or there are no channels", at=moved)
    places = np.arange(math.prod(x.shape)).reshape(1, *x.shape)
    taken = moved.op(places, **moved.graph.attributes(moved.node))[0]
    if taken.size == places.size and (taken.ravel() == places.ravel()).all():
        return leave(reshape(x, shape=taken.shape))
    if taken.shape[1:] == x.shape[1:]:
        order = taken.reshape(len(taken), -1)[:, 0] // math.prod(x.shape[1:])
        if (places[0][order] == taken).all():
            return leave(select(x, order=tuple(order.tolist())))
    if taken.ndim in (2, 3) and taken.ndim == len(x.shape) and len(taken) == x.shape[0]:
        factors = tuple(new // old for new, old in zip(taken.shape[1:], x.shape[1:], strict=True))
        if min(factors) > 0:
            repeated = repeat(places, factors=factors)[0]
            if repeated.shape == taken.shape and (repeated == taken).all():
                return leave(repeat(x, factors=factors))
    for found in (of_windows(x, taken), interleaved(x, taken)):
        if found is not None:
            return leave(found)
    return decline("it neither reshapes, nor chooses channels, nor repeats, interleaves or skips positions", at=moved)


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
    element, fill = x.type.element, int(padded.fill)
    if fill != padded.fill or not element.minimum <= fill <= element.maximum:
        return decline(f"its border of {padded.fill} is no {element}", at=padded)
    return leave(pad(x, pads=(*begins[2:], *ends[2:]), fill=fill))


@partial(pass_, kind="lowering")
def split_channels(graph):
    """Groups of channels leave a stream one after the other: the first one, and what is left.

    No pattern has a number of results that is open: this is a pass.
    """
    gone = []
    for node in graph.in_order():
        if graph.nodes[node]["type"] != "split":
            continue
        (given,), attributes = graph.operands(node), graph.attributes(node)
        rank = len(graph.result_type(node).shape)
        if graph.nodes[given.node]["type"] != "leave" or attributes["axis"] not in (1, 1 - rank):
            continue
        sizes, (stream,) = attributes["sizes"], graph.operands(given.node)
        rest, origin = graph.value(*stream), graph.origin(node)
        if min(sizes) < 1:
            continue
        for place, size in enumerate(sizes):
            part = rest
            if place < len(sizes) - 1:
                part, rest = graph.add(split, [rest], {"at": size}, origin=origin)
            rewire(graph, node, Operand(graph.add(leave, [part], origin=origin).node), place)
        graph.remove_node(node)
        gone.append(node)
    return gone


@rule
def pair_concat(xs):
    """Several tensors are joined two at a time."""
    joined = op.concat(*xs)
    yield joined
    if len(xs) < 3:
        return decline("it joins two already", at=joined)
    return op.concat(op.concat(*xs[:-1], like=joined), xs[-1], like=joined)


@rule(shared="keep", kind="lowering")
def map_concat(x, y):
    """Two streams, one after the other along the channels or an axis of positions."""
    joined = op.concat(leave(x), leave(y))
    yield joined
    axis = joined.axis % len(joined.shape)
    if axis == 0:
        return decline("frames of two streams are not put one after the other", at=joined)
    if reason := too_wide(x, y):
        return decline(reason, at=joined)
    if x.type.element != y.type.element:
        return decline("its operands differ in format", at=joined)
    return leave(concat(x, y, axis=axis))


@rule(shared="keep", kind="lowering")
def map_concat_with_itself(x):
    """A stream, and once more; the pattern of a join needs two different operands."""
    given = leave(x)
    joined = op.concat(given, given)
    yield joined
    axis = joined.axis % len(joined.shape)
    if axis == 0:
        return decline("frames of two streams are not put one after the other", at=joined)
    if reason := too_wide(x):
        return decline(reason, at=joined)
    if axis > 1:
        return leave(concat(x, x, axis=axis))
    return leave(select(x, order=tuple(range(x.shape[0])) * 2))


MAP_MOVEMENT = (map_reshape, map_transpose, map_selection, map_pad, pair_concat, map_concat_with_itself, map_concat)
"""Orders of numbers."""
