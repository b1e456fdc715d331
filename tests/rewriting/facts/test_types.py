"""Type inference is an analysis like any other."""

from __future__ import annotations

from hypothesis import given

from graphrewrite import Graph
from graphrewrite.rewriting.facts import facts_of, types
from graphrewrite.testing import graphs


@given(graphs())
def test_types_are_those_that_are_declared(graph: Graph) -> None:
    assert dict(facts_of(graph, types)) == {
        node: data["result"] for node, data in graph.nodes(data=True) if data.get("result") is not None
    }
