"""Arguments that should be graphs: checked, and converted to `Graph`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError
from graphrewrite.graph.argument_errors import no_digraph
from graphrewrite.graph.edit_lock import check_readable
from graphrewrite.graph.graph import Graph

__all__ = ["as_graph", "check_digraph"]


def check_digraph(graph: Any, purpose: str) -> None:
    """Raise unless an argument is a networkx.DiGraph to be read; ``purpose`` ends the sentence "X is not a graph".

    Examples
    --------
    >>> check_digraph(3, "that can be drawn")
    Traceback (most recent call last):
    graphrewrite.errors.GraphError: int is not a graph that can be drawn; make it a networkx.DiGraph
    """
    if isinstance(graph, nx.DiGraph) and not graph.is_multigraph():
        check_readable(graph)
        return
    advice = no_digraph(graph)
    if isinstance(graph, Mapping) and any(isinstance(each, nx.DiGraph) for each in graph.values()):
        advice = f"give one of its graphs: {', '.join(map(repr, graph))}"
    kind = f"networkx.{type(graph).__name__}" if isinstance(graph, nx.Graph) else type(graph).__name__
    raise GraphError(f"{kind} is not a graph {purpose}; {advice}")


def as_graph(graph: Any, purpose: str) -> Graph:
    """Return a graph itself, or a plain digraph as a `Graph` with the same data."""
    check_digraph(graph, purpose)
    return graph if isinstance(graph, Graph) else Graph(graph)
