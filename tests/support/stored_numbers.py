"""Graphs in which numbers are stored by a scale, read, and stored again."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value

__all__ = ["limited_grids", "stored_again", "stored_apart"]


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
    way = draw(st.sampled_from(["stored", "read", "narrow", "stored narrow", "moved"]))
    stored = op.quantize_linear(op.identity(real) if way in ("stored", "moved") else real, *first)
    again = op.dequantize_linear(op.unsqueeze(stored, axes=(0,)) if way == "moved" else stored, *first)

    def narrow() -> Value:
        return op.cast(op.neg(again), element="f16")  # which has all of them where the scale is a power of two

    ends = {
        "stored": lambda: op.quantize_linear(again, *last),
        "moved": lambda: op.quantize_linear(again, *last),
        "read": lambda: op.neg(again),
        "narrow": lambda: op.cast(narrow(), element="f32"),
        "stored narrow": lambda: op.quantize_linear(narrow(), *last),
    }
    graph.output("y", ends[way]())
    return graph


@st.composite
def stored_apart(draw: st.DrawFn) -> Graph:
    """Several values stored by one scale, or one of them by another, or stored before, and concatenated."""
    graph = Graph("stored_apart")
    scales = [graph.constant(np.float32(scale)) for scale in (0.5, 0.25)]
    zero = graph.constant(np.int8(draw(st.integers(-5, 5))))
    parts = []
    for number in range(draw(st.integers(2, 4))):
        x: Value = graph.input(f"x{number}", Tensor("f32", ("N", number + 1)))
        if draw(st.integers(0, 5)) == 0:
            x = op.dequantize_linear(op.quantize_linear(x, scales[1], zero), scales[1], zero)
        parts.append(op.quantize_linear(x, scales[draw(st.integers(0, 5)) == 0], zero))
    graph.output("y", op.concat(*parts, axis=1))
    return graph


@st.composite
def limited_grids(draw: st.DrawFn) -> Graph:
    """Whole numbers on a grid of 1, limited before or behind it to a range that so many parts of a step divide."""
    graph = Graph("limited_grids")
    parts = draw(st.sampled_from([3, 5, 15]))
    low = -draw(st.integers(0, 255 // parts))
    scale, zero = graph.constant(np.float32(1)), graph.constant(np.int8(draw(st.integers(-20, 20))))
    x: Value = op.cast(graph.input("x", Tensor("i8", draw(st.sampled_from([(), (3,), ("N", 4)])))), element="f32")

    def limited(value: Value) -> Value:
        return op.clip(value, low=low, high=low + 255 // parts)

    def stored(value: Value) -> Value:
        return op.dequantize_linear(op.quantize_linear(value, scale, zero), scale, zero)

    graph.output("y", op.neg(limited(stored(x)) if draw(st.booleans()) else stored(limited(x))))
    return graph
