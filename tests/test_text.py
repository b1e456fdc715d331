from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, define_op, op
from graphrewrite.errors import ParseError
from graphrewrite.testing import graphs
from graphrewrite.text import format_attribute, to_text

X = "graph g\nx = input() : f32[N,2]\n"


@define_op(infer=lambda x, table: x)
def looked_up(x, *, table):
    return table[x]


@define_op(results=2, infer=lambda x: (x, x))
def twice(x):
    return x, x


@given(graphs())
def test_what_is_printed_parses_to_an_equal_graph(graph):
    again = Graph.parse(to_text(graph, whole=True))
    assert again == graph
    assert str(again) == str(graph)
    assert again.inputs == graph.inputs
    assert again.outputs == graph.outputs


names = st.text(min_size=1, max_size=12)


@given(names, names, names)
def test_any_name_survives(graph_name, x_name, y_name):
    if x_name == y_name:
        y_name += "'"
    graph = Graph(graph_name)
    x = graph.input(x_name, Tensor("f32", ("N",)))
    graph.output(y_name, x + x)
    assert Graph.parse(str(graph)) == graph


@pytest.mark.parametrize(
    "name", ["graph", "graphic", "a=b", "x:1", "a, b", "1", "(", "'", '"', "# no", "ü", "\n", "a\u2028b"]
)
def test_awkward_names_survive(name):
    graph = Graph(name)
    graph.output("y" if name != "y" else "z", op.relu(graph.input(name, Tensor("f32", ("N",)))))
    assert Graph.parse(str(graph)) == graph


@pytest.mark.parametrize(
    "value",
    [
        np.array([np.nan, np.inf, -np.inf, -0.0], np.float32),
        np.array(3.5),
        np.zeros((2, 0, 3), np.float32),
        np.arange(100, dtype=np.int8),
        np.array([True, False]),
        np.array([[2**63 - 1, -(2**63)]]),
        np.array([1e-45, 3.4e38, 0.1], np.float32),
    ],
    ids=lambda value: f"{value.dtype}{list(value.shape)}",
)
def test_constants_survive_bit_for_bit(value):
    graph = Graph("g")
    graph.output("y", graph.constant(value))
    assert Graph.parse(to_text(graph, whole=True)) == graph


@pytest.mark.parametrize(
    "table",
    [
        np.array([1, 2], np.int16),
        np.array([[1], [2]]),
        np.arange(50),
        (1, (2, 3)),
        [float("inf"), -1.5],
        "f32",
        FixedPoint(True, 8, -4),
        (FixedPoint(False, 3, 1), None),
        {"a": [1, 2], "b": {"c": True}},
        -3,
    ],
    ids=str,
)
def test_attributes_survive(table):
    graph = Graph("g", ops=[looked_up])
    graph.output("y", looked_up(graph.input("x", Tensor("i64", ("N",))), table=table))
    again = Graph.parse(to_text(graph, whole=True), ops=[looked_up])
    assert again == graph
    found = again.attributes("looked_up_1")["table"]
    assert isinstance(found, np.ndarray) == isinstance(table, np.ndarray)


def test_a_node_with_several_results_survives():
    graph = Graph("g", ops=[twice])
    a, b = twice(graph.input("x", Tensor("f32", ("N",))))
    graph.output("y", b - a)
    assert "sub(twice_1:1, twice_1)" in str(graph)
    assert Graph.parse(str(graph), ops=[twice]) == graph


def test_large_arrays_are_abbreviated_for_people_only():
    assert format_attribute(np.arange(100)) == "<100 values, 0 to 99>"
    assert len(format_attribute(np.arange(100), whole=True)) > 300


def test_a_negative_fraction_and_comments_are_read():
    graph = Graph.parse("# a comment\ngraph g\n\nx = input() : s8f-2[N]\n  # another\ny = output(x)\n")
    assert graph.result_type("x").element == FixedPoint(True, 8, -2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (X + "r = rellu(x)", "line 3, column 5: no op is called 'rellu'; did you mean 'relu'"),
        (X + "r = relu(z)", "line 3, column 10: node 'z': is not in the graph"),
        (X + "r = relu(x:1)", "line 3, column 10: expected an operand"),
        (X + "r = relu(x, colour=?)", "line 3, column 20: expected a value"),
        (X + "r = relu(x, alpha=1)", "line 3, column 5: relu has no attribute 'alpha'"),
        (X + "r = relu(x", "line 3, column 11: expected ',' or '\\)', and the line ends"),
        (X + "r relu(x)", "line 3, column 1: expected 'name = op"),
        (X + "r = relu(x) f32[N,2]", "line 3, column 13: expected ':' and a type, got 'f32"),
        (X + "r = relu(x) : f32[N,3]", "line 3, column 15: relu gives f32\\[N,2\\] here, and the text says"),
        (X + "x = relu(x)", "line 3, column 1: node 'x': that name is taken"),
        (X + "y = output()", "line 3, column 5: an output has one operand"),
        (X + "m = matmul(x, x)", "line 3, column 5: matmul"),
        (X + "c = constant() : f32[]", "line 3, column 5: a constant needs a value"),
        ("graph g\nx = input()", "line 2, column 5: an input needs a type"),
        ("graph g\nx = input() : f99[N]", "line 2, column 15: .*unknown element type 'f99'"),
        ("graph g\nx = input() : f32", "'f32' is no type"),
        (X + "r = relu(__import__('os'))", "line 3"),
        (X + "r = clip(x, low=__import__('os'))", "line 3, column 17: expected a value"),
    ],
)
def test_what_is_no_graph_is_refused_with_its_place(text, message):
    with pytest.raises(ParseError, match=message):
        Graph.parse(text)
