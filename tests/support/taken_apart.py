"""Convolutions of positions that were put into the batch, as TensorFlow writes dilated ones."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value

__all__ = ["taken_apart"]


@st.composite
def taken_apart(draw: st.DrawFn) -> Graph:
    """Return graphs of a convolution between the two, with channels second or last, of floats or stored numbers."""
    graph = Graph("taken_apart")
    layout, is_stored = draw(st.sampled_from([None, "NHWC"])), draw(st.booleans())
    mode, block = draw(st.sampled_from(["DCR", "CRD"])), draw(st.integers(1, 2))
    sizes = (2 * block, 3 * block)
    shape = (2, *sizes, 3) if layout else (2, 3, *sizes)
    perm = (3, 1, 2, 0) if layout else (1, 0, 2, 3)
    step = [graph.constant(each) for each in (np.float32(0.5), np.int8(1))] if is_stored else []

    def swapped(value: Value) -> Value:
        moved = op.transpose(value, perm=perm)
        return op.name_axes(op.name_axes(moved, layout=None), layout=layout) if layout else moved

    x = graph.input("x", Tensor("i8" if is_stored else "f32", shape, layout))
    blocks = swapped(op.space_to_depth(swapped(x), block_size=block, mode=mode))
    weights = np.ones((2, 3, 1, draw(st.integers(1, 2))), np.float32)
    conv = op.conv(op.dequantize_linear(blocks, *step) if is_stored else blocks, weights, np.zeros(2, np.float32))
    stored = op.quantize_linear(conv, *step) if is_stored else conv
    graph.output("y", op.depth_to_space(swapped(stored), block_size=block, mode=mode))
    return graph
