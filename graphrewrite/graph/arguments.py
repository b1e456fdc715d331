"""Arguments that should be graphs or ops: checked, and converted to `Graph`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError
from graphrewrite.graph.graph import Graph
from graphrewrite.op.op import Op

__all__ = ["as_graph", "check_digraph", "ops_by_name"]


def check_digraph(graph: Any, purpose: str) -> None:
    """Raise unless an argument is a networkx.DiGraph; ``purpose`` ends the sentence "X is not a graph".

    Examples
    --------
    >>> check_digraph(3, "that can be drawn")
    Traceback (most recent call last):
    graphrewrite.errors.GraphError: int is not a graph that can be drawn; make it a networkx.DiGraph
    """
    if isinstance(graph, nx.DiGraph) and not graph.is_multigraph():
        return
    advice = "make it a networkx.DiGraph"
    if isinstance(graph, Mapping) and any(isinstance(each, nx.DiGraph) for each in graph.values()):
        advice = f"give one of its graphs: {', '.join(map(repr, graph))}"
    kind = f"networkx.{type(graph).__name__}" if isinstance(graph, nx.Graph) else type(graph).__name__
    raise GraphError(f"{kind} is not a graph {purpose}; {advice}")


def as_graph(graph: Any, purpose: str) -> Graph:
    """Return a graph itself, or a plain digraph as a `Graph` with the same data."""
    check_digraph(graph, purpose)
    return graph if isinstance(graph, Graph) else Graph(graph)


def ops_by_name(ops: Any) -> dict[str, Op]:
    """Return ops by name; raise if the argument is not an iterable of `Op`.

    Examples
    --------
    >>> ops_by_name(["window"])
    Traceback (most recent call last):
    graphrewrite.errors.GraphError: ops must be an iterable of Op, such as graph.ops.values(), got ['window']
    """
    listed = list(ops) if isinstance(ops, Iterable) else None
    if listed is None or not all(isinstance(op, Op) for op in listed):
        raise GraphError(f"ops must be an iterable of Op, such as graph.ops.values(), got {ops!r}")
    return {op.name: op for op in listed}
