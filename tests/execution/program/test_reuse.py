"""Calls that write over their operand give the same bits, and never write over what somebody else reads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.errors import EvaluationError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.implementation import Implementation
from graphrewrite.execution.program import compile_graph, reuse
from graphrewrite.execution.program.reuse import InPlace
from tests.support.program_graphs import by_functions
from tests.support.program_networks import networks

F32 = Tensor("f32", ("N", 3))


def in_place(graph, **options):
    return [call.node for call, _ in compile_graph(graph, **options).steps if isinstance(call, InPlace)]


@given(networks(), st.integers(0, 2**32 - 1), st.data())
def test_the_bits_are_those_of_the_functions(graph, seed, data):
    computed = [n for n in graph.in_order() if graph.nodes[n]["type"] != "constant"]
    nodes = [*graph.outputs, *data.draw(st.lists(st.sampled_from(computed), max_size=2, unique=True))]
    nodes = list(dict.fromkeys(nodes))
    kind = graph.result_type("x")
    x = np.random.default_rng(seed).normal(size=(5, *kind.shape[1:]))
    x = x.astype(np.float32 if kind.element == "f32" else np.float64)
    given_, before = {"x": x}, x.copy()
    wanted = by_functions(graph, given_, nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reuse, "_CACHE", data.draw(st.sampled_from((1, 1 << 6, 1 << 18))))
        for found in (evaluate_nodes(graph, given_, nodes), compile_graph(graph, nodes)(given_)):
            for node, array in wanted.items():
                assert found[node].tobytes() == np.ascontiguousarray(array).tobytes(), node
    assert np.array_equal(x, before)


def chain() -> Graph:
    g = Graph("g")
    x = op.mul(g.input("x", F32), np.float32(2))
    g.output("y", op.clip(op.relu(op.add(x, np.ones(3, np.float32))), low=None, high=5.0))
    return g


def test_a_chain_computes_in_one_array():
    assert in_place(chain()) == ["add_1", "relu_1", "clip_1"]
    assert in_place(chain(), instructions=False) == ["add_1", "relu_1", "clip_1"]
    assert evaluate(chain(), {"x": [[-3, 1, 9]]})["y"].tolist() == [[0, 3, 5]]


def test_the_second_operand_of_arithmetic_may_be_the_one():
    g = Graph("g")
    x = g.input("x", F32)
    g.output("y", op.sub(np.float32(1), op.mul(x, x)))
    program = compile_graph(g)
    assert in_place(g) == ["sub_1"]
    for _ in range(3):  # the first run is not bound
        assert program({"x": [[1, 2, 3]]})["y"].tolist() == [[0, -3, -8]]


def test_blocks_of_an_array_are_overwritten_one_by_one():
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N", 30_001)))
    g.output("y", op.erf(op.div(op.mul(x, np.float32(2)), np.float32(3))))
    given_ = {"x": np.linspace(-4, 4, 60_002, dtype=np.float32).reshape(2, -1)}
    assert in_place(g) == ["div_1", "erf_1"]
    np.testing.assert_array_equal(evaluate(g, given_)["y"], by_functions(g, given_, ["y"])["y"])


def test_an_input_is_never_written():
    g = Graph("g")
    g.output("y", op.relu(g.input("x", F32)))
    assert in_place(g) == []


def test_what_is_read_twice_or_returned_is_never_written():
    g = Graph("g")
    x = op.mul(g.input("x", F32), np.float32(2))
    g.output("y", op.add(op.relu(x), x))
    assert in_place(g) == ["add_1"]  # over the limited numbers, which only the sum reads
    assert in_place(chain(), nodes=["mul_1", "clip_1"]) == ["relu_1", "clip_1"]


def test_a_view_is_never_written():
    g = Graph("g")
    x = op.mul(g.input("x", F32), np.float32(2))
    g.output("y", op.relu(op.reshape(x, shape=(0, 3, 1))))
    assert in_place(g) == []


def test_a_sum_that_is_larger_than_its_operand_has_an_array_of_its_own():
    g = Graph("g")
    x = op.mul(g.input("x", Tensor("f32", (1, 3))), np.float32(2))
    g.output("y", op.add(x, g.input("z", Tensor("f32", ("N", 3)))))
    found = evaluate(g, {"x": np.ones((1, 3)), "z": np.ones((4, 3))})["y"]
    assert found.tolist() == [[3.0] * 3] * 4


def test_an_implementation_of_ones_own_may_keep_its_array():
    kept = np.ones((1, 3), np.float32)
    g = Graph("g")
    g.output("y", op.relu(op.mul(g.input("x", F32), np.float32(-2))))
    program = compile_graph(g, implementations=[Implementation("mul", lambda x, y: kept)])
    assert program({"x": [[1, 2, 3]]})["y"].tolist() == [[1, 1, 1]]
    assert not any(isinstance(call, InPlace) for call, _ in program.steps)


def test_what_does_not_fit_is_named():
    g = Graph("g")
    x = op.mul(g.input("x", F32), np.float32(2))
    one = np.ones(3, np.float32)
    g.output("y", op.batch_norm(x, one, one, one, one))
    g.nodes["batch_norm_1"]["epsilon"] = "little"
    with pytest.raises(EvaluationError, match=r"batch_norm_1.*batch_norm\(float32\[1, 3\]"):
        evaluate(g, {"x": [[1, 2, 3]]})


def test_what_follows_from_constants_is_computed_once():
    g = Graph("g")
    scale = op.sqrt(g.constant(np.array([4.0, 9.0, 16.0], np.float32)))
    g.output("y", op.mul(g.input("x", F32), op.unsqueeze(scale, axes=(0,))))
    program = compile_graph(g)
    assert [call.op.name for call, _ in program.steps] == ["mul", "output"]
    assert program({"x": [[1, 1, 1]]})["y"].tolist() == [[2, 3, 4]]


def test_constants_that_a_function_refuses_are_named_in_the_run():
    g = Graph("g")
    g.input("x", F32)
    g.output("y", op.reshape(g.constant(np.ones(3, np.float32)), shape=(3, 1)))
    g.nodes["reshape_1"]["shape"] = (2, 2)
    program = compile_graph(g)
    with pytest.raises(EvaluationError, match="reshape_1"):
        program({})
