"""Generalise a graph from its exported batch size to any."""

from __future__ import annotations

from typing import Any

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.types import Type

__all__ = ["free_batch"]


def free_batch(graph: Graph, batch: str = "N") -> Graph:
    r"""Return the graph for any batch size, or unchanged where the batch is not the first dimension throughout.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[1,2,3]\nf = flatten(x)\ny = output(f)")
    >>> print(free_batch(g))
    graph g
    x = input() : f32[N,2,3]
    f = flatten(x) : f32[N,6]
    y = output(f)
    """
    new = graph.copy()
    try:
        for name in new.inputs:
            old = new.nodes[name]["result"]
            if old.shape:
                new.nodes[name]["result"] = Tensor(old.element, (batch, *old.shape[1:]))
        for node in new.in_order():
            if new.nodes[node]["type"] not in ("input", "output", "constant"):
                _infer_again(graph, new, node, batch)
    except GraphRewriteError:
        return graph  # the batch is mixed with other dimensions: the model works for its own batch only
    return new


def _infer_again(old: Graph, new: Graph, node: str, batch: str) -> None:
    data = new.nodes[node]
    types = [new.result_type(o.node, o.result) for o in new.operands(node)]
    before = [old.result_type(o.node, o.result) for o in old.operands(node)]
    # Attributes that were computed from the exported batch, such as a shape, are generalised with it.
    if types != before:
        data.update(_general(data, before[0], batch))
    if isinstance(new.op(node), Generic):
        if types != before:
            declared = data["result"] if isinstance(data["result"], tuple) else (data["result"],)
            results = tuple(_with_batch(kind, before[0].shape[:1], batch) for kind in declared)
            data["result"] = results[0] if len(results) == 1 else results
        return
    op = new.op(node)
    results = op.infer(*types, **attributes_in(data, op.attributes))
    data["result"] = results[0] if len(results) == 1 else results


def _with_batch(kind: Type, before: tuple[Any, ...], batch: str) -> Type:
    """The declared type of a result with a symbolic batch, if its first dimension was the exported one."""
    if isinstance(kind, Tensor) and kind.shape[:1] == before:
        return Tensor(kind.element, (batch, *kind.shape[1:]), kind.layout)
    return kind


def _general(data: dict[str, Any], before: Any, batch: str) -> dict[str, Any]:
    """Attributes that generalise those of the exported batch size."""
    if data["type"] == "reshape" and data["shape"] and data["shape"][0] == before.shape[0]:
        return {"shape": (batch, *data["shape"][1:])}
    if data["type"] == "flatten" and data.get("axis", 1) == 0 and before.shape[0] == 1:
        return {"axis": 1}  # with a batch of one, the frame is all there is to flatten
    return {}
