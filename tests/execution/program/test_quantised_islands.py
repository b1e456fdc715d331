"""Quantised networks give the same bits for every batch, node by node and as instructions; sums are exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.execution.program import compile_graph, kernel
from graphrewrite.execution.program.exact_layers import ExactLayer, ExactMean
from tests.execution.program.test_program import assert_same, kernels
from tests.support.quantised_networks import quantised_networks


def frames(graph: Graph, count: int, seed: int) -> dict[str, np.ndarray]:
    shape = graph.result_type("x").shape[1:]
    return {"x": np.random.default_rng(seed).normal(size=(count, *shape)).astype(np.float32)}


def in_batches(program, inputs, size):
    (x,) = inputs.values()
    parts = [program({"x": x[i : i + size]}) for i in range(0, len(x), size)]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def mixes_frames(graph: Graph) -> bool:
    return any("N" in graph.result_type(n).shape[1:] for n in graph if graph.nodes[n]["type"] == "transpose")


@settings(max_examples=2 * settings().max_examples)
@given(quantised_networks(), st.integers(0, 2**32 - 1), st.data())
def test_every_batch_gives_the_same_bits_by_nodes_and_by_instructions(graph, seed, data):
    computed = [n for n in graph.in_order() if graph.nodes[n]["type"] not in ("constant", "input", "output")]
    nodes = [*graph.outputs, *data.draw(st.lists(st.sampled_from(computed), max_size=3, unique=True))]
    nodes = [n for n in dict.fromkeys(nodes) if n in graph.outputs or graph.result_type(n).shape[:1] == ("N",)]
    inputs = frames(graph, 37, seed)
    inputs["x"][3] = 0  # zeros of either sign, and what saturates
    inputs["x"][4] *= -0.0
    inputs["x"][5] *= 1e9
    by_nodes = compile_graph(graph, nodes, instructions=False)
    wanted, program = by_nodes(inputs), compile_graph(graph, nodes)
    assert_same(program(inputs), wanted)
    assert_same(evaluate_nodes(graph, inputs, nodes), wanted)
    if mixes_frames(graph):
        return
    for size in (1, 7):
        assert_same(in_batches(program, inputs, size), wanted)
        assert_same(in_batches(by_nodes, inputs, size), wanted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "_CACHE", 1)  # chunks of 16 frames
        assert_same(compile_graph(graph, nodes)(inputs), wanted)
        patch.setattr(kernel, "_MOST", 1)  # one frame at a time
        assert_same(compile_graph(graph, nodes)(inputs), wanted)


SCALES = np.array([0.0123, 0.3, 2.0**-9], np.float32)


def dequantised(whole: np.ndarray, scale, zero: int = 0):
    """A graph's constant of whole numbers times a scale, or one for each output."""
    shape = (-1, *[1] * (whole.ndim - 1)) if np.ndim(scale) else ()
    return (whole - zero).astype(np.float32) * np.asarray(scale, np.float32).reshape(shape)


def rounded_once(sums: np.ndarray, x_scale: np.float32, w_scale: np.ndarray) -> np.ndarray:
    """Sums of whole numbers times the exact product of scales, rounded; scales are one for all, or one an output."""
    units = np.broadcast_to(np.asarray(w_scale).reshape(-1, *[1] * (sums.ndim - 2)), sums.shape[1:])
    each = [
        Fraction(int(n)) * Fraction(float(x_scale)) * Fraction(float(u))
        for n, u in zip(sums.ravel(), np.tile(units.ravel(), len(sums)), strict=True)
    ]
    return np.array([float(e) for e in each]).astype(np.float32).reshape(sums.shape)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("w_scale", [SCALES[1], SCALES], ids=["tensor", "channel"])
@pytest.mark.parametrize("kind", ["conv", "depthwise", "transposed", "linear", "gemm", "matmul"])
def test_a_layer_is_an_exact_sum_that_is_rounded_once(kind, w_scale, bias):
    random, x_scale, zero = np.random.default_rng(0), np.float32(0.0371), 77
    shape = {"conv": (3, 2, 3, 3), "depthwise": (3, 1, 3, 3), "transposed": (3, 2, 3, 3)}.get(kind, (3, 200))
    whole = random.integers(-127, 128, shape)
    q = random.integers(0, 256, (5, 3 if kind == "depthwise" else shape[1], *[6] * (len(shape) - 2))).astype(np.uint8)
    offset = random.integers(-9999, 9999, 3)
    g = Graph("g")
    x = op.dequantize_linear(g.input("x", Tensor("u8", ("N", *q.shape[1:]))), x_scale, np.uint8(zero))
    unit = np.float64(x_scale) * np.asarray(w_scale, np.float64)
    b = ((offset * unit).astype(np.float32),) if bias and kind != "matmul" else ()
    w = dequantised(whole, w_scale)
    if kind == "transposed":
        w, back = np.ascontiguousarray(np.moveaxis(w, 1, 0)), np.moveaxis(whole, 1, 0)
        y, wanted = (
            op.conv_transpose(x, w, *b, strides=(2, 1)),
            op.conv_transpose(q.astype(np.int64) - zero, back, strides=(2, 1)),
        )
    elif len(shape) > 2:
        how = {"pads": (1, 0, 1, 1), "strides": (2, 1), "groups": 3 if kind == "depthwise" else 1}
        y, wanted = op.conv(x, w, *b, **how), op.conv(q.astype(np.int64) - zero, whole, **how)
    else:
        y = {"linear": lambda: op.linear(x, w, *b), "gemm": lambda: op.gemm(x, w, *b, trans_b=True)}.get(
            kind, lambda: op.matmul(x, np.ascontiguousarray(w.T))
        )()
        wanted = (q.astype(np.int64) - zero) @ whole.T
    if b:
        wanted = wanted + offset.reshape(-1, *[1] * (wanted.ndim - 2))
    g.output("y", y)
    for instructions in (True, False):
        program = compile_graph(g, instructions=instructions)
        assert bool(kernels(program)) == instructions
        np.testing.assert_array_equal(program({"x": q})["y"], rounded_once(wanted, x_scale, w_scale))


@pytest.mark.parametrize(
    "pool",
    [
        op.global_average_pool,
        lambda x: op.reduce_mean(x, axes=(2, 3)),
        lambda x: op.average_pool(x, kernel=(2, 3), strides=(1, 2)),
        lambda x: op.average_pool(x, kernel=(3, 3), pads=(1, 1, 1, 1), strides=(2, 2), count_include_pad=True),
    ],
)
def test_a_mean_is_an_exact_sum_times_a_share_of_the_scale(pool):
    q = np.random.default_rng(0).integers(0, 256, (4, 2, 5, 7)).astype(np.uint8)
    scale = np.float32(0.0371)
    g = Graph("g")
    x = g.input("x", Tensor("u8", ("N", 2, 5, 7)))
    y = pool(op.dequantize_linear(x, scale, np.uint8(9)))
    g.output("y", y)
    mean = pool(q.astype(np.float64) - 9)
    assert isinstance(compile_graph(g, instructions=False).steps[1][0], ExactMean)
    np.testing.assert_allclose(evaluate(g, {"x": q})["y"], mean * np.float64(scale), rtol=2.0**-24, atol=0)


def layers_of(graph: Graph) -> list[ExactLayer]:
    return [step for step, _ in compile_graph(graph, instructions=False).steps if isinstance(step, ExactLayer)]


def layer(x_of, w: np.ndarray) -> Graph:
    g = Graph("g")
    g.output("y", op.linear(x_of(g), w))
    return g


def test_weights_that_were_folded_are_the_same_weights():
    whole = np.random.default_rng(0).integers(-127, 128, (4, 9)).astype(np.int8)

    def graph(*, folded: bool) -> Graph:
        g = Graph("g")
        x = op.dequantize_linear(g.input("x", Tensor("i8", ("N", 9))), np.float32(0.1), np.int8(3))
        w = op.dequantize_linear(whole if folded else g.constant(whole), np.float32(0.3), np.int8(1))
        g.output("y", op.linear(x, w))
        return g

    x = np.random.default_rng(1).integers(-128, 128, (8, 9))
    assert_same(evaluate(graph(folded=True), {"x": x}), evaluate(graph(folded=False), {"x": x}))


@pytest.mark.parametrize(
    "x_of",
    [
        lambda g: g.input("x", Tensor("f32", ("N", 9))),
        lambda g: op.dequantize_linear(g.input("x", Tensor("i8", ("N", 9))), np.ones(9, np.float32)),
        lambda g: op.dequantize_linear(g.input("x", Tensor("i32", ("N", 9))), np.float32(0.1)),
        lambda g: op.dequantize_linear(g.input("x", Tensor("i8", ("N", 9))), np.float32(np.inf)),
        lambda g: op.dequantize_linear(g.input("x", Tensor("i8", ("N", 9))), np.float32(1e-42)),
        lambda g: op.sigmoid(op.dequantize_linear(g.input("x", Tensor("i8", ("N", 9))), np.float32(0.1))),
        lambda g: op.concat(
            *(op.dequantize_linear(g.input(n, Tensor("i8", ("N", s))), np.float32(s)) for n, s in (("x", 4), ("z", 5))),
            axis=1,
        ),
    ],
    ids=["floats", "scales", "wide", "infinite", "subnormal", "function", "two scales"],
)
def test_a_layer_on_other_numbers_is_one_of_floats(x_of):
    assert not layers_of(layer(x_of, np.ones((2, 9), np.float32)))


def test_a_layer_whose_weights_are_on_no_grid_is_one_of_floats():
    def x_of(g):
        return op.dequantize_linear(g.input("x", Tensor("i8", ("N", 9))), np.float32(0.1))

    weights = np.random.default_rng(0).normal(size=(2, 9)).astype(np.float32)
    assert not layers_of(layer(x_of, weights))
    assert layers_of(layer(x_of, np.rint(weights * 50)))


def test_sums_that_no_float_holds_are_those_of_floats():
    g = Graph("g")
    x = op.dequantize_linear(g.input("x", Tensor("i16", ("N", 1 << 20))), np.float32(0.1))
    y = op.dequantize_linear(g.input("w", Tensor("i16", (1 << 20, 1 << 20))), np.float32(0.1))
    g.output("y", op.matmul(x, y))
    assert layers_of(g)[0].carrier == np.float64
    assert layers_of(
        layer(
            lambda g: op.dequantize_linear(g.input("x", Tensor("i16", ("N", 9))), np.float32(1)),
            np.full((1, 9), 32767, np.float32),
        )
    )


def test_a_program_of_islands_may_be_run_by_several_threads():
    import threading

    g = Graph("g")
    random = np.random.default_rng(0)
    x = op.quantize_linear(g.input("x", Tensor("f32", ("N", 3, 8, 8))), np.float32(0.02), np.uint8(3))
    x = op.dequantize_linear(x, np.float32(0.02), np.uint8(3))
    w = random.integers(-127, 128, (4, 3, 3, 3)).astype(np.float32) * np.float32(0.01)
    g.output("y", op.quantize_linear(op.relu(op.conv(x, w, pads=(1, 1, 1, 1))), np.float32(0.1), np.uint8(0)))
    program = compile_graph(g)
    given = [frames(g, 1 + 9 * (i % 3), i) for i in range(8)]
    wanted = [program(inputs) for inputs in given]
    found = {}

    def run(i):
        for _ in range(5):
            found[i] = program(given[i])

    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, result in found.items():
        assert_same(result, wanted[i])


def test_nan_is_stored_as_by_the_function():
    g = Graph("g")
    q = op.quantize_linear(g.input("x", Tensor("f32", ("N", 2))), np.float32(0.5), np.uint8(3))
    y = op.linear(op.dequantize_linear(q, np.float32(0.5), np.uint8(3)), np.ones((1, 2), np.float32))
    g.output("y", y)
    assert kernels(compile_graph(g))
    found = evaluate(g, {"x": np.array([[np.nan, 1.0], [np.inf, -np.inf], [2.0, 0.25]] * 20, np.float32)})
    assert found["y"][:3].ravel().tolist() == [1.0, 124.5, 2.0]
