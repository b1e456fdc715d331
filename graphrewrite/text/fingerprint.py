"""Equality of graphs, as a text."""

from __future__ import annotations

import networkx as nx

from graphrewrite.text.edges import slots_of
from graphrewrite.text.literal import format_exactly
from graphrewrite.text.order import by_name

__all__ = ["fingerprint"]


def fingerprint(graph: nx.DiGraph) -> str:
    """Return a text that two graphs share if and only if nodes, data, edges and graph attributes are equal.

    Where a node comes from (its ``origin``) does not count, nor do the orders in which nodes, edges, slots and the keys
    of nodes, edges and graphs were added.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Any graph.

    Returns
    -------
    str

    Examples
    --------
    >>> a, b = nx.DiGraph([(1, 2), (2, 3)]), nx.DiGraph([(2, 3), (1, 2)])
    >>> fingerprint(a) == fingerprint(b)
    True
    """
    lines = [_data(graph.graph)]
    nodes, pred = graph.nodes, graph.pred
    for node in sorted(graph, key=by_name):
        sources = pred[node]
        read = "; ".join([f"{source!r} {_edge(sources[source])}" for source in sorted(sources, key=by_name)])
        lines.append(f"{node!r}({read}) {_data(nodes[node])}")
    return "\n".join(lines)


def _data(data: dict[object, object]) -> str:
    items = sorted((repr(k), format_exactly(v)) for k, v in data.items() if k != "origin")
    return ", ".join(f"{k}={v}" for k, v in items)


def _edge(data: dict[object, object]) -> str:
    slots = slots_of(data)  # type: ignore[arg-type]  # keys of an edge are words, whatever else they might be
    return _data(data if slots is None else {**data, "slots": sorted(slots)})
