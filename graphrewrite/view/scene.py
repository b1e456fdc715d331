"""What a picture shows, as data: boxes and arrows, before anything is laid out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import RESERVED, Graph
from graphrewrite.marks import attributes_in
from graphrewrite.op.op import Op
from graphrewrite.text import format_attribute
from graphrewrite.view.colour import Look, look_of
from graphrewrite.view.plain import plain

__all__ = ["Arrow", "Box", "Scene", "scene_of"]


@dataclass(frozen=True)
class Box:
    """One node of a picture.

    Attributes
    ----------
    name : str
        The node's name; empty where the picture needs none.
    kind : str
        The op's name, in bold.
    look : Look
        Its colours.
    ports : tuple of str
        Names of the operands that are drawn, in order, where there is more than one.
    results : int
        How many results it has.
    notes : tuple of str
        Lines below the name: tucked constants and attributes.
    code : tuple of str
        Lines of source below them.
    tooltip : str
        Everything that is known of the node.
    mark : str
        A key of `MARKS`, or nothing.
    round : bool
        Whether it is a value rather than an operation.
    """

    name: str
    kind: str
    look: Look
    ports: tuple[str, ...] = ()
    results: int = 1
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    tooltip: str = ""
    mark: str = ""
    round: bool = False


@dataclass(frozen=True)
class Arrow:
    """One operand: from a box's result to a box's port, with the type that it carries, or a key of `MARKS`."""

    source: int
    destination: int
    result: int = 0
    port: int | None = None
    label: str = ""
    mark: str = ""


@dataclass(frozen=True)
class Scene:
    """A picture's content: a title, boxes, and arrows between boxes by their position."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]

    def box(self, name: str) -> Box:
        """Return the box of a node.

        Parameters
        ----------
        name : str
            The node's name.

        Returns
        -------
        Box
        """
        return next(box for box in self.boxes if box.name == name)


def scene_of(graph: nx.DiGraph, *, marks: Mapping[Any, str] | None = None, title: str | None = None) -> Scene:
    r"""Return what a picture of a graph shows.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Any graph, well formed or not: a picture of a broken graph is worth most.
    marks : mapping, optional
        Node to a key of `MARKS`.
    title : str, optional
        The graph's name where not given.

    Returns
    -------
    Scene

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nc = constant(value=2.0) : f32[]\nm = mul(x, c)\ny = output(m)")
    >>> scene = scene_of(g)
    >>> [box.name for box in scene.boxes], scene.box("m").notes
    (['x', 'm', 'y'], ('y: 2.0',))
    """
    nodes = _ordered(graph)
    feeds = {node: _feeds(graph, node) for node in nodes}
    tucked = {node for node in nodes if _is_tucked(graph, node)}
    drawn = [node for node in nodes if node not in tucked]
    position = {node: index for index, node in enumerate(drawn)}
    boxes, arrows = [], []
    for node in drawn:
        op = _op_of(graph, node)
        ports = [feed for feed in feeds[node] if feed[1] not in tucked]
        names = tuple(_operand_name(op, slot, len(feeds[node])) for slot, _, _ in ports)
        boxes.append(
            _box(graph, node, op, feeds[node], tucked, names if len(names) > 1 else (), (marks or {}).get(node, ""))
        )
        for index, (_, source, result) in enumerate(ports):
            label = plain(_type_of(graph, source, result), 60)
            arrows.append(Arrow(position[source], position[node], result, index if len(ports) > 1 else None, label))
        for source, data in graph.pred[node].items():
            if _is_order(data):
                kind = "" if data["kind"] == "control" else plain(data["kind"], 60)
                arrows.append(Arrow(position[source], position[node], label=kind, mark="order"))
    return Scene(plain(graph.name if title is None else title, 120), tuple(boxes), tuple(arrows))


Feed = tuple[int | None, Any, int]
"""Slot, source and result of an operand; no slot in graphs that do not number them."""


def _ordered(graph: nx.DiGraph) -> list[Any]:
    if isinstance(graph, Graph):
        try:
            return list(graph.in_order())
        except GraphRewriteError:  # a cycle, or slots that collide: drawn all the same
            pass
    return list(graph)


def _feeds(graph: nx.DiGraph, node: Any) -> list[Feed]:
    found: list[Feed] = []
    for source, data in graph.pred[node].items():
        if _is_order(data):
            continue
        slots = data.get("slots")
        found += [(slot, source, result) for slot, result in slots] if slots else [(None, source, 0)]
    return sorted(found, key=lambda feed: (feed[0] is None, feed[0] or 0))


def _is_order(data: Mapping[str, Any]) -> bool:
    """Whether an edge says what comes after what, and nothing else."""
    return "kind" in data and not data.get("slots")


def _is_tucked(graph: nx.DiGraph, node: Any) -> bool:
    """Whether a node is a constant that all its readers can hold."""
    readers = graph.succ[node]
    return (
        graph.nodes[node].get("type") == "constant"
        and bool(readers)
        and all(graph.nodes[r].get("type") != "output" and not _is_order(data) for r, data in readers.items())
    )


def _op_of(graph: nx.DiGraph, node: Any) -> Op | None:
    known = graph if isinstance(graph, Graph) else Graph()
    kind = graph.nodes[node].get("type")
    try:
        return known.op(node) if known is graph else _library_op(kind)
    except GraphRewriteError:
        return None


def _library_op(kind: Any) -> Op | None:
    from graphrewrite.op import LIBRARY

    return LIBRARY.get(kind) if isinstance(kind, str) else None


def _operand_name(op: Op | None, slot: int | None, count: int) -> str:
    if slot is None:
        return ""
    if op is None or not op.operands:
        return str(slot)
    if op.variadic and slot >= len(op.operands) - 1 and count > len(op.operands):
        return f"{op.operands[-1]}[{slot - len(op.operands) + 1}]"
    return op.operands[slot] if slot < len(op.operands) else str(slot)


def _type_of(graph: nx.DiGraph, node: Any, result: int) -> str:
    found = graph.nodes[node].get("result")
    if isinstance(found, tuple):
        found = found[result] if result < len(found) else None
    return "" if found is None else str(found)


def _box(
    graph: nx.DiGraph,
    node: Any,
    op: Op | None,
    feeds: Iterable[Feed],
    tucked: set[Any],
    ports: tuple[str, ...],
    mark: str,
) -> Box:
    data = graph.nodes[node]
    kind = str(data.get("type", ""))
    defaults = {} if op is None else op.attributes
    shown = {
        k: v
        for k, v in data.items()
        if k not in RESERVED and k not in ("index", "value") and not _equal(v, defaults.get(k))
    }
    feeds = list(feeds)
    constants = [
        (_operand_name(op, slot, len(feeds)), _constant(graph.nodes[source]))
        for slot, source, _ in feeds
        if source in tucked
    ]
    notes = [*_grouped(constants), *(f"{k} = {format_attribute(v)}" for k, v in shown.items())]
    if kind == "constant":
        notes.append(_constant(data))
    result = data.get("result")
    return Box(
        name=str(node),
        kind=kind,
        look=look_of(kind, op),
        ports=ports,
        results=len(result) if isinstance(result, tuple) else 1,
        notes=tuple(plain(note, 200) for note in notes),
        tooltip=_tooltip(node, data, op),
        mark=mark,
        round=kind in ("input", "output", "constant"),
    )


def _equal(a: Any, b: Any) -> bool:
    return a is b or (not isinstance(a, np.ndarray) and not isinstance(b, np.ndarray) and bool(a == b))


def _constant(data: Mapping[str, Any]) -> str:
    """The value of a small constant, the type of a large one."""
    value = np.asarray(data.get("value"))
    return format_attribute(value) if value.size <= 4 or data.get("result") is None else str(data["result"])


def _grouped(constants: Iterable[tuple[str, str]]) -> list[str]:
    """One line for all constants in a row that are described by the same words."""
    lines: list[tuple[str, str]] = []
    for name, text in constants:
        if lines and lines[-1][1] == text and "[" in text:
            lines[-1] = (f"{lines[-1][0]}, {name}", text)
        else:
            lines.append((name, text))
    return [f"{name}: {text}" if name else text for name, text in lines]


def _tooltip(node: Any, data: Mapping[str, Any], op: Op | None) -> str:
    lines = [f"{node}: {data.get('type', 'no type')}" + (f", level {op.level}" if op is not None else "")]
    result = data.get("result")
    if result is not None:
        lines.append("result: " + ", ".join(map(str, result if isinstance(result, tuple) else (result,))))
    attributes = {**({} if op is None else op.attributes), **attributes_in(data)}
    lines += [f"{k} = {format_attribute(v)}" for k, v in attributes.items() if k != "index"]
    origin = data.get("origin")
    if origin:
        lines.append(f"origin: {', '.join(map(str, origin))}")
    return "\n".join(plain(line, 400) for line in lines)
