"""Fields of nodes: what typed views declare, checked against the data of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphrewrite.errors import DataError, GraphError, not_there
from graphrewrite.graph import Graph
from graphrewrite.graph.node import Node, node_view
from graphrewrite.op.op import Op
from graphrewrite.rewriting.verification.checks import Fault
from graphrewrite.rewriting.verification.reading import known_op
from graphrewrite.schema import IrData

__all__ = ["Views", "check_views", "field_faults"]

Views = type[IrData] | Mapping[Any, type[IrData]]
"""A view class of all nodes that compute, or one for each of some nodes."""

_PORTS = frozenset({"input", "output", "constant"})


def check_views(views: Any) -> None:
    """Raise unless a value is a view class, or a mapping of nodes to such."""
    for kind in views.values() if isinstance(views, Mapping) else (views,):
        if not (isinstance(kind, type) and issubclass(kind, IrData)):
            raise GraphError(f"{kind!r} is not a view class; derive it from Node or from IrData")


def field_faults(graph: Graph, views: Views) -> Iterator[Fault]:
    r"""Yield a fault for each field that a node lacks, or has with a wrong value.

    Examples
    --------
    >>> class Timed(Node):
    ...     latency: int
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> [fault.message for fault in field_faults(g, Timed)]
    ["has no latency, which Timed requires: int; write nodes['r']['latency'] = …"]
    """
    if isinstance(views, Mapping):
        for node in views:
            if node not in graph:
                raise not_there(node, graph)
    for node, data in graph.nodes(data=True):
        kind = views.get(node) if isinstance(views, Mapping) else views if data.get("type") not in _PORTS else None
        for message in () if kind is None else _messages(graph, node, kind):
            yield Fault("fields_fit", node, message)


def _messages(graph: Graph, node: Any, kind: type[IrData]) -> Iterator[str]:
    data, op, view = graph.nodes[node], known_op(graph, node), node_view(graph, node, kind)
    for name, field in kind._fields.items():
        if name in Node._fields and not field.required:
            continue  # other checks look at them
        owner = "" if op is None else _owner(op, field.key)
        try:
            if field.key in data:
                field.known_kind().check(data[field.key], name)
                for path, type_ in field.known_kind().missing(data[field.key], name):
                    yield f"has no {path}, which {kind.__name__} requires: {type_}"
            elif isinstance(view, Node) and (owner or isinstance(getattr(Node, name, None), property)):
                getattr(view, name)
            elif field.required:
                where = f"nodes[{node!r}][{field.key!r}]"
                yield f"has no {field.key}, which {kind.__name__} requires: {field.type}; write {where} = …"
        except DataError as error:
            message = str(error).removeprefix(f"nodes.{node}.")
            if owner:
                message += f"; {kind.__name__} declares it as {field.type}, and it is {owner}: rename the field"
            yield message


def _owner(op: Op, key: str) -> str:
    """Return what a key is to an op; nothing if it is nothing."""
    names = (("an operand", op.operands), ("an attribute", op.attributes), ("derived from others", op.derived))
    return next((f"{what} of {op.name}" for what, known in names if key in known), "")
