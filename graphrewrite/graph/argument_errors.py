"""Errors for invalid names, nodes, values and graphs in calls of a graph's methods."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError, not_there
from graphrewrite.graph.value import Value

__all__ = ["check_value", "invalid_name", "no_digraph", "parallel_edge", "unknown_result"]


def unknown_result(nodes: Mapping[Any, Any], node: Any, result: int = 0) -> GraphError:
    """Return the error for a node or a result that does not exist.

    Examples
    --------
    >>> print(unknown_result({"relu_1": {}}, "relu_2"))
    node 'relu_2': is not in the graph; did you mean 'relu_1'?
    >>> print(unknown_result({"relu_1": {}}, "relu_1", 3))
    node 'relu_1': has no result 3; the first is 0
    """
    if node in nodes:
        return GraphError(f"has no result {result}; the first is 0", node=node)
    return not_there(node, nodes)


def invalid_name(name: Any) -> GraphError:
    """Return the error for the name of a new node: not a string, or taken.

    Examples
    --------
    >>> print(invalid_name(3))
    node names are non-empty strings, got 3
    >>> print(invalid_name("x"))
    node 'x': that name is taken; choose another or leave it out for a fresh one
    """
    if not isinstance(name, str) or not name:
        return GraphError(f"node names are non-empty strings, got {name!r}")
    return GraphError("that name is taken; choose another or leave it out for a fresh one", node=name)


def check_value(graph: Any, value: Any, purpose: str) -> None:
    """Raise unless an operand of a new node is a value of the same graph.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> Graph("g").output("y", 3)
    Traceback (most recent call last):
    graphrewrite.errors.GraphError: output takes a Value, got 3; pass what an input, a constant or an op returned
    """
    if not isinstance(value, Value):
        raise GraphError(f"{purpose} takes a Value, got {value!r}; pass what an input, a constant or an op returned")
    if value.graph is not graph:
        raise GraphError(
            f"belongs to another graph than the one that {purpose} is added to; copy it over first", node=value.node
        )
    if value.node not in graph._node:
        raise unknown_result(graph.nodes, value.node)


def no_digraph(graph: Any) -> str:
    """Return how a graph becomes a digraph, in words.

    Examples
    --------
    >>> no_digraph(nx.Graph())
    'make it a networkx.DiGraph: graph.to_directed() gives each edge both directions'
    >>> no_digraph(nx.MultiDiGraph([("a", "b"), ("a", "b")]))
    "make it a networkx.DiGraph: of several edges between two nodes, such as 'a' -> 'b', make one with all that they...
    """
    advice = "make it a networkx.DiGraph"
    if not isinstance(graph, nx.Graph):
        return advice
    if not graph.is_directed():
        return f"{advice}: graph.to_directed() gives each edge both directions"
    if (ends := parallel_edge(graph)) is None:
        return f"{advice}: networkx.DiGraph(graph)"
    return (
        f"{advice}: of several edges between two nodes, such as {ends[0]!r} -> {ends[1]!r}, make one with all "
        "that they say, or a node of each"
    )


def parallel_edge(graph: Any) -> tuple[Any, Any] | None:
    """Return the ends of the first of several edges between two nodes; None if there are none.

    Examples
    --------
    >>> parallel_edge(nx.MultiDiGraph([("a", "b"), ("b", "c"), ("b", "c")]))
    ('b', 'c')
    """
    if not isinstance(graph, nx.Graph) or not graph.is_multigraph():
        return None
    ends = ((a, b) for a, near in graph.adjacency() for b, keys in near.items() if len(keys) > 1)
    return next(ends, None)
