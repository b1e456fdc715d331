"""What is given as a graph: one of this library's, a plain digraph of networkx, or no graph at all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError
from graphrewrite.graph import Graph

__all__ = ["as_graph", "check_digraph"]


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
