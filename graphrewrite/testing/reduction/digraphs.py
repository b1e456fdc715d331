"""Smaller digraphs of any kind: fewer nodes, fewer edges, fewer attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from graphrewrite.testing.reduction.case import Case

__all__ = ["drop_anything"]


def drop_anything(case: Case) -> Iterator[Callable[[Case], Case | None]]:
    """Drop a node, an edge, or an attribute of either, or of the graph."""
    graph = case.graph
    for node in reversed(list(graph)):
        yield partial(_without, "node", node, None)
    for edge in reversed(list(graph.edges)):
        yield partial(_without, "edge", edge, None)
    for kind, found in (("node", graph.nodes.items()), ("edge", graph.edges.items()), ("graph", [(None, graph.graph)])):
        for place, data in found:
            for key in list(data):
                yield partial(_without, kind, place, key)


def _without(kind: str, place: Any, key: Any, case: Case) -> Case | None:
    new = case.graph.copy()
    if kind == "graph":
        data = new.graph
    else:
        views = new.nodes if kind == "node" else new.edges
        if place not in views:
            return None
        if key is None:
            (new.remove_node(place) if kind == "node" else new.remove_edge(*place))
            return Case(new)
        data = views[place]
    if key not in data:
        return None
    del data[key]
    return Case(new)
