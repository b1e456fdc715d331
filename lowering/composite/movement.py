"""Ops that only move or repeat entries, written as reshapes, transposes, slices and joins; choices by a constant."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, Graph, decline, op, pass_, rule
from graphrewrite.lowering.composite.axes import disordered, named, reshaped, unsaid
from graphrewrite.rules import write_as_reshape
from graphrewrite.rules.splits import cut_split, nodes_of_type
from graphrewrite.types import element_dtype, element_of

__all__ = ["LOWER_MOVEMENT", "LOWER_REPETITIONS"]

_SPACE = {"DCR": (0, 3, 4, 1, 5, 2), "CRD": (0, 1, 4, 2, 5, 3)}
"""By mode: the permutation that puts the two axes of a block after the rows and columns."""
_DEPTH = {"DCR": (0, 3, 5, 1, 2, 4), "CRD": (0, 1, 3, 5, 2, 4)}
"""By mode: the permutation that puts them before the channels, or after them."""


@rule
def write_depth_to_space_by_transpose(x):
    """Channels become blocks of positions between two reshapes (ONNX specification, DepthToSpace)."""
    node = op.depth_to_space(x)
    yield node
    batch, channels, height, width = x.shape
    if reason := disordered(node, x) or unsaid(node.shape):
        return decline(reason, at=node)
    block = node.block_size
    rest = channels // block**2
    split = (batch, *((block, block, rest) if node.mode == "DCR" else (rest, block, block)), height, width)
    transposed = op.transpose(reshaped(x, split), perm=_SPACE[node.mode])
    return named(reshaped(transposed, node.shape), node)


@rule
def write_space_to_depth_by_transpose(x):
    """Blocks of positions become channels between two reshapes (ONNX specification, SpaceToDepth)."""
    node = op.space_to_depth(x)
    yield node
    if reason := disordered(node, x) or unsaid(node.shape):
        return decline(reason, at=node)
    block = node.block_size
    split = (*x.shape[:2], node.shape[2], block, node.shape[3], block)
    transposed = op.transpose(reshaped(x, split), perm=_DEPTH[node.mode])
    return named(reshaped(transposed, node.shape), node)


@rule
def write_channel_shuffle_by_transpose(x):
    """Channels as a table of groups are read column by column (Zhang et al. 2018)."""
    node = op.channel_shuffle(x)
    yield node
    if reason := disordered(node, x) or unsaid(x.shape):
        return decline(reason, at=node)
    batch, channels, *sizes = x.shape
    table = reshaped(x, (batch, node.groups, channels // node.groups, *sizes))
    transposed = op.transpose(table, perm=(0, 2, 1, *range(3, len(table.shape))))
    return named(reshaped(transposed, x.shape), node)


@rule
def write_constant_where_by_expand(c: Constant, x, y):
    """A choice that is the same everywhere is what it chooses (ONNX specification, Where)."""
    choice = op.where(c, x, y)
    yield choice
    if c.value.size == 0 or c.value.min() != c.value.max():
        return decline("the condition is not the same everywhere", at=c)
    chosen = x if c.value.all() else y
    if chosen.type == choice.type:
        return chosen
    if any(isinstance(size, str) for size in choice.shape) or chosen.type.layout != choice.type.layout:
        return decline("the chosen operand has another shape, with a symbolic size or other axis names", at=choice)
    return op.expand(chosen, shape=choice.shape)


@pass_(ops=[op.split])
def write_split_by_slices(graph: Graph) -> list[str]:
    """Write each result of a split as a slice; a pass, since a pattern has a fixed number of results."""
    return [node for node in nodes_of_type(graph, "split") if cut_split(graph, node)]


@rule
def write_pad_by_concat(x):
    """A border of one number is joined to the entries, along one axis after the other (Glow, Pad)."""
    border = op.pad(x, mode="constant")
    yield border
    if any(isinstance(width, str) or width < 0 for width in border.pads):
        return decline("a width is symbolic, or takes entries away", at=border)
    dtype = element_dtype(x.type.element)
    if element_of(dtype) != x.type.element:
        return decline("no array tells its numbers from those of other types", at=x)
    rank, whole = len(x.shape), x
    for axis, widths in enumerate(zip(border.pads[:rank], border.pads[rank:], strict=True)):
        before, after = (
            [op.expand(np.full((), border.fill, dtype), shape=(*whole.shape[:axis], width, *whole.shape[axis + 1 :]))]
            if width
            else []
            for width in widths
        )
        whole = op.concat(*before, whole, *after, axis=axis) if before or after else whole
    return whole


@rule
def write_tile_by_expand(x):
    """Entries that are repeated are spread over an axis before their own (Glow, Tile)."""
    tiled = op.tile(x)
    yield tiled
    if any(isinstance(count, str) for count in tiled.repeats):
        return decline("a number of repetitions is symbolic", at=tiled)
    if x.type.layout is not None or unsaid(x.shape) or unsaid(tiled.shape):
        return decline("its axes have names, or several of its sizes are symbolic", at=tiled)
    apart: list[int | str] = []
    spread: list[int | str] = []
    for size, count in zip(x.shape, tiled.repeats, strict=True):
        apart += [size] if count == 1 else [1, size]
        spread += [size] if count == 1 else [count, size]
    return reshaped(op.expand(reshaped(x, apart), shape=spread), tiled.shape)


LOWER_REPETITIONS = (write_pad_by_concat, write_tile_by_expand)
"""Borders and repetitions by joins and broadcasts."""

LOWER_MOVEMENT = (
    write_as_reshape,
    write_depth_to_space_by_transpose,
    write_space_to_depth_by_transpose,
    write_channel_shuffle_by_transpose,
    write_split_by_slices,
    write_constant_where_by_expand,
)
"""Data movement by reshapes, transposes and slices."""
