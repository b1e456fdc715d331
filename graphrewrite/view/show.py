"""What people call: `show`, `before_after`, `rule_picture`, `to_svg`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphRewriteError, not_there
from graphrewrite.given import check_digraph
from graphrewrite.graph import Graph
from graphrewrite.graph_rule import GraphMatch, GraphRule
from graphrewrite.module import Module
from graphrewrite.rule import Match, Rule
from graphrewrite.summary import summary
from graphrewrite.view.graph_sketch import graph_sketch_of
from graphrewrite.view.picture import Picture
from graphrewrite.view.plain import plain
from graphrewrite.view.render import render_svg
from graphrewrite.view.scene import Scene, scene_of
from graphrewrite.view.sketch import sketch_of, text_of

__all__ = ["before_after", "rule_picture", "show", "to_svg"]


def show(
    graph: nx.DiGraph | Module | Rule | GraphRule,
    *,
    highlight: Match | GraphMatch | Iterable[Any] | None = None,
    max_nodes: int = 200,
    direction: str = "TB",
) -> Picture:
    r"""Return a picture of a graph or a rule: the last line of a notebook cell draws it, a terminal prints its text.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph, Module, Rule or GraphRule
        What to look at.
    highlight : Match, GraphMatch or iterable of node names, optional
        What to ring.
    max_nodes : int
        Of a larger graph the summary is shown.
    direction : {"TB", "LR"}
        From top to bottom or from left to right.

    Returns
    -------
    Picture

    Raises
    ------
    GraphError
        If it is nothing that can be drawn, or a name to highlight is not in the graph.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule
    >>> @rule
    ... def drop_double_negation(x):
    ...     "Minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> show(drop_double_negation)
    drop_double_negation: neg(neg(x))
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\ny = output(b)")
    >>> picture = show(g, highlight=drop_double_negation.find(g)[0])
    >>> [box.name for box in picture.scenes[0].boxes if box.mark]
    ['a', 'b']
    """
    if isinstance(graph, Rule | GraphRule):
        return rule_picture(graph, direction=direction)
    if isinstance(graph, Module):
        scenes = tuple(scene_of(each, title=name) for name, each in graph.items())
        if sum(len(scene.boxes) for scene in scenes) > max_nodes:
            return Picture((), f"{summary(graph)}\nmore than max_nodes={max_nodes} nodes; show one graph of the module")
        return Picture(tuple(scene for scene in scenes if scene.boxes), str(graph), direction=direction)
    check_digraph(graph, "that can be drawn")
    marks = dict.fromkeys(_chosen(graph, highlight), "matched")
    scene = scene_of(graph, marks=marks)
    if len(scene.boxes) > max_nodes:
        hint = f"{len(scene.boxes)} nodes are more than max_nodes={max_nodes}, so that this is their summary;"
        hint += " to draw a part of them: show(graph.subgraph(nodes))"
        return Picture((), f"{summary(graph)}\n{hint}")
    return Picture((scene,) if scene.boxes else (), _text(graph, scene), direction=direction)


def _chosen(graph: nx.DiGraph, highlight: Match | GraphMatch | Iterable[Any] | None) -> list[Any]:
    if isinstance(highlight, Match | GraphMatch):
        names: list[Any] = list(highlight.nodes)
    else:
        names = [highlight] if isinstance(highlight, str) else list(highlight or ())
    for name in names:
        if name not in graph:
            raise not_there(name, graph)
    return names


def before_after(
    before: nx.DiGraph, after: nx.DiGraph, *, titles: tuple[str, str] | None = None, direction: str = "TB"
) -> Picture:
    r"""Return a picture of two graphs side by side: what the second lacks is dashed in the first, what it adds is bold.

    Parameters
    ----------
    before, after : Graph or networkx.DiGraph
        Usually a graph and what a rewrite made of it.
    titles : tuple of two str, optional
        The number of nodes where not given.
    direction : {"TB", "LR"}
        From top to bottom, one graph beside the other, or from left to right, one above the other.

    Returns
    -------
    Picture

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = relu(a)\ny = output(b)")
    >>> h = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\ny = output(a)")
    >>> before_after(g, h).scenes[0].box("b").mark
    'removed'
    """
    gone = {node: "removed" for node in before if node not in after}
    new = {node: "added" for node in after if node not in before}
    heads = titles or (f"before: {_count(before)}", f"after: {_count(after)}")
    scenes = (scene_of(before, marks=gone, title=heads[0]), scene_of(after, marks=new, title=heads[1]))
    text = f"{plain(heads[0])}\n{_text(before, scenes[0])}\n\n{plain(heads[1])}\n{_text(after, scenes[1])}"
    return Picture(scenes, text, direction=direction)


def _count(graph: nx.DiGraph) -> str:
    ops = sum(data.get("type") not in ("input", "output", "constant") for _, data in graph.nodes(data=True))
    return f"{ops} operation{'s' if ops != 1 else ''}"


def rule_picture(rule: Rule | GraphRule, *, direction: str = "TB") -> Picture:
    """Return a picture of a rule: its pattern, and beside it its replacement as far as that is known without a graph.

    Parameters
    ----------
    rule : Rule or GraphRule
        Any rule.
    direction : {"TB", "LR"}
        As for `show`.

    Returns
    -------
    Picture
    """
    if isinstance(rule, GraphRule):
        return Picture(graph_sketch_of(rule), str(rule), direction=direction)
    return Picture(sketch_of(rule), text_of(rule), direction=direction)


def to_svg(graph: nx.DiGraph | Rule | GraphRule, *, direction: str = "TB") -> str:
    """Return a picture of a graph or a rule as SVG, however large.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph, Rule or GraphRule
        What to draw.
    direction : {"TB", "LR"}
        As for `show`.

    Returns
    -------
    str

    Raises
    ------
    MissingDependencyError
        If pydot or Graphviz is not installed.
    """
    scenes = rule_picture(graph).scenes if isinstance(graph, Rule | GraphRule) else (scene_of(graph),)
    return render_svg(scenes, direction=direction)


def _text(graph: nx.DiGraph, scene: Scene) -> str:
    if isinstance(graph, Graph):
        try:
            return str(graph)
        except GraphRewriteError:  # a graph that is broken has no text form, and is drawn all the same
            pass
    sources: dict[int, list[str]] = {index: [] for index in range(len(scene.boxes))}
    for arrow in scene.arrows:
        sources[arrow.destination].append(scene.boxes[arrow.source].name)
    lines = [
        f"{plain(box.name)} = {plain(box.kind) or 'node'}({', '.join(map(plain, sources[i]))})"
        for i, box in enumerate(scene.boxes)
    ]
    return "\n".join([f"graph {scene.title}".strip(), *lines])
