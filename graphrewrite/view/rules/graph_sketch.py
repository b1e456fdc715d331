"""A rule over digraphs as a picture: the pattern graph beside its replacement."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Any

import networkx as nx

from graphrewrite.op import LIBRARY
from graphrewrite.rewriting.digraph_rules import GraphPattern, GraphRule
from graphrewrite.view.colour import PAPER, VARIABLES, Look, look_of
from graphrewrite.view.plain import plain
from graphrewrite.view.rules.conditions import declines_of, options_of
from graphrewrite.view.rules.outline import attribute_lines, with_words
from graphrewrite.view.scene import Arrow, Box, Scene
from graphrewrite.view.source import source_of

__all__ = ["graph_pattern_scene", "graph_sketch_of", "requirements_of"]


def graph_pattern_scene(rule: GraphRule, *, marks: Mapping[Hashable, str] | None = None) -> Scene:
    """Return the pattern graph of a rule, with the forbidden nodes and edges."""
    pattern = rule.pattern
    return _with_absent(_scene(f"{rule.name}: pattern", pattern.graph, pattern, marks or {}), pattern)


def graph_sketch_of(rule: GraphRule, *, words: bool = True) -> tuple[Scene, ...]:
    """Return the pattern graph of a rule and its replacement, to be drawn side by side.

    Examples
    --------
    >>> from graphrewrite.rewriting.digraph_rules import from_graphs
    >>> graph = nx.DiGraph([("s", "x"), ("x", "e")])
    >>> graph.nodes["x"]["type"] = "relu"
    >>> skip = from_graphs(graph, nx.DiGraph([("s", "e")]), name="skip", interface=["s"], groups=["e"])
    >>> before, after = graph_sketch_of(skip)
    >>> [(box.name, box.mark) for box in before.boxes]
    [('s', ''), ('x', 'removed'), ('*e', '')]
    """
    pattern, new = rule.pattern, rule.replacement
    is_graph = isinstance(new, nx.DiGraph)
    removed = {n: "removed" for n in pattern.graph if n not in new} if isinstance(new, nx.DiGraph) else {}
    before = graph_pattern_scene(rule, marks=removed)
    if words:
        before = with_words(before, "where", requirements_of(pattern))
        before = with_words(before, "declines", () if is_graph else declines_of(new))
    else:
        before = replace(before, title="pattern")
    if not isinstance(new, nx.DiGraph):
        return before, Scene("⇒ replacement", (Box("", "", PAPER, code=source_of(new)),), ())
    fresh = {n: "added" for n in new if n not in pattern.graph}
    return before, _scene("⇒ replacement", new, pattern, fresh)


def requirements_of(pattern: GraphPattern) -> tuple[str, ...]:
    """Return the requirements of a pattern graph on a whole match, as text."""
    alone = ("no other edges between them",) if pattern.induced else ()
    return alone if pattern.condition is None else (*alone, pattern.condition.reason)


def _scene(title: str, graph: nx.DiGraph, pattern: GraphPattern, marks: Mapping[Hashable, str]) -> Scene:
    position = {name: index for index, name in enumerate(graph)}
    boxes = [_box(name, data, pattern, marks.get(name, "")) for name, data in graph.nodes(data=True)]
    arrows = [Arrow(position[a], position[b], label=_on_edge(data)) for a, b, data in graph.edges(data=True)]
    return Scene(title, tuple(boxes), tuple(arrows))


def _box(name: Hashable, data: Mapping[str, Any], pattern: GraphPattern, mark: str) -> Box:
    kind = data.get("type", "")
    words = kind if isinstance(kind, str) else " | ".join(map(str, options_of(kind))) if _is_several(kind) else ""
    notes = [line for k, v in data.items() if k != "type" or not words for line in attribute_lines(k, v)]
    look = look_of(words, LIBRARY.get(words)) if words in LIBRARY else PAPER
    shown = plain(name, 60)
    if name in pattern.interface:
        at = pattern.interface.index(name)
        # Interface nodes have one colour on both sides, as variables of rules made of ops have.
        look = Look(VARIABLES[at % len(VARIABLES)], PAPER.border)
        if name in pattern.groups:
            shown, notes = f"*{shown}", ["all that are connected", *notes]
    return Box(shown, plain(words, 60), look, notes=tuple(notes), mark=mark, round=name in pattern.interface)


def _is_several(value: Any) -> bool:
    return isinstance(value, set | frozenset | range)


def _on_edge(data: Mapping[str, Any]) -> str:
    return ", ".join(line for key, value in data.items() for line in attribute_lines(key, value))


def _with_absent(scene: Scene, pattern: GraphPattern) -> Scene:
    """Add forbidden nodes and edges, and forbidden attributes of matched nodes."""
    boxes, arrows = list(scene.boxes), list(scene.arrows)
    there = {name: index for index, name in enumerate(pattern.graph)}
    for absent in pattern.without:
        position = dict(there)
        for name, data in absent.nodes(data=True):
            if name not in there:
                position[name] = len(boxes)
                boxes.append(_box(name, data, pattern, "forbidden"))
                continue
            at = position[name]
            denied = [f"not {line}" for key, value in data.items() for line in attribute_lines(key, value)]
            boxes[at] = replace(boxes[at], notes=(*boxes[at].notes, *denied))
        for source, destination, data in absent.edges(data=True):
            # An edge of the pattern itself is drawn already; its requirements are not shown.
            if source in there and destination in there and pattern.graph.has_edge(source, destination):
                continue
            arrows.append(Arrow(position[source], position[destination], label=_on_edge(data), mark="forbidden"))
    return Scene(scene.title, tuple(boxes), tuple(arrows))
