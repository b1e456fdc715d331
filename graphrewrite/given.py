"""What is given as a graph: one of this library's, a plain digraph of networkx, or no graph at all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError
from graphrewrite.graph import Graph
from graphrewrite.op.op import Op

__all__ = ["as_graph", "check_digraph", "ops_by_name"]


def check_digraph(given: Any, purpose: str) -> None:
    """Raise unless something is a digraph.

    Parameters
    ----------
    given : object
        What a user has given.
    purpose : str
        What it is for, after "no graph".

    Raises
    ------
    GraphError
        Saying what it is, and what it should be.

    Examples
    --------
    >>> check_digraph(3, "that can be drawn")
    Traceback (most recent call last):
    graphrewrite.errors.GraphError: int is no graph that can be drawn; make it a networkx.DiGraph
    """
    if isinstance(given, nx.DiGraph) and not given.is_multigraph():
        return
    help_ = "make it a networkx.DiGraph"
    if isinstance(given, Mapping) and any(isinstance(each, nx.DiGraph) for each in given.values()):
        help_ = f"give one of its graphs: {', '.join(map(repr, given))}"
    named = f"networkx.{type(given).__name__}" if isinstance(given, nx.Graph) else type(given).__name__
    raise GraphError(f"{named} is no graph {purpose}; {help_}")


def as_graph(given: Any, purpose: str) -> Graph:
    """Return what is given as one of this library's graphs: itself, or a view of a plain digraph with its data.

    Parameters
    ----------
    given : object
        What a user has given.
    purpose : str
        What it is for, after "no graph".

    Returns
    -------
    Graph

    Raises
    ------
    GraphError
        If it is no digraph.
    """
    check_digraph(given, purpose)
    return given if isinstance(given, Graph) else Graph(given)


def ops_by_name(given: Any) -> dict[str, Op]:
    """Return the ops that are given beside those of the library, by name.

    Parameters
    ----------
    given : iterable of Op
        Perhaps something else.

    Returns
    -------
    dict of str to Op

    Raises
    ------
    GraphError
        If it is something else.

    Examples
    --------
    >>> ops_by_name(["window"])
    Traceback (most recent call last):
    graphrewrite.errors.GraphError: ops are given as a list of Op, such as the values of graph.ops, not as ['window']
    """
    found = list(given) if isinstance(given, Iterable) else [given]
    if not isinstance(given, Iterable) or not all(isinstance(each, Op) for each in found):
        raise GraphError(f"ops are given as a list of Op, such as the values of graph.ops, not as {given!r}")
    return {op.name: op for op in found}
