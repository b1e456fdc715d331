"""The functions `show`, which returns the display of an object, and `to_svg`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import networkx as nx

from graphrewrite.errors import did_you_mean
from graphrewrite.execution.statistics import Evaluation
from graphrewrite.graph.arguments import check_digraph
from graphrewrite.hierarchy.module import Module
from graphrewrite.hierarchy.operator import Operator
from graphrewrite.hierarchy.region import GraphView
from graphrewrite.rewriting.digraph_rules import GraphRule
from graphrewrite.rewriting.passes import Pass, Pipeline
from graphrewrite.rewriting.rule.declaration import Rule
from graphrewrite.types import FixedPoint, Quantised, Stream, Tensor
from graphrewrite.view.display import Display
from graphrewrite.view.graphs.graph_picture import graph_picture
from graphrewrite.view.graphs.module_picture import module_picture
from graphrewrite.view.layout.render import render_svg
from graphrewrite.view.picture import Picture
from graphrewrite.view.rules.gallery import show_rule, show_rules
from graphrewrite.view.rules.sketch import rule_picture
from graphrewrite.view.scene import scene_of
from graphrewrite.view.scene.part import Search
from graphrewrite.view.type_words import show_type
from graphrewrite.view.written import PictureError

__all__ = ["show", "to_svg"]


@wraps(graph_picture, assigned=())
def _region_picture(region: GraphView | Operator, **options: Any) -> Picture:
    nodes = list(region if isinstance(region, GraphView) else region.nodes)
    return graph_picture(region.graph, **{"around": nodes, "depth": 0, **options})


_KINDS: tuple[tuple[type | tuple[type, ...], str, Callable[..., Display]], ...] = (
    ((Rule, GraphRule), "rules", show_rule),
    ((Pass, Pipeline, tuple, list), "rule sets", show_rules),
    (Module, "modules", module_picture),
    ((GraphView, Operator), "views of graphs and operators", _region_picture),
    ((Tensor, Stream, FixedPoint, Quantised), "types", show_type),
    (nx.DiGraph, "graphs", graph_picture),
)
"""Types that are shown by a function; anything else is shown by its own method ``show``."""


def function_for(thing: Any) -> Callable[..., Any]:
    """Return the function that draws something which has no method of its own for that."""
    return next((function for kind, _, function in _KINDS if isinstance(thing, kind)), show)


def show(
    thing: Any,
    *,
    highlight: Any = None,
    around: Any = None,
    depth: int | None = None,
    between: tuple[Any, Any] | None = None,
    search: Search | None = None,
    values: Evaluation | Mapping[str, Any] | None = None,
    by: str = "range",
    direction: str | None = None,
    nested: bool = True,
    max_nodes: int = 200,
    on: nx.DiGraph | None = None,
    **further: Any,
) -> Any:
    r"""Return the display of something: the last line of a notebook cell draws it, a terminal prints its text.

    Parameters
    ----------
    thing : Graph, networkx.DiGraph, Module, Rule, GraphRule, rule set, type, or anything with a method ``show``
        The object to show.
    highlight, around, depth, between, search, values, by, nested, max_nodes
        Of a graph, see `graphrewrite.view.graphs.graph_picture`.
    direction : {"TB", "LR"}, optional
        From top to bottom or from left to right.
    on : Graph, optional
        Of a rule, and of a rule set, which is a tuple or list, a pass or a pipeline: a graph in which to count matches.
    **further
        Of other objects, those of their own method ``show``.

    Returns
    -------
    Display
        A `Picture` of what is drawn.

    Raises
    ------
    GraphError
        If it is nothing that can be shown, or a node is not in the graph.
    PictureError
        If there is no such option.

    Examples
    --------
    >>> from graphrewrite import Graph, op, rule, show
    >>> @rule
    ... def drop_double_negation(x):
    ...     "Minus minus x is x."
    ...     yield op.neg(op.neg(x))
    ...     return x
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = neg(a)\ny = output(b)")
    >>> picture = show(g, highlight=drop_double_negation.find(g)[0])
    >>> [box.name for box in picture.scenes[0].boxes if box.mark]
    ['a', 'b']
    """
    given = locals()
    defaults = inspect.signature(show).parameters
    options = {k: given[k] for k, p in defaults.items() if p.kind is p.KEYWORD_ONLY and given[k] is not p.default}
    options |= further
    if isinstance(thing, Display):
        return thing
    function = function_for(thing)
    if function is not show:
        _check_options(thing, function, options)
        return function(thing, **options)
    own = getattr(thing, "show", None)
    if callable(own) and not isinstance(thing, type):
        return own(**options)
    kinds = ", ".join(words for _, words, _ in _KINDS)
    check_digraph(thing, f"that can be drawn, nor anything else that can be shown ({kinds}, traces, evaluations, …)")
    return None


def _check_options(thing: Any, function: Callable[..., Display], options: dict[str, Any]) -> None:
    names = [name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY]
    for name in options:
        if name not in names:
            raise PictureError(
                f"{type(thing).__name__} is not shown with an option {name!r}{did_you_mean(name, names)} "
                f"(there are {', '.join(names) or 'none'})"
            )


def to_svg(graph: nx.DiGraph | Rule | GraphRule, *, direction: str = "TB") -> str:
    """Return a picture of a graph or a rule as SVG, however large.

    Parameters
    ----------
    graph : Graph, networkx.DiGraph, Rule or GraphRule
        The graph or rule to draw.
    direction : {"TB", "LR"}
        From top to bottom or from left to right.

    Raises
    ------
    MissingDependencyError
        If pydot or Graphviz is not installed.
    """
    scenes = rule_picture(graph).scenes if isinstance(graph, Rule | GraphRule) else (scene_of(graph),)
    return render_svg(scenes, direction=direction)
