"""A graph as a picture: all of it, a part, its numbers; of one that is too large, its summary and how to see a part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphRewriteError
from graphrewrite.execution.statistics import Evaluation, evaluation
from graphrewrite.formats.text import line_of
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph, check_digraph
from graphrewrite.rewriting.facts import Facts
from graphrewrite.summary import summary
from graphrewrite.view.graphs.summary_table import summary_tables
from graphrewrite.view.layout.dot import DIRECTIONS
from graphrewrite.view.picture import Picture
from graphrewrite.view.plain import plain
from graphrewrite.view.scene import scene_of
from graphrewrite.view.scene.content import Box
from graphrewrite.view.scene.graph import drawn_nodes
from graphrewrite.view.scene.layers import direction_for
from graphrewrite.view.scene.part import Search, names_in, part_of
from graphrewrite.view.scene.shading import Shading
from graphrewrite.view.written import PictureError

__all__ = ["graph_picture", "text_of_graph"]

_FEW = 20
"""An op that so many nodes have is worth a search."""


def graph_picture(
    graph: nx.DiGraph,
    *,
    highlight: Any = None,
    around: Any = None,
    depth: int | None = None,
    between: tuple[Any, Any] | None = None,
    search: Search | None = None,
    values: Evaluation | Facts | Mapping[str, Any] | None = None,
    by: str = "range",
    direction: str | None = None,
    nested: bool = True,
    max_nodes: int = 200,
) -> Picture:
    r"""Return a picture of a graph or of a part of it.

    Parameters
    ----------
    depth : int, optional
        The number of steps ``around`` nodes (2), or around the nodes that a ``search`` finds (1).
    search : str or callable, optional
        Draw the nodes with this in their name, op, attributes or origin, or of which ``search(name, data)`` is true.
    values : Evaluation, Facts or mapping of str to array-like, optional
        Numbers to show by colours and on the arrows: an evaluation of the graph, or inputs of one. Of
        ``facts_of(graph)``, what is known of each value whatever the inputs are is a line in its box.
    by : {"range", "error", "bits"}
        The quantity that colours show.
    direction : {"TB", "LR"}, optional
        From top to bottom or from left to right; whichever fits a page better where not given.

    Raises
    ------
    GraphError
        If it is no digraph, or a node is not in it, or no path or nothing is found.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = exp(a)\nc = neg(b)\ny = output(c)")
    >>> picture = graph_picture(g, around="b", depth=1)
    >>> [box.name or box.notes[0] for box in picture.scenes[0].boxes]
    ['a', 'b', 'c', '… x', '… y']
    >>> picture
    a = relu(x) : f32[N]
    b = exp(a) : f32[N]
    c = neg(b) : f32[N]
    1 step around b: 3 of 5 nodes
    >>> from graphrewrite.rewriting.facts import facts_of
    >>> graph_picture(g, values=facts_of(g)).scenes[0].box("a").notes
    ('at least 0.0, may be NaN, may be -0',)
    >>> graph_picture(g, around="d")
    Traceback (most recent call last):
    ...
    graphrewrite.errors.GraphError: node 'd': is not in the graph
    """
    check_digraph(graph, "that can be drawn")
    if direction not in (None, *DIRECTIONS):
        raise PictureError(f"direction must be 'TB' or 'LR', got {direction!r}")
    if type(max_nodes) is not int or max_nodes < 1:
        raise PictureError(f"max_nodes must be a positive integer, got {max_nodes!r:.60}")
    ringed = [] if highlight is None else names_in(graph, highlight)
    part = part_of(graph, around=around, depth=depth, between=between, search=search)
    drawn = drawn_nodes(graph)
    facts = values if isinstance(values, Facts) else None
    numbers = None if values is None or facts is not None else _evaluation(graph, values)
    shading = None if numbers is None else Shading(numbers, by, drawn)
    # A highlight in a graph that is too large is shown with its neighbours.
    if part is None and ringed and len(drawn) > max_nodes:
        part = part_of(graph, around=ringed, depth=1)
    marks = {**({} if part is None else part.marks), **dict.fromkeys(ringed, "matched")}
    chosen = drawn if part is None else [node for node in drawn if node in part.nodes]
    words = () if part is None else (f"{part.words}: {len(chosen):,} of {len(drawn):,} nodes",)
    if len(chosen) > max_nodes:
        return _too_large(graph, chosen, words, max_nodes)
    scene = scene_of(
        graph,
        marks=marks,
        nodes=None if part is None else part.nodes,
        nested=max_nodes if nested else 0,
        shading=shading,
    )
    if facts is not None:
        scene = replace(scene, boxes=tuple(_with_fact(box, facts) for box in scene.boxes))
    text = text_of_graph(graph) if part is None else "\n".join(_line(graph, node) for node in chosen)
    if numbers is not None:
        text += f"\n\n{numbers}"
    if facts is not None:
        text += f"\n\n{facts}"
    return Picture((scene,) if scene.boxes else (), text, direction=direction or direction_for(scene), hints=words)


def _with_fact(box: Box, facts: Facts) -> Box:
    """Return a box with what is known of its value."""
    known = facts.shown(box.name) if box.name in facts else ""
    return replace(box, notes=(*box.notes, plain(known, 200))) if known else box


def _evaluation(graph: nx.DiGraph, values: Any) -> Evaluation:
    if isinstance(values, Evaluation):
        return values
    if not isinstance(values, Mapping):
        raise PictureError(f"values are an evaluation of the graph, or its inputs by name, got {type(values).__name__}")
    return evaluation(as_graph(graph, "that can be evaluated"), values)


def _too_large(graph: nx.DiGraph, chosen: list[Any], words: tuple[str, ...], max_nodes: int) -> Picture:
    table = summary(graph)
    hints = [
        *words,
        f"{len(chosen):,} nodes are more than max_nodes={max_nodes}, so that this is the summary of the graph; "
        f"to see a part: {', '.join(_examples(graph, chosen))}",
    ]
    return Picture((), str(table), summaries=tuple(map(summary_tables, table.graphs)), hints=tuple(hints))


def _examples(graph: nx.DiGraph, chosen: list[Any]) -> Iterable[str]:
    """Calls that show a neighbourhood, a path and a search, with names of this graph."""
    names = [node for node in chosen if len(repr(node)) < 40] or chosen
    middle = names[len(names) // 2]
    yield f"show(graph, around={plain(repr(middle), 60)}, depth=2)"
    # A node a few steps below the middle one, so that there is a path to show.
    below = [node for node in nx.bfs_tree(graph, middle, depth_limit=6) if node in set(names) and node != middle]
    if below:
        yield f"show(graph, between=({plain(repr(middle), 60)}, {plain(repr(below[-1]), 60)}))"
    kinds = Counter(str(graph.nodes[node].get("type", "")) for node in chosen)
    rare = [
        kind
        for kind, count in reversed(kinds.most_common())
        if kind not in ("", "input", "output", "constant") and count <= _FEW
    ]
    yield f"show(graph, search={plain(repr(rare[0] if rare else str(middle)), 60)})"


def text_of_graph(graph: nx.DiGraph) -> str:
    """Return a graph as text, well formed or not."""
    try:
        return str(graph) if isinstance(graph, Graph) else _plain_text(graph)
    except GraphRewriteError:  # a malformed graph has no text form, but is drawn all the same
        return _plain_text(graph)


def _plain_text(graph: nx.DiGraph) -> str:
    return "\n".join([f"graph {plain(graph.name, 120)}".strip(), *(_plain_line(graph, n) for n in drawn_nodes(graph))])


def _line(graph: nx.DiGraph, node: Any) -> str:
    try:
        return line_of(graph, node) if isinstance(graph, Graph) else _plain_line(graph, node)
    except GraphRewriteError:  # see above
        return _plain_line(graph, node)


def _plain_line(graph: nx.DiGraph, node: Any) -> str:
    sources = ", ".join(map(plain, graph.pred[node]))
    return f"{plain(node)} = {plain(graph.nodes[node].get('type', '')) or 'node'}({sources})"
