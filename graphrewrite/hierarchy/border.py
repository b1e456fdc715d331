"""The values that enter and leave a set of nodes of a graph."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError
from graphrewrite.graph.cycles import order_of
from graphrewrite.graph.dataflow import Dataflow, Operand, predicate_in

__all__ = ["arranged", "free_name", "in_graph_order", "label_of", "operands_of", "view_of_copies"]


def label_of(value: Operand) -> str:
    """Return the label of a value: the node's name, and the result index unless it is 0.

    Examples
    --------
    >>> label_of(Operand("split_1", 0)), label_of(Operand("split_1", 1))
    ('split_1', 'split_1:1')
    """
    return f"{value.node}:{value.result}" if value.result else str(value.node)


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name, or, if it is taken, the first of ``name_2``, ``name_3``, … that is free.

    Examples
    --------
    >>> free_name("x", ["x", "x_2"])
    'x_3'
    """
    count, candidate = 1, name
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate


def operands_of(graph: nx.DiGraph, node: Any) -> list[Operand]:
    """Return the operands of a node by slot, also in a graph that is malformed.

    Examples
    --------
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("a", "s", slots=((1, 0),))
    >>> graph.add_edge("b", "s", slots=((0, 2),))
    >>> operands_of(graph, "s")
    [Operand(node='b', result=2), Operand(node='a', result=0)]
    """
    reads = [(slot, source, r) for source, data in graph._pred[node].items() for slot, r in data.get("slots", ())]
    return [Operand(source, result) for _, source, result in sorted(reads, key=lambda read: read[0])]


def in_graph_order(graph: nx.DiGraph, nodes: Iterable[Any]) -> tuple[Any, ...]:
    """Return those of some nodes that are in a graph, operands first.

    Nodes on cycles without state, and nodes of a digraph without operand slots, are sorted by name.
    """
    chosen = {node for node in nodes if node in graph._node}
    if not isinstance(graph, Dataflow):
        return tuple(sorted(chosen, key=str))
    try:
        order: Iterable[Any] = graph.in_order()
    except GraphError:
        order = order_of(graph).nodes
    ordered = [node for node in order if node in chosen]
    return (*ordered, *sorted(chosen.difference(ordered), key=str))


def arranged(
    graph: nx.DiGraph, members: Iterable[Any], inputs: Iterable[Operand], outputs: Iterable[Operand]
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Return the values that enter and leave a set of nodes: `inputs` and `outputs` in their order, then new ones.

    An input of the graph enters, whether it is a member or not; the operand of an output of the graph leaves. Constants
    enter only if they are among `inputs`. A value of `outputs` stays one as long as its node exists, even outside.
    """
    nodes = graph._node
    inside = dict.fromkeys(members)
    entering: dict[Operand, None] = {}
    # Operands of the graph's outputs come first, in the order of the outputs.
    last = [node for node in inside if nodes[node].get("type") == "output"]
    leaving: dict[Operand, None] = dict.fromkeys([o for node in last for o in operands_of(graph, node)])
    read: set[Operand] = set()
    for node in inside:
        if nodes[node].get("type") == "input":
            entering[Operand(node)] = None
        # Most nodes of a large view have only members around them: skip these quickly.
        if [source for source in graph._pred[node] if source not in inside]:
            for operand in operands_of(graph, node):
                if operand.node not in inside and operand not in read:
                    read.add(operand)
                    if not _is_constant(graph, operand):
                        entering[operand] = None
        readers = [data for r, data in graph._succ[node].items() if r not in inside or nodes[r].get("type") == "output"]
        if readers:
            results = {result for data in readers for _, result in data.get("slots", ())}
            results.update(result for data in readers if (result := predicate_in(data)) is not None)
            leaving.update((Operand(node, result), None) for result in sorted(results))
    kept = dict.fromkeys([o for o in outputs if o.node in nodes])
    kept.update(leaving)
    # A value may enter and leave: the node that transformed it has been removed.
    entering.update((o, None) for o in kept if o.node not in inside and not _is_constant(graph, o))
    ordered = dict.fromkeys([o for o in inputs if o in entering or o in read])
    ordered.update(entering)
    return tuple(ordered), tuple(kept)


def view_of_copies(
    view: Mapping[str, Any], names: Mapping[Any, Any], values: Mapping[Any, Operand]
) -> dict[str, tuple[Any, ...]]:
    """Return what a view stores, for copies of its nodes; values stand for nodes that were not copied.

    Examples
    --------
    >>> view = {"nodes": ("r", "s"), "inputs": (("x", 0),), "outputs": (("s", 1),)}
    >>> view_of_copies(view, {"r": "b.r", "s": "b.s"}, {"x": Operand("neg_1")})
    {'nodes': ('b.r', 'b.s'), 'inputs': (('neg_1', 0),), 'outputs': (('b.s', 1),)}
    """

    def side(stored: Iterable[tuple[Any, int]]) -> tuple[tuple[Any, int], ...]:
        there = [values.get(n) or (names[n], result) for n, result in stored if n in values or n in names]
        return tuple(dict.fromkeys((node, result) for node, result in there))

    nodes = tuple(names[node] for node in view["nodes"] if node in names)
    return {"nodes": nodes, "inputs": side(view["inputs"]), "outputs": side(view["outputs"])}


def _is_constant(graph: nx.DiGraph, value: Operand) -> bool:
    return bool(graph._node[value.node].get("type") == "constant")
