"""Cycles, and an order of the nodes where they are legal: through ops of the stream level that hold state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import networkx as nx

from graphrewrite.errors import GraphRewriteError
from graphrewrite.op import find_op

__all__ = ["Order", "holds_state", "order_of"]

_SHOWN = 12
"""Longer cycles are abbreviated in messages."""


class Order(NamedTuple):
    """An order of a graph's nodes.

    Attributes
    ----------
    nodes : list of str
        Each node after all that it depends on, but for those of `held`, and those on or behind illegal cycles.
    held : frozenset of str
        Nodes that hold state and are on a cycle: they stand before what they depend on.
    cycles : list of list of str
        For each set of nodes that depend on each other, and that no state keeps apart, one of its cycles.
    """

    nodes: list[str]
    held: frozenset[str]
    cycles: list[list[str]]


def holds_state(graph: Any, node: str) -> bool:
    r"""Tell whether a node's result does not depend on its operands of the same cycle, so that a cycle may pass it.

    Parameters
    ----------
    graph : Graph
        Any graph.
    node : str
        A node.

    Returns
    -------
    bool

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> holds_state(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)"), "x")
    False
    """
    kind = graph._node[node].get("type")
    op = find_op(kind, getattr(graph, "ops", None))  # a plain digraph has none of its own
    try:
        return op is not None and op.stateful and op.level == "stream"
    except GraphRewriteError:  # a graph as an op, whose graph is missing
        return False


def order_of(graph: Any) -> Order:
    r"""Return the nodes in an order in which operands come first, and the cycles that forbid it.

    Parameters
    ----------
    graph : Graph
        Any graph; edges of every kind count.

    Returns
    -------
    Order

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ns = relu(r)\ny = output(s)")
    >>> order_of(g).nodes
    ['x', 'r', 's', 'y']
    >>> g.add_edge("s", "r", slots=((1, 0),))
    >>> order_of(g).cycles
    [['r', 's', 'r']]
    """
    missing = {node: len(sources) for node, sources in graph._pred.items()}
    nodes = _released([n for n, count in missing.items() if not count], graph._succ, missing)
    if not missing:
        return Order(nodes, frozenset(), [])
    together = [found for found in _together(graph, missing) if found]
    held = [n for found in together for n in sorted(found, key=str) if holds_state(graph, n)]
    for node in held:
        del missing[node]
    nodes += _released(held, graph._succ, missing)
    return Order(nodes, frozenset(held), [_cycle(graph, found) for found in _together(graph, missing) if found])


def _released(ready: Iterable[str], succ: Mapping[str, Any], missing: dict[str, int]) -> list[str]:
    """Return nodes and what follows from them, in order; they are no longer missing."""
    nodes = list(ready)
    for node in nodes:
        missing.pop(node, None)
    for node in nodes:  # grows as it goes
        for reader in succ[node]:
            count = missing.get(reader)
            if count == 1:
                del missing[reader]
                nodes.append(reader)
            elif count is not None:
                missing[reader] = count - 1
    return nodes


def _together(graph: Any, left: Iterable[str]) -> list[set[str]]:
    """Return the sets of nodes that depend on each other, the one with the least name first."""
    rest = nx.DiGraph()
    rest.add_nodes_from(left)
    rest.add_edges_from((a, b) for a in rest for b in graph._succ[a] if b in rest._node)
    found = [c for c in nx.strongly_connected_components(rest) if len(c) > 1 or rest.has_edge(*2 * tuple(c))]
    return sorted(found, key=lambda nodes: min(map(str, nodes)))


def _cycle(graph: Any, nodes: set[str]) -> list[str]:
    """Return a shortest cycle through the node of the least name."""
    start = min(nodes, key=str)
    came: dict[str, str] = {}
    row = [start]
    while start not in came:
        found = []
        for node in row:
            for reader in graph._succ[node]:
                if reader in nodes and reader not in came:
                    came[reader] = node
                    found.append(reader)
        row = found
    cycle = [start, came[start]]
    while cycle[-1] != start:
        cycle.append(came[cycle[-1]])
    return cycle[::-1]


def shown(cycle: list[str]) -> str:
    """Return the text of a cycle, abbreviated where it is long.

    Parameters
    ----------
    cycle : list of str
        Its nodes, the first again at the end.

    Returns
    -------
    str

    Examples
    --------
    >>> shown(["a", "b", "a"])
    'a -> b -> a'
    """
    names = list(map(str, cycle))
    if len(names) > _SHOWN:
        names[_SHOWN // 2 : -_SHOWN // 2] = [f"({len(names) - _SHOWN} more)"]
    return " -> ".join(names)
