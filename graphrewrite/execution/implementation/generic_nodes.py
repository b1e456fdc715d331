"""Replacement of generic nodes by nodes of an op."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.errors import GraphError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.graph.effects import order_effects
from graphrewrite.graph.type_inference import infer
from graphrewrite.op import LIBRARY
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import annotations_in, attributes_in
from graphrewrite.rewriting.passes import Pass

__all__ = ["replace_generic"]


def replace_generic(op: Op, name: str | None = None, attributes: Mapping[str, str | None] | None = None) -> Pass:
    r"""Return a pass that replaces nodes of a generic or unknown op by nodes of a given op.

    Names, operands, origins and annotations of the nodes stay; types are inferred again. Effects happen in the order in
    which the nodes were added.

    Parameters
    ----------
    op : Op
        The new op, of the library or not.
    name : str, optional
        The type of the nodes to replace; the op's name if not given.
    attributes : mapping of str to str or None, optional
        New names of attributes; None for those to drop.

    Raises
    ------
    GraphError
        If the name is that of another known op.
    TypeMismatchError
        When it is applied, if operands or attributes of a node do not fit the op.

    Examples
    --------
    >>> from graphrewrite import op
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ns = ?Swish6(x, limit=6) : f32[N]\ny = output(s)")
    >>> print(replace_generic(op.clip, "Swish6", {"limit": "high"})(g))
    graph g
    x = input() : f32[N]
    s = clip(x, high=6) : f32[N]
    y = output(s)
    """
    if not isinstance(op, Op):
        raise GraphError(f"the first argument of replace_generic(op, name) is an op, got {op!r}")
    kind = op.name if name is None else name
    if kind in LIBRARY and LIBRARY[kind] is not op:
        raise GraphError(
            f"{kind!r} is an op of the library, not a generic one; pass the type of the nodes to replace by {op!r}"
        )

    def function(graph: Graph) -> list[str]:
        own = graph.ops.get(kind)
        if own is op and kind == op.name:
            return []  # already nodes of the op
        if own is not None and not isinstance(own, Generic):
            raise GraphError(f"graph {graph.name!r} has {own!r}, which is not a generic op")
        nodes = [node for node, data in graph.nodes(data=True) if data.get("type") == kind]
        replaced = {node: _as(op, graph, node, attributes or {}) for node in nodes}
        for node, data in replaced.items():
            graph.nodes[node].clear()
            graph.nodes[node].update(data)
        if nodes:
            graph.ops.pop(kind, None)
            graph.adopt(op)
            infer(graph, nodes)
            order_effects(graph, list(graph))
        return nodes

    return Pass(f"replace_generic_{kind}", function, "assumes", f"Nodes of type {kind} are nodes of the op {op.name}.")


def _as(op: Op, graph: Graph, node: str, names: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the data of a node as a node of the op."""
    data = graph.nodes[node]
    attributes: dict[str, Any] = {}
    for key, value in attributes_in(data, None).items():
        new_name = names.get(key, key)
        if new_name is not None:
            attributes[new_name] = value
    try:
        attributes = op.as_attributes(attributes)
        op.check(len(graph.operands(node)), attributes)
        attributes = op.settled(attributes, [graph.result_type(*operand) for operand in graph.operands(node)])
    except TypeMismatchError as error:
        raise TypeMismatchError(f"{error}; rename attributes with attributes={{…}}", node=node) from None
    return {
        "type": op.name,
        **op.stored(attributes),
        **annotations_in(data, None),
        **{key: data[key] for key in ("result", "origin") if key in data},
    }
