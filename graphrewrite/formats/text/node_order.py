"""Order in which the nodes of a graph are printed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx

from graphrewrite.formats.text.node_edges import by_name, slots_of

__all__ = ["in_writing_order"]


def in_writing_order(graph: nx.DiGraph) -> tuple[Any, ...]:
    """Return the nodes, operands first as far as cycles allow, independent of the order in which they were added.

    This is the order of `Graph.in_order` if that is defined.

    Examples
    --------
    >>> in_writing_order(nx.DiGraph([("b", "a"), ("a", "c"), ("c", "a")]))
    ('b', 'c', 'a')
    """
    ports: dict[str, list[tuple[Any, Any]]] = {"input": [], "output": []}
    for node, data in graph.nodes(data=True):
        kind = data.get("type")
        if kind in ("input", "output"):
            index = data.get("index", 0)
            ports[kind].append(((index if isinstance(index, int) else 0, by_name(node)), node))
    outputs = [node for _, node in sorted(ports["output"])]
    done: dict[Any, None] = dict.fromkeys(node for _, node in sorted(ports["input"]))
    _finish(graph, outputs, done)
    _finish(graph, sorted(graph, key=by_name), done)
    for node in outputs:
        del done[node]
    return (*done, *outputs)


def _finish(graph: nx.DiGraph, roots: Iterable[Any], done: dict[Any, None]) -> None:
    """Add nodes after the nodes that they depend on, except along edges that close a cycle."""
    begun: set[Any] = set()
    for root in roots:
        work = [root]
        while work:
            node = work[-1]
            if node in begun or node in done:
                done[work.pop()] = None
                continue
            begun.add(node)  # sources that have begun close a cycle, and are not waited for
            waiting = [s for s in graph.pred[node] if s not in done and s not in begun]
            if len(waiting) > 1:
                sources = graph.pred[node]
                waiting.sort(key=lambda source: (_first_slot(sources[source]), by_name(source)), reverse=True)
            work += waiting


def _first_slot(data: Mapping[str, Any]) -> float:
    """Return the first slot of an edge; infinity if it has none."""
    slots = slots_of(data)
    return min(slots)[0] if slots else math.inf
