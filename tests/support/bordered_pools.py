"""Maxima over windows of a tensor with a border."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op

__all__ = ["bordered_pools"]


@st.composite
def bordered_pools(draw: st.DrawFn) -> Graph:
    """Return graphs of a maximum over windows of a border that may win or not, around what may be negative or not."""
    rank = draw(st.integers(1, 2))
    layout = draw(st.sampled_from([None, "NHWC"])) if rank == 2 else None
    widths = st.lists(st.integers(0, 2), min_size=2 * rank, max_size=2 * rank)
    added, own = draw(widths), draw(widths)
    kernel = tuple(max(p + q for p, q in zip(added[a::rank], own[a::rank], strict=True)) + 1 for a in range(rank))
    element = draw(st.sampled_from(["f32", "f64", "i8"]))
    least = -128 if element == "i8" else -np.inf
    positions = (4, 5)[:rank]
    shape = ("N", *positions, 2) if layout else ("N", 2, *positions)
    graph = Graph("bordered")
    x = graph.input("x", Tensor(element, shape, layout))
    if draw(st.booleans()):
        x = op.mul(x, x)
    around = (lambda widths: (0, *widths, 0)) if layout else (lambda widths: (0, 0, *widths))
    pads = (*around(added[:rank]), *around(added[rank:]))
    padded = op.pad(x, pads=pads, fill=draw(st.sampled_from([0, least])))
    strides = draw(st.sampled_from([(1,) * rank, (2,) * rank]))
    # Its own padding is less than a window.
    pads = tuple(min(width, kernel[a % rank] - 1) for a, width in enumerate(own))
    graph.output("y", op.max_pool(padded, kernel=kernel, strides=strides, pads=pads))
    return graph
