"""A compiled program gives what the ops' functions give: every bit, every dtype, for every batch."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op
from graphrewrite.errors import EvaluationError, UnknownOpError
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program import compile_graph, kernel
from tests.support.program_graphs import by_functions, inputs_of, integer_graphs


def kernels(program):
    return [step for step, _ in program.steps if isinstance(step, kernel.Kernel)]


def assert_same(found, wanted):
    assert found.keys() == wanted.keys()
    for node, array in wanted.items():
        assert found[node].dtype == array.dtype, node
        assert found[node].shape == array.shape, node
        # Bytes, so that 0.0 and -0.0 differ.
        assert found[node].tobytes() == np.ascontiguousarray(array).tobytes(), node


@settings(max_examples=6 * settings().max_examples)  # they take a few milliseconds each
@given(integer_graphs(), st.sampled_from((1, 3, 37)), st.integers(0, 2**32 - 1), st.data())
def test_a_program_gives_what_the_functions_give(graph, batch, seed, data):
    computed = [n for n in graph.in_order() if graph.nodes[n]["type"] != "constant"]
    nodes = [*graph.outputs, *data.draw(st.lists(st.sampled_from(computed), max_size=2, unique=True))]
    nodes = list(dict.fromkeys(nodes))
    inputs = inputs_of(graph, batch, seed)
    wanted = by_functions(graph, inputs, nodes)
    assert_same(evaluate_nodes(graph, inputs, nodes), wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_CACHE", 1)  # chunks of 16 frames
        program = compile_graph(graph, nodes)
        assert_same(program(inputs), wanted)
        assert_same(program(inputs), wanted)  # in memory that is not fresh any more


def network(bits: int = 8) -> Graph:
    random = np.random.default_rng(0)
    g = Graph("net")
    x = g.input("x", Tensor(FixedPoint(False, bits, 0), ("N", 2, 6, 6)))
    w = random.integers(-100, 101, (4, 2, 3, 3))
    y = op.integer_conv(x, w, random.integers(-99, 99, 4), element=FixedPoint(True, 40), pads=(1, 1, 1, 1))
    y = op.max_pool(op.requantise(y, shift=9, element=FixedPoint(False, 8), low=0), kernel=(2, 2), strides=(2, 2))
    y = op.integer_linear(
        op.flatten(y), random.integers(-100, 101, (5, 36)), np.zeros(5, int), element=FixedPoint(True, 40)
    )
    g.output("y", y)
    return g


@pytest.mark.parametrize(("bits", "dtype"), [(8, np.float32), (16, np.float64)])
def test_the_carrier_is_the_narrowest_that_is_exact(bits, dtype):
    (only,) = kernels(compile_graph(network(bits)))
    assert only.instructions[1].weights.dtype == dtype


def test_pooling_comes_before_requantising_in_the_instructions():
    (only,) = kernels(compile_graph(network()))
    names = [type(step).__name__ for step in only.instructions]
    assert names == ["Gather", "Product", "Slide", "Slide", "Apply", "Copy", "Product"]


def test_sums_that_no_float_holds_are_left_to_the_function():
    g = Graph("wide")
    x = g.input("x", Tensor(FixedPoint(True, 30), ("N", 2)))
    g.output("y", op.integer_linear(x, np.full((1, 2), 1 << 27), np.array([1]), element=FixedPoint(True, 60)))
    assert not kernels(compile_graph(g))
    most = FixedPoint(True, 30).maximum
    assert evaluate(g, {"x": [[most, most]]})["y"].tolist() == [[(most << 28) + 1]]


def test_an_accumulator_that_wraps_around_is_left_to_the_function():
    g = Graph("narrow")
    x = g.input("x", Tensor(FixedPoint(False, 8), ("N", 1)))
    g.output("y", op.integer_linear(x, np.array([[3]]), np.array([0]), element=FixedPoint(True, 8)))
    assert not kernels(compile_graph(g))


def test_mantissas_outside_of_their_format_are_left_to_the_functions():
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(False, 4), ("N", 1)))
    g.output("y", op.requantise(x, shift=1, element=FixedPoint(False, 6)))
    assert len(kernels(compile_graph(g))) == 1
    inputs = {"x": np.array([[200], [7]], np.uint8)}
    assert_same(compile_graph(g)(inputs), by_functions(g, inputs, ["y"]))


def test_a_border_of_zeros_counts_among_the_bounds():
    g = Graph("g")
    x = op.clip(g.input("x", Tensor(FixedPoint(False, 8), ("N", 1, 2))), low=100, high=120)
    y = op.integer_conv(
        x, np.array([[[1]]]), np.array([0]), element=FixedPoint(False, 8), pads=(1, 1), strides=(1,), dilations=(1,)
    )
    g.output("y", op.requantise(y, shift=0, element=FixedPoint(False, 8), low=50))
    assert compile_graph(g)({"x": [[[7, 110]]]})["y"].tolist() == [[[50, 100, 110, 50]]]


def test_limits_that_float32_cannot_write_are_met():
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(True, 16), ("N", 1)))
    g.output("y", op.requantise(x, shift=-14, element=FixedPoint(True, 28)))
    found = compile_graph(g)({"x": [[32767], [-32768], [3]]})
    assert found["y"].tolist() == [[(1 << 27) - 1], [-(1 << 27)], [3 << 14]]


def test_nan_is_left_to_the_function():
    g = Graph("g")
    x = op.to_fixed(g.input("x", Tensor("f32", ("N", 1))), element=FixedPoint(True, 8, 2))
    g.output("y", op.requantise(x, shift=1, element=FixedPoint(True, 8, 1)))
    with pytest.raises(EvaluationError, match=r"to_fixed_1.*NaN has no mantissa"):
        compile_graph(g)({"x": [[np.nan]]})
    found = compile_graph(g)({"x": [[np.inf], [-np.inf], [1e38]]})
    assert found["y"].tolist() == [[64], [-64], [64]]


def test_an_empty_batch():
    found = compile_graph(network())({"x": np.zeros((0, 2, 6, 6), np.uint8)})
    assert found["y"].shape == (0, 5)


def test_a_program_keeps_what_was_compiled():
    g = network()
    program = compile_graph(g)
    inputs = inputs_of(g, 40, 1)
    before = program(inputs)
    g.nodes["requantise_1"]["shift"] = 3
    assert_same(program(inputs), before)
    after = compile_graph(g)(inputs)
    assert not np.array_equal(after["y"], before["y"])
    assert_same(after, by_functions(g, inputs, ["y"]))


def test_functions_between_kernels():
    g = network()
    y = g.value("integer_linear_1")
    half = op.softmax(op.from_fixed(y, fraction=8), axis=-1)
    again = op.to_fixed(half, element=FixedPoint(False, 8, 8))
    g.output(
        "z",
        op.requantise(
            op.integer_add(again, again, element=FixedPoint(False, 9, 8)), shift=2, element=FixedPoint(False, 6, 6)
        ),
    )
    program = compile_graph(g)
    assert len(kernels(program)) == 2
    inputs = inputs_of(g, 5, 1)
    assert_same(program(inputs), by_functions(g, inputs, ["y", "z"]))


def test_several_threads_may_run_one_program():
    g = network()
    program = compile_graph(g)
    batches = [inputs_of(g, 300, seed) for seed in range(8)]
    wanted = [by_functions(g, inputs, ["y"]) for inputs in batches]
    found: dict[int, dict] = {}
    threads = [threading.Thread(target=lambda i=i: found.update({i: program(batches[i])})) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, result in found.items():
        assert_same(result, wanted[i])


@pytest.mark.parametrize("batch", [2, 40])
def test_a_node_that_the_function_refuses_is_named(batch):
    g = network()
    g.nodes["requantise_1"]["shift"] = "two"
    with pytest.raises(EvaluationError, match="requantise_1"):
        evaluate(g, inputs_of(g, batch, 0))


def test_a_number_is_no_batch():
    with pytest.raises(EvaluationError, match="'x' is u8"):
        evaluate(network(), {"x": np.array(3)})


def test_unknown_ops_come_before_missing_inputs():
    g = network()
    g.nodes["flatten_1"]["type"] = "flatten_out"
    with pytest.raises(UnknownOpError, match=r"flatten_out \(flatten_1\)"):
        evaluate(g, {})
    g.nodes["flatten_1"]["type"] = "flatten"
    with pytest.raises(EvaluationError, match="'x' is missing"):
        evaluate(g, {})
