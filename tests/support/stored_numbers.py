"""Graphs in which numbers are stored by a scale, read, and stored again."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op

__all__ = ["stored_again"]


@st.composite
def stored_again(draw: st.DrawFn) -> Graph:
    """Numbers on a grid, rounded to it once more, and then to another one."""
    element = draw(st.sampled_from(["i8", "u8"]))
    dtype = {"i8": np.int8, "u8": np.uint8}[element]
    scales = [np.float32(draw(st.sampled_from([0.25, 0.1, 3.0, 1e-3]))) for _ in range(2)]
    zeros = [dtype(draw(st.integers(0, 100))) for _ in range(2)]
    shape = draw(st.sampled_from([(), (3,), ("N", 4), (2, 3, 1)]))
    graph = Graph("stored_again")
    x = graph.input("x", Tensor(element, shape))
    first, last = ([graph.constant(scale), graph.constant(zero)] for scale, zero in zip(scales, zeros, strict=True))
    real = op.dequantize_linear(x, *first)
    is_stored = draw(st.booleans())
    again = op.dequantize_linear(op.quantize_linear(op.identity(real) if is_stored else real, *first), *first)
    graph.output("y", op.quantize_linear(again, *last) if is_stored else op.neg(again))
    return graph
