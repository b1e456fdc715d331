"""The box of a node: its name, its op, and lines for constants and attributes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.formats.text import format_attribute
from graphrewrite.formats.text.node_edges import slots_of
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.op import find_op
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import RESERVED_ANNOTATIONS, annotations_in, attributes_in
from graphrewrite.schema.equality import same_data
from graphrewrite.view.colour import look_of
from graphrewrite.view.plain import plain
from graphrewrite.view.scene.content import Box

__all__ = ["Feed", "box_of", "feeds_of", "is_order", "is_tucked", "op_of", "operand_name", "tooltip_of"]

Feed = tuple[int | None, Any, int]
"""Slot, source and result of an operand; no slot in graphs that do not number them."""


def feeds_of(graph: nx.DiGraph, node: Any) -> list[Feed]:
    """Return the operands of a node in order, of any graph."""
    feeds: list[Feed] = []
    for source, data in graph.pred[node].items():
        if is_order(data):
            continue
        slots = slots_of(data)
        feeds += [(slot, source, result) for slot, result in slots] if slots else [(None, source, 0)]
    return sorted(feeds, key=lambda feed: (feed[0] is None, feed[0] or 0))


def is_order(data: Mapping[str, Any]) -> bool:
    """Tell whether an edge is a control edge only."""
    return "kind" in data and not slots_of(data)


def is_tucked(graph: nx.DiGraph, node: Any) -> bool:
    """Tell whether a node is a constant that is drawn inside its readers."""
    readers = graph.succ[node]
    return (
        _is(graph, node, "constant")
        and bool(readers)
        and all(not _is(graph, r, "output") and not is_order(data) for r, data in readers.items())
    )


def _is(graph: nx.DiGraph, node: Any, kind: str) -> bool:
    """Tell whether a node has a type, also in malformed graphs, where a type may be an array."""
    actual = graph.nodes[node].get("type")
    return isinstance(actual, str) and actual == kind


def op_of(graph: nx.DiGraph, node: Any) -> Op | None:
    """Return the op of a node, of any graph; None if it is unknown, or a graph that is missing from its library."""
    op = find_op(graph.nodes[node].get("type"), graph.ops if isinstance(graph, Graph) else None)
    return None if isinstance(op, GraphOp) and op.library.get(op.name) is None else op


def operand_name(op: Op | None, slot: int | None, count: int) -> str:
    """Return the name of an operand; its slot where it has none."""
    if slot is None:
        return ""
    if op is None or not op.operands:
        return str(slot)
    if op.variadic and slot >= len(op.operands) - 1 and count > len(op.operands):
        return f"{op.operands[-1]}[{slot - len(op.operands) + 1}]"
    return op.operands[slot] if slot < len(op.operands) else str(slot)


def box_of(
    graph: nx.DiGraph,
    node: Any,
    feeds: Iterable[Feed],
    tucked: Iterable[Any],
    *,
    path: str = "",
    frame: int | None = None,
    mark: str = "",
    shade: int | None = None,
) -> Box:
    """Return the box of a node."""
    data, op = graph.nodes[node], op_of(graph, node)
    kind = str(data.get("type", ""))
    defaults = {} if op is None else op.attributes
    own = {k: v for k, v in attributes_in(data, op).items() if k not in ("index", "value")}
    shown = {k: v for k, v in own.items() if not same_data(v, defaults.get(k))}
    # Operands that are drawn are ports; constants inside the box are lines of it, by the name of the operand.
    feeds, tucked = list(feeds), set(tucked)
    names = [operand_name(op, slot, len(feeds)) for slot, _, _ in feeds]
    held = [(name, _constant(graph.nodes[s])) for name, (_, s, _) in zip(names, feeds, strict=True) if s in tucked]
    ports = tuple(name for name, (_, s, _) in zip(names, feeds, strict=True) if s not in tucked)
    notes = [*_grouped(held), *(f"{k} = {format_attribute(v)}" for k, v in shown.items())]
    if kind == "constant":  # which says what it shares
        notes += [*_annotations({k: v for k, v in data.items() if k != "shared"}, op), _constant(data)]
    else:
        notes += _annotations(data, op)
    result = data.get("result")
    return Box(
        name=f"{path}{node}",
        kind=kind,
        look=look_of(kind, op, result),
        ports=ports if len(ports) > 1 and any(ports) else (),  # the only operand needs no name
        results=len(result) if isinstance(result, tuple) else 1,
        notes=tuple(plain(note, 200) for note in notes),
        tooltip=tooltip_of(graph, node),
        mark=mark,
        round=kind in ("input", "output", "constant"),
        frame=frame,
        shade=shade,
    )


def _annotations(data: Mapping[str, Any], op: Op | None) -> list[str]:
    """Return a line for each annotation."""
    found = annotations_in(data, op).items()
    return [f"{k}: {v}" if k in RESERVED_ANNOTATIONS else f"{k} = {format_attribute(v)}" for k, v in found]


def _constant(data: Mapping[str, Any]) -> str:
    """Return the value of a small constant, the type of a large one, and its name where graphs share it."""
    value = np.asarray(data.get("value"))
    text = format_attribute(value) if value.size <= 4 or data.get("result") is None else str(data["result"])
    return f"shared {data['shared']}, {text}" if "shared" in data else text


def _grouped(constants: Iterable[tuple[str, str]]) -> list[str]:
    """Return lines for constants: one for all in a row that have the same text."""
    lines: list[tuple[str, str]] = []
    # Numbers are short enough to be written each.
    for name, text in constants:
        if lines and lines[-1][1] == text and "[" in text:
            lines[-1] = (f"{lines[-1][0]}, {name}", text)
        else:
            lines.append((name, text))
    return [f"{name}: {text}" if name else text for name, text in lines]


def tooltip_of(graph: nx.DiGraph, node: Any) -> str:
    """Return all facts about a node: op and level, types, attributes with their defaults, origin."""
    data, op = graph.nodes[node], op_of(graph, node)
    result = data.get("result")
    level = look_of(str(data.get("type", "")), op, result).level or ("" if op is None else op.level)
    lines = [f"{node}: {data.get('type', 'no type')}{f', level {level}' if level else ''}"]
    if result is not None:
        lines.append("result: " + ", ".join(map(str, result if isinstance(result, tuple) else (result,))))
    attributes = {**({} if op is None else op.attributes), **attributes_in(data, op)}
    lines += [f"{k} = {format_attribute(v)}" for k, v in attributes.items() if k != "index"]
    lines += _annotations(data, op)
    origin = data.get("origin")
    if origin:
        names = origin if isinstance(origin, tuple | list) else (origin,)
        lines.append(f"origin: {', '.join(map(str, names))}")
    return "\n".join(plain(line, 400) for line in lines)
