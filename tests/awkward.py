"""Hypothesis strategies of digraphs that nothing holds together: any names, data and edges, sensible or not."""

from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphrewrite import FixedPoint, Graph, Tensor
from graphrewrite.op import LIBRARY
from graphrewrite.types import Quantised, Stream

words = st.sampled_from(["a", "b", "x", "relu_1", "graph", "module", "True", "nan", "f32", "s8f4", "1", "!", "", "a b"])
texts = (
    words | st.text(max_size=6) | st.sampled_from(["'", '"', "\\", "\n", "\u2028", "\ud800", "ü", "$list", "#", "@'a'"])
)
numbers = (
    st.integers(-3, 3) | st.integers() | st.just(7**5000) | st.floats() | st.sampled_from([-0.0, -math.nan, 5e-324])
)
names = texts | st.integers(0, 3) | st.tuples(st.integers(0, 2), texts)
elements = st.sampled_from(
    ["f32", "bf16", "i4", FixedPoint(True, 8, -2), Quantised("i8", 0.1, 3), Quantised("u8", (0.1, 2.0), (0, 5), 1)]
)
types = st.builds(Tensor, elements, st.sampled_from([("N", 2), (3, 2), (0, 2)])) | st.sampled_from(
    [Tensor("f32", ("N", 26, 26, 8), "NHWC"), Stream(FixedPoint(False, 8), (3, 4, 5)), Tensor("i64", ())]
)
dtypes = st.sampled_from(
    ["f2", "f4", "f8", ">f4", "i1", "i8", "u8", "u2", "?", "c8", "U3", "S2", "M8[s]", "m8[ns]", "f4", "f4"]
).map(np.dtype)
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)) | st.sampled_from(
    [
        np.arange(50, dtype=np.int16),
        np.full(3, 0x7FC00001, np.uint32).view(np.float32),
        np.float32([-np.nan, 0.1]),
        np.zeros((2, 1), "V3"),
    ]
)
scalars = st.sampled_from([np.float32(0.1), np.int8(3), np.bool_(True), np.float16(np.inf), np.datetime64(3, "s")])
primitives = st.none() | st.booleans() | numbers | texts | st.binary(max_size=3) | st.complex_numbers()
values = st.recursive(
    primitives | types | elements | arrays | scalars,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.lists(inner, max_size=2)
        | st.dictionaries(texts | st.integers(0, 3), inner, max_size=3)
    ),
    max_leaves=6,
)
kinds = st.sampled_from(["relu", "add", "reshape", "input", "output", "constant", "Foo", "a.b::C", "split"])
marks = st.dictionaries(st.sampled_from(["backend", "implementation", "operator", "shared"]), texts, max_size=1)
slots = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), max_size=2).map(tuple)


@st.composite
def node_data(draw: Any) -> dict[Any, Any]:
    """What a node says of itself."""
    data: dict[Any, Any] = {}
    if draw(st.booleans()):
        data["type"] = draw(kinds)
    if draw(st.booleans()):
        data["result"] = draw(types | st.lists(types, max_size=3).map(tuple) | st.none())
    if data.get("type") in ("input", "output"):
        data["index"] = draw(st.integers(0, 2))
    if data.get("type") == "constant":
        data["value"] = draw(arrays)
    reserved = {"type", "result", "origin", "index", "backend", "implementation", "operator", "shared", "use_kernel"}
    keys = texts.filter(lambda key: key not in reserved) | st.integers(0, 1)
    data.update(draw(st.dictionaries(keys, values, max_size=2)))
    data.update(draw(marks))
    return data


edge_data = st.one_of(
    st.just({"slots": ((0, 0),)}),
    st.just({}),
    st.just({"slots": (), "kind": "control"}),
    st.fixed_dictionaries({"slots": slots}, optional={"kind": texts, "weight": values}),
    st.dictionaries(st.sampled_from(["weight", "a b"]), values),
)


@st.composite
def digraphs(draw: Any) -> Graph:
    """Any digraph, as a Graph."""
    graph = Graph()
    attributes = st.dictionaries(texts | st.integers(0, 1), values, max_size=2)
    graph.graph.update({key: value for key, value in draw(attributes).items() if key != "name"})
    if draw(st.booleans()):
        graph.graph["name"] = draw(texts)
    nodes = draw(st.lists(names, max_size=5, unique=True))
    for name in nodes:
        graph.add_node(name)
        graph.nodes[name].update(draw(node_data()))
    if nodes:
        for _ in range(draw(st.integers(0, 6))):
            source, destination = draw(st.sampled_from(nodes)), draw(st.sampled_from(nodes))
            graph.add_edge(source, destination)
            graph.edges[source, destination].update(draw(edge_data))
    return graph


def rebuilt(graph: nx.DiGraph) -> Graph:
    """The same graph, everything added in the opposite order."""
    new = Graph(ops=getattr(graph, "ops", {}).values())
    new.graph.update(reversed(list(graph.graph.items())))
    for node, data in reversed(list(graph.nodes(data=True))):
        new.add_node(node)
        new.nodes[node].update(reversed(list(data.items())))
    for source, destination, data in reversed(list(graph.edges(data=True))):
        new.add_edge(source, destination)
        new.edges[source, destination].update(reversed(list(data.items())))
    return new


assert "Foo" not in LIBRARY
