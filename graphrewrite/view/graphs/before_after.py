"""Two graphs side by side: removed and added nodes, with their surroundings."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import networkx as nx

from graphrewrite.view.graphs.graph_picture import text_of_graph
from graphrewrite.view.picture import Picture
from graphrewrite.view.plain import plain
from graphrewrite.view.scene import scene_of
from graphrewrite.view.scene.graph import drawn_nodes
from graphrewrite.view.scene.part import around_nodes

__all__ = ["before_after"]

Marks = Mapping[Hashable, str]

_WHOLE = 40
"""Graphs of no more boxes are drawn whole."""
_CONTEXT = (2, 1, 0)
"""Number of steps around differences that are drawn of larger graphs, as far as they fit."""


def before_after(
    before: nx.DiGraph,
    after: nx.DiGraph,
    *,
    titles: tuple[str, str] | None = None,
    marks: tuple[Marks, Marks] | None = None,
    direction: str = "TB",
    max_nodes: int = 200,
) -> Picture:
    r"""Return a picture of two graphs side by side: removed nodes are dashed in the first, new ones bold in the second.

    Of large graphs, nodes far from any difference are left out; stubs stand for them.

    Parameters
    ----------
    before, after : Graph or networkx.DiGraph
        Usually a graph before and after a rewrite.
    titles : tuple of two str, optional
        The number of nodes where not given.
    marks : tuple of two mappings, optional
        For each graph, node to a key of `graphrewrite.view.colour.HIGHLIGHTS`; by the names that only one has where
        not given.
    direction : {"TB", "LR"}
        From top to bottom, one graph beside the other, or from left to right, one above the other.
    max_nodes : int
        If the differences themselves are more, only the text is shown.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = relu(a)\ny = output(b)")
    >>> h = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\ny = output(a)")
    >>> before_after(g, h).scenes[0].box("b").mark
    'removed'
    """
    own = marks or (
        {node: "removed" for node in before if node not in after},
        {node: "added" for node in after if node not in before},
    )
    heads = titles or (f"before: {_count(before)}", f"after: {_count(after)}")
    text = f"{plain(heads[0])}\n{text_of_graph(before)}\n\n{plain(heads[1])}\n{text_of_graph(after)}"
    graphs = (before, after)
    parts = _parts(graphs, own, max_nodes)
    if parts is None:
        count = sum(map(len, own))
        hint = f"{count:,} nodes that differ are more than max_nodes={max_nodes}, so that they are not drawn"
        return Picture((), text, hints=(hint,))
    scenes = tuple(
        scene_of(graph, marks=mark, title=head, nodes=part)
        for graph, mark, head, part in zip(graphs, own, heads, parts, strict=True)
    )
    hints = ("what is far from any difference is left out",) if parts != (None, None) else ()
    return Picture(scenes, text, direction=direction, hints=hints)


def _parts(
    graphs: tuple[nx.DiGraph, nx.DiGraph], marks: tuple[Marks, Marks], most: int
) -> tuple[frozenset[Any] | None, frozenset[Any] | None] | None:
    """Return the nodes to draw of each graph, None for all of them; None alone where that would be too many."""
    drawn = [drawn_nodes(graph) for graph in graphs]
    if max(map(len, drawn)) <= min(_WHOLE, most):
        return None, None
    # Where a node is removed from one graph, its neighbours show the same part of the other.
    near = {n for graph, own in zip(graphs, marks, strict=True) for n in around_nodes(graph, own, 1)}
    for steps in _CONTEXT:  # as much context as fits
        parts = []
        for graph, own in zip(graphs, marks, strict=True):
            seeds = {*own} | ({n for n in near if n in graph} if steps else set())
            parts.append(around_nodes(graph, seeds, max(steps - 1, 0)))
        shown = [sum(node in part for node in nodes) for part, nodes in zip(parts, drawn, strict=True)]
        if max(shown) <= most:
            return parts[0], parts[1]
    return None


def _count(graph: nx.DiGraph) -> str:
    ops = sum(data.get("type") not in ("input", "output", "constant") for _, data in graph.nodes(data=True))
    return f"{ops} operation{'s' if ops != 1 else ''}"
