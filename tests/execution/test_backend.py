"""A graph is handed to another engine, which gives the same but for rounding; or the error says what to do."""

from __future__ import annotations

import sys
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op
from graphrewrite.errors import EvaluationError, GraphRewriteError, MissingDependencyError
from graphrewrite.execution import Implementation
from tests.support.program_networks import networks

TEXT = "graph g\nx = input() : f32[N,2]\nr = clip(x, low=0.0)\ny = output(r)"
X = {"x": np.float32([[-1.0, 2.0]])}


@pytest.fixture
def engine() -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")


@pytest.mark.usefixtures("engine")
@settings(max_examples=settings().max_examples // 2)
@given(networks(), st.integers(0, 2**32 - 1), st.sampled_from((1, 3, 37)))
def test_onnxruntime_gives_the_same_but_for_rounding(graph: Graph, seed: int, batch: int) -> None:
    kind = graph.result_type("x")
    x = np.random.default_rng(seed).normal(size=(batch, *kind.shape[1:]))
    try:
        found = evaluate(graph, {"x": x}, backend="onnxruntime")
    except EvaluationError:
        if kind.element == "f64":  # for which it lacks some ops
            return
        raise
    with np.errstate(all="ignore"):
        wanted = evaluate(graph, {"x": x})
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5 * np.abs(array).max(initial=1))


@pytest.mark.usefixtures("engine")
def test_a_graph_keeps_its_session_until_it_changes() -> None:
    graph = Graph.parse(TEXT)
    assert evaluate(graph, X, backend="onnxruntime")["y"].tolist() == [[0, 2]]
    session = vars(graph)["_programs"].programs["onnxruntime"][2]
    assert graph.evaluate(x=X["x"], backend="onnxruntime")["y"].tolist() == [[0, 2]]
    assert vars(graph)["_programs"].programs["onnxruntime"][2] is session
    graph.nodes["r"]["low"] = 1.0
    assert evaluate(graph, X, backend="onnxruntime")["y"].tolist() == [[1, 2]]
    assert evaluate(graph, X)["y"].tolist() == [[1, 2]]


@pytest.mark.usefixtures("engine")
def test_views_and_plain_digraphs_are_taken_as_well() -> None:
    graph = Graph.parse(TEXT)
    assert evaluate(nx.DiGraph(graph), X, backend="onnxruntime")["y"].tolist() == [[0, 2]]
    view = graph.view("v", ["r"])
    assert next(iter(evaluate(view, X["x"], backend="onnxruntime").values())).tolist() == [[0, 2]]


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("inputs", [{}, {"x": [[1]]}, {"x": X["x"], "z": 1}])
def test_arguments_are_checked_as_without_a_backend(inputs: Any) -> None:
    errors = []
    for backend in (None, "onnxruntime"):
        with pytest.raises(EvaluationError) as caught:
            evaluate(Graph.parse(TEXT), inputs, backend=backend)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


def test_own_names_mean_no_other_engine() -> None:
    assert evaluate(Graph.parse(TEXT), X, backend="numpy")["y"].tolist() == [[0, 2]]


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(EvaluationError, match="no backend 'onnxrutnime'; did you mean 'onnxruntime'"):
        evaluate(Graph.parse(TEXT), X, backend="onnxrutnime")


def test_implementations_do_not_go_with_a_backend() -> None:
    mine = Implementation(op.clip, lambda x, **_: x)
    with pytest.raises(EvaluationError, match="pass implementations or a backend"):
        evaluate(Graph.parse(TEXT), X, implementations=[mine], backend="onnxruntime")


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingDependencyError, match="pip install onnxruntime"):
        evaluate(Graph.parse(TEXT), X, backend="onnxruntime")


@pytest.mark.usefixtures("engine")
def test_what_onnx_cannot_say_is_named() -> None:
    g = Graph("g")
    fixed = op.to_fixed(g.input("x", Tensor("f32", ("N", 2))), element=FixedPoint(True, 8, 4))
    g.output("y", op.requantise(fixed, shift=2, element=FixedPoint(True, 6, 2)))
    with pytest.raises(GraphRewriteError, match="to_fixed"):
        evaluate(g, X, backend="onnxruntime")
