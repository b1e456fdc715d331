"""Undoing: a graph as it was, where something of several nodes fails half-way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from graphrewrite.errors import GraphRewriteError

if TYPE_CHECKING:
    from graphrewrite.graph.graph import Graph

__all__ = ["undone_on_error"]


@contextmanager
def undone_on_error(graphs: Iterable[Graph], what: str) -> Iterator[None]:
    """Remove what was built in some graphs if it fails half-way; the error says what was being built."""
    # To be restored: the number of nodes, the ops and the counters of fresh names.
    given = {id(graph): graph for graph in graphs}.values()
    before = [(graph, len(graph), dict(graph.ops), dict(graph._fresh)) for graph in given]
    try:
        yield
    except Exception as error:
        for graph, count, ops, fresh in before:
            graph.remove_nodes_from(list(graph)[count:])  # new nodes come last
            graph.ops = ops
            graph._fresh.clear()
            graph._fresh.update(fresh)
        if isinstance(error, GraphRewriteError):
            error.add_note(f"in {what}")
        raise
