"""Inputs of any scale: the host scales them where no layer can, and every level agrees."""

from __future__ import annotations

import numpy as np

from graphrewrite import Graph, Tensor, evaluate, op
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.lowering import partition, quantise, to_integer, to_stream

F = np.float32


def noise(graph: Graph, x: dict[str, np.ndarray], **options: object) -> float:
    """Noise of the quantised network over the signal's variance; checks that all levels agree."""
    fixed = quantise(graph, x, **options)
    integer = to_integer(fixed)
    parts, (name,) = partition(integer), graph.outputs
    mantissas = parts.encode(x)
    found = evaluate(fixed, x)[name]
    for equal in (
        evaluate(integer, x),
        parts.decode(evaluate(parts.core, mantissas)),
        parts.decode(evaluate(to_stream(integer), mantissas)),
    ):
        np.testing.assert_array_equal(equal[name], found)
    real = evaluate(graph, x)[name]
    return float(np.mean((found - real) ** 2) / real.var())


def of_host(graph: Graph, x: dict[str, np.ndarray]) -> list[str]:
    before = partition(to_integer(quantise(graph, x))).before
    kinds = [before.nodes[n]["type"] for n in before.in_order()]
    return [kind for kind in kinds if kind not in ("input", "output", "constant", "to_fixed")]


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(F)


class TestOpsOfTheHost:
    def test_a_mean_before_a_border_stays_on_the_host(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f32", ("N", 3, 6, 6)))
        mean, deviation = (F(entries).reshape(3, 1, 1) for entries in ([124, 117, 104], [58, 57, 56]))
        g.output("y", op.conv(op.div(op.sub(x, mean), deviation), weights(4, 3, 3, 3), weights(4), pads=(1,) * 4))
        pixels = {"x": np.random.default_rng(1).integers(0, 256, (40, 3, 6, 6)).astype(F)}
        assert of_host(g, pixels) == ["add"]
        assert noise(g, pixels) < 1e-3

    def test_a_norm_before_a_border_stays_on_the_host(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f32", ("N", 2, 6)))
        norm = op.batch_norm(x, np.ones(2, F), weights(2), F([500, 0]), F([1, 4e-6]), epsilon=1e-9)
        g.output("y", op.conv(norm, weights(4, 2, 3), weights(4), pads=(1, 1), strides=(1,)))
        units = {"x": (weights(40, 2, 6) * F([1, 2e-3])[:, None] + F([500, 0])[:, None]).astype(F)}
        assert of_host(g, units) == ["mul", "add"]
        assert noise(g, units) < 1e-3

    def test_a_norm_of_an_input_is_no_layer_of_its_own(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f32", ("N", 4)))
        norm = op.batch_norm(x, *(np.abs(weights(4, seed=i)) for i in range(4)))
        g.output("y", op.linear(norm, weights(3, 4), weights(3)))
        fixed = quantise(g, weights(40, 4))
        assert [fixed.nodes[n]["type"] for n in fixed].count("linear") == 1

    def test_a_scaler_that_two_branches_read(self) -> None:
        g = Graph("g")
        mean, deviation = F([500, 1, 0, 1e3]), F([1, 2, 3e-3, 100])
        scaled = op.div(op.sub(g.input("x", Tensor("f32", ("N", 4))), mean), deviation)
        g.output("y", op.add(op.linear(scaled, weights(4, 4), weights(4)), scaled))
        x = {"x": weights(60, 4) * deviation + mean}
        assert of_host(g, x) == ["add", "mul"]
        assert noise(g, x) < 1e-3

    def test_bytes_become_numbers_on_the_host(self) -> None:
        g = Graph("g")
        x = op.div(op.cast(g.input("x", Tensor("u8", ("N", 3, 6, 6))), element="f32"), F(255))
        g.output("y", op.conv(x, weights(4, 3, 3, 3), weights(4)))
        pixels = {"x": np.random.default_rng(1).integers(0, 256, (40, 3, 6, 6)).astype(np.uint8)}
        assert of_host(g, pixels) == ["cast"]
        assert noise(g, pixels) < 1e-3

    def test_an_input_that_is_added_behind_a_layer(self) -> None:
        g, scale = Graph("g"), F([1e-3, 1, 50, 4000])
        x = g.input("x", Tensor("f32", ("N", 4)))
        across = scale[:, None] * weights(4, 4) / scale
        total = op.relu(op.add(op.linear(x, across.astype(F), scale), x))
        g.output("y", op.linear(total, weights(2, 4, seed=1) / scale, weights(2)))
        assert noise(g, {"x": weights(60, 4, seed=2) * scale}) < 1e-3

    def test_a_network_without_layers_computes_in_hardware(self) -> None:
        g = Graph("g")
        g.output("y", op.mul(g.input("x", Tensor("f32", ("N", 4))), F(0.5)))
        assert of_host(g, {"x": weights(9, 4)}) == []


def test_hardware_of_scaled_features() -> None:
    g, scale = Graph("g"), F([1e-3, 1, 4000])
    hidden = op.relu(op.linear(g.input("x", Tensor("f32", ("N", 3))), weights(4, 3) / scale, weights(4)))
    g.output("y", op.linear(hidden, weights(2, 4), weights(2)))
    x = {"x": weights(60, 3, seed=1) * scale}
    assert noise(g, x) < 1e-3
    assert of_host(g, x)[-1] == "mul"
    integer = to_integer(quantise(g, x))
    mantissas = partition(integer).encode({"x": x["x"][:5]})
    assert cosimulate(emit(to_stream(integer), inputs=mantissas)).equal
