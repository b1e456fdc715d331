"""Scenes in Graphviz' language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import networkx as nx

from graphrewrite.errors import MissingDependencyError
from graphrewrite.view.colour import MARKS
from graphrewrite.view.plain import markup
from graphrewrite.view.scene import Box, Scene, scene_of

if TYPE_CHECKING:
    import pydot

__all__ = ["dot_of", "to_dot"]

_FONT = "Helvetica,Arial,sans-serif"
_GREY = "#555555"


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
    [('n0', 'n1', '< f32[N]>')]
    """
    return dot_of([scene_of(graph)], direction=direction)


def dot_of(scenes: Sequence[Scene], *, direction: str = "TB", tooltips: bool = True) -> pydot.Dot:
    """Return scenes side by side in Graphviz' language.

    Parameters
    ----------
    scenes : sequence of Scene
        One is drawn without a frame; several get one each, with their titles.
    direction : {"TB", "LR"}
        As for `to_dot`.
    tooltips : bool
        Whether to write tooltips; `render` adds them later and more carefully.

    Returns
    -------
    pydot.Dot
    """
    try:
        import pydot
    except ImportError:
        raise MissingDependencyError("pictures need pydot: pip install 'graphrewrite[view]'") from None
    if direction not in ("TB", "LR"):
        raise ValueError(f"the direction is 'TB' or 'LR', not {direction!r}")
    dot = pydot.Dot("picture", graph_type="digraph", rankdir=direction, bgcolor="white", nodesep="0.3", ranksep="0.35")
    dot.set_node_defaults(
        shape="box", style='"rounded,filled"', fontname=f'"{_FONT}"', fontsize="12", margin='"0.11,0.05"', height="0.3"
    )
    dot.set_edge_defaults(
        fontname=f'"{_FONT}"', fontsize="10", fontcolor=f'"{_GREY}"', color=f'"{_GREY}"', arrowsize="0.7"
    )
    first = [sum(len(scene.boxes) for scene in scenes[:index]) for index in range(len(scenes))]
    # Graphviz puts the first frame on the left, and, laying out from left to right, at the bottom.
    for index in range(len(scenes)) if direction == "TB" else reversed(range(len(scenes))):
        scene = scenes[index]
        target: pydot.Graph = dot
        if len(scenes) > 1:
            target = frame = pydot.Cluster(f"scene{index}", label=f"<<B>{markup(scene.title, 120)}</B>>", margin="12")
            for key, value in {"style": "rounded", "color": "#bbbbbb", "fontname": _FONT, "fontsize": "13"}.items():
                frame.set(key, f'"{value}"')
            dot.add_subgraph(frame)  # type: ignore[arg-type]  # pydot's own way to add a cluster
        for offset, box in enumerate(scene.boxes):
            target.add_node(_node(f"n{first[index] + offset}", box, direction, tooltips))
        for arrow in scene.arrows:
            # The compass points keep arrows from running through the box that they belong to.
            into, out = ("n", "s") if direction == "TB" else ("w", "e")
            head = "" if arrow.port is None else f":i{arrow.port}:{into}"
            tail = "" if scene.boxes[arrow.source].results == 1 else f":r{arrow.result}:{out}"
            edge = pydot.Edge(f"n{first[index] + arrow.source}{tail}", f"n{first[index] + arrow.destination}{head}")
            if arrow.label:
                edge.set("label", f"< {markup(arrow.label, 60)}>")
            if arrow.mark:
                edge.set("color", f'"{MARKS[arrow.mark].colour}"')
                edge.set("style", '"dashed"')
            target.add_edge(edge)
    return dot


def _node(key: str, box: Box, direction: str, tooltips: bool) -> pydot.Node:
    import pydot

    border, width, style = box.look.border, box.look.width, "rounded,filled"
    if box.mark:
        mark = MARKS[box.mark]
        border, width = mark.colour, mark.width
        style += ",dashed" if mark.dashed else ""
    given = {
        "label": f"<{_label(box, direction)}>",
        "fillcolor": f'"{box.look.fill}"',
        "color": f'"{border}"',
        "penwidth": str(width),
    }
    if style != "rounded,filled":
        given["style"] = f'"{style}"'
    if box.round:
        given["shape"] = "oval"
        given["style"] = f'"{style.removeprefix("rounded,")}"'
    if tooltips and box.tooltip:
        escaped = box.tooltip.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        given["tooltip"] = f'"{escaped}"'
    node = pydot.Node(key)
    for name, value in given.items():
        node.set(name, value)
    return node


_TABLE = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">'
_RIM = '<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3">'


def _label(box: Box, direction: str) -> str:
    rows = [*_head(box), *(_small(markup(note, 48)) for note in box.notes)]
    if box.mark:
        mark = MARKS[box.mark]
        rows.append(_small(f"<I>{mark.word}</I>", mark.colour))
    body = "".join(f"<TR><TD>{row}</TD></TR>" for row in rows)
    body += "".join(f'<TR><TD ALIGN="LEFT">{_code(line)}</TD></TR>' for line in box.code)
    ports = [f'<TD PORT="i{i}">{_small(markup(name) or " ")}</TD>' for i, name in enumerate(box.ports)]
    results = [f'<TD PORT="r{i}">{_small(str(i))}</TD>' for i in range(box.results if box.results > 1 else 0)]
    if direction == "TB":
        above, below = (f"<TR><TD>{_RIM}<TR>{''.join(c)}</TR></TABLE></TD></TR>" if c else "" for c in (ports, results))
        return f"{_TABLE}{above}{body}{below}</TABLE>"
    if not ports and not results:
        return f"{_TABLE}{body}</TABLE>"
    columns = ["".join(f"<TR>{cell}</TR>" for cell in cells) for cells in (ports, results)]
    left, right = (f"<TD>{_RIM}{column}</TABLE></TD>" if column else "" for column in columns)
    return f"{_TABLE}<TR>{left}<TD>{_TABLE}{body}</TABLE></TD>{right}</TR></TABLE>"


def _head(box: Box) -> list[str]:
    """What leads is in black: of an operation its op, of a value its name."""
    name, kind = markup(box.name), markup(box.kind)
    if not name or not kind:
        return [f"<B>{kind}</B>"] if kind else [name] if name else [] if box.code else [" "]
    return [f"{name} {_small(kind)}" if box.round else f"<B>{kind}</B> {_small(name)}"]


def _code(line: str) -> str:
    indent = len(line) - len(line.lstrip())
    return f'<FONT FACE="monospace" POINT-SIZE="10">{"&#160;" * indent}{markup(line.strip(), 90)}</FONT>'


def _small(text: str, colour: str = _GREY) -> str:
    return f'<FONT COLOR="{colour}" POINT-SIZE="10">{text}</FONT>'
