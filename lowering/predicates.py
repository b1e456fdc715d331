"""Predicates beside a network that is lowered: taken off before, and put onto what stands for their nodes after."""

from __future__ import annotations

from collections.abc import Container, Iterable
from functools import partial

from graphrewrite import Graph
from graphrewrite.graph import Operand
from graphrewrite.graph.dataflow import predicate_in
from graphrewrite.graph.storage import own

__all__ = ["with_predicates", "without_predicates"]


def without_predicates(graph: Graph) -> Graph:
    r"""Return a graph without predicates, and without inputs and nodes that serve nothing else.

    The graph itself, if it has no predicates.

    Examples
    --------
    >>> g = Graph.parse("graph g\np = input() : bool[N]\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> g.set_predicate("r", "p")
    >>> list(without_predicates(g))
    ['x', 'r', 'y']
    """
    if all(predicate_in(edge) is None for _, _, edge in graph.edges(data=True)):
        return graph
    plain = graph.copy()
    for node in graph:
        plain.set_predicate(node, None)
    plain.remove_nodes_from(_beside(graph))
    _number_inputs(plain, graph.inputs)
    return plain


def with_predicates(lowered: Graph, of: Graph) -> Graph:
    r"""Return a graph with the predicates of the graph that was lowered to it, on the nodes that stand for its nodes.

    All inputs are there again, and what computes a predicate is copied as it is. A node that stands for a chain of
    nodes is needed where the last of them is that has a predicate; one that stands for several nodes besides has one if
    they all have that. A predicate that depends on the result of a layer goes, for lowering changes that: to compute
    what is not needed is never wrong.

    Parameters
    ----------
    lowered : Graph
        What came of `without_predicates`; the result, if the other graph has no predicates.
    of : Graph
        The graph with predicates.

    Examples
    --------
    >>> g = Graph.parse("graph g\np = input() : bool[N]\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> g.set_predicate("r", "p")
    >>> print(with_predicates(without_predicates(g), g))
    graph g
    p = input() : bool[N]
    x = input() : f32[N]
    r = relu(x, ^p:predicate) : f32[N]
    y = output(r)
    """
    if without_predicates(of) is of:
        return lowered
    stated: dict[str, list[str]] = {}
    for node in filter(partial(_computes, of), of.in_order()):
        for origin in of.origin(node):
            stated.setdefault(origin, []).append(node)
    wanted: dict[str, Operand] = {}
    for node in filter(partial(_computes, lowered), lowered):
        olds = {old: None for origin in lowered.origin(node) for old in stated.get(origin, ())}
        if (predicate := _common(of, list(olds))) is not None:
            wanted[node] = predicate
    ports = _beside(of) & set(of.inputs)
    result = lowered.copy()
    values = _copied(result, of, ports | {predicate.node for predicate in wanted.values()})
    for node, predicate in wanted.items():
        if predicate.node in values:
            result.set_predicate(node, Operand(values[predicate.node], predicate.result))
    _number_inputs(result, of.inputs)
    return result


def _number_inputs(graph: Graph, names: Iterable[str]) -> None:
    """Number the inputs of a graph in the order of some names."""
    for index, name in enumerate(name for name in names if name in graph):
        graph.nodes[name]["index"] = index


def _common(graph: Graph, nodes: list[str]) -> Operand | None:
    """Return the predicate of a node that stands for several ones."""
    predicates = {node: graph.predicate(node) for node in nodes}
    if len({*predicates.values()}) > 1:
        position = {node: index for index, node in enumerate(graph.in_order())}
        nodes = sorted(nodes, key=position.__getitem__)
        if not _needed(graph, nodes[-1:]).issuperset(nodes):
            return None
    return next((p for node in reversed(nodes) if (p := predicates[node]) is not None), None)


def _computes(graph: Graph, node: str) -> bool:
    return graph.nodes[node].get("type") not in ("input", "constant")


def _beside(graph: Graph) -> set[str]:
    """Return the nodes that serve predicates only, and dead ones that read these."""
    predicates = {p.node for node in graph if (p := graph.predicate(node)) is not None}
    live = _needed(graph, (*graph.outputs, *graph.effects))
    beside = _needed(graph, predicates) - live
    for node in graph.in_order():
        if node not in live and not beside.isdisjoint(graph.sources(node)):
            beside.add(node)
    return beside


def _needed(graph: Graph, nodes: Iterable[str], given: Container[str] = ()) -> set[str]:
    """Return nodes and those without which they cannot be computed, as far as these are not given."""
    needed, work = set[str](), list(nodes)
    while work:
        node = work.pop()
        if node not in needed and node not in given:
            needed.add(node)
            work += graph.sources(node)
    return needed


def _copied(graph: Graph, of: Graph, nodes: Iterable[str]) -> dict[str, str]:
    """Copy what nodes of another graph depend on, unless that are layers' results; return the names of those."""
    beside, alike, names = _beside(of), set[str](), dict[str, str]()
    for node in of.in_order():
        sources, data = of.sources(node), of.nodes[node]
        if _computes(of, node):
            # Lowering changes what layers give, by rounding and scaling; what has no constants is no layer.
            is_layer = node not in beside and any(of.nodes[n].get("type") == "constant" for n in sources)
            if is_layer or not names.keys() >= {*sources}:
                continue
        elif node in graph and node not in beside and graph.nodes[node].get("value") is data.get("value"):
            alike.add(node)
        names[node] = node if node in alike or node not in graph else graph.fresh(of.op(node).stem)
    needed = _needed(of, (node for node in nodes if node in names), alike)
    for node in filter(needed.__contains__, of.in_order()):
        graph.adopt(of.op(node))
        graph.add_node(names[node])
        graph.nodes[names[node]].update(own({**of.nodes[node], "origin": of.origin(node)}))
        for source in of.sources(node):
            graph.add_edge(names[source], names[node], **of.edges[source, node])
    return names
