"""Rules made of examples: an example finds itself, and what it is replaced by computes the same."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, rewrite, rule
from graphrewrite.errors import RuleError
from graphrewrite.hierarchy import parallel, residual, sequential
from graphrewrite.testing import check

F = Tensor("f32", ("N", 4))
PARTS = [
    op.abs,
    op.neg,
    partial(op.clip, low=-1.0, high=1.0),
    partial(op.transpose, perm=(0, 1)),
    sequential(parallel(op.abs, op.sin), op.sub),
    lambda x: x + np.float32(3),
    residual(op.abs),
]


def graph_of(text: str) -> Graph:
    return Graph.parse(text)


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=6))
def test_an_example_finds_itself_in_a_larger_graph_and_the_values_stay(parts):
    before = sequential(*parts).graph(F, name="before")
    after = sequential(*parts, op.identity).graph(F, name="after")
    found = rule.from_example(before, after, name="found")
    graph = sequential(op.exp, *parts, op.sqrt).graph(Tensor("f32", (2, 4)))
    made = rewrite(graph, found, once=True)
    assert [data["type"] for _, data in made.nodes(data=True)].count("identity") == 1
    sample = {"x": np.linspace(-1, 1, 8, dtype="f4").reshape(2, 4)}
    np.testing.assert_array_equal(evaluate(made, sample)["y"], evaluate(graph, sample)["y"])


def scaled(value: float) -> tuple[Graph, Graph]:
    before, after = Graph("scaled"), Graph("linear")
    x, w = before.input("x", F), before.constant(np.ones((4, 4), np.float32), name="w")
    before.output("y", op.linear(x, w) * np.float32(value))
    x, w = after.input("x", F), after.input("w", Tensor("f32", (4, 4)))
    after.output("y", op.linear(x, w * np.float32(value)))
    return before, after


def test_a_variable_stands_for_any_constant_and_another_constant_for_itself():
    rewritten = rule.from_example(*scaled(2.0), name="fold_two", variables=["w"], keeps="rounding")
    assert str(rewritten) == "fold_two: mul(linear(x, w: Constant), <it is the constant 'constant_1' of 'scaled'>)"
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 3)))
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    graph.output("y", op.linear(x, weights) * np.float32(2))
    graph.output("z", op.linear(x, weights) * np.float32(3))
    made = rewritten(graph)
    assert [data["type"] for _, data in made.nodes(data=True)].count("mul") == 1
    sample = {"x": np.float32([[1, 2, 3]])}
    for name, array in evaluate(graph, sample).items():
        np.testing.assert_array_equal(evaluate(made, sample)[name], array)


@pytest.mark.slow
def test_the_kit_tests_an_example():
    before = graph_of("graph a\nx = input() : f32[N]\nb = neg(x)\nc = neg(b)\ny = output(c)")
    right = graph_of("graph b\nx = input() : f32[N]\nb = identity(x)\ny = output(b)")
    wrong = graph_of("graph b\nx = input() : f32[N]\nb = abs(x)\ny = output(b)")
    assert check(rule.from_example(before, right), seed=0)
    assert not check(rule.from_example(before, wrong), seed=0)


@pytest.mark.parametrize(
    ("before", "after", "options", "message"),
    [
        ("x = input() : f32[N]\ny = output(x)", "x = input() : f32[N]\ny = output(x)", {}, "returns its input 'x'"),
        ("x = input() : f32[N]\nr = relu(x)\ny = output(r)", "z = input() : f32[N]\ny = output(z)", {}, "reads 'z'"),
        (
            "x = input() : f32[N]\nr = relu(x)\ny = output(r)",
            "x = input() : f32[N]\ny = output(x)\nz = output(x)",
            {},
            "1 outputs, and its replacement 2",
        ),
        (
            "x = input() : f32[N]\nr = relu(x)\ny = output(r)",
            "x = input() : f32[N]\ny = output(x)",
            {"variables": ["w"]},
            "'w' is no constant",
        ),
    ],
)
def test_what_is_no_example_is_refused(before, after, options, message):
    with pytest.raises(RuleError, match=message):
        rule.from_example(graph_of(f"graph a\n{before}"), graph_of(f"graph b\n{after}"), **options)
    with pytest.raises(RuleError, match="a Graph before and a Graph after"):
        rule.from_example(before, after)
