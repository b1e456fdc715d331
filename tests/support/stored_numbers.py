"""Graphs in which numbers are stored by a scale, read, and stored again."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value

__all__ = ["stored_again"]


@st.composite
def stored_again(draw: st.DrawFn) -> Graph:
    """Numbers on a grid, rounded to it once more or narrowed, and then to another grid."""
    element = draw(st.sampled_from(["i8", "u8"]))
    dtype = {"i8": np.int8, "u8": np.uint8}[element]
    scales = [np.float32(draw(st.sampled_from([0.25, 0.5, 2.0]))) for _ in range(2)]
    zeros = [dtype(draw(st.integers(0, 100))) for _ in range(2)]
    shape = draw(st.sampled_from([(), (3,), ("N", 4), (2, 3, 1)]))
    graph = Graph("stored_again")
    x = graph.input("x", Tensor(element, shape))
    first, last = ([graph.constant(scale), graph.constant(zero)] for scale, zero in zip(scales, zeros, strict=True))
    real = op.dequantize_linear(x, *first)
    way = draw(st.sampled_from(["stored", "read", "narrow", "stored narrow"]))
    again = op.dequantize_linear(op.quantize_linear(op.identity(real) if way == "stored" else real, *first), *first)

    def narrow() -> Value:
        return op.cast(op.neg(again), element="f16")  # which has all of them where the scale is a power of two

    ends = {
        "stored": lambda: op.quantize_linear(again, *last),
        "read": lambda: op.neg(again),
        "narrow": lambda: op.cast(narrow(), element="f32"),
        "stored narrow": lambda: op.quantize_linear(narrow(), *last),
    }
    graph.output("y", ends[way]())
    return graph
