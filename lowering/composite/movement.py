"""Ops that only move entries, written as reshapes, transposes and slices; choices that are no choice."""

from __future__ import annotations

from graphrewrite import Constant, Graph, decline, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.lowering.composite.axes import disordered, named, reshaped, unsaid
from graphrewrite.rules import write_as_reshape
from graphrewrite.wiring import rewire

__all__ = [
    "LOWER_MOVEMENT",
    "drop_where",
    "write_channel_shuffle_by_transpose",
    "write_depth_to_space_by_transpose",
    "write_space_to_depth_by_transpose",
    "write_split_by_slices",
]

_SPACE = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""By mode, the order that brings the two axes of a block behind the rows and columns."""
_DEPTH = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""By mode, the order that brings them in front of the channels, or behind these."""


@rule
def write_depth_to_space_by_transpose(x):
    """Channels become blocks of positions between two reshapes (ONNX specification, DepthToSpace)."""
    moved = op.depth_to_space(x)
    yield moved
    batch, channels, height, width = x.shape
    if reason := disordered(moved, x) or unsaid(moved.shape):
        return decline(reason, at=moved)
    block = moved.block_size
    rest = channels // block**2
    split = (batch, *((block, block, rest) if moved.mode == "DCR" else (rest, block, block)), height, width)
    turned = op.transpose(reshaped(x, split), perm=_SPACE[moved.mode])
    return named(reshaped(turned, moved.shape), moved)


@rule
def write_space_to_depth_by_transpose(x):
    """Blocks of positions become channels between two reshapes (ONNX specification, SpaceToDepth)."""
    moved = op.space_to_depth(x)
    yield moved
    if reason := disordered(moved, x) or unsaid(moved.shape):
        return decline(reason, at=moved)
    block = moved.block_size
    split = (*x.shape[:2], moved.shape[2], block, moved.shape[3], block)
    turned = op.transpose(reshaped(x, split), perm=_DEPTH[moved.mode])
    return named(reshaped(turned, moved.shape), moved)


@rule
def write_channel_shuffle_by_transpose(x):
    """Channels as a table of groups are read column by column (Zhang et al. 2018)."""
    moved = op.channel_shuffle(x)
    yield moved
    if reason := disordered(moved, x) or unsaid(x.shape):
        return decline(reason, at=moved)
    batch, channels, *sizes = x.shape
    table = reshaped(x, (batch, moved.groups, channels // moved.groups, *sizes))
    turned = op.transpose(table, perm=(0, 2, 1, *range(3, len(table.shape))))
    return named(reshaped(turned, x.shape), moved)


@rule
def drop_where(c: Constant, x, y):
    """A choice that is the same everywhere is what it chooses (ONNX specification, Where)."""
    choice = op.where(c, x, y)
    yield choice
    if c.value.size == 0 or c.value.min() != c.value.max():
        return decline("the condition is not the same everywhere", at=c)
    chosen = x if c.value.all() else y
    if chosen.type == choice.type:
        return chosen
    if any(isinstance(size, str) for size in choice.shape) or chosen.type.layout != choice.type.layout:
        return decline("what it chooses has another shape, with a symbolic size or other names of axes", at=choice)
    return op.expand(chosen, shape=choice.shape)


@pass_
def write_split_by_slices(graph: Graph) -> list[str]:
    """Each part that a split gives is a slice; a pass, for a pattern has as many results as it says."""
    gone = []
    for node in graph.in_order():
        if graph.nodes[node]["type"] != "split" or any("kind" in data for _, data in graph.succ[node].items()):
            continue
        axis, sizes = (graph.attributes(node)[key] for key in ("axis", "sizes"))
        start, read = 0, {result for data in graph.succ[node].values() for _, result in data["slots"]}
        for index, size in enumerate(sizes):
            if index in read:
                attributes = {"starts": (start,), "ends": (start + size,), "axes": (axis,)}
                whole = graph.value(*graph.operands(node)[0])
                part = graph.add(op.slice, [whole], attributes, origin=graph.origin(node))
                rewire(graph, node, Operand(part.node), index)
            start += size
        if read:
            graph.remove_node(node)
            gone.append(node)
    return gone


LOWER_MOVEMENT = (
    write_as_reshape,
    write_depth_to_space_by_transpose,
    write_space_to_depth_by_transpose,
    write_channel_shuffle_by_transpose,
    write_split_by_slices,
    drop_where,
)
"""What moves entries, by reshapes, transposes and slices."""
