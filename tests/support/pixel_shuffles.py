"""Channels that become blocks of positions, and the other way, as exporters write them."""

from __future__ import annotations

from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op, rewrite
from graphrewrite.lowering.composite.movement import (
    write_depth_to_space_by_transpose,
    write_space_to_depth_by_transpose,
)

__all__ = ["pixel_shuffles"]


@st.composite
def pixel_shuffles(draw: st.DrawFn) -> Graph:
    """Return graphs of one of the two as reshape, transpose and reshape."""
    graph = Graph("pixel_shuffle")
    size, mode = draw(st.integers(2, 3)), draw(st.sampled_from(["DCR", "CRD"]))
    batch, channels = draw(st.sampled_from(["N", 1, 2])), draw(st.integers(1, 2))
    height, width = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    element = draw(st.sampled_from(["f32", "i8"]))
    if draw(st.booleans()):
        x = graph.input("x", Tensor(element, (batch, channels * size**2, height, width)))
        graph.output("y", op.depth_to_space(x, block_size=size, mode=mode))
    else:
        x = graph.input("x", Tensor(element, (batch, channels, height * size, width * size)))
        graph.output("y", op.space_to_depth(x, block_size=size, mode=mode))
    return rewrite(graph, [write_depth_to_space_by_transpose, write_space_to_depth_by_transpose])
