"""Optimising for a target: what it has stays, what it lacks is written by other ops."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, models, op
from graphrewrite.errors import RuleError
from graphrewrite.lowering import HARDWARE, INTEGER, ONNX, TARGETS, C, Target, from_onnx, optimise, quantise

GRAPH = """graph g
x = input() : f32[N,4]
w = constant(value=[[1.0], [2.0], [0.5], [-1.0]]) : f32[4,1]
i = identity(x)
m = matmul(i, w)
s = softplus(m)
y = output(s)"""


def kinds(graph):
    return {graph.nodes[node]["type"] for node in graph} - {"input", "output", "constant"}


def test_it_is_exact_by_default():
    graph = Graph.parse(GRAPH)
    after = optimise(graph)
    assert kinds(after) == {"matmul", "softplus"}
    inputs = {"x": np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)}
    np.testing.assert_array_equal(evaluate(graph, inputs)["y"], evaluate(after, inputs)["y"])


def test_it_folds_where_rounding_is_allowed():
    assert kinds(optimise(Graph.parse(GRAPH), approximate=True)) == {"linear", "softplus"}


def test_what_a_target_has_stays():
    assert "softplus" not in kinds(optimise(Graph.parse(GRAPH), Target("plain", ops=frozenset({"exp"}))))
    assert "softplus" in kinds(optimise(Graph.parse(GRAPH), Target("rich", ops=frozenset({"softplus"}))))


def test_a_target_names_ops_of_the_library():
    with pytest.raises(RuleError, match="target 'plain' has no op 'sofplus'; did you mean 'softplus'"):
        Target("plain", ops=frozenset({"sofplus"}))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target": "onnx"}, r"got 'onnx'; write lowering.TARGETS\['onnx'\]"),
        ({"target": "onx"}, "expected a Target, such as lowering.ONNX, got 'onx'$"),
        ({"target": None}, "got None$"),
        ({"approximate": "no"}, "True or False, got 'no'"),
    ],
)
def test_what_is_no_target_and_no_choice_is_refused(options, told):
    with pytest.raises(RuleError, match=told):
        optimise(Graph.parse(GRAPH), **options)


def test_targets_are_values():
    assert TARGETS == {"onnx": ONNX, "integer": INTEGER, "hardware": HARDWARE, "c": C}
    assert len({ONNX, INTEGER, HARDWARE}) == 3
    with pytest.raises(AttributeError):
        ONNX.name = "other"


def test_what_is_optimised_for_integers_is_quantised_as_before():
    graph = from_onnx(models.path("digits"))
    samples = np.load(models.path("digits").with_suffix(".npz"))["calibration_x"]
    after = quantise(optimise(graph, INTEGER, approximate=True), samples)
    assert str(after) == str(quantise(graph, samples))


def test_a_target_says_what_code_is_written_and_of_which_level():
    assert {name for name, target in TARGETS.items() if target.generate} == {"hardware", "c"}
    assert TARGETS["hardware"].level == "stream"
    with pytest.raises(RuleError, match="no level 'integr'; did you mean 'integer'"):
        Target("mine", level="integr")


def test_products_of_samples_and_steps_that_are_open_are_merged_without_computed_sizes():
    network, random = Graph("queries_and_keys"), np.random.default_rng(0)
    x = network.input("x", Tensor("f32", ("N", "T", 4)))
    for name, step in {"q": op.relu, "k": op.tanh, "v": op.exp}.items():
        w, b = random.normal(size=(4, 4)).astype(np.float32), random.normal(size=4).astype(np.float32)
        network.output(name, step(op.add(op.matmul(x, w), b)))
    smaller = optimise(network, approximate=True)
    assert kinds(smaller) == {"matmul", "add", "split", "relu", "tanh", "exp"}
    given = {"x": random.normal(size=(2, 3, 4)).astype(np.float32)}
    found = evaluate(smaller, given)
    for name, array in evaluate(network, given).items():
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-6)
