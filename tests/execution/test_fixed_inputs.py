"""Inputs that are made constants: the same values, fewer inputs, and sizes that the arrays tell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, evaluate, verify
from graphrewrite.errors import EvaluationError, TypeMismatchError
from graphrewrite.testing import graphs, inputs_for

PAIR = "graph g\nx = input() : f32[N,2]\nk = input() : f32[N,K]\na = concat(x, k, axis=1)\ny = output(a)"


@given(st.data())
def test_the_values_are_those_of_the_graph(data):
    graph = data.draw(graphs())
    values = data.draw(inputs_for(graph))
    names = data.draw(st.sets(st.sampled_from(graph.inputs))) if graph.inputs else set()
    before = graph.copy()
    fixed = graph.with_inputs({name: values[name] for name in names})
    verify(fixed)
    assert fixed.inputs == tuple(name for name in graph.inputs if name not in names)
    assert graph == before
    with np.errstate(all="ignore"):
        expected = evaluate(graph, values)
        found = evaluate(fixed, {name: values[name] for name in fixed.inputs})
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_sizes_are_those_of_the_arrays():
    fixed = Graph.parse(PAIR).with_inputs({"k": np.zeros((3, 4))})
    assert [str(kind) for kind in fixed.input_types] == ["f32[3,2]"]
    assert str(fixed.result_type("a")) == "f32[3,6]"


@pytest.mark.parametrize(
    ("values", "error", "told"),
    [
        ({"z": 1}, EvaluationError, "no input 'z'"),
        ({"x": [1.0]}, EvaluationError, "input 'x'"),
        ({"x": np.zeros((3, 2)), "k": np.zeros((4, 2))}, TypeMismatchError, r"input 'k' is f32\[N,K\].*\(4, 2\)"),
    ],
)
def test_what_does_not_fit_is_refused(values, error, told):
    with pytest.raises(error, match=told):
        Graph.parse(PAIR).with_inputs(values)
