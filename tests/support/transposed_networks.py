"""Small networks whose axes are in another order than hardware has them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value


@st.composite
def stored_positions(draw: st.DrawFn) -> Graph:
    """A matrix of stored numbers times the vector at each position."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    outputs = draw(st.integers(1, 3))
    each = draw(st.sampled_from([(), (outputs,)]))
    g = Graph("positions")
    x = g.input("x", Tensor("u8", ("N", *sizes)))
    w = random.integers(-128, 128, (sizes[-1], outputs)).astype(np.int8)
    scales = random.uniform(0.01, 0.1, each).astype(np.float32), random.integers(-3, 4, each).astype(np.int8)
    ends = np.float32(0.1), np.uint8(random.integers(256))
    g.output("y", op.qlinear_matmul(x, *ends, w, *scales, np.float32(0.2), np.uint8(random.integers(256))))
    return g


@st.composite
def transposed_operands(draw: st.DrawFn) -> Graph:
    """An elementwise op of a transpose and of a value that a reshape, which may be a transpose, gave its shape."""
    graph = Graph("transposed")
    shape = tuple(draw(st.lists(st.integers(1, 3), min_size=2, max_size=4)))
    perm = tuple(draw(st.permutations(range(len(shape)))))
    turned = tuple(shape[p] for p in perm)
    x = graph.input("x", Tensor("f32", shape))
    y = graph.input("y", Tensor("f32", shape if draw(st.booleans()) else tuple(draw(st.permutations(turned)))))
    # A softmax is not the host's: what the host computes is transposed there.
    operands = [op.transpose(op.softmax(x), perm=perm), op.reshape(op.softmax(y), shape=turned)]
    graph.output("z", draw(st.sampled_from([op.add, op.sub, op.mul]))(*draw(st.permutations(operands))))
    return graph


def channels_last(build: Callable[[Value], Value], *shape: int) -> Graph:
    """A network whose input and output have the channels last, as Keras has them."""
    g = Graph("last")
    g.output("y", build(g.input("x", Tensor("f32", ("N", *shape)))))
    return g
