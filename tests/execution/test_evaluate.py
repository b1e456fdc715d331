from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, define_op, evaluate, op, rewrite, trace
from graphrewrite.errors import EvaluationError, GraphError, GraphRewriteError, RuleError, UnknownOpError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program import compile_graph
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.size_values import sizes_of_inputs
from graphrewrite.testing import assert_preserves, graphs, inputs_for
from graphrewrite.types import element_dtype, hold

X = "graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)"


def by_hand(graph, inputs):
    """Every node in turn, nothing freed, nothing skipped."""
    values = {}
    sizes = sizes_of_inputs({name: graph.result_type(name) for name in graph.inputs}, inputs)
    for node in graph.in_order():
        if node in graph.inputs:
            values[node, 0] = np.asarray(inputs[node], element_dtype(graph.result_type(node).element))
        else:
            sources = graph.operands(node)
            types = [graph.result_type(o.node, o.result) for o in sources]
            op = graph.op(node)
            attributes = Call.of(graph, node).with_sizes(sizes).attributes if op.sized else graph.attributes(node)
            found = op.compute([values[o] for o in sources], attributes, op.arrangement(types))
            for i, array in enumerate(found):
                values[node, i] = array if node in graph.outputs else hold(graph.result_type(node, i).element, array)
    return {name: values[name, 0] for name in graph.outputs}


@given(graphs().flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))))
def test_evaluation_is_every_node_in_turn(case):
    graph, inputs = case
    with np.errstate(all="ignore"):
        found, expected = evaluate(graph, inputs), by_hand(graph, inputs)
    assert list(found) == list(graph.outputs)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


@given(graphs().flatmap(lambda g: st.tuples(st.just(g), inputs_for(g))))
def test_values_are_what_the_types_say(case):
    graph, inputs = case
    nodes = [n for n in graph if n not in graph.outputs]
    with np.errstate(all="ignore"):
        values = evaluate_nodes(graph, inputs, nodes)
    for node, array in values.items():
        kind = graph.result_type(node)
        dtype = element_dtype(kind.element)
        assert array.dtype == dtype or array.dtype.kind == dtype.kind == "U"  # texts are as long as the longest
        assert array.ndim == len(kind.shape)
        assert all(isinstance(d, str) or d == size for d, size in zip(kind.shape, array.shape, strict=True))


@given(
    graphs(ops=["add", "relu", "mul", "conv", "linear", "max_pool"]).flatmap(
        lambda g: st.tuples(st.just(g), inputs_for(g, moderate=True))
    )
)
def test_rows_of_a_batch_do_not_know_each_other(case):
    graph, inputs = case
    if any(
        not graph.result_type(n).shape or graph.result_type(n).shape[0] != "N"
        for n in (*graph.inputs, *(graph.operands(o)[0].node for o in graph.outputs))
    ):
        return  # what has no batch has no rows
    if any("N" in graph.result_type(n).shape[1:] for n in graph if n not in graph.outputs):
        return  # a weight has the size of the batch: rows do know each other
    with np.errstate(all="ignore"):
        whole = evaluate(graph, inputs)
        part = evaluate(graph, {name: array[3:5] for name, array in inputs.items()})
        none = evaluate(graph, {name: array[:0] for name, array in inputs.items()})
    for name in graph.outputs:
        np.testing.assert_allclose(part[name], whole[name][3:5], rtol=1e-5, atol=1e-5)
        assert (none[name].shape, none[name].dtype) == (whole[name][:0].shape, whole[name].dtype)


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, r"2 inputs are missing: x: f32\[N,2\], z: i8\[N\]$"),
        ({"x": [[1, 2]]}, r"the input 'z' is missing: i8\[N\]$"),
        ({"x": [[1, 2]], "z": [1], "w": 1}, r"no input 'w'; the graph takes 2 inputs: x: f32\[N,2\], z: i8\[N\]$"),
        ({"x": [[1, 2]], "Z": [1]}, r"no input 'Z'; .*; did you mean 'z'\?$"),
        ({"image": [[1, 2]], "z": [1]}, r"no input 'image'; .*; did you mean 'x'\?$"),
        ({0: [[1, 2]], 1: [1]}, "no input 0 and no 1; the graph takes"),
        ({"x": [[1, 2, 3]], "z": [1]}, r"'x' is f32\[N,2\], got .* \[1, 3\]: axis 1 has size 3 instead of 2$"),
        ({"x": [1, 2], "z": [1]}, r"\[2\]: it has 1 axis instead of 2; one frame is a batch as array\[np.newaxis\]"),
        ({"x": [1, 2, 3], "z": [1]}, r"\[3\]: it has 1 axis instead of 2$"),
        ({"x": 1, "z": [1]}, r"\[\]: it has 0 axes instead of 2$"),
        ({"x": None, "z": [1]}, "'x' is .*, got None; pass an array, or numbers in lists"),
        ({"x": "ab", "z": [1]}, "got str; pass"),
        ({"x": [["a", "b"]], "z": [1]}, "got text; pass"),
        ({"x": [[1, 2], [3]], "z": [1]}, "'x' is .*, and cannot be an array: its lists have different lengths"),
        ({"x": {1: 2}, "z": [1]}, "got dict; pass"),
        ({"x": (i for i in [1]), "z": [1]}, "got values of generator; pass"),
        ({"x": [[1j, 2]], "z": [1]}, "got values of complex128; pass"),
        ({"x": [[1, None]], "z": [1]}, "got values of NoneType and int; pass"),
        ({"x": Graph.parse(X).value("x"), "z": [1]}, "got <value x>; pass"),
        ({"x": [[1, 2]], "z": [np.nan]}, "'z' is .*, and holds nan, but i8 has integers only"),
        ({"x": [[1, 2]], "z": [2**70]}, "'z' is .*, and holds .*, but i8 ranges from -128 to 127"),
        (None, "the input 'z' is missing"),
        ([[1, 2]], "the input 'z' is missing"),
    ],
    ids=range(23),
)
def test_wrong_inputs_are_named(inputs, message):
    graph = Graph.parse(f"{X}\nz = input() : i8[N]\nw = output(z)")
    for call in (evaluate, Graph.evaluate, Graph.__call__, lambda g, given: compile_graph(g)(given)):
        with pytest.raises(EvaluationError, match=message):
            call(graph, inputs)


def test_missing_inputs_are_listed_as_far_as_they_can_be_read():
    graph = Graph("many")
    graph.output("y", op.concat(*(graph.input(f"x{i}", Tensor("f32", (2,))) for i in range(20)), axis=0))
    with pytest.raises(EvaluationError, match=r"20 inputs are missing: x0: f32\[2\], .*, x7: f32\[2\], …$"):
        graph()
    with pytest.raises(EvaluationError, match=r"the graph takes 20 inputs: x0, .*, x7, …, got 21 arrays"):
        graph(*[[1]] * 21)


class Foreign:
    """A tensor of another package."""

    def __init__(self, values, error=None):
        self.values, self.error = values, error

    def __array__(self, dtype=None, copy=None):
        if self.error is not None:
            raise self.error
        return np.asarray(self.values, dtype)


def test_a_graph_is_called_with_arrays():
    one = Graph.parse(X)
    expected = [[0, 2]]
    for result in (one([[-1, 2]]), one(x=[[-1, 2]]), one({"x": [[-1, 2]]}), one(Foreign([[-1, 2]])), one(((-1, 2),))):
        assert result.tolist() == expected
    program = compile_graph(one)
    for call in (one.evaluate, program, lambda **named: one.evaluate(named), lambda **named: evaluate(one, named)):
        assert {name: array.tolist() for name, array in call(x=[[-1, 2]]).items()} == {"y": expected}
    for call in (one.evaluate, program, lambda given: evaluate(one, given)):
        assert {name: array.tolist() for name, array in call([[-1, 2]]).items()} == {"y": expected}
    assert one(np.zeros((0, 2))).shape == (0, 2)
    assert Graph("nothing")() == ()


def test_a_graph_takes_arrays_in_the_order_of_its_inputs_and_by_name():
    two = Graph.parse(
        "graph g\na = input() : f32[N]\nself = input() : f32[N]\nd = sub(a, self)\ny = output(d)\nz = output(a)"
    )
    for result in (two([3], [1]), two([3], self=[1]), two(self=[1], a=[3])):
        assert [array.tolist() for array in result] == [[2], [3]]
    with pytest.raises(EvaluationError, match="the input 'a' is given twice, by position and by name; give it once"):
        two([3], [1], a=[1])
    with pytest.raises(EvaluationError, match=r"'a' is .*, and cannot be an array: requires grad"):
        two(Foreign([], RuntimeError("requires grad")), [1])


def test_a_graph_that_is_called_with_values_says_which_op_it_can_be():
    block, g = Graph.parse(X), Graph("g")
    x = g.input("x", Tensor("f32", ("N", 2)))
    for call in (lambda: block(x), lambda: block(x=x)):
        with pytest.raises(GraphError, match=r"graph_op\(graph\)\(x\) .* a node .*, and sequential\(graph\)\(x\) adds"):
            call()
    for wrong in (lambda: rewrite(g, block), lambda: rewrite(g, [block]), lambda: trace(g, block)):
        with pytest.raises(GraphRewriteError, match="rule"):
            wrong()
    with pytest.raises(RuleError, match="cannot be tested"):
        assert_preserves(block)


def test_all_unknown_ops_are_listed_at_once():
    graph = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\nn = neg(r)\ny = output(n)")
    graph.nodes["r"]["type"], graph.nodes["n"]["type"] = "foo", "bar"
    with pytest.raises(UnknownOpError, match=r"foo \(r\), bar \(n\)"):
        evaluate(graph, {"x": [[1, 2]]})


def test_a_failing_op_is_named_with_its_operands():
    @define_op(infer=lambda x: x)
    def fragile(x):
        raise ValueError("no")

    graph = Graph("g")
    graph.output("y", fragile(graph.input("x", Tensor("f32", ("N",)))))
    with pytest.raises(EvaluationError, match=r"'fragile_1': fragile\(float32\[3\]\) failed: no"):
        evaluate(graph, {"x": [1, 2, 3]})


def test_dead_nodes_are_not_computed_and_their_inputs_not_asked_for():
    @define_op(infer=lambda x: x)
    def never(x):
        raise AssertionError("computed")

    graph = Graph("g")
    never(graph.input("unused", Tensor("f32", ("N",))))
    graph.output("y", op.relu(graph.input("x", Tensor("f32", ("N",)))))
    assert evaluate(graph, {"x": [-1]})["y"].tolist() == [0]


def test_a_counter_has_no_value_outside_of_simulation():
    graph = Graph("g")
    counter = graph.add(op.counter, (), {"element": FixedPoint(False, 4)})
    graph.output("y", counter)
    with pytest.raises(EvaluationError, match="evaluate_sequence"):
        evaluate(graph, {})


def test_an_empty_batch_is_evaluated():
    assert evaluate(Graph.parse(X), {"x": np.zeros((0, 2))})["y"].shape == (0, 2)


def test_mantissas_come_in_the_dtype_of_their_format():
    graph = Graph("g")
    x = graph.input("x", Tensor(FixedPoint(True, 8), ("N", 16)))
    graph.output("y", op.arg_max(x))
    assert evaluate(graph, {"x": np.arange(16)[None]})["y"].dtype == np.uint8


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("i4", [8], "holds 8, but i4 ranges from -8 to 7"),
        ("u8", [-1], "holds -1, but u8 ranges from 0 to 255"),
        ("i8", np.array([300.0]), "holds 300.0, but i8 ranges"),
        ("i64", [0.5], "holds 0.5, but i64 has integers only"),
        ("i8<0.5:0>", [200], "holds 200, but i8<0.5:0> ranges from -128"),
        ("i32", ["a"], "got text"),
    ],
)
def test_numbers_that_an_input_cannot_hold_are_refused(kind, given, message):
    graph = Graph.parse(f"graph g\nx = input() : {kind}[N]\ny = output(x)")
    with pytest.raises(EvaluationError, match=message):
        evaluate(graph, {"x": given})
