"""Everything that shows itself does so by one mixin."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

import graphrewrite
from graphrewrite import (
    Graph,
    GraphRewriteError,
    Pipeline,
    formats,
    hdl,
    hierarchy,
    lowering,
    rules,
    schema,
    show,
    testing,
    trace,
    view,
)
from graphrewrite.runtime.display import Displayed
from graphrewrite.view.graphs.graph_picture import graph_picture

for room in ("hdl", "rewriting.traces", "execution.statistics", "compare", "summary"):
    import_module(f"graphrewrite.{room}")


def displayed(kind: type = Displayed) -> Iterator[type]:
    for each in kind.__subclasses__():
        yield each
        yield from displayed(each)


@pytest.mark.parametrize("kind", sorted(displayed(), key=lambda kind: kind.__qualname__))
def test_what_draws_a_class_is_a_function_of_the_view(kind: type[Displayed]) -> None:
    module, _, name = kind._shown_by.rpartition(".")
    function = getattr(import_module(f"graphrewrite.view.{module}"), name)
    assert next(iter(inspect.signature(function).parameters.values())).kind is inspect.Parameter.POSITIONAL_OR_KEYWORD


def test_many_classes_show_themselves() -> None:
    names = {kind.__name__ for kind in displayed()}
    assert {"Graph", "Module", "Rule", "Pass", "Trace", "Diff", "Summary", "Profile", "Tensor", "Design"} <= names


def test_what_cannot_be_drawn_is_its_text_and_the_reason() -> None:
    assert Pipeline([])._repr_html_().startswith("<pre>&lt;pipeline")


def test_a_graph_evaluates_itself() -> None:
    graph = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    assert graph.evaluate({"x": [[-1, 2]]})["y"].tolist() == [[0.0, 2.0]]


def test_the_help_of_a_method_is_that_of_what_draws_the_object() -> None:
    g = Graph("g")
    assert list(inspect.signature(g.show).parameters) == list(inspect.signature(graph_picture).parameters)[1:]
    assert inspect.getdoc(g.show) == inspect.getdoc(graph_picture)
    assert list(inspect.signature(trace(g, ()).show).parameters) == ["steps", "most"]
    assert inspect.signature(Graph.show) == inspect.signature(show)
    assert Graph.show(g, max_nodes=3) is not None
    with pytest.raises(GraphRewriteError, match="Graph is not shown with an option 'on'"):
        show(g, on=g)


def options_passed_on(function: Callable[..., Any]) -> list[str]:
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is p.VAR_KEYWORD]


def test_options_of_public_functions_are_named_and_defaults_are_short() -> None:
    for package in (graphrewrite, hdl, lowering, testing, view, rules, formats, hierarchy, schema):
        for function in (getattr(package, name) for name in dir(package) if not name.startswith("_")):
            if inspect.isfunction(function):
                # Those of `from_torch` are arguments of the user's module.
                known = {show: ["further"], lowering.from_torch: ["named"]}
                assert options_passed_on(function) == known.get(function, []), function
                assert len(str(inspect.signature(function))) < 1500, function
