"""Names of new nodes never clash, and follow from the names that are there; so does the order of nodes."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.rewriting.digraph_rules import fresh_name, from_graphs, non_overlapping
from graphrewrite.rewriting.digraph_rules.naming import Names, in_order, order_key

NAMES = st.one_of(
    st.sampled_from(["a", "a_0", "a_1", "a_2", "a_7", "a_", "_1", "a_b", "a_b_3", "7", ""]),
    st.integers(0, 3),
    st.tuples(),
)


@given(st.sets(NAMES), NAMES)
def test_fresh_names_are_fresh(taken: set, request: object) -> None:
    name = fresh_name(taken, request)
    assert name not in taken
    assert name == request or request in taken


@given(st.sets(NAMES), st.lists(NAMES))
def test_names_planned_together_differ(taken: set, requests: list) -> None:
    names, planned = Names(taken), {}
    for request in requests:
        planned[names.fresh(request, planned)] = None
    assert len(planned) == len(requests)
    assert not taken & set(planned)


def test_planning_takes_no_name() -> None:
    names = Names({"a"})
    assert [names.fresh("a"), names.fresh("a")] == ["a_1", "a_1"]


@given(st.lists(st.tuples(NAMES, NAMES), max_size=12), st.randoms(use_true_random=False))
def test_order_follows_edges_and_not_insertion(edges: list, rng) -> None:
    graph = nx.DiGraph(edges)
    order = in_order(graph)
    assert sorted(order, key=order_key) == sorted(graph, key=order_key)
    if nx.is_directed_acyclic_graph(graph):
        place = {node: index for index, node in enumerate(order)}
        assert all(place[a] < place[b] for a, b in graph.edges)
    other = nx.DiGraph()
    other.add_nodes_from(rng.sample(list(graph), len(graph)))
    other.add_edges_from(rng.sample(edges, len(edges)))
    assert in_order(other) == order


@pytest.mark.parametrize(
    ("edges", "order"),
    [
        ([("b", "a")], ["b", "a"]),
        ([("b", "a"), ("a", "b")], ["a", "b"]),
        ([("c", "c"), ("c", "b"), ("b", "a")], ["c", "b", "a"]),
        ([(10, 9), (2, 9)], [2, 10, 9]),
    ],
)
def test_order(edges: list, order: list) -> None:
    assert in_order(nx.DiGraph(edges)) == order


def test_matches_that_do_not_overlap_can_be_carried_out_together() -> None:
    drop = from_graphs(
        nx.DiGraph([("s", "x"), ("x", "e")]), nx.DiGraph([("s", "e")]), name="drop", interface=["s", "e"]
    )
    kept = non_overlapping(drop.find(nx.path_graph(9, nx.DiGraph)))
    assert [match.interior for match in kept] == [(1,), (3,), (5,), (7,)]
    assert kept[0].nodes == (0, 1, 2)
