"""Whether the replacement of several roots would close a cycle."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import networkx as nx

from graphrewrite.graph import Graph
from graphrewrite.rewriting.match import Root
from graphrewrite.rewriting.rule.replacement import Bound, New, Part, new_parts

__all__ = ["closes_cycle", "waits_in_circle"]


def closes_cycle(graph: Graph, matched: Collection[str], roots: Sequence[Root], parts: Sequence[Part]) -> bool:
    """Tell whether a replacement of several roots would read a value that depends on it.

    One root never does: all that a match binds lies above its root, among the nodes that it depends on.
    """
    nodes = {node for node, _ in roots}
    if len(nodes) < 2:
        return False
    leaves: dict[int, set[str]] = {}
    for (node, _), part in zip(roots, parts, strict=True):
        if id(part) not in leaves:
            predicate = graph.predicate(node)
            leaves[id(part)] = _leaves(part) | ({predicate.node} if predicate is not None else set())
    return waits_in_circle(graph, matched, [node for node, _ in roots], [leaves[id(part)] for part in parts])


def waits_in_circle(
    graph: Graph, matched: Collection[str], roots: Sequence[str], leaves: Sequence[Collection[str]]
) -> bool:
    """Tell whether roots, each replaced by what is computed from some leaves, would wait for each other."""
    # Which root's replacement waits for which other: a cycle of these is one of the new graph. Whether a leaf depends
    # on a root is searched for only where the match does not say it: operands of the root never do.
    nodes = set(roots)
    sources = {node: _sources(graph, node, matched) for node in nodes}
    waits: dict[str, set[str]] = {}
    dependencies: dict[str, set[str]] = {}
    for node, its in zip(roots, leaves, strict=True):
        for leaf in its:
            if leaf not in dependencies:
                doubtful = {n for n in nodes if n != leaf and leaf not in sources[n]}
                dependencies[leaf] = _dependencies(graph, leaf, doubtful, nodes) if doubtful else set()
            waits.setdefault(node, set()).update(dependencies[leaf])
    return not nx.is_directed_acyclic_graph(nx.DiGraph((a, b) for a, others in waits.items() for b in others))


def _sources(graph: Graph, root: str, matched: Collection[str]) -> set[str]:
    """Return the nodes that a root reads by way of matched nodes: without a cycle, none of them depends on the root."""
    sources: set[str] = set()
    work = [root]
    while work:
        for source in graph._pred[work.pop()]:
            if source not in sources:
                sources.add(source)
                work.extend((source,) if source in matched else ())
    return sources


def _dependencies(graph: Graph, leaf: str, doubtful: set[str], roots: set[str]) -> set[str]:
    """Return the roots that a value depends on, by paths on which no other value is replaced.

    The search alternates between steps up from the value and down from the roots: the smaller side ends it.
    """
    up, above = [leaf], {leaf}
    down, below = list(doubtful), set(doubtful)
    reached = False
    while up and (down or reached):
        if not reached:
            for node in graph._succ[down.pop()]:
                reached = reached or node == leaf
                if node not in below and node not in roots:
                    below.add(node)
                    down.append(node)
        for source in graph._pred[up.pop()]:
            if source not in above:
                above.add(source)
                if source not in roots:
                    up.append(source)
    return above & doubtful if not up else set()


def _leaves(part: Part) -> set[str]:
    """Return the nodes of the graph that a replacement reads."""
    parts = [part, *(p for new in new_parts([part]) if isinstance(new, New) for p in new.operands)]
    return {p.node for p in parts if isinstance(p, Bound)}
