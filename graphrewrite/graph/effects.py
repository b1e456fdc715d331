"""Effects: what nodes do beside computing values, such as writing a log; those of a graph are in one order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError
from graphrewrite.graph.cycles import order_of
from graphrewrite.graph.dataflow import EFFECT, Dataflow, predicate_in
from graphrewrite.op.library import find_op

__all__ = [
    "add_effect",
    "effects_in_order",
    "has_effects",
    "next_effect",
    "nodes_with_effects",
    "order_effects",
    "replace_effects",
    "unordered",
]

_WITHOUT = frozenset({"constant", "input", "output"})
"""Types of nodes that only give or take a value."""


def has_effects(graph: Any, node: str) -> bool:
    r"""Tell whether a node has an effect: its op, or one in a graph that it is or holds.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> has_effects(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)"), "x")
    False
    """
    data = graph._node[node]
    op = find_op(data.get("type"), graph.ops)
    try:
        return op is not None and op.has_effects(data)
    except GraphError:  # of a graph that is missing from its library
        return False


def effects_in_order(graph: Any) -> tuple[str, ...]:
    """Return the nodes with effects of a graph, in their order."""
    found = nodes_with_effects(graph)
    if len(found) < 2:
        return tuple(found)
    return tuple(node for node in order_of(graph).nodes if node in found)


def nodes_with_effects(graph: Any) -> set[str]:
    """Return the nodes with effects; an op without attributes is asked once for all of its nodes."""
    always, perhaps = set(), set()
    for kind in {kind for data in graph._node.values() if isinstance(kind := data.get("type"), str)} - _WITHOUT:
        op = find_op(kind, graph.ops)
        try:
            if op is not None and op.effects:
                always.add(kind)
            elif op is not None and op.attributes:  # it may hold graphs
                perhaps.add(kind)
        except GraphError:
            continue
    holding = {node for node, _, _ in graph.bodies()} if perhaps else ()
    if not always and not holding:
        return set()
    kinds = [(node, kind) for node, data in graph._node.items() if isinstance(kind := data.get("type"), str)]
    return {
        node
        for node, kind in kinds
        if kind in always or (node in holding and kind in perhaps and has_effects(graph, node))
    }


def next_effect(graph: Any, node: str) -> str | None:
    """Return the node with an effect that comes next after one."""
    return next((n for n, edge in graph._succ[node].items() if _orders(graph, node, n, edge)), None)


def _orders(graph: Any, source: str, destination: str, edge: Any) -> bool:
    """Tell whether an edge orders two effects; a predicate may stand in for the edge."""
    kind = edge.get("kind")
    if kind == EFFECT:
        return True
    return predicate_in(edge) is not None and has_effects(graph, source) and has_effects(graph, destination)


def add_effect(graph: Any, node: str) -> None:
    """Let a new node with an effect come after all others."""
    last = next((n for n in reversed(graph._node) if n != node and has_effects(graph, n)), None)
    while last is not None:
        following = next_effect(graph, last)
        if following in (None, node):
            graph.add_control(last, node, EFFECT)
            return
        last = following


def order_effects(graph: Any, nodes: Iterable[str]) -> None:
    """Let the nodes with effects of a graph come one after another, in the order of some nodes where edges allow it."""
    found = nodes_with_effects(graph)
    if len(found) < 2 or order_of(graph).cycles:
        return
    position = {node: index for index, node in enumerate(nodes)}
    order = [
        n for n in nx.lexicographical_topological_sort(graph, lambda n: (position.get(n, 0), str(n))) if n in found
    ]
    for source, destination in pairwise(order):
        graph.add_control(source, destination, EFFECT)


def unordered(graph: Any) -> Iterator[tuple[str, str]]:
    """Yield pairs of nodes with effects that no edge orders."""
    order = effects_in_order(graph)
    for source, destination in pairwise(order):
        edge = graph._succ[source].get(destination)
        if edge is None or not _orders(graph, source, destination, edge):
            yield source, destination


def replace_effects(graph: Dataflow, old: str, new: Sequence[str]) -> None:
    """Let nodes with effects, in their order, come where another one comes now; it goes out of the order."""
    before = [n for n, edge in graph.pred[old].items() if edge.get("kind") == EFFECT]
    after = [n for n, edge in graph.succ[old].items() if edge.get("kind") == EFFECT and n not in new]
    for node in (old, *new):
        for source, destination in [*graph.in_edges(node), *graph.out_edges(node)]:
            _unorder(graph, source, destination)
    chain = [*before, *new, *after]
    for source, destination in pairwise(chain):
        graph.add_control(source, destination, EFFECT)


def _unorder(graph: Dataflow, source: str, destination: str) -> None:
    edge = graph.succ[source][destination]
    if edge.get("kind") == EFFECT:
        del edge["kind"]
        if not edge["slots"]:
            graph.remove_edge(source, destination)
