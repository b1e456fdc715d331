"""Topological order, with cycles through ops of the stream level that hold state, and the cycles that are illegal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import networkx as nx

from graphrewrite.errors import GraphRewriteError
from graphrewrite.op.library import find_op

__all__ = ["Order", "holds_state", "order_of"]

_SHOWN = 12
"""Longer cycles are abbreviated in messages."""


class Order(NamedTuple):
    """An order of a graph's nodes.

    Attributes
    ----------
    nodes : list of str
        Each node after all that it depends on, except those of `held`; without nodes on or after illegal cycles.
    held : frozenset of str
        Nodes that hold state and are on a cycle: they come before the nodes that they depend on.
    cycles : list of list of str
        One cycle of each strongly connected component that remains without the nodes that hold state.
    """

    nodes: list[str]
    held: frozenset[str]
    cycles: list[list[str]]


def holds_state(graph: Any, node: str) -> bool:
    r"""Tell whether a node's result depends on operands of earlier beats only, so that a cycle may pass through it.

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
    r"""Return a topological order of the nodes, and the cycles that prevent one; edges of every kind count.

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
    # The other nodes are on cycles or after them. Nodes that hold state give their result before they read: released
    # first, they open the legal cycles, and only illegal ones are left.
    held = [n for nodes in _components(graph, missing) for n in sorted(nodes, key=str) if holds_state(graph, n)]
    for node in held:
        del missing[node]
    nodes += _released(held, graph._succ, missing)
    return Order(nodes, frozenset(held), [_cycle(graph, nodes) for nodes in _components(graph, missing)])


def _released(ready: Iterable[str], succ: Mapping[str, Any], missing: dict[str, int]) -> list[str]:
    """Return nodes and those that become ready after them (Kahn's algorithm), and remove them from ``missing``."""
    nodes = list(ready)
    for node in nodes:
        missing.pop(node, None)
    for node in nodes:  # the list grows while it is read
        for reader in succ[node]:
            count = missing.get(reader)
            if count == 1:
                del missing[reader]
                nodes.append(reader)
            elif count is not None:
                missing[reader] = count - 1
    return nodes


def _components(graph: Any, left: Iterable[str]) -> list[set[str]]:
    """Return the strongly connected components with a cycle, ordered by their least names."""
    rest = nx.DiGraph()
    rest.add_nodes_from(left)
    rest.add_edges_from((a, b) for a in rest for b in graph._succ[a] if b in rest._node)
    components = [c for c in nx.strongly_connected_components(rest) if len(c) > 1 or rest.has_edge(*2 * tuple(c))]
    return sorted(components, key=lambda nodes: min(map(str, nodes)))


def _cycle(graph: Any, nodes: set[str]) -> list[str]:
    """Return a shortest cycle through the node with the least name."""
    start = min(nodes, key=str)
    # Made of the graph's own edges: a view of networkx would give them in the order of the set.
    component = nx.DiGraph((node, reader) for node in nodes for reader in graph._succ[node] if reader in nodes)
    parents = dict(nx.bfs_predecessors(component, start))
    node = next(n for n in (start, *parents) if start in component.succ[n])
    cycle = [start]
    while node != start:
        cycle.append(node)
        node = parents[node]
    return [start, *reversed(cycle)]


def shown(cycle: list[str]) -> str:
    """Return the text of a cycle (its first node again at the end), abbreviated if it is long.

    Examples
    --------
    >>> shown(["a", "b", "a"])
    'a -> b -> a'
    """
    names = list(map(str, cycle))
    if len(names) > _SHOWN:
        names[_SHOWN // 2 : -_SHOWN // 2] = [f"({len(names) - _SHOWN} more)"]
    return " -> ".join(names)
