"""Operators: nodes that share attributes and parameters."""

from __future__ import annotations

import re

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, verify
from graphrewrite.errors import GraphError, TypeMismatchError, VerificationError
from graphrewrite.hierarchy.operator import Operator
from graphrewrite.rules import eliminate_dead_nodes

X = Tensor("f32", ("N", 1, 8, 8))
W = np.ones((1, 1, 3, 3), np.float32)


def twice() -> tuple[Graph, Operator]:
    graph = Graph("g")
    layer = Operator(graph, op.conv, W, name="conv_a", strides=(1, 1), pads=(1, 1, 1, 1))
    graph.output("y", layer(layer(graph.input("x", X))))
    verify(graph)
    return graph, layer


def test_nodes_share_attributes_and_parameters() -> None:
    graph, layer = twice()
    assert layer.nodes == ("conv_1", "conv_2")
    assert {graph.operands(node)[1].node for node in layer.nodes} == {"constant_1"}
    assert {graph.nodes[node]["operator"] for node in layer.nodes} == {"conv_a"}
    assert graph.attributes("conv_1") == graph.attributes("conv_2") == layer.attributes
    assert repr(layer) == "<operator 'conv_a': conv, 2 nodes>"
    x = np.ones((1, 1, 8, 8), np.float32)
    padded = {"strides": (1, 1), "pads": (1, 1, 1, 1)}
    wanted = op.conv(op.conv(x, W, **padded), W, **padded)
    assert np.array_equal(evaluate(graph, {"x": x})["y"], wanted)


def test_attributes_change_for_all_and_types_follow() -> None:
    graph, layer = twice()
    layer.set(pads=(0, 0, 0, 0))
    assert str(graph.result_type("conv_1")) == "f32[N,1,6,6]"
    assert str(graph.result_type("conv_2")) == "f32[N,1,4,4]"
    verify(graph)
    assert "pads" not in graph.nodes["conv_1"]  # a default is not stored
    assert graph.nodes["conv_1"]["operator"] == "conv_a"
    assert layer.attributes["pads"] == (0, 0, 0, 0)


def test_a_change_that_fits_not_all_changes_none() -> None:
    graph, layer = twice()
    graph.output("z", graph.value("x") + graph.value("conv_1"))
    before = graph.copy()
    with pytest.raises(TypeMismatchError, match="add"):
        layer.set(strides=(2, 2))
    assert graph == before
    assert layer.attributes["strides"] == (1, 1)
    with pytest.raises(TypeMismatchError, match="did you mean 'stride"):
        layer.set(stridse=(2, 2))
    assert graph == before


def test_attributes_are_set_before_the_first_node() -> None:
    graph = Graph("g")
    layer = Operator(graph, op.conv, W)
    layer.set(strides=(2, 2))
    assert layer.nodes == ()
    assert str(layer(graph.input("x", X)).type) == "f32[N,1,3,3]"
    assert layer.name == "conv_operator_1"
    assert Operator(graph, op.conv, W).name == "conv_operator_2"


def test_an_operator_is_found_in_a_graph() -> None:
    graph, _ = twice()
    copied = eliminate_dead_nodes(graph)
    layer = Operator.of(copied, "conv_a")
    assert layer.nodes == ("conv_1", "conv_2")
    assert [value.node for value in layer.parameters] == ["constant_1"]
    copied.output("z", layer(copied.value("x")))
    layer.set(dilations=(1, 1))
    verify(copied)
    assert layer.nodes == ("conv_1", "conv_2", "conv_3")
    with pytest.raises(GraphError, match=re.escape("no node of the graph 'g' has the operator 'conv_b'; did you mean")):
        Operator.of(graph, "conv_b")


def test_parameters_may_be_values_and_operands_several() -> None:
    graph = Graph("g")
    x, y = graph.input("x", Tensor("f32", (3,))), graph.input("y", Tensor("f32", (3,)))
    scale = Operator(graph, op.fma, graph.value("y"), name="scale")
    graph.output("z", scale(scale(x, y), x))
    verify(graph)
    assert Operator.of(graph, "scale").parameters[-1].node == "y"


def other_weight(graph: Graph) -> None:
    graph.constant(W, name="w")
    graph.remove_edge("constant_1", "conv_2")
    graph.add_edge("w", "conv_2", slots=((1, 0),))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda g: g.nodes["conv_2"].update(dilations=(2, 2), pads=(2, 2, 2, 2)), "differs in"),
        (lambda g: g.nodes["conv_2"].update(type="identity"), "differs in its op"),
        (other_weight, "differs in its parameters"),
    ],
)
def test_the_verifier_finds_nodes_that_differ(change, said: str) -> None:
    graph, _ = twice()
    change(graph)
    with pytest.raises(VerificationError, match=f"node 'conv_2': {said}.* 'conv_1' of the same operator 'conv_a'"):
        verify(graph)


def test_wrong_use() -> None:
    graph, _ = twice()
    before = graph.copy()
    with pytest.raises(GraphError, match="already has an operator 'conv_a'"):
        Operator(graph, op.conv, W, name="conv_a")
    with pytest.raises(GraphError, match="is a value of another graph"):
        Operator(graph, op.conv, W, Graph("h").input("x", X))
    with pytest.raises(TypeMismatchError, match="no attribute 'stridse'"):
        Operator(graph, op.conv, W, stridse=2)
    with pytest.raises(TypeMismatchError, match="takes at most"):
        Operator(graph, op.relu, W, W)
    assert graph == before
