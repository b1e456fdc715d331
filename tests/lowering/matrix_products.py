"""Strategies for constant matrix products: as graphs of scalars, and between streams."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor
from graphrewrite.hdl.components.matvec import matvec
from graphrewrite.lowering.bridge import enter, leave
from graphrewrite.lowering.shift_add import scalar_graph
from graphrewrite.types import FixedPoint


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    """Small matrices: rows of zeros, powers of two of either sign, single weights, extreme weights, any weights."""
    rows, columns = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    powers = st.builds(lambda sign, shift: sign << shift, st.sampled_from([-1, 1]), st.integers(0, 10))
    weight = st.one_of(st.just(0), st.integers(-32, 31), powers, st.sampled_from([-(2**19), 2**19 - 1]))
    matrix = np.array([[draw(weight) for _ in range(columns)] for _ in range(rows)], np.int64)
    for row in range(rows):
        kind = draw(st.sampled_from(["as it is", "zeros", "single", "another's"]))
        if kind == "another's":
            matrix[row] = draw(st.sampled_from([-4, 1, 2])) * matrix[draw(st.integers(0, rows - 1))]
        elif kind != "as it is":
            matrix[row, int(kind == "single") :] = 0
    return matrix


def formats() -> st.SearchStrategy[FixedPoint]:
    """Formats of what is multiplied, of one bit and more."""
    return st.builds(FixedPoint, st.booleans(), st.integers(1, 12))


def scalar_products() -> st.SearchStrategy[Graph]:
    """A product as sums of scalars."""
    return st.builds(scalar_graph, matrices(), formats())


@st.composite
def stream_products(draw: st.DrawFn) -> Graph:
    """A product on a stream between two tensors."""
    weights, element = draw(matrices()), draw(formats())
    bias = np.array(draw(st.lists(st.integers(-99, 99), min_size=len(weights), max_size=len(weights))))
    most = int(np.abs(weights).sum(axis=1).max() << element.width) + 99
    positions = draw(st.sampled_from([(), (3,), (2, 2)]))
    graph = Graph("g")
    x = graph.input("x", Tensor(element, ("N", weights.shape[1], *positions)))
    total = matvec(enter(x), weights=weights, bias=bias, element=FixedPoint.holding(-most, most))
    graph.output("z", leave(total))
    return graph
