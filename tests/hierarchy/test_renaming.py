"""Renamed graphs are the same graphs, with what refers to nodes by name."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Module, Tensor, evaluate, op, verify
from graphrewrite.errors import GraphError, VerificationError
from graphrewrite.testing import graphs

X = Tensor("f32", ("N", 2))


def small() -> Graph:
    graph = Graph("g", author="me")
    x = graph.input("x", X)
    graph.output("y", op.relu(op.sub(x, np.ones(2, np.float32))))
    graph.view("middle", ["sub_1"])
    return graph


@given(st.data())
def test_a_renamed_graph_is_the_same_graph(data: st.DataObject) -> None:
    graph = data.draw(graphs())
    nodes = list(graph)
    view = graph.view("some", data.draw(st.lists(st.sampled_from(nodes), unique=True)))
    shuffled = data.draw(st.permutations(nodes))  # names change places
    names = dict(zip(nodes, shuffled, strict=True))
    new = graph.renamed(names)
    verify(new)
    assert graph.equals(new, names=False)
    assert list(new) == shuffled
    for node in nodes:
        assert new.operands(names[node]) == tuple(o._replace(node=names[o.node]) for o in graph.operands(node))
    assert new.view("some").nodes == {names[node] for node in view}
    for side in ("input_operands", "output_operands"):
        values = getattr(view, side)
        assert getattr(new.view("some"), side) == tuple(o._replace(node=names[o.node]) for o in values)
    assert list(graph) == nodes
    assert new.renamed({b: a for a, b in names.items()}) == graph


def test_what_is_no_name_of_a_node_stays() -> None:
    module = Module("net")
    block, main = module.add_graph("block"), module.add_graph("main")
    weights = module.constant("w", np.float32([1, 2]))
    block.output("y", op.mul(block.input("x", X), weights.on(block)))
    main.output("y", module.op("block")(main.input("x", X)))
    main.nodes["block_1"]["note"] = ["block_1"]
    module["block"], module["main"] = module["block"].renamed({"w": "x", "x": "w"}), main.renamed({"block_1": "b"})
    verify(module)
    assert module["block"].nodes["x"]["shared"] == "w"
    assert module["main"].nodes["b"]["type"] == "block"
    assert module["main"].nodes["b"]["note"] == ["block_1"]
    assert module["main"].origin("b") == ("block_1",)
    module.set_constant("w", [3, 3])
    assert evaluate(module["main"], {"x": [[1, 2]]})["y"].tolist() == [[3, 6]]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"z": "a"}, "node 'z': is not in the graph"),
        ({"x": "y"}, "node 'x': cannot be renamed to 'y', which is the name of another node"),
        (lambda name: "same", "node 'constant_1': cannot be renamed to 'same', which is the new name of 'x'"),
        ({"x": ""}, "node names are non-empty strings, got ''"),
        (len, "node names are non-empty strings, got 1"),
        (["x", "y"], "names are a mapping of old to new names, or a function, got ['x', 'y']"),
    ],
)
def test_names_that_do_not_fit(names, said: str) -> None:
    graph = small()
    with pytest.raises(GraphError, match=re.escape(said)):
        graph.renamed(names)
    assert graph == small()


def test_views_of_graphs_that_networkx_renamed_are_faults() -> None:
    with pytest.raises(VerificationError, match=r"its view 'middle' has a node 'sub_1' .*graph\.renamed"):
        verify(nx.relabel_nodes(small(), {"sub_1": "difference"}))
