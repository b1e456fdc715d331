"""A strategy for layers of scaled mantissas."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, op
from graphrewrite.graph.value import Value

__all__ = ["scaled_layers"]


def _scales(draw: st.DrawFn, count: int, rank: int) -> np.ndarray:
    """Scales along the second axis with which float sums are exact, seldom alike."""
    exponents = draw(st.lists(st.integers(-3, 2), min_size=count, max_size=count))
    return 2.0 ** np.array(exponents, np.float32).reshape(-1, *[1] * (rank - 2))


def _addend(draw: st.DrawFn, outputs: int) -> np.ndarray:
    """Numbers that may outweigh the sums, often of one sign."""
    most = draw(st.sampled_from([3, 5000]))
    low, high = draw(st.sampled_from([(0, most), (-most, 0), (-most, most)]))
    whole = draw(st.lists(st.integers(low, high), min_size=outputs, max_size=outputs))
    return np.array(whole, np.float32) * np.float32(2.0 ** draw(st.integers(-1, 3)))


@st.composite
def scaled_layers(draw: st.DrawFn) -> Graph:
    """A layer of mantissas that are scaled, by one scale or one a channel; convolutions also in groups."""
    kind = draw(st.sampled_from(["conv", "conv", "conv", "linear", "gemm", "matmul"]))
    positions = draw(st.sampled_from([(3,), (2, 2)])) if kind == "conv" else ()
    groups = draw(st.integers(1, 3)) if kind == "conv" else 1
    inner, outputs = draw(st.integers(1, 3)), groups * draw(st.integers(1, 3))
    graph, rank = Graph("layer"), 2 + len(positions)
    element = FixedPoint(draw(st.booleans()), draw(st.integers(2, 8)))
    x = graph.input("x", Tensor(element, ("N", groups * inner, *positions)))
    scale = _scales(draw, draw(st.sampled_from([1, groups * inner])), rank)
    real = op.mul(op.from_fixed(x, fraction=0), scale)

    kernel = tuple(draw(st.integers(1, 2)) for _ in positions)
    whole = np.random.default_rng(draw(st.integers(0, 1 << 16))).integers(-4, 5, (outputs, inner, *kernel))
    w = whole.astype(np.float32) * _scales(draw, outputs, rank + 1)
    b = draw(st.sampled_from([None, _addend(draw, outputs)]))
    layer: Value
    if kind == "conv":
        pads = tuple(draw(st.integers(0, 1)) for _ in kernel * 2)
        ones = (1,) * len(kernel)
        layer = op.conv(real, w, b, groups=groups, pads=pads, strides=ones, dilations=ones)
    elif kind == "linear":
        layer = op.linear(real, w, b)
    elif kind == "gemm":
        is_turned, factors = draw(st.booleans()), [draw(st.sampled_from([1.0, 0.5, 2.0])) for _ in range(2)]
        given = w if is_turned else np.ascontiguousarray(w.T)
        layer = op.gemm(real, given, b, trans_b=is_turned, alpha=factors[0], beta=factors[1])
    else:
        layer = op.matmul(real, np.ascontiguousarray(w.T))
    if draw(st.booleans()):
        layer = op.add(layer, _addend(draw, outputs).reshape(-1, *[1] * len(positions)))
    graph.output("y", layer)
    return graph
