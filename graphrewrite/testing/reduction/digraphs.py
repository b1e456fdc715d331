"""Reduction of digraphs of any kind: nodes, edges and attributes dropped."""

from __future__ import annotations

from functools import partial
from typing import Any

from graphrewrite.testing.reduction.case import Case, Ways

__all__ = ["drop_anything"]


def drop_anything(case: Case) -> Ways:
    """Drop a node, an edge, or an attribute of either, or of the graph."""
    graph = case.graph
    for node in reversed(list(graph)):
        yield partial(_without, "node", node, None)
    for edge in reversed(list(graph.edges)):
        yield partial(_without, "edge", edge, None)
    for kind, items in (("node", graph.nodes.items()), ("edge", graph.edges.items()), ("graph", [(None, graph.graph)])):
        for at, data in items:
            for key in list(data):
                yield partial(_without, kind, at, key)


def _without(kind: str, at: Any, key: Any, case: Case) -> Case | None:
    new = case.graph.copy()
    if kind == "graph":
        data = new.graph
    else:
        views = new.nodes if kind == "node" else new.edges
        if at not in views:
            return None
        if key is None:
            (new.remove_node(at) if kind == "node" else new.remove_edge(*at))
            return Case(new)
        data = views[at]
    if key not in data:
        return None
    del data[key]
    return Case(new)
