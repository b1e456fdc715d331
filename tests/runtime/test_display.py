"""Everything that shows itself does so by one mixin."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module

import pytest

from graphrewrite import Graph, Pipeline
from graphrewrite.runtime.display import Displayed

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
