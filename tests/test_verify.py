from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from graphrewrite import Graph, Tensor, op, verify
from graphrewrite.errors import VerificationError
from graphrewrite.testing import graphs

F = Tensor("f32", ("N", 2))


def sound() -> Graph:
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.relu(x) - x * np.ones(2, np.float32))
    return graph


@given(graphs())
def test_generated_graphs_are_sound(graph):
    verify(graph)


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (lambda g: g.edges["x", "relu_1"].clear(), "'relu_1': the slots"),
        (lambda g: g.edges["mul_1", "sub_1"].update(slots=((0, 0),)), "'sub_1': the slots"),
        (lambda g: g.nodes["relu_1"].update(type="rellu"), "did you mean 'relu'"),
        (
            lambda g: g.nodes["relu_1"].update(result=Tensor("f64", ("N", 2))),
            "relu gives .*, and the node is declared f64",
        ),
        (lambda g: g.nodes["relu_1"].update(alpha=1), "relu has no attribute 'alpha'"),
        (lambda g: g.nodes["constant_1"].update(value=np.ones(3)), "holds an array of shape \\[3\\]"),
        (lambda g: g.nodes["x"].pop("result"), "'x': an input needs a result type"),
        (lambda g: g.edges["x", "relu_1"].update(slots=((0, 1),)), "reads result 1 of 'x', which has fewer"),
        (lambda g: g.add_edge("sub_1", "relu_1", slots=((1, 0),)), "cycle"),
        (lambda g: g.add_edge("x", "y", slots=((1, 0),)), "an output has one operand, this has 2"),
        (lambda g: g.nodes["y"].update(index=4), "positions of its inputs or outputs"),
        (lambda g: g.remove_edge("relu_1", "sub_1"), "'sub_1'"),
    ],
)
def test_a_broken_graph_is_named(break_it, message):
    graph = sound()
    verify(graph)
    break_it(graph)
    with pytest.raises(VerificationError, match=message):
        verify(graph)


def test_every_fault_is_listed():
    graph = sound()
    graph.nodes["relu_1"]["type"] = "rellu"
    graph.nodes["constant_1"]["value"] = np.ones(3)
    with pytest.raises(VerificationError) as caught:
        verify(graph)
    assert len(str(caught.value).splitlines()) == 2
