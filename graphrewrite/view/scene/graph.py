"""The scene of a graph: its nodes, or some of them, and nested graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import networkx as nx

from graphrewrite.formats.text.node_edges import slots_of
from graphrewrite.graph import Graph
from graphrewrite.hierarchy.graph_ops import GraphOp, nested_once
from graphrewrite.summary import nodes_in_order
from graphrewrite.view.colour import PAPER, Look
from graphrewrite.view.plain import plain
from graphrewrite.view.scene.box import Feed, box_of, feeds_of, is_order, is_tucked, op_of, tooltip_of
from graphrewrite.view.scene.content import Arrow, Box, Frame, Scene
from graphrewrite.view.scene.modules import module_frames
from graphrewrite.view.scene.shading import Shading

__all__ = ["drawn_nodes", "scene_of"]

_DEEPEST = 8
"""Nested graphs below this depth are not drawn: dot would take long, and they would be too small to see."""
_STUB = Look("none", "none")


def scene_of(
    graph: nx.DiGraph,
    *,
    marks: Mapping[Any, str] | None = None,
    title: str | None = None,
    nodes: Collection[Any] | None = None,
    nested: int = 0,
    shading: Shading | None = None,
) -> Scene:
    r"""Return the scene of a graph.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nc = constant(value=2.0) : f32[]\nm = mul(x, c)\ny = output(m)")
    >>> scene = scene_of(g)
    >>> [box.name for box in scene.boxes], scene.box("m").notes
    (['x', 'm', 'y'], ('y: 2.0',))
    >>> scene_of(g, nodes=["m"]).boxes[1].notes
    ('… x',)
    """
    chosen = None if nodes is None else set(nodes)
    drawn = [node for node in drawn_nodes(graph) if chosen is None or node in chosen]
    builder = _Builder(marks or {}, shading)
    if nested:
        builder.frames, builder.modules = module_frames(graph, drawn)
    with nested_once():
        builder.add(graph, drawn, _depth_within(graph, drawn, nested))
    builder.add_stubs(graph, drawn)
    return Scene(
        plain(graph.name if title is None else title, 120),
        tuple(builder.boxes),
        tuple(builder.arrows),
        tuple(builder.frames),
        None if shading is None else shading.legend(),
    )


def drawn_nodes(graph: nx.DiGraph) -> list[Any]:
    """Return the nodes that get a box, in the order of the graph: all but constants that are lines of their readers."""
    return [node for node in nodes_in_order(graph) if not is_tucked(graph, node)]


class _Ports(NamedTuple):
    """The boxes of a nested graph's inputs and outputs, between which and the outer nodes arrows run."""

    inputs: list[int]
    outputs: list[int]


Positions = dict[Any, int | _Ports]
"""The box of each node, or the ports of the frame that it is."""


class _Builder:
    """Boxes, arrows and frames of a graph and the graphs nested in it, as they are added."""

    def __init__(self, marks: Mapping[Any, str], shading: Shading | None) -> None:
        self.marks, self.shading = marks, shading
        self.boxes: list[Box] = []
        self.arrows: list[Arrow] = []
        self.frames: list[Frame] = []
        self.modules: Mapping[Any, int] = {}
        self.positions: dict[Any, int] = {}

    def add(
        self, graph: nx.DiGraph, drawn: Iterable[Any], depth: int, path: str = "", frame: int | None = None
    ) -> Positions:
        """Add nodes of a graph, those that are graphs as frames, and the arrows between them."""
        drawn, outer = list(drawn), frame is None
        feeds = {node: feeds_of(graph, node) for node in drawn}
        inner = {node: body for node in drawn if depth and (body := _body(graph, node, feeds[node])) is not None}
        # A constant cannot be a line of a frame: those that a frame reads get boxes after all.
        held = {c for c in graph if is_tucked(graph, c) and not any(reader in inner for reader in graph.succ[c])}
        drawn = [
            c for c in nodes_in_order(graph) if c in feeds or (c not in held and any(r in inner for r in graph.succ[c]))
        ]
        feeds.update({node: [] for node in drawn if node not in feeds})
        positions: Positions = {}
        for node in drawn:
            # Marks and shades are of nodes of the outermost graph; inner nodes may have the same names.
            mark = self.marks.get(node, "") if outer else ""
            around = self.modules.get(node) if outer else frame
            if node in inner:
                body, kind = inner[node], str(graph.nodes[node]["type"])
                self.frames.append(Frame(f"{path}{node}", kind, around, tooltip_of(graph, node), mark))
                inside: Any = self.add(body, drawn_nodes(body), depth - 1, f"{path}{node}/", len(self.frames) - 1)
                positions[node] = _Ports(
                    [inside[name] for name in body.inputs], [inside[name] for name in body.outputs]
                )
                continue
            shade = self.shading.of_node(node) if self.shading is not None and outer else None
            positions[node] = len(self.boxes)
            box = box_of(graph, node, feeds[node], held, path=path, frame=around, mark=mark, shade=shade)
            if self.shading is not None and shade is None:  # its family's colour would look like a shade
                box = replace(box, look=replace(box.look, fill=PAPER.fill))
            self.boxes.append(box)
        for node in drawn:
            self._connect(graph, node, feeds[node], positions, outer)
        if outer:
            self.positions = {node: box for node, box in positions.items() if isinstance(box, int)}
        return positions

    def _connect(self, graph: nx.DiGraph, node: Any, feeds: list[Feed], positions: Positions, outer: bool) -> None:
        """Add the arrows into a node."""
        ports = [feed for feed in feeds if not is_tucked(graph, feed[1]) or feed[1] in positions]
        for index, (slot, source, result) in enumerate(ports):
            if source not in positions:
                continue  # it gets a stub, from `add_stubs`
            port = index if len(ports) > 1 and slot is not None else None
            start, its_result = _from(positions[source], result)
            end, its_port = _to(positions[node], slot, port)
            label = plain(_type_of(graph, source, result), 60)
            value = self.shading.on_edge(source, result) if self.shading is not None and outer else ""
            self.arrows.append(Arrow(start, end, its_result, its_port, label, value=value))
        for source, data in graph.pred[node].items():
            if is_order(data) and source in positions:
                kind = "" if data["kind"] == "control" else plain(data["kind"], 60)
                start, end = _from(positions[source], 0)[0], _to(positions[node], 0, None)[0]
                self.arrows.append(Arrow(start, end, label=kind, mark="order"))

    def add_stubs(self, graph: nx.DiGraph, drawn: Collection[Any]) -> None:
        """Add stubs for operands and readers of drawn nodes that are not drawn themselves."""
        if len(drawn) == len(graph):
            return
        present = set(drawn)
        for node, box in list(self.positions.items()):
            ports = [feed for feed in feeds_of(graph, node) if not is_tucked(graph, feed[1])]
            cut = [(index, feed) for index, feed in enumerate(ports) if feed[1] not in present]
            if cut:  # one stub for all operands, but one for the readers of each result
                stub = self._stub([source for _, (_, source, _) in cut])
                for index, (slot, source, result) in cut:
                    port = index if len(ports) > 1 and slot is not None else None
                    label = plain(_type_of(graph, source, result), 60)
                    self.arrows.append(Arrow(stub, box, port=port, label=label, mark="cut"))
            for result, readers in _readers(graph, node).items():
                away = [reader for reader in readers if reader not in present]
                if away:
                    self.arrows.append(Arrow(box, self._stub(away), result, mark="cut"))

    def _stub(self, names: Iterable[Any]) -> int:
        nodes = list(dict.fromkeys(names))
        note = f"… {plain(nodes[0], 40)}" if len(nodes) == 1 else f"… {len(nodes)} more"
        tooltip = "not drawn: " + ", ".join(plain(name, 60) for name in nodes[:20])
        tooltip += f" and {len(nodes) - 20} more" if len(nodes) > 20 else ""
        self.boxes.append(Box("", "", _STUB, notes=(note,), tooltip=tooltip, stub=True))
        return len(self.boxes) - 1


def _from(position: int | _Ports, result: int) -> tuple[int, int]:
    """Return the box and the result at which an arrow from a result of a node starts."""
    if isinstance(position, int):
        return position, result
    return position.outputs[result] if position.outputs else position.inputs[0], 0


def _to(position: int | _Ports, slot: int | None, port: int | None) -> tuple[int, int | None]:
    """Return the box and the port at which an arrow into a slot of a node ends."""
    if isinstance(position, int):
        return position, port
    return position.inputs[slot or 0] if position.inputs else position.outputs[0], None


def _body(graph: nx.DiGraph, node: Any, feeds: Iterable[Feed]) -> Graph | None:
    """Return the nested graph of a node; None if operands or results do not match its inputs and outputs."""
    op = op_of(graph, node)
    body = op.library.get(op.name) if isinstance(op, GraphOp) else None
    if body is None or not (body.inputs or body.outputs):
        return None
    fits = all(slot is not None and 0 <= slot < len(body.inputs) for slot, _, _ in feeds)
    return body if fits and all(0 <= r < len(body.outputs) for r in _readers(graph, node)) else None


def _readers(graph: nx.DiGraph, node: Any) -> dict[int, list[Any]]:
    """Return the readers of each result of a node that has any."""
    readers: dict[int, list[Any]] = {}
    for reader, data in graph.succ[node].items():
        for _, result in slots_of(data) or ((0, 0),):
            readers.setdefault(result, []).append(reader)
    return readers


def _depth_within(graph: nx.DiGraph, drawn: Iterable[Any], most: int) -> int:
    """Return the depth to which nested graphs can be drawn within a number of boxes."""
    # Breadth-first: either all graphs of a depth are drawn, or none.
    bodies = [body for node in drawn if (body := _body(graph, node, feeds_of(graph, node))) is not None]
    count = len(list(drawn))
    for depth in range(_DEEPEST):
        count += sum(map(len, bodies))
        if not bodies or count > most:
            return depth
        bodies = [inner for body in bodies for n in body if (inner := _body(body, n, feeds_of(body, n))) is not None]
    return _DEEPEST


def _type_of(graph: nx.DiGraph, node: Any, result: int) -> str:
    type_ = graph.nodes[node].get("result")
    if isinstance(type_, tuple):
        type_ = type_[result] if result < len(type_) else None
    return "" if type_ is None else str(type_)
