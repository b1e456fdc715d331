"""Readers by name are those that the graph has, whatever came and went."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor
from graphrewrite.rewriting.match import Candidates

KINDS = frozenset({"neg", "abs"})


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30), st.booleans()), max_size=8), st.randoms())
def test_readers_are_found_by_name_while_nodes_come_and_go(rounds, rng):
    graph = Graph("g")
    graph.input("x", Tensor("f32", (3,)))
    candidates, count = Candidates(graph), 0
    for more, fewer, early in rounds:
        numbers = list(range(count, count + more))
        count += more
        rng.shuffle(numbers)
        for number in numbers:
            graph.add_node(f"n{number}", type=rng.choice(("neg", "relu", "abs")))
            graph.add_edge("x", f"n{number}", slots=((0, 0),))
        there = sorted(graph.succ["x"])
        graph.remove_nodes_from(there[:fewer] if early else rng.sample(there, min(fewer, len(there))))
        wanted = sorted(name for name in graph.succ["x"] if graph.nodes[name]["type"] in KINDS)
        for _ in range(2):
            assert list(candidates.of("x", KINDS)) == wanted
