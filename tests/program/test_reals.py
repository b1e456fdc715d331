"""Large batches of real numbers run as instructions, and agree with the ops' functions but for rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op
from graphrewrite.op import correlation
from graphrewrite.program import compile_graph, kernel
from tests.program.random_graphs import by_functions

BATCH = 37


def kernels(program):
    return [step for step, _ in program.for_many if isinstance(step, kernel.Kernel)]


def instructions(graph):
    (only,) = kernels(compile_graph(graph))
    return [type(step).__name__ for step in only.instructions]


def assert_close(found, wanted):
    assert found.keys() == wanted.keys()
    for node, array in wanted.items():
        assert found[node].dtype == array.dtype
        scale = np.abs(array).max(initial=1)
        np.testing.assert_allclose(found[node], array, rtol=1e-4, atol=1e-5 * scale)


class Networks:
    """Layers of random sizes, drawn one after the other."""

    def __init__(self, draw):
        self.draw, self.random = draw, np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        self.dtype = draw(st.sampled_from((np.float32, np.float64)))

    def number(self, least, most):
        return self.draw(st.integers(least, most))

    def weights(self, *shape):
        return self.random.normal(size=shape).astype(self.dtype)

    def windows(self, sizes, *, dilated):
        dilations = tuple(self.number(1, 2) if dilated else 1 for _ in sizes)
        pads = tuple(self.number(0, 1) for _ in (*sizes, *sizes))
        room = [(s - 1) // d + 1 for s, d in zip(sizes, dilations, strict=True)]
        kernel = tuple(self.number(1, min(3, r)) for r in room)
        pads = tuple(min(p, k - 1) for p, k in zip(pads, 2 * kernel, strict=True))
        strides = tuple(self.number(1, 2) for _ in sizes)
        return kernel, {"strides": strides, "pads": pads, "dilations": dilations}

    def conv(self, x):
        channels, *sizes = x.type.shape[1:]
        groups = self.draw(st.sampled_from([g for g in (1, 2, channels) if channels % g == 0]))
        outer = channels if groups == channels and self.draw(st.booleans()) else groups * self.number(1, 2)
        kernel, how = self.windows(sizes, dilated=True)
        w = self.weights(outer, channels // groups, *kernel)
        bias = (self.weights(outer),) if self.draw(st.booleans()) else ()
        return op.conv(x, w, *bias, groups=groups, **how)

    def norm(self, x):
        gain, shift, mean, var = (self.weights(x.type.shape[1]) for _ in range(4))
        return op.batch_norm(x, gain, shift, mean, np.abs(var) + self.dtype(0.5))

    def relu(self, x):
        return op.relu(x)

    def clip(self, x):
        return op.clip(x, low=self.draw(st.sampled_from((None, -1.0))), high=self.draw(st.sampled_from((None, 2.0))))

    def max_pool(self, x):
        kernel, how = self.windows(x.type.shape[2:], dilated=False)
        return op.max_pool(x, kernel=kernel, **how)

    def average_pool(self, x):
        kernel, how = self.windows(x.type.shape[2:], dilated=False)
        return op.average_pool(x, kernel=kernel, count_include_pad=self.draw(st.booleans()), **how)

    def join(self, x):
        return op.add(x, op.relu(x))

    def sigmoid(self, x):
        return op.sigmoid(x)


@st.composite
def networks(draw):
    make = Networks(draw)
    g = Graph("net")
    element = "f32" if make.dtype == np.float32 else "f64"
    sizes = draw(st.lists(st.integers(2, 6), min_size=1, max_size=2))
    x = make.conv(g.input("x", Tensor(element, ("N", make.number(1, 4), *sizes))))
    layers = (make.conv, make.norm, make.relu, make.clip, make.max_pool, make.average_pool, make.join, make.sigmoid)
    for layer in draw(st.lists(st.sampled_from(layers), max_size=5)):
        x = layer(x)
    match draw(st.sampled_from(("leave", "flatten", "pool"))):
        case "flatten":
            x = op.flatten(x)
            x = op.gemm(x, make.weights(3, x.type.shape[1]), make.weights(3), trans_b=True, alpha=0.5, beta=2.0)
        case "pool":
            x = op.linear(op.flatten(op.global_average_pool(x)), make.weights(2, x.type.shape[1]))
    g.output("y", x)
    return g


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
        assert_close(program(inputs), wanted)
        assert_close(program(inputs), wanted)  # in memory that is not fresh any more
        assert_close(evaluate(graph, {"x": inputs["x"][:3]}), {"y": wanted["y"][:3]})


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
    assert instructions(layers()) == ["Gather", "Product", "Slide", "Slide", "Convert"]


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
def test_small_batches_are_computed_by_the_functions(batch):
    graph = layers()
    x = np.random.default_rng(1).normal(size=(batch, 2, 6, 6)).astype(np.float32)
    program = compile_graph(graph)
    found, wanted = program({"x": x})["y"], by_functions(graph, {"x": x}, ["y"])["y"]
    assert found.tobytes() == wanted.tobytes()
    assert "for_many" not in vars(program)  # nothing was translated


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
