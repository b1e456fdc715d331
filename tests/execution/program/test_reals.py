"""Real numbers run as instructions where that pays, and agree with the ops' functions but for rounding."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program import chain, compile_graph, instruction, kernel, schedule
from graphrewrite.op.nn import convolution, correlation
from tests.support.program_graphs import by_functions
from tests.support.program_networks import networks

BATCH = 37


def kernels(program):
    return [step for step, _ in program.in_kernels if isinstance(step, kernel.Kernel)]


def instructions(graph):
    (only,) = kernels(compile_graph(graph))
    return [type(step).__name__ for step in only.instructions]


def assert_close(found, wanted):
    assert found.keys() == wanted.keys()
    for node, array in wanted.items():
        assert found[node].dtype == array.dtype
        scale = np.abs(array).max(initial=1)
        np.testing.assert_allclose(found[node], array, rtol=1e-4, atol=1e-5 * scale)


@settings(max_examples=4 * settings().max_examples)
@given(networks(), st.integers(0, 2**32 - 1), st.data())
def test_a_program_gives_what_the_functions_give(graph, seed, data):
    computed = [n for n in graph.in_order() if graph.nodes[n]["type"] != "constant"]
    nodes = [*graph.outputs, *data.draw(st.lists(st.sampled_from(computed), max_size=2, unique=True))]
    kind = graph.result_type("x")
    x = np.random.default_rng(seed).normal(size=(BATCH, *kind.shape[1:]))
    inputs = {"x": x.astype(np.float32 if kind.element == "f32" else np.float64)}
    nodes = list(dict.fromkeys(nodes))
    with np.errstate(all="ignore"):
        wanted = by_functions(graph, inputs, nodes)
    program = compile_graph(graph, nodes)
    assert_close(program(inputs), wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_CACHE", 1)  # chunks of 16 frames
        patch.setattr(correlation, "_CACHE", 1 << 10)  # some rows of one sample
        convolution._layout.cache_clear()
        assert_close(program(inputs), wanted)
        assert_close(program(inputs), wanted)  # in memory that is not fresh any more
        few = {"x": inputs["x"][:3]}
        assert_close(evaluate(graph, few), {"y": wanted["y"][:3]})
        patch.setattr(schedule, "_SEVERAL", -(1 << 40))  # frames one by one, of groups too
        patch.setattr(instruction, "_COPIED", data.draw(st.sampled_from((1 << 6, 1 << 18))))
        program = compile_graph(graph, nodes)
        found = program(few)
        assert_close(found, {node: array[:3] for node, array in wanted.items()})
        if not [
            step for step, _ in program.in_kernels if not isinstance(step, kernel.Kernel) and step.op is not op.output
        ]:
            alone = program({"x": inputs["x"][1:2]})
            assert all(array.tobytes() == found[node][1:2].tobytes() for node, array in alone.items())
        program = compile_graph(graph)
        first, again = evaluate(graph.copy(), few), program(few)
        assert all(
            first[name].tobytes() == array.tobytes() == program(few)[name].tobytes() for name, array in again.items()
        )
        meant = by_functions(graph, few, nodes)  # by which graphs are compared
        assert all(
            array.tobytes() == meant[node].tobytes() for node, array in evaluate_nodes(graph, few, nodes).items()
        )
    convolution._layout.cache_clear()


def layers(*, read_twice: bool = False) -> Graph:
    random = np.random.default_rng(0)
    g = Graph("net")
    y = op.conv(g.input("x", Tensor("f32", ("N", 2, 6, 6))), random.normal(size=(4, 2, 3, 3)).astype(np.float32))
    if read_twice:
        g.output("z", y)
    gain, shift, mean = random.normal(size=(3, 4)).astype(np.float32)
    y = op.relu(op.batch_norm(y, gain, shift, mean, np.ones(4, np.float32)))
    g.output("y", op.max_pool(y, kernel=(2, 2), strides=(2, 2)))
    return g


def test_a_norm_goes_into_the_weights_and_a_limit_behind_the_pooling():
    assert instructions(layers()) == ["Gather", "Product", "Slide", "Slide", "Apply"]


def test_long_runs_are_limited_by_arrays_as_by_numbers(monkeypatch):
    g = Graph("net")
    random = np.random.default_rng(0)
    w, b = (random.normal(size=shape).astype(np.float32) for shape in ((32, 2, 3, 3), (32,)))
    y = op.conv(g.input("x", Tensor("f32", ("N", 2, 7, 7))), w, b)
    g.output("y", op.relu(y))
    x = {"x": random.normal(size=(64, 2, 7, 7)).astype(np.float32)}
    found = compile_graph(g)(x)["y"]
    monkeypatch.setattr(chain, "_LENGTHY", 1 << 30)
    wanted = compile_graph(g)(x)["y"]
    assert (found == wanted).all()
    assert_close({"y": found}, by_functions(g, x, ["y"]))


def test_weights_whose_sums_others_read_stay_as_they_are():
    graph = layers(read_twice=True)
    x = np.random.default_rng(1).normal(size=(BATCH, 2, 6, 6)).astype(np.float32)
    assert_close(compile_graph(graph)({"x": x}), by_functions(graph, {"x": x}, ["z", "y"]))


def test_a_norm_that_turns_is_computed_before_a_maximum():
    g = Graph("g")
    one = np.ones(1, np.float32)
    x = op.conv(g.input("x", Tensor("f32", ("N", 1, 4))), np.ones((1, 1, 1), np.float32))
    x = op.batch_norm(op.relu(x), -one, one, one, one)
    g.output("y", op.max_pool(x, kernel=(2,), strides=(2,), pads=(0, 0)))
    x = np.random.default_rng(1).normal(size=(BATCH, 1, 4)).astype(np.float32)
    assert_close(evaluate(g, {"x": x}), by_functions(g, {"x": x}, ["y"]))


@pytest.mark.parametrize("batch", [0, 1, 15])
def test_few_frames_with_little_to_do_are_computed_by_the_functions(batch):
    graph = layers()
    x = np.random.default_rng(1).normal(size=(batch, 2, 6, 6)).astype(np.float32)
    program = compile_graph(graph)
    found, wanted = program({"x": x})["y"], by_functions(graph, {"x": x}, ["y"])["y"]
    assert found.tobytes() == wanted.tobytes()
    assert "in_kernels" not in vars(program)  # nothing was translated


@pytest.mark.parametrize(("groups", "is_one_by_one"), [(1, True), (2, False), (32, True)])
def test_few_frames_of_groups_are_computed_by_the_functions(groups, is_one_by_one):
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 32, 64, 64)))
    w = np.ones((32, 32 // groups, 3, 3), np.float32)
    graph.output("y", op.conv(x, w, pads=2, dilations=2, groups=groups))
    program = compile_graph(graph)
    assert program.is_in_kernels(3) == is_one_by_one
    assert program.is_in_kernels(kernel.MANY)


def test_nan_and_infinities_are_what_the_functions_make_of_them():
    graph = layers()
    x = np.random.default_rng(1).normal(size=(BATCH, 2, 6, 6)).astype(np.float32)
    x[3, 0, 0, 0], x[5, 1, 2, 2] = np.nan, np.inf
    with np.errstate(all="ignore"):
        assert_close(evaluate(graph, {"x": x}), by_functions(graph, {"x": x}, ["y"]))


def test_frames_of_which_a_chunk_is_too_large_are_left_to_the_functions(monkeypatch):
    monkeypatch.setattr(kernel, "_MOST", 1 << 10)
    program = compile_graph(layers())
    assert not kernels(program)
    x = np.random.default_rng(1).normal(size=(BATCH, 2, 6, 6)).astype(np.float32)
    assert_close(program({"x": x}), by_functions(layers(), {"x": x}, ["y"]))


def test_whole_numbers_behind_real_ones_are_exact():
    g = layers()
    fixed = op.to_fixed(g.value(g.operands("y")[0].node), element=FixedPoint(True, 8, 4))
    g.output("z", op.requantise(fixed, shift=2, element=FixedPoint(True, 6, 2)))
    x = np.random.default_rng(1).normal(size=(BATCH, 2, 6, 6)).astype(np.float32)
    program = compile_graph(g)
    assert len(kernels(program)) == 2
    found = program({"x": x})
    again = compile_graph(g, ["z"])({"x": x})
    assert np.array_equal(found["z"], again["z"])


def convolutions(*weights):
    graph = Graph("g")
    x = graph.input("x", Tensor("f32", ("N", weights[0].shape[1], 32, 32)))
    for w in weights:
        x = op.relu(op.conv(x, graph.constant(w), pads=(1, 1, 1, 1)))
    graph.output("y", x)
    return graph


def test_kernels_and_their_program_hold_weights_once():
    random = np.random.default_rng(0)
    graph = convolutions(*(random.standard_normal((64, n, 3, 3), dtype=np.float32) / 24 for n in (32, 64)))
    program = compile_graph(graph)
    (only,) = kernels(program)
    held = [step.weights for step in only.instructions if isinstance(step, instruction.Product)]
    of_program = [results[0] for results in program.constants.values()]
    assert [any(np.shares_memory(w, each) for each in of_program) for w in held] == [True, True]
    for node, (array,) in program.constants.items():
        np.testing.assert_array_equal(array, graph.nodes[node]["value"])
    x = random.standard_normal((1, 32, 32, 32), dtype=np.float32)
    assert_close(program(x), by_functions(graph, {"x": x}, ["y"]))


@pytest.mark.parametrize(("frames", "more"), [(1, 250_000), (32, 400_000)])
def test_a_run_allocates_little_beside_registers_and_results(frames, more):
    random, graph = np.random.default_rng(0), Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 8, 32, 32)))
    for _ in range(5):
        w, v, u = (
            graph.constant(random.standard_normal(s, np.float32) / np.float32(s[1] * s[2]))
            for s in ((96, 8, 1, 1), (96, 1, 3, 3), (8, 96, 1, 1))
        )
        b = graph.constant(random.standard_normal(96, np.float32))
        wide = op.conv(op.clip(op.conv(x, w, b), low=0.0, high=6.0), v, b, pads=(1, 1, 1, 1), groups=96)
        x = op.conv(op.clip(wide, low=0.0, high=6.0), u)
    graph.output("y", x)
    inputs = {"x": random.standard_normal((frames, 8, 32, 32), np.float32)}
    compile_graph(graph)(inputs)  # what is imported once
    program = compile_graph(graph)
    (only,) = kernels(program)
    needed = only.memory.size * only._chunk(frames) + inputs["x"].nbytes
    tracemalloc.start()
    found = program(inputs)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= needed + more
    # What instructions fill lies between registers that are needed later.
    assert_close({"y": found["y"][:1]}, by_functions(graph, {"x": inputs["x"][:1]}, ["y"]))


@pytest.mark.parametrize("size", [32, 3])
def test_weights_of_single_entries_are_multiplied_as_they_lie(size):
    random, graph = np.random.default_rng(0), Graph("g")
    x = graph.input("x", Tensor("f32", ("N", 64, size, size)))
    graph.output("y", op.conv(x, graph.constant(random.standard_normal((256, 64, 1, 1), np.float32), name="w")))
    program = compile_graph(graph)
    (only,) = kernels(program)
    (product,) = only.instructions
    frame = random.standard_normal((1, 64, size, size), np.float32)
    assert_close(program(frame), by_functions(graph, {"x": frame}, ["y"]))
    assert np.shares_memory(product._turned, graph.nodes["w"]["value"])


def test_many_weights_are_left_to_the_functions():
    few, many = (np.ones((size, size, 3, 3), np.float32) for size in (64, 320))
    assert compile_graph(convolutions(few)).is_in_kernels(1)
    assert not compile_graph(convolutions(many)).is_in_kernels(1)
