"""Whole-graph clean-up where nodes are marked."""

from __future__ import annotations

from graphrewrite import Graph, Tensor, op
from graphrewrite.rules import merge_equal_nodes

F = Tensor("f32", ("N", 2))


def test_equal_nodes_in_different_places_are_not_merged():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.relu(x) + op.relu(x) + op.relu(x))
    graph.nodes["relu_1"]["backend"] = graph.nodes["relu_3"]["backend"] = "dsp"
    made = merge_equal_nodes(graph)
    assert {n: made.nodes[n].get("backend") for n in made if made.nodes[n]["type"] == "relu"} == {
        "relu_1": "dsp",
        "relu_2": None,
    }


def test_a_value_that_goes_to_two_places_goes_twice():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.transfer(x, backend="dsp"))
    graph.output("z", op.transfer(x, backend="gpu"))
    graph.output("w", op.transfer(x, backend="gpu"))
    made = merge_equal_nodes(graph)
    assert [made.attributes(o.node)["backend"] for out in made.outputs for o in made.operands(out)] == [
        "dsp",
        "gpu",
        "gpu",
    ]
    assert sum(made.nodes[n]["type"] == "transfer" for n in made) == 2
