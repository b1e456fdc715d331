"""Change a graph's edges in place: for passes, which may do more than a rule can express."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from graphrewrite.graph.dataflow import predicate_in
from graphrewrite.graph.graph import Graph, Operand
from graphrewrite.graph.storage import own
from graphrewrite.op.reserved_keys import inherited

__all__ = ["all_buffers", "inherit", "is_buffer", "move_slot", "remove", "rewire"]


def inherit(graph: Graph, node: str, other: str, *, of: Graph | None = None) -> None:
    """Give a node the annotations of one that it replaces, which may be in another graph: all that apply to it."""
    source = graph if of is None else of
    graph.nodes[node].update(own(inherited(source.nodes[other], source.op(other), graph.op(node))))


def is_buffer(graph: Graph, constant: str) -> bool | None:
    """Tell whether a constant is one that is not trained; None for a single number of which nothing is said."""
    data = graph.nodes[constant]
    return not data.get("trainable", True) if "trainable" in data or np.ndim(data["value"]) else None


def all_buffers(sources: Iterable[bool | None]) -> bool | None:
    """Tell whether what is computed from constants is not trained, as `is_buffer` says it of each of them."""
    told = {each for each in sources if each is not None}
    return told == {True} if told else None


def rewire(graph: Graph, node: str, target: Operand, result: int = 0) -> list[str]:
    """Let all that read a node's result, except the target itself, read another value; return the readers."""
    moves = [(reader, slots) for reader, slots in _moves(graph, node, result) if reader != target.node]
    for reader, data in list(graph.succ[node].items()):
        if predicate_in(data) == result and reader != target.node:
            graph.set_predicate(reader, target)
    for reader, slots in moves:
        _cut(graph, node, reader, slots)
        _join(graph, target, reader, slots)
    return [reader for reader, _ in moves]


def move_slot(graph: Graph, reader: str, slot: int, target: Operand) -> None:
    """Let one operand slot of a node read another value."""
    _cut(graph, graph.operands(reader)[slot].node, reader, (slot,))
    _join(graph, target, reader, (slot,))


def _moves(graph: Graph, node: str, result: int) -> list[tuple[str, tuple[int, ...]]]:
    """Return the readers of a node's result, each with its slots."""
    moves = [(r, tuple(s for s, index in data["slots"] if index == result)) for r, data in graph.succ[node].items()]
    return [(reader, slots) for reader, slots in moves if slots]


def _cut(graph: Graph, node: str, reader: str, slots: tuple[int, ...]) -> None:
    data = graph.succ[node][reader]
    data["slots"] = tuple(pair for pair in data["slots"] if pair[0] not in slots)
    if not data["slots"] and "kind" not in data:  # the edge also orders the nodes
        graph.remove_edge(node, reader)


def _join(graph: Graph, target: Operand, reader: str, slots: tuple[int, ...]) -> None:
    there = graph.succ[target.node].get(reader)
    kept = there["slots"] if there else ()
    graph.add_edge(target.node, reader, slots=(*kept, *((slot, target.result) for slot in slots)))


def remove(graph: Graph, nodes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Remove nodes that have no readers, and the constants that only they read."""
    removed: dict[str, None] = {}
    neighbours: dict[str, None] = {}
    work = list(nodes)
    candidates = set(work)
    while work:
        node = work.pop()
        # A node that still has readers comes back to the list when the last of them goes.
        if node in removed or graph.succ[node]:
            continue
        sources = list(graph.pred[node])
        graph.remove_node(node)
        removed[node] = None
        for source in sources:
            neighbours[source] = None
            if source in candidates or graph.nodes[source].get("type") == "constant":
                work.append(source)
    return list(removed), [n for n in neighbours if n not in removed]
