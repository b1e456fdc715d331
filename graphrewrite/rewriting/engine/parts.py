"""Whether the replacement of several roots would close a cycle."""

from __future__ import annotations

from collections import Counter
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
    if len({node for node, _ in roots}) < 2:
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
    # What a replacement reads of what its root has read keeps the order of the roots: a circle has another leaf in it.
    # Operands of a root never depend on it; where the match does not say it, whether leaves do is searched for.
    nodes = set(roots)
    sources = {node: _sources(graph, node, matched) for node in nodes}
    foreign = {x for node, its in zip(roots, leaves, strict=True) for x in its if x != node and x not in sources[node]}
    if not foreign or _between(graph, foreign, nodes) is None:
        return False
    operands_of = Counter(source for read in sources.values() for source in read)
    doubtful = {leaf for its in leaves for leaf in its if operands_of[leaf] + (leaf in nodes) < len(nodes)}
    between = _between(graph, doubtful, nodes)
    if between is None:
        return False
    # A replacement waits for its leaves, and a value for the replacements and values that it reads: the new graph.
    waits: list[tuple[object, object]] = [
        ((node,), leaf) for node, its in zip(roots, leaves, strict=True) for leaf in its if leaf in between
    ]
    for node in between:
        waits += [(node, (s,) if s in nodes else s) for s in graph._pred[node] if s in nodes or s in between]
    return not nx.is_directed_acyclic_graph(nx.DiGraph(waits))


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


def _between(graph: Graph, leaves: set[str], roots: set[str]) -> set[str] | None:
    """Return nodes that include all on the ways from roots to leaves; None where there is no such way.

    The search alternates between steps up from the leaves and down from the roots: the smaller side ends it. No way
    leads through another root, for its value is replaced.
    """
    pred, succ = graph._pred, graph._succ
    up, above, meets = list(leaves), set(leaves), False
    down, below = list(roots), set[str]()
    while up and down:
        for reader in succ[down.pop()]:
            if reader not in below:
                below.add(reader)
                down.extend(() if reader in roots else (reader,))
        for source in pred[up.pop()]:
            if source in roots:
                meets = True
            elif source not in above:
                above.add(source)
                up.append(source)
    if not up:
        return above if meets else None
    return None if below.isdisjoint(leaves) else below | leaves


def _leaves(part: Part) -> set[str]:
    """Return the nodes of the graph that a replacement reads."""
    parts = [part, *(p for new in new_parts([part]) if isinstance(new, New) for p in new.operands)]
    return {p.node for p in parts if isinstance(p, Bound)}
