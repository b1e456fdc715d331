"""Plugin ops: let an op take the place of generic ones that stood in for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.errors import GraphError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.infer import infer
from graphrewrite.marks import RESERVED
from graphrewrite.op import LIBRARY
from graphrewrite.op.generic import Generic
from graphrewrite.op.op import Op
from graphrewrite.passes import Pass

__all__ = ["implement"]


def implement(op: Op, name: str | None = None, attributes: Mapping[str, str | None] | None = None) -> Pass:
    r"""Return a pass that makes nodes of an op out of generic ones, or of those whose op is not known.

    Names, operands, origin and marks of the nodes stay; types are inferred anew.

    Parameters
    ----------
    op : Op
        What takes their place: of the library, or of a package of its own.
    name : str, optional
        The type of the nodes; the op's name where not given.
    attributes : mapping of str to str or None, optional
        What attributes are called by the op, where it calls them otherwise; None for those that it does without.

    Returns
    -------
    Pass

    Raises
    ------
    GraphError
        If the name is that of another op which is known.
    TypeMismatchError
        When it is applied, if operands or attributes do not fit; names the node.

    Examples
    --------
    >>> from graphrewrite import op
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ns = ?Swish6(x, limit=6) : f32[N]\ny = output(s)")
    >>> print(implement(op.clip, "Swish6", {"limit": "high"})(g))
    graph g
    x = input() : f32[N]
    s = clip(x, high=6) : f32[N]
    y = output(s)
    """
    if not isinstance(op, Op):
        raise GraphError(f"what takes the place of generic nodes is an op, not {op!r}; implement(op, name)")
    kind = op.name if name is None else name
    if kind in LIBRARY and LIBRARY[kind] is not op:
        raise GraphError(f"{kind!r} is an op of the library and no generic one; name the nodes that {op!r} is for")

    def function(graph: Graph) -> list[str]:
        known = graph.ops.get(kind)
        if known is op and kind == op.name:
            return []  # they are nodes of it
        if known is not None and not isinstance(known, Generic):
            raise GraphError(f"graph {graph.name!r} knows {known!r}, which is no generic op; nothing stands in for it")
        nodes = [node for node, data in graph.nodes(data=True) if data.get("type") == kind]
        found = {node: _as(op, graph, node, attributes or {}) for node in nodes}
        for node, data in found.items():
            graph.nodes[node].clear()
            graph.nodes[node].update(data)
        if nodes:
            graph.ops.pop(kind, None)
            graph.adopt(op)
            infer(graph, nodes)
        return nodes

    return Pass(f"implement_{kind}", function, "assumes", f"Nodes called {kind} are nodes of the op {op.name}.")


def _as(op: Op, graph: Graph, node: str, names: Mapping[str, str | None]) -> dict[str, Any]:
    """Return the data of a node as one of an op."""
    data = graph.nodes[node]
    given: dict[str, Any] = {}
    for key, value in data.items():
        if key not in RESERVED:
            called = names.get(key, key)
            if called is not None:
                given[called] = value
    try:
        op.check(len(graph.operands(node)), given)
    except TypeMismatchError as error:
        raise TypeMismatchError(f"{error}; say by attributes={{…}} what they are called", node=node) from None
    return {"type": op.name, **op.stored(given), **{k: v for k, v in data.items() if k in RESERVED and k != "type"}}
