"""Whether replacements of several roots wait for each other is what the new graph says, built and searched whole."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite.rewriting.engine.parts import waits_in_circle


@st.composite
def replacements(draw):
    size = draw(st.integers(2, 12))
    nodes = st.integers(0, size - 1)
    pairs = draw(st.lists(st.tuples(nodes, nodes), max_size=2 * size))
    graph = nx.DiGraph((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1])
    graph.add_nodes_from(range(size))
    roots = draw(st.lists(nodes, min_size=2, max_size=4, unique=True))
    matched = {*roots, *draw(st.lists(nodes, max_size=3))}
    leaves = [draw(st.sets(nodes, max_size=3)) for _ in roots]
    return graph, matched, roots, leaves


def closes_a_cycle(graph, roots, leaves):
    """The new graph, in which readers of a root read what replaces it."""
    new = nx.DiGraph(((a,) if a in roots else a, b) for a, b in graph.edges)
    new.add_edges_from((leaf, (root,)) for root, its in zip(roots, leaves, strict=True) for leaf in its)
    return not nx.is_directed_acyclic_graph(new)


@given(replacements())
def test_a_circle_is_found_where_the_new_graph_would_have_a_cycle(drawn):
    graph, matched, roots, leaves = drawn
    assert waits_in_circle(graph, matched, roots, leaves) == closes_a_cycle(graph, roots, leaves)
