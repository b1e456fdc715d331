"""What enters and what leaves a set of nodes of a graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx

from graphrewrite.cycles import order_of
from graphrewrite.dataflow import Dataflow, Operand
from graphrewrite.errors import GraphError

__all__ = ["arranged", "in_graph_order", "label_of", "operands_of"]


def label_of(value: Operand) -> str:
    """Return what a value is called where it is named on its own: the node, and the result unless it is the first.

    Parameters
    ----------
    value : Operand
        A value.

    Returns
    -------
    str

    Examples
    --------
    >>> label_of(Operand("split_1", 0)), label_of(Operand("split_1", 1))
    ('split_1', 'split_1:1')
    """
    return f"{value.node}:{value.result}" if value.result else str(value.node)


def operands_of(graph: nx.DiGraph, node: Any) -> list[Operand]:
    """Return what a node reads, by slot, whatever else is wrong with it.

    Parameters
    ----------
    graph : networkx.DiGraph
        Whose edges carry slots.
    node : object
        A node of it.

    Returns
    -------
    list of Operand

    Examples
    --------
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("a", "s", slots=((1, 0),))
    >>> graph.add_edge("b", "s", slots=((0, 2),))
    >>> operands_of(graph, "s")
    [Operand(node='b', result=2), Operand(node='a', result=0)]
    """
    found = [(slot, source, r) for source, data in graph._pred[node].items() for slot, r in data.get("slots", ())]
    return [Operand(source, result) for _, source, result in sorted(found, key=lambda read: read[0])]


def in_graph_order(graph: nx.DiGraph, nodes: Iterable[Any]) -> tuple[Any, ...]:
    """Return those of some nodes that are in a graph: operands first, but for what holds state on a cycle.

    Nodes on other cycles, and those of a digraph that numbers no operands, come by name.
    """
    chosen = {node for node in nodes if node in graph._node}
    if not isinstance(graph, Dataflow):
        return tuple(sorted(chosen, key=str))
    try:
        order: Iterable[Any] = graph.in_order()
    except GraphError:
        order = order_of(graph).nodes
    found = [node for node in order if node in chosen]
    return (*found, *sorted(chosen.difference(found), key=str))


def arranged(
    graph: nx.DiGraph, members: Iterable[Any], inputs: Iterable[Operand], outputs: Iterable[Operand]
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Return the values that enter and that leave a set of nodes: known ones in their order, then new ones.

    An input of the graph enters, whether it is a member or not; what an output of the graph reads leaves. Constants are
    known wherever they are, so that they enter only where they are among the known inputs.

    Parameters
    ----------
    graph : networkx.DiGraph
        Whose edges carry slots.
    members : iterable of node
        The nodes, in order.
    inputs, outputs : iterable of Operand
        Values that are known to enter and to leave. An output stays one as long as its node is there, be it outside.

    Returns
    -------
    inputs, outputs : tuple of Operand
    """
    nodes = graph._node
    inside = dict.fromkeys(members)
    entering: dict[Operand, None] = {}
    # What an output of the graph gives comes first, in the order of those.
    last = [node for node in inside if nodes[node].get("type") == "output"]
    leaving: dict[Operand, None] = dict.fromkeys([o for node in last for o in operands_of(graph, node)])
    read: set[Operand] = set()
    for node in inside:
        if nodes[node].get("type") == "input":
            entering[Operand(node)] = None
        # Most nodes of a large view have members around them only: these are passed over quickly.
        if [source for source in graph._pred[node] if source not in inside]:
            for operand in operands_of(graph, node):
                if operand.node not in inside and operand not in read:
                    read.add(operand)
                    if not _is_constant(graph, operand):
                        entering[operand] = None
        readers = [data for r, data in graph._succ[node].items() if r not in inside or nodes[r].get("type") == "output"]
        if readers:
            results = {result for data in readers for _, result in data.get("slots", ())}
            leaving.update((Operand(node, result), None) for result in sorted(results))
    kept = dict.fromkeys([o for o in outputs if o.node in nodes])
    kept.update(leaving)
    # A value that enters and leaves: what has made another value of it is gone.
    entering.update((o, None) for o in kept if o.node not in inside and not _is_constant(graph, o))
    known = dict.fromkeys([o for o in inputs if o in entering or o in read])
    known.update(entering)
    return tuple(known), tuple(kept)


def _is_constant(graph: nx.DiGraph, value: Operand) -> bool:
    return bool(graph._node[value.node].get("type") == "constant")
