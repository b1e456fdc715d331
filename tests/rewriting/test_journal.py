"""What an edit in place leaves behind where it fails: nothing."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

from graphrewrite import Graph, Tensor, define_op, op, rewrite, rule
from graphrewrite.errors import RewriteError
from graphrewrite.rewriting.engine.journal import Journal

VECTOR = Tensor("f32", (3,))


@define_op
def wrapped(a):
    """An op that a graph does not know until a rule brings it."""
    return a


@rule
def wrap(x):
    """As data: the fused way."""
    yield op.neg(x)
    return wrapped(x)


@rule
def wrap_by_hand(x):
    """With Python below the yield: the ordinary way."""
    root = op.neg(x)
    yield root
    return wrapped(x) if root.readers else x


@rule
def change_back(x):
    yield op.relu(x)
    return op.abs(x)


@rule
def fail(x):
    yield op.exp(x)
    return op.arg_max(x)


def chain() -> Graph:
    graph = Graph("g")
    graph.output("y", op.exp(op.relu(op.neg(graph.input("x", VECTOR)))))
    return graph


def seen(graph: Graph) -> Any:
    return str(graph), list(graph), list(graph.edges(data=True)), dict(graph.ops), dict(graph._fresh)


@pytest.mark.parametrize("bringing", [wrap, wrap_by_hand])
def test_ops_and_names_that_came_with_a_replacement_go_with_it(bringing):
    graph = chain()
    before = seen(graph)
    with pytest.raises(RewriteError, match="rule 'fail'"):
        rewrite(graph, [bringing, change_back, fail], copy=False)
    assert seen(graph) == before
    assert "wrapped" not in graph.ops
    made = rewrite(graph, [bringing, change_back], copy=False)
    assert made is graph
    assert graph.ops["wrapped"] is wrapped


@pytest.mark.parametrize("bringing", [wrap, wrap_by_hand])
def test_steps_that_are_taken_back_can_be_made_again(bringing):
    graph = chain()
    before = seen(graph)
    for _ in range(2):
        with pytest.raises(RewriteError, match="rule 'fail'"):
            rewrite(graph, [bringing, change_back, fail], copy=False)
        assert seen(graph) == before
    assert str(rewrite(graph, [bringing, change_back], copy=False)) == str(rewrite(chain(), [bringing, change_back]))


def test_a_journal_of_a_plain_digraph_keeps_the_order_of_its_nodes():
    graph = nx.DiGraph([("c", "a"), ("a", "b")])
    journal = Journal(graph)
    assert journal == []
    assert journal.names == ["c", "a", "b"]
    assert journal.kept == {}
    journal.undo()
    assert list(graph) == ["c", "a", "b"]
