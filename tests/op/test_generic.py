"""Stand-ins for ops that are not known."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, define_op, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError, UnknownOpError
from graphrewrite.rules import RULES, eliminate_independent_nodes, merge_equal_nodes

F = Tensor("f32", ("N", 4))
SWIRL = op.generic("com.acme::Swirl")


def swirled() -> Graph:
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", SWIRL(x, op.relu(x), turns=3, table=np.arange(3), result=Tensor("f32", ("N", 2))))
    return graph


def test_any_operands_and_attributes():
    graph = swirled()
    verify(graph)
    (node,) = (n for n in graph if graph.nodes[n]["type"] == "com.acme::Swirl")
    assert graph.attributes(node)["turns"] == 3
    assert str(graph.result_type(node)) == "f32[N,2]"
    assert [o.node for o in graph.operands(node)] == ["x", "relu_1"]


def test_the_result_is_like_the_first_operand_unless_said():
    graph = Graph("g")
    x = graph.input("x", F)
    assert SWIRL(x).type == F
    a, b = op.generic("Split", results=2)(x, result=(F, Tensor("i64", ())))
    assert (a.type, b.type) == (F, Tensor("i64", ()))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: op.generic(""), "need a non-empty name"),
        (lambda x: op.generic("A", results=-1), "-1 results"),
        (lambda x: x.graph.add(SWIRL, []), "no operand to take it from"),
        (lambda x: op.generic("A", results=2)(x, result=(F,)), "has 2 results"),
        (lambda x: SWIRL(x, type="what"), "'type' is a reserved key of nodes"),
    ],
)
def test_what_cannot_be_is_refused(make, message):
    graph = Graph("g")
    x = graph.input("x", F)
    with pytest.raises(TypeMismatchError, match=message):
        make(x)
    assert list(graph) == ["x"]


def test_it_refuses_to_run():
    with pytest.raises(UnknownOpError, match=r"com\.acme::Swirl \(com"):
        evaluate(swirled(), {"x": np.zeros((1, 4))})
    with pytest.raises(EvaluationError, match="has no implementation"):
        SWIRL(np.zeros(3))


def test_it_is_found_and_replaced():
    @define_op(infer=lambda x, y, turns=0, table=None: Tensor("f32", ("N", 2)))
    def swirl(x, y, *, turns=0, table=None):
        return turns * (x + y)[:, :2]

    @rule
    def know_swirl(x, y):
        """A plugin knows what it is."""
        node = SWIRL(x, y)
        yield node
        return swirl(x, y, turns=node.turns)

    made = rewrite(swirled(), know_swirl)
    assert evaluate(made, {"x": np.ones((1, 4))})["y"].tolist() == [[6.0, 6.0]]


def test_it_is_never_folded_or_merged():
    graph = Graph("g")
    x = graph.input("x", F)
    two = SWIRL(x) + SWIRL(x)
    graph.output("y", two + SWIRL(graph.constant(np.ones(4, np.float32))))
    for change in (eliminate_independent_nodes, merge_equal_nodes, lambda g: rewrite(g, RULES)):
        assert sum(data["type"] == SWIRL.name for _, data in change(graph).nodes(data=True)) == 3


def test_it_pickles():
    assert pickle.loads(pickle.dumps(swirled())) == swirled()
