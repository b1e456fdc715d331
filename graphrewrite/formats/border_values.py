"""Borders in dictionaries of elastic-ai.creator: one node with a `padding_value`, where graphs have a `pad` as well.

The pad is called after its node, ``conv_1.border``; one with another name is written as it is.
"""

from __future__ import annotations

from typing import Any

from graphrewrite.errors import TypeMismatchError
from graphrewrite.formats.json.path import JsonPath
from graphrewrite.graph import Graph, Operand
from graphrewrite.graph.rewiring import move_slot
from graphrewrite.op.library import find_op
from graphrewrite.op.nn.border_value import BorderValue
from graphrewrite.op.op import Op
from graphrewrite.op.tensor.shapes import pad
from graphrewrite.types import Tensor

__all__ = ["joined", "split"]

_VALUE = "padding_value"


def split(graph: Graph, path: JsonPath) -> None:
    """Put a pad before each node with a border of another value than zero.

    Where the types of its operands are not known, it stays as it is: nobody knows what it computes.
    """
    for node in list(graph):
        data = graph.nodes[node]
        if _VALUE not in data:
            continue
        border = _border(graph, node)
        with (path / "nodes" / node).reporting():
            types = None if border is None else _types(graph, node)
            if border is None or types is None:
                continue
            op = graph.op(node)
            words = {key for key in data if op.canonical_name(key) in op.attributes}
            attributes = op.as_attributes({key: data[key] for key in words})
            added = _pad(border, op, types, attributes, data[_VALUE])
        if added is None or f"{node}.border" in graph:
            continue
        for key in words | {_VALUE}:
            del data[key]
        data.update({key: each for key, each in op.settled(attributes, types).items() if key != "pads"})
        first = graph.operands(node)[0]
        graph.add_node(f"{node}.border")
        graph.nodes[f"{node}.border"].update(added)
        graph.add_edge(first.node, f"{node}.border", slots=((0, first.result),))
        move_slot(graph, node, 0, Operand(f"{node}.border", 0))


def joined(graph: Graph) -> Graph:
    """Return a graph in which nodes have the borders that `split` gives them; the same one where there are none."""
    made = graph
    for node in list(graph):
        name, border = f"{node}.border", _border(graph, node)
        if border is None or name not in graph or graph.nodes[name].get("type") != "pad":
            continue
        types, inner = _types(graph, node), _types(graph, name)
        if types is None or inner is None or "pads" in graph.nodes[node]:
            continue
        readers = {reader: data.get("slots") for reader, data in graph.succ[name].items()}
        op, known, (source, *_) = graph.op(node), graph.nodes[name], graph.operands(name)
        if readers != {node: ((0, 0),)} or len(graph.pred[name]) != 1 or type(known.get("fill")) is not float:
            continue
        pads = border.spatial(op, [*inner, *types[1:]], known["pads"])
        attributes = {**graph.attributes(node), "pads": pads}
        if not all(isinstance(each, int) and each >= 0 for each in pads):  # a convolution has no others
            continue
        if _pad(border, op, [*inner, *types[1:]], attributes, known.get("fill")) != known:
            continue
        made = graph.copy() if made is graph else made
        made.nodes[node].update({"pads": pads, _VALUE: known["fill"]})
        move_slot(made, node, 0, source)
        made.remove_node(name)
    return made


def _border(graph: Graph, node: str) -> BorderValue | None:
    op = find_op(graph.nodes[node].get("type"), graph.ops)
    found = None if op is None else op.derived.get(_VALUE)
    return found if isinstance(found, BorderValue) else None


def _types(graph: Graph, node: str) -> list[Any] | None:
    """Return the types of the operands; None if one is not known, or too few are there."""
    op = find_op(graph.nodes[node].get("type"), graph.ops)
    if op is None or any("slots" not in data for data in graph.pred[node].values()):
        return None
    types = [graph.nodes[each.node].get("result") for each in graph.operands(node)]
    return types if len(types) >= op.required and all(isinstance(kind, Tensor) for kind in types) else None


def _pad(
    border: BorderValue, op: Op, types: list[Any], attributes: dict[str, Any], value: Any
) -> dict[str, Any] | None:
    """Return the data of the pad before a node; None where there is no border."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeMismatchError(f"{_VALUE}: expected a number, got {value!r:.60}")
    pads = border.pads(op, types, attributes)
    if not any(pads) or not value:
        return None
    stated = {"pads": pads, "fill": float(value)}
    return {"type": "pad", **stated, "result": pad.infer(types[0], **stated)[0], "origin": ()}
