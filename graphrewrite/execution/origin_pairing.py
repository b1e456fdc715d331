"""Counterparts: nodes of a lowered graph that compute the same values as nodes of the original, by origin."""

from __future__ import annotations

from collections.abc import Mapping

from graphrewrite.graph import Graph

__all__ = ["counterparts", "needed_nodes"]


def counterparts(graph: Graph, reference: Graph) -> Mapping[str, str]:
    r"""Return a mapping from nodes of a graph to nodes of a reference with the same values, according to origins.

    Inputs and outputs are paired by name. Of several nodes with the same origin, the last one has the values of that
    origin; it is paired with the last node of the reference of that origin, unless that has further origins. Nodes with
    the same name, type and origin in both graphs are paired, and a node that only changes levels has the counterpart of
    its operand. Shapes of paired values may differ.

    Examples
    --------
    >>> before = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = relu(a)\ny = output(b)")
    >>> after = Graph.parse("graph g\nx = input() : f32[N]\nc = clip(x, high=0)\nd = abs(c)\ny = output(d)")
    >>> after.nodes["c"]["origin"] = after.nodes["d"]["origin"] = ("a", "b")
    >>> dict(counterparts(after, before))
    {'x': 'x', 'd': 'b', 'y': 'y'}
    """
    pairs: dict[str, str] = {}
    last, last_of_reference = _last(graph), _last(reference)
    for node in needed_nodes(graph):
        kind = graph.nodes[node].get("type")
        if kind == "constant":
            continue
        origin = graph.origin(node)
        # The same node: equal names may also stand for nodes of different parts of the model.
        is_there = node in reference and reference.nodes[node].get("type") == kind
        if is_there and (kind in ("input", "output") or set(reference.origin(node)) == set(origin)):
            pairs[node] = node
            continue
        # A conversion that the lowering inserted has the values of its operand.
        if (origin == (node,) and graph.op(node).level == "bridge") and (operands := graph.operands(node)):
            if operands[0].node in pairs:
                pairs[node] = pairs[operands[0].node]
            continue
        # Of the nodes of one origin, the last one has its values; both sides must agree on which that is.
        _, other = max((last_of_reference[o] for o in origin if o in last_of_reference), default=(0, None))
        if other is None or kind in ("input", "output"):
            continue
        theirs = set(reference.origin(other))
        if theirs <= set(origin) and max(last[o] for o in theirs)[1] == node:
            pairs[node] = other
    return pairs


def needed_nodes(graph: Graph) -> tuple[str, ...]:
    r"""Return the nodes that the outputs depend on, operands first; all nodes if there is no output.

    Examples
    --------
    >>> needed_nodes(Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = relu(x)\ny = output(b)"))
    ('x', 'b', 'y')
    """
    order = graph.in_order()
    needed = set(graph.outputs or order)
    for node in reversed(order):
        if node in needed:
            needed.update(operand.node for operand in graph.operands(node))
    return tuple(node for node in order if node in needed)


def _last(graph: Graph) -> dict[str, tuple[int, str]]:
    """Return, for each node of the model, the position and the name of the last node with that origin."""
    return {
        origin: (position, node)
        for position, node in enumerate(needed_nodes(graph))
        if graph.nodes[node].get("type") not in ("output", "constant")
        for origin in graph.origin(node)
    }
