"""Affected nodes: the anchors at which an edit can have enabled a match."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, TypeAlias

import networkx as nx

from graphrewrite.graph.edit import Edit
from graphrewrite.rewriting.digraph_rules.plan import Routes
from graphrewrite.rewriting.digraph_rules.search import Search
from graphrewrite.rewriting.engine.neighbourhood import nodes_near

__all__ = ["enabled_by"]

Edge: TypeAlias = tuple[Hashable, Hashable]
Start: TypeAlias = tuple[Hashable, Any]
"""A node of the pattern, and a node that may match it."""


def enabled_by(
    search: Search, graph: nx.DiGraph, routes: Routes, new_edges: Iterable[Edge] | None, radius: int, edit: Edit
) -> list[Any]:
    """Return the nodes at which a rule may match that did not match before an edit, or declined.

    A match that is new holds something that changed: an edge that was added, an interior node that lost a neighbour.
    From there the way to the anchor is as in the pattern, so that a neighbour with thousands of other edges costs
    nothing.
    """
    if search.pattern.without:
        return list(nodes_near(graph, edit, radius))  # the forbidden part may have gone from anywhere nearby
    steps = {step.name: step for step in search.plan.steps}
    anchors: dict[Any, None] = {}
    for name, node in dict.fromkeys(_starts(search, routes, new_edges, edit)):
        if node not in search.node or not search.is_possible(steps[name], node):
            continue
        layer: Iterable[Any] = (node,)
        while layer and routes[name].distance:
            _, name, forward = routes[name]
            near = search.succ if forward else search.pred
            layer = dict.fromkeys(m for n in layer for m in near[n] if search.is_possible(steps[name], m))
        anchors.update(dict.fromkeys(layer))
    return list(anchors)


def _starts(search: Search, routes: Routes, new_edges: Iterable[Edge] | None, edit: Edit) -> Iterator[Start]:
    """Yield nodes at a change, each with a node of the pattern that it may match."""
    pattern, nodes = search.pattern, search.node
    for node, _ in edit.changed:
        for name in pattern.graph:
            yield from _standing(search, name, node)
    if len(pattern.single) == 1:  # where the pattern has edges, a match with a new node has a new edge
        yield from ((pattern.single[0], node) for node, _ in edit.added)
    # Edges that are new, or carry other data: an edge of the pattern.
    linked = [(a, b) for a, b, _ in edit.linked if a in nodes and b in nodes]
    for p, q in pattern.graph.edges:
        if p in routes and q in routes:
            for a, b in linked:
                if (a == b) == (p == q):
                    yield (p, a) if routes[p].distance <= routes[q].distance else (q, b)
    # Edges that came or went between matched nodes: they decide what the replacement would change, and, of an induced
    # pattern, whether it matches. Either end will do; of the one with fewer edges, fewer are looked at.
    moved = [*linked, *(edge for edge in edit.unlinked if edge[0] in nodes and edge[1] in nodes)]
    for p, q in new_edges or ():
        for a, b in moved:
            first = q not in routes or (p in routes and _edges(search, a) <= _edges(search, b))
            yield from _standing(search, p, a) if first else _standing(search, q, b)
    for name in pattern.graph if new_edges is None or pattern.induced else ():
        for a, b in moved:
            if pattern.groups or _edges(search, a) <= _edges(search, b):
                yield from _standing(search, name, a)
            if pattern.groups or _edges(search, a) > _edges(search, b):
                yield from _standing(search, name, b)
    # An interior node has fewer outside neighbours, or, where they are a group, others.
    removed = [entry for entry in edit.lost if len(entry) == 4]
    bare_in = [reader for _, _, _, readers in removed for reader in readers if reader in nodes]
    bare_out = [source for _, _, sources, _ in removed for source in sources if source in nodes]
    for side in search.sides:
        yield from ((side.name, node) for node in (bare_out if side.forward else bare_in))
        for a, b in moved if side.group is not None else edit.unlinked:
            yield side.name, a if side.forward else b


def _edges(search: Search, node: Any) -> int:
    return len(search.pred[node]) + len(search.succ[node])


def _standing(search: Search, name: Hashable, node: Any) -> Iterator[Start]:
    """Yield a node under a name; under the name of a group, its neighbours that the group surrounds."""
    if name not in search.pattern.groups:
        yield name, node
        return
    for side in search.sides:
        if side.group == name:
            near = (search.pred if side.forward else search.succ).get(node, ())
            yield from ((side.name, other) for other in near)
