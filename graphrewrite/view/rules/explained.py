"""Explanations as displays: fitting nodes in green, the obstacle in red, in the graph and in the pattern."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import networkx as nx

from graphrewrite.graph import Operand
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.match.results import UnitMatches
from graphrewrite.rewriting.pattern import Every, PatternNode, Repeated, Variable
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.rewriting.rule.explanation import Explanation
from graphrewrite.view.layout.drawing import Drawing, drawings
from graphrewrite.view.picture import Picture
from graphrewrite.view.plain import plain
from graphrewrite.view.rules.card import Card, cards_of
from graphrewrite.view.rules.graph_sketch import graph_pattern_scene
from graphrewrite.view.rules.illustrated import Illustrated
from graphrewrite.view.rules.sketch import pattern_scene
from graphrewrite.view.scene import Scene, scene_of
from graphrewrite.view.scene.box import is_tucked
from graphrewrite.view.scene.part import around_nodes

__all__ = ["ExplanationPage", "explained"]

_MOST = 60
"""Of a larger neighbourhood, only fitting nodes and the obstacle are drawn."""


@dataclass(frozen=True)
class ExplanationPage:
    """Data of the display of an explanation.

    Attributes
    ----------
    sentence : str
        The explanation as text.
    is_match : bool
        Whether the rule applies.
    card : Card
        The rule.
    graph : Drawing
        The neighbourhood, with fitting nodes and the obstacle.
    pattern : Drawing or None
        The pattern.
    fits : tuple of tuple of str
        Names in the pattern, each with its node.
    """

    sentence: str
    is_match: bool
    card: Card
    graph: Drawing
    pattern: Drawing | None
    fits: tuple[tuple[str, str], ...]


def explained(found: Explanation) -> Illustrated:
    r"""Return the display of an explanation.

    Parameters
    ----------
    found : Explanation
        A result of `Rule.explain`.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> from graphrewrite.rules import drop_repeated_relu
    >>> graph = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nr = relu(a)\ny = output(r)")
    >>> shown = explained(drop_repeated_relu.explain(graph, at="r"))
    >>> {box.name: box.mark for box in shown.data.graph.scenes[0].boxes if box.mark}
    {'a': 'obstacle', 'r': 'fits'}
    >>> shown.data.fits
    (('relu', 'r'),)
    """
    graph = _graph_scene(found)
    pattern = _pattern_scene(found)
    scenes = (graph,) if pattern is None else (graph, pattern)
    drawn = drawings((scene,) for scene in scenes)
    (card,) = cards_of([found.rule])
    page = ExplanationPage(
        str(found), found.is_match, card, drawn[0], drawn[1] if len(drawn) > 1 else None, tuple(_fits(found))
    )
    title = f"{card.name} at {plain(found.at, 60)}"
    return Illustrated(page, str(found), template="explained.html", title=title, picture=Picture(scenes, str(found)))


def _graph_scene(explanation: Explanation) -> Scene:
    """Return the neighbourhood of matching and failing nodes in the graph as it is now."""
    graph = explanation.graph
    # The graph may have changed since: nodes that are gone are left out.
    fits = [node for node in (*explanation.nodes, *_read(explanation)) if node in graph]
    centre = dict.fromkeys(
        [*fits, *(node for node in (explanation.at, explanation.node) if node is not None and node in graph)]
    )
    marks = dict.fromkeys(fits, "fits")
    if not explanation.is_match:
        marks.update(dict.fromkeys(_blamed(graph, explanation, list(centre)), "obstacle"))
    if not centre:
        return Scene(plain(graph.name, 120), (), ())
    near = around_nodes(graph, centre, 1)
    shown = near if len(near) <= _MOST else set(centre)
    return scene_of(
        graph, marks=marks, nodes=shown, title=f"{plain(graph.name, 80)}: around {plain(explanation.at, 60)}"
    )


def _read(explanation: Explanation) -> list[Any]:
    """Return the nodes whose values variables bind."""
    bound = [value for term, value in explanation.fits.items() if isinstance(term, Variable)]
    operands = [operand for value in bound for operand in (value if _is_several(value) else (value,))]
    return [operand.node for operand in operands if isinstance(operand, Operand)]


def _is_several(value: Any) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Operand)


def _blamed(graph: nx.DiGraph, explanation: Explanation, centre: list[Any]) -> list[Any]:
    """Return the node that does not fit; for a constant drawn inside its readers, the readers that were tried."""
    if explanation.node is None or explanation.node not in graph:
        return []
    if not is_tucked(graph, explanation.node):
        return [explanation.node]
    return [reader for reader in graph.succ[explanation.node] if reader in centre]


def _pattern_scene(explanation: Explanation) -> Scene | None:
    rule = explanation.rule
    if isinstance(rule, GraphRule):
        named = dict.fromkeys(explanation.fits, "fits")
        if not explanation.is_match and explanation.term is not None:
            named[explanation.term] = "obstacle"
        return graph_pattern_scene(rule, marks=named)
    if not isinstance(rule, Rule):
        return None
    marks = {id(term): "fits" for term, value in explanation.fits.items() if value is not None}
    if not explanation.is_match:
        blamed = explanation.term if explanation.term is not None else _term_of(explanation)
        if blamed is not None:
            marks[id(blamed)] = "obstacle"
    return pattern_scene(rule, marks=marks)


def _term_of(explanation: Explanation) -> Any:
    """Return the term of the obstacle's node, where it fits and is the obstacle as well."""
    return next((term for term, value in explanation.fits.items() if value == explanation.node), None)


def _fits(explanation: Explanation) -> list[tuple[str, str]]:
    """Return bindings as text: named terms and variables, or the names of a pattern graph."""
    rows = []
    for term, value in explanation.fits.items():
        if value is None:
            continue
        name = term if isinstance(explanation.rule, GraphRule) else _called(term)
        if name is not None:
            rows.append((plain(name, 60), plain(_shown(value), 200)))
    return rows


def _called(term: Any) -> str | None:
    match term:
        case PatternNode():
            return term.name or term.called
        case Variable() | Repeated() | Every():
            return term.name
    return None


def _shown(value: Any) -> str:
    match value:
        case Operand():
            return value.node if not value.result else f"{value.node}, result {value.result}"
        case UnitMatches():
            return ", ".join(map(str, value.tops))
        case tuple():
            return ", ".join(map(_shown, value)) or "none"
    return str(value)
