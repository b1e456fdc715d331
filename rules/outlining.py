"""Outlining: some nodes become a graph of their own, and one node that is this graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphrewrite.errors import GraphError
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand, predicate_edge, predicate_in
from graphrewrite.graph.edit import Edit, apply_edit
from graphrewrite.hierarchy.extraction import extract
from graphrewrite.hierarchy.graph_ops import GraphOp, graph_op
from graphrewrite.hierarchy.region import GraphView, region
from graphrewrite.rewriting.passes import Pass

__all__ = ["outline_nodes"]


def outline_nodes(graph: Graph, nodes: GraphView | Iterable[str], name: str) -> tuple[Graph, GraphOp]:
    """Return a graph with one node in place of some, and the graph op of this node.

    Constants that the nodes read move with them; those with other readers stay as well. Inputs and outputs of
    the graph are unchanged.

    Parameters
    ----------
    graph : Graph
        Untouched.
    nodes : GraphView or iterable of str
        Nodes of the graph. What a view says of the order of its inputs and outputs holds for the node.
    name : str
        What the new graph, and the type of the node, is called.

    Raises
    ------
    GraphError
        If a node is not in the graph, nothing is left to be computed, or a path leaves the nodes and comes back.

    Examples
    --------
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... n = neg(x)
    ... r = relu(n)
    ... y = output(r)''')
    >>> outer, block = outline_nodes(g, ["n", "r"], "block")
    >>> print(outer.nodes["block_1"]["type"], outer.operands("block_1"))
    block (Operand(node='x', result=0),)
    >>> print(block.body)
    graph block
    x = input() : f32[N]
    n = neg(x) : f32[N]
    r = relu(n) : f32[N]
    y = output(r)
    """
    inside, view, op = _planned(graph, nodes, name)
    gone: list[str] = []

    def put_node(changed: Graph) -> list[str]:
        """Put a node of the op in place of the nodes: of the graph, which comes before graphs that nodes of it hold."""
        if gone:
            return []
        gone.extend(_put(changed, inside, view, op))
        return gone

    return Pass("outline_nodes", put_node)(graph), op


def outline_in_place(graph: Graph, nodes: Iterable[str], name: str) -> list[str]:
    """Put one node in place of some of a graph, which changes; return the nodes that are gone."""
    return _put(graph, *_planned(graph, nodes, name))


def _put(graph: Graph, inside: set[str], view: GraphView, op: GraphOp) -> list[str]:
    edit = _outlined(graph, inside, view.input_operands, view.output_operands, op)
    graph.adopt(op)
    apply_edit(graph, edit)
    return list(edit.removed)


def _planned(graph: Graph, nodes: GraphView | Iterable[str], name: str) -> tuple[set[str], GraphView, GraphOp]:
    """Return the nodes that become one, what they read and give, and the op that this one is of."""
    order: dict[str, tuple[Operand, ...]] = {"inputs": (), "outputs": ()}
    if isinstance(nodes, GraphView):
        if nodes.graph is not graph:
            raise GraphError(f"{nodes!r} is of another graph than {graph!r}; name the nodes of this one")
        order = {"inputs": nodes.input_operands, "outputs": nodes.output_operands}
        nodes = nodes.nodes
    view = region(graph, name, nodes if isinstance(nodes, str) else [n for n in nodes if not _stays(graph, n)])
    inside = set(view)
    read = {operand for node in inside for operand in graph.operands(node) if operand.node not in inside}
    inputs = [value for value in order["inputs"] if value in read]
    view = region(graph, name, inside, inputs=inputs, outputs=[v for v in order["outputs"] if v.node in inside])
    if not inside:
        raise GraphError(f"{name!r} would have no nodes; choose nodes that are ops")
    _check_convex(graph, inside)
    body = extract(view).graph
    body.ops = {kind: op for kind, op in body.ops.items() if any(d.get("type") == kind for d in body._node.values())}
    return inside, view, graph_op(body)


def _is_constant(graph: Graph, node: str) -> bool:
    return bool(node in graph and graph.nodes[node].get("type") == "constant")


def _stays(graph: Graph, node: str) -> bool:
    """Tell whether a node is an input, output or constant, and stays outside."""
    return bool(node in graph and graph.nodes[node].get("type") in ("constant", "input", "output"))


def _check_convex(graph: Graph, inside: set[str]) -> None:
    """Raise if a path leaves the nodes and comes back: one node in their place would be on a cycle."""
    visited: set[str] = set()
    work = [reader for node in sorted(inside) for reader in graph._succ[node] if reader not in inside]
    while work:
        node = work.pop()
        if node in visited:
            continue
        visited.add(node)
        for reader in graph._succ[node]:
            if reader in inside:
                raise GraphError(
                    f"lies on a path that leaves the chosen nodes and comes back to {reader!r}; choose it too",
                    node=node,
                )
            work.append(reader)


def _outlined(graph: Graph, inside: set[str], inputs: Any, outputs: Any, op: GraphOp) -> Edit:
    """Plan to put a node in place of some."""
    name = graph.fresh(op.stem)
    results = op.infer(*(graph.result_type(*value) for value in inputs))
    origin = tuple(dict.fromkeys(o for n in graph.in_order() if n in inside for o in graph.origin(n)))
    data = {"type": op.name, "result": results[0] if len(results) == 1 else results, "origin": origin}
    links: dict[tuple[str, str], dict[str, Any]] = {}

    def link(
        source: str, destination: str, attributes: dict[str, Any], slots: tuple[tuple[int, int], ...] = ()
    ) -> None:
        added = links.setdefault((source, destination), {"slots": ()})
        added |= {**attributes, "slots": (*added["slots"], *slots)}

    for slot, value in enumerate(inputs):
        link(value.node, name, {}, ((slot, value.result),))
    for node in sorted(inside):
        for source, edge in graph._pred[node].items():
            if source not in inside and "kind" in edge and predicate_in(edge) is None:
                link(source, name, {"kind": edge["kind"]})
        for reader, edge in graph._succ[node].items():
            if reader not in inside:
                attributes = {k: v for k, v in edge.items() if k != "slots"}
                if (result := predicate_in(edge)) is not None:
                    attributes |= predicate_edge(outputs.index(Operand(node, result)))
                link(name, reader, attributes, tuple((s, outputs.index(Operand(node, r))) for s, r in edge["slots"]))
    # What all of the nodes are computed for, the node is computed for; execution may ignore it otherwise.
    (predicate, *others) = {graph.predicate(node) for node in inside if not _is_constant(graph, node)}
    if predicate is not None and not others and predicate.node not in inside:
        link(predicate.node, name, predicate_edge(predicate.result))
    read = {source for node in inside for source in graph._pred[node] if _is_constant(graph, source)}
    read -= {value.node for value in inputs}
    alone = {source for source in read if inside.issuperset(graph._succ[source])}
    removed = [n for n in reversed(graph.in_order()) if n in inside or n in alone]
    linked = [(source, destination, data) for (source, destination), data in links.items()]
    return Edit(added=[(name, data)], linked=linked, removed=removed, matched=tuple(removed))
