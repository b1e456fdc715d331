"""Edges that say what comes after what, beside data flow."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, rule, verify
from graphrewrite.errors import GraphError
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.rules import RULES, merge_equal_nodes
from graphrewrite.testing import graphs, inputs_for

F = Tensor("f32", ("N", 2))


@rule
def relu_of_neg_as_clip(x):
    """No such identity holds; what matters is what is replaced."""
    yield op.relu(op.neg(x))
    return op.abs(x)


@rule
def drop_identity(x):
    """The identity is its operand."""
    yield op.identity(x)
    return x


def two_branches() -> Graph:
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.relu(op.neg(op.identity(x))))
    graph.output("z", op.exp(x))
    return graph


@st.composite
def ordered_graphs(draw: st.DrawFn) -> Graph:
    """Graphs with a few control edges along their order; shrinks to few edges."""
    graph = draw(graphs())
    order = graph.in_order()
    for _ in range(draw(st.integers(1, 4))):
        first, second = sorted(draw(st.lists(st.integers(0, len(order) - 1), min_size=2, max_size=2, unique=True)))
        graph.add_control(order[first], order[second], kind=draw(st.sampled_from(["control", "memory"])))
    return graph


@given(ordered_graphs().flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))))
def test_rules_lose_no_order_and_no_value(case):
    graph, inputs = case
    # Inputs stay: what comes after one of them and no operand of it cannot go, or the order would be lost. Constants
    # are there at any time.
    later = {node for node in graph if graph.nodes[node]["type"] != "constant" and _earlier(graph, node)}
    later -= graph.dead_nodes()
    rules = [r for r in RULES if not hasattr(r, "apply_in_place")]
    made = rewrite(graph, [*rules, merge_equal_nodes])
    verify(made)
    assert later <= set(made)
    assert all(_earlier(graph, node) <= made.pred[node].keys() for node in later)
    with np.errstate(all="ignore"):
        before, after = evaluate(graph, inputs), evaluate(made, inputs)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)


def _earlier(graph: Graph, node: str) -> set[str]:
    """The inputs that it comes after and does not read."""
    return {source for source, data in graph.pred[node].items() if source in graph.inputs and not data["slots"]}


def test_it_is_no_operand_and_is_respected():
    graph = two_branches()
    assert graph.in_order().index("relu_1") < graph.in_order().index("exp_1")
    graph.add_control("exp_1", "neg_1")
    assert graph.in_order().index("exp_1") < graph.in_order().index("neg_1")
    assert [o.node for o in graph.operands("neg_1")] == ["identity_1"]
    assert graph.controls("neg_1") == (("exp_1", "control"),)
    verify(graph)
    assert evaluate(graph, {"x": [[-1, 2]]})["y"].tolist() == [[1.0, 0.0]]


def test_what_comes_after_a_node_comes_after_what_replaces_it():
    for name, option in (("fast", {}), ("general", {"measure": lambda data: 1.0})):
        graph = two_branches()
        graph.add_control("relu_1", "exp_1")
        graph = rewrite(graph, [drop_identity])
        made = rewrite(graph, [relu_of_neg_as_clip], **option)
        assert made.controls("exp_1") == (("abs_1", "control"),), name
        assert "relu_1" not in made


def test_a_node_that_comes_after_another_is_not_replaced():
    graph = two_branches()
    graph.add_control("exp_1", "identity_1")
    assert rewrite(graph, [drop_identity]) == graph
    assert "comes after 'exp_1'" in str(drop_identity.explain(graph, at="identity_1"))


def test_an_inner_node_that_others_come_after_stays():
    graph = rewrite(two_branches(), [drop_identity])
    graph.add_control("neg_1", "exp_1")
    assert rewrite(graph, [relu_of_neg_as_clip]) == graph


def test_equal_nodes_with_an_order_of_their_own_stay_apart():
    graph = Graph("g")
    x = graph.input("x", F)
    graph.output("y", op.relu(x) + op.relu(x))
    graph.add_control("relu_1", "relu_2")
    assert set(merge_equal_nodes(graph)) == set(graph)


def test_what_is_wired_anew_keeps_its_order():
    graph = two_branches()
    graph.add_control("neg_1", "relu_1", kind="memory")
    rewire(graph, "neg_1", Operand("x"))
    assert graph.controls("relu_1") == (("neg_1", "memory"),)
    assert graph.operands("relu_1") == (Operand("x"),)


def test_an_operand_that_comes_first_is_one_edge():
    graph = two_branches()
    graph.add_control("neg_1", "relu_1", kind="memory")
    assert graph.edges["neg_1", "relu_1"] == {"slots": ((0, 0),), "kind": "memory"}
    assert [o.node for o in graph.operands("relu_1")] == ["neg_1"]


@pytest.mark.parametrize(
    ("source", "destination", "message"),
    [
        ("relu", "exp_1", "did you mean 'relu_1'"),
        ("x", "w", "not in the graph"),
        ("x", "x", "cannot come after itself"),
    ],
)
def test_a_wrong_one_is_refused(source, destination, message):
    graph = two_branches()
    with pytest.raises(GraphError, match=message):
        graph.add_control(source, destination)
    assert graph == two_branches()


def test_an_order_that_goes_round_is_a_cycle():
    graph = two_branches()
    graph.add_control("relu_1", "neg_1")
    with pytest.raises(GraphError, match="cycle"):
        graph.in_order()


@pytest.mark.parametrize("kind", [3, "", None, ["memory"]])
def test_the_kind_of_an_order_is_a_word(kind):
    graph = two_branches()
    with pytest.raises(GraphError, match="the kind of an ordering edge is a non-empty string, got"):
        graph.add_control("x", "relu_1", kind)
    assert graph == two_branches()
