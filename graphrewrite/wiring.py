"""Change a graph's wiring by hand, in place: for passes, which may do more than a rule can say."""

from __future__ import annotations

from collections.abc import Iterable

from graphrewrite.graph import Graph, Operand

__all__ = ["move_slot", "remove", "rewire"]


def rewire(graph: Graph, node: str, target: Operand, result: int = 0) -> list[str]:
    """Let every reader of a node's result, but for the target itself, read another value instead, in place.

    Parameters
    ----------
    graph : Graph
        Changed.
    node : str
        Whose readers.
    target : Operand
        What they read from now on.
    result : int
        Which result of the node.

    Returns
    -------
    list of str
        The readers.
    """
    moves = [(reader, slots) for reader, slots in _moves(graph, node, result) if reader != target.node]
    for reader, slots in moves:
        _cut(graph, node, reader, slots)
        _join(graph, target, reader, slots)
    return [reader for reader, _ in moves]


def move_slot(graph: Graph, reader: str, slot: int, target: Operand) -> None:
    """Let one operand slot of a node read another value, in place.

    Parameters
    ----------
    graph : Graph
        Changed.
    reader : str
        Whose operand.
    slot : int
        Which.
    target : Operand
        What it reads from now on.
    """
    _cut(graph, graph.operands(reader)[slot].node, reader, (slot,))
    _join(graph, target, reader, (slot,))


def _moves(graph: Graph, node: str, result: int) -> list[tuple[str, tuple[int, ...]]]:
    """Who reads a result of a node, at which slots."""
    found = [(r, tuple(s for s, index in data["slots"] if index == result)) for r, data in graph.succ[node].items()]
    return [(reader, slots) for reader, slots in found if slots]


def _cut(graph: Graph, node: str, reader: str, slots: tuple[int, ...]) -> None:
    data = graph.succ[node][reader]
    data["slots"] = tuple(pair for pair in data["slots"] if pair[0] not in slots)
    if not data["slots"] and "kind" not in data:  # an order stays
        graph.remove_edge(node, reader)


def _join(graph: Graph, target: Operand, reader: str, slots: tuple[int, ...]) -> None:
    there = graph.succ[target.node].get(reader)
    kept = there["slots"] if there else ()
    graph.add_edge(target.node, reader, slots=(*kept, *((slot, target.result) for slot in slots)))


def remove(graph: Graph, nodes: Iterable[str]) -> tuple[list[str], list[str]]:
    """Remove those of some nodes that nothing reads any more, and the constants that only they read, in place.

    Parameters
    ----------
    graph : Graph
        Changed.
    nodes : iterable of str
        Candidates.

    Returns
    -------
    removed, neighbours : list of str
        What went, and whose reader went.
    """
    removed: dict[str, None] = {}
    neighbours: dict[str, None] = {}
    work = list(nodes)
    candidates = set(work)
    while work:
        node = work.pop()
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
