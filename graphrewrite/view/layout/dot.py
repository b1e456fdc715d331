"""Scenes in Graphviz' language."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import networkx as nx

from graphrewrite.errors import MissingDependencyError
from graphrewrite.view.colour import DIM, EDGE, FRAME, HIGHLIGHTS, INK, PAPER, SHADES
from graphrewrite.view.layout.label import head_of, label_of, legend_label, small
from graphrewrite.view.plain import markup
from graphrewrite.view.scene import Arrow, Box, Frame, Scene, scene_of
from graphrewrite.view.written import PictureError

if TYPE_CHECKING:
    import pydot

__all__ = ["DIRECTIONS", "dot_of", "to_dot"]

_FONT = "Arial"
"""A font of which both programs know the widths; `graphrewrite.view.layout.svg` names others of the same widths."""
_LEFT = '<BR ALIGN="LEFT"/>'
DIRECTIONS = ("TB", "LR")


def to_dot(graph: nx.DiGraph, *, direction: str = "TB") -> pydot.Dot:
    r"""Return a graph in Graphviz' language.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Any graph.
    direction : {"TB", "LR"}
        From top to bottom or from left to right.

    Returns
    -------
    pydot.Dot
        Nodes are called ``n0``, ``n1``, …, in the order of the graph; their labels hold the names.

    Raises
    ------
    MissingDependencyError
        If pydot is not installed.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> dot = to_dot(Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)"))
    >>> [(edge.get_source(), edge.get_destination(), edge.get_label()) for edge in dot.get_edges()]
    [('n0', 'n1', '<&#160;f32[N]>')]
    """
    return dot_of([scene_of(graph)], direction=direction)


def dot_of(scenes: Sequence[Scene], *, direction: str = "TB", tooltips: bool = True) -> pydot.Dot:
    """Return scenes side by side in Graphviz' language."""
    try:
        import pydot
    except ImportError:
        raise MissingDependencyError.of_extra("pictures", "view") from None
    if direction not in DIRECTIONS:
        raise PictureError(f"direction must be 'TB' or 'LR', got {direction!r}")
    dot = pydot.Dot("picture", graph_type="digraph", rankdir=direction, bgcolor="white", nodesep="0.25", ranksep="0.3")
    dot.set_node_defaults(
        shape="box",
        style='"rounded,filled"',
        fontname=f'"{_FONT}"',
        fontsize="11",
        fontcolor=f'"{INK}"',
        margin='"0.09,0.04"',
        height="0.26",
    )
    dot.set_edge_defaults(fontname=f'"{_FONT}"', fontsize="9", fontcolor=f'"{DIM}"', color=f'"{EDGE}"', arrowsize="0.6")
    legends = [scene.legend for scene in scenes if scene.legend is not None]
    if legends:
        _give(dot, label=f"<{legend_label(legends[0])}>", labelloc="b", fontname=_FONT, fontsize="9", fontcolor=DIM)
    # Nodes and clusters are numbered over all scenes: by these numbers `svg` finds their boxes again.
    first = _first(len(scene.boxes) for scene in scenes)
    first_frame = _first(len(scene.frames) for scene in scenes)
    # Graphviz puts the first frame on the left, and, laying out from left to right, at the bottom.
    for index in range(len(scenes)) if direction == "TB" else reversed(range(len(scenes))):
        scene = scenes[index]
        target: pydot.Graph = dot
        if len(scenes) > 1:
            target = _cluster(dot, f"s{index}", f"<B>{markup(scene.title, 120)}</B>", FRAME, "13")
        inside = _frames(target, scene.frames, first_frame[index], tooltips)
        for offset, box in enumerate(scene.boxes):
            path = "" if box.frame is None else f"{scene.frames[box.frame].name}/"
            node = _node(f"n{first[index] + offset}", box, path, direction, tooltips)
            (target if box.frame is None else inside[box.frame]).add_node(node)
        for arrow in scene.arrows:
            target.add_edge(_edge(arrow, scene, first[index], direction))
    return dot


def _first(counts: Iterable[int]) -> list[int]:
    return [0, *accumulate(counts)]


def _give(target: pydot.Graph, **values: str) -> None:
    for key, value in values.items():
        target.set(key, value if value.startswith("<") else f'"{value}"')


def _cluster(parent: pydot.Graph, key: str, label: str, colour: str, size: str) -> pydot.Graph:
    import pydot

    cluster: pydot.Graph = pydot.Cluster(key)
    _give(cluster, label=f"<{label}>", margin="10", style="rounded", color=colour, fontname=_FONT, fontsize=size)
    _give(cluster, fontcolor=INK, labeljust="l")
    parent.add_subgraph(cluster)  # type: ignore[arg-type]  # pydot's own way to add a cluster
    return cluster


def _frames(target: pydot.Graph, frames: Sequence[Frame], first: int, tooltips: bool) -> list[pydot.Graph]:
    """Add the clusters of nodes that are graphs; return them."""
    clusters: list[pydot.Graph] = []
    for index, frame in enumerate(frames):
        parent, path = (
            (target, "") if frame.parent is None else (clusters[frame.parent], f"{frames[frame.parent].name}/")
        )
        mark = HIGHLIGHTS.get(frame.mark)
        label = head_of(frame, path)
        label += f" {small(f'<I>{mark.word}</I>', mark.colour)}" if mark else ""
        clusters.append(_cluster(parent, f"f{first + index}", label, mark.colour if mark else PAPER.border, "11"))
        # Set for each: a cluster inherits the pen of the one around it.
        dashed = "rounded,dashed" if mark is not None and mark.dashed else "rounded"
        _give(clusters[-1], penwidth=str(mark.width if mark else 1.0), style=dashed)
        if tooltips and frame.tooltip:
            clusters[-1].set("tooltip", _quoted(frame.tooltip))
    return clusters


def _edge(arrow: Arrow, scene: Scene, first: int, direction: str) -> pydot.Edge:
    import pydot

    # The compass points keep arrows from running through the box that they belong to.
    into, out = ("n", "s") if direction == "TB" else ("w", "e")
    head = "" if arrow.port is None else f":i{arrow.port}:{into}"
    tail = "" if scene.boxes[arrow.source].results == 1 else f":r{arrow.result}:{out}"
    edge = pydot.Edge(f"n{first + arrow.source}{tail}", f"n{first + arrow.destination}{head}")
    lines = [markup(arrow.label, 60)] if arrow.label else []
    lines += [f'<FONT COLOR="{INK}">{markup(arrow.value, 60)}</FONT>'] if arrow.value else []
    if lines:  # left-aligned, and a space away from the arrow
        edge.set("label", f"<{_LEFT.join(f'&#160;{line}' for line in lines)}{_LEFT * (len(lines) > 1)}>")
    if arrow.mark:
        edge.set("color", f'"{HIGHLIGHTS[arrow.mark].colour}"')
        edge.set("style", '"dotted"' if arrow.mark == "cut" else '"dashed"')
    return edge


def _node(key: str, box: Box, path: str, direction: str, tooltips: bool) -> pydot.Node:
    import pydot

    # Only attributes that differ from the defaults of the drawing are written.
    values = {"label": f"<{label_of(box, path, direction)}>"}
    if box.stub:
        values |= {"shape": "plaintext", "style": '""', "margin": '"0.02,0.01"', "height": "0.1"}
    else:
        border, width, style = box.look.border, box.look.width, "filled" if box.round else "rounded,filled"
        if box.mark:
            mark = HIGHLIGHTS[box.mark]
            border, width = mark.colour, mark.width
            style += ",dashed" if mark.dashed else ""
        fill = box.look.fill if box.shade is None else SHADES[box.shade]
        values |= {"fillcolor": f'"{fill}"', "color": f'"{border}"', "penwidth": str(width)}
        if style != "rounded,filled":
            values["style"] = f'"{style}"'
        if box.round:
            values["shape"] = "oval"
        if box.look.borders > 1:
            values["peripheries"] = str(box.look.borders)
    if tooltips and box.tooltip:
        values["tooltip"] = _quoted(box.tooltip)
    node = pydot.Node(key)
    for name, value in values.items():
        node.set(name, value)
    return node


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
