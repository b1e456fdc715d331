"""Equalisation: the same function in floats, and never more noise in fixed point."""

from __future__ import annotations

from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.lowering import QuantisationError, QuantisationWarning, from_onnx, quantise
from graphrewrite.lowering.quantisation.calibration import Widths
from graphrewrite.lowering.quantisation.channel_ties import ChannelTies
from graphrewrite.lowering.quantisation.equalisation import equalised
from graphrewrite.lowering.quantisation.output_noise import relative_noise
from graphrewrite.rules import FOLDING, RULES
from tests.lowering.test_scaled_inputs import F, noise, weights
from tests.support.learnt_networks import learnt
from tests.support.random_networks import Network, networks, widths


def forced(graph: Graph, x: dict[str, np.ndarray], bits: int = 8, *, per_channel: bool = False) -> Graph:
    """The network with all factors that promise anything."""
    folded, falling = rewrite(graph, (*FOLDING, *RULES)), count(0, -1)
    return equalised(
        folded,
        x,
        Widths(folded, bits),
        per_channel=per_channel,
        quantised=Graph.copy,
        noise=lambda _: next(falling) + 9.0,
    )


@st.composite
def scaled_networks(draw: st.DrawFn) -> tuple[Graph, dict[str, np.ndarray]]:
    """A network whose channels are of other units, behind a scaler."""
    network: Network = draw(networks())
    graph, channels = network.graph.copy(), network.samples.shape[1]
    units = [2.0 ** draw(st.floats(-20, 20)) for _ in range(channels)]
    scale = np.reshape(units, (-1, *[1] * (network.samples.ndim - 2)))
    mean = np.reshape([draw(st.floats(-100, 100)) for _ in range(channels)], scale.shape)
    for kind, entries in ((op.div, scale), (op.sub, mean)):
        made = graph.add(kind, [graph.value("x"), graph.constant(entries)])
        rewire(graph, "x", Operand(made.node))
    return graph, {"x": (network.samples + mean) * scale}


class TestAnyNetwork:
    @given(scaled_networks(), widths(), st.booleans())
    def test_it_is_the_same_function(
        self, scaled: tuple[Graph, dict[str, np.ndarray]], bits: int, per_channel: bool
    ) -> None:
        graph, x = scaled
        real = evaluate(graph, x)["y"]
        found = evaluate(forced(graph, x, bits, per_channel=per_channel), x)["y"]
        np.testing.assert_allclose(found, real, rtol=1e-6, atol=1e-6 * np.abs(real).max())

    @given(scaled_networks(), st.integers(4, 10))
    def test_noise_is_never_larger(self, scaled: tuple[Graph, dict[str, np.ndarray]], bits: int) -> None:
        graph, x = scaled
        real = evaluate(graph, x)
        with_it, without = (
            relative_noise(real, evaluate(quantise(graph, x, bits=bits, equalise=equalise), x))
            for equalise in (True, False)
        )
        assert with_it <= without * (1 + 1e-9)


class TestClasses:
    def test_a_sum_ties_what_it_adds(self) -> None:
        g = Graph("g")
        x = op.relu(op.linear(g.input("x", Tensor("f64", ("N", 2))), np.eye(2), np.zeros(2)))
        g.output("y", op.linear(op.add(op.linear(x, np.eye(2), np.zeros(2)), x), np.eye(2), np.zeros(2)))
        ties = ChannelTies(g, {"x": np.ones((1, 2))})
        first, second, last = (classes.tolist() for classes in ties.columns.values())
        assert first != second == last

    def test_a_function_or_an_output_allows_no_factor(self) -> None:
        g = Graph("g")
        x = op.linear(g.input("x", Tensor("f64", ("N", 2))), np.eye(2), np.zeros(2))
        g.output("y", op.linear(op.sigmoid(x), np.eye(2), np.zeros(2)))
        ties = ChannelTies(g, {"x": np.ones((1, 2))})
        assert [classes.tolist() for classes in ties.sources.values()] == [[1, 2], [0, 0], [0, 0]]

    def test_positions_have_the_class_of_their_channel(self) -> None:
        g = Graph("g")
        x = op.max_pool(
            g.input("x", Tensor("f64", ("N", 2, 4))), kernel=(2,), strides=(2,), pads=(0, 0), dilations=(1,)
        )
        moved = op.reshape(op.transpose(x, perm=(0, 2, 1)), shape=(-1, 4))
        g.output("y", op.linear(moved, np.ones((1, 4)), np.zeros(1)))
        ties = ChannelTies(g, {"x": np.ones((1, 2, 4)) * [[1], [9]]})
        (columns,) = ties.columns.values()
        assert columns.tolist() == [1, 2, 1, 2]

    def test_the_channels_of_an_input_are_where_its_numbers_differ(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f64", ("N", 4, 2)))
        g.output("y", op.linear(op.reshape(x, shape=(-1, 8)), np.ones((1, 8)), np.zeros(1)))
        samples = np.random.default_rng(0).normal(size=(9, 4, 2)) * [1, 1e3]
        (columns,) = ChannelTies(g, {"x": samples}).columns.values()
        assert len(np.unique(columns)) == 2


def perceptron(scale: list[float], mean: list[float]) -> tuple[Graph, np.ndarray]:
    """A network of features in other units, as an exporter folds a scaler into its weights; with samples."""
    size, g = len(scale), Graph("g")
    w = weights(8, size).astype(float)
    b = weights(8, seed=1) - (w / scale) @ np.array(mean)
    hidden = op.relu(op.linear(g.input("x", Tensor("f32", ("N", size))), (w / scale).astype(F), b.astype(F)))
    g.output("y", op.linear(hidden, weights(3, 8, seed=2), weights(3, seed=3)))
    return g, (weights(100, size, seed=4) * np.array(scale) + mean).astype(F)


UNITS = [1e-3, 1, 10, 4000]


class TestInputs:
    @pytest.mark.parametrize(
        ("scale", "mean"),
        [(UNITS, [0, 0, 0, 0]), ([1] * 4, [500] * 4), (UNITS, [1, 500, 0, 1e5]), ([1e-30, 1, 1e30, 1], [0] * 4)],
    )
    def test_units_do_not_matter(self, scale: list[float], mean: list[float]) -> None:
        plain = noise(*with_name(perceptron([1] * 4, [0] * 4)))
        assert noise(*with_name(perceptron(scale, mean))) < 4 * plain

    @pytest.mark.parametrize(("column", "value"), [(2, 0), (3, 500), (0, 1e-4)])
    def test_columns_that_the_samples_do_not_show(self, column: int, value: float) -> None:
        graph, x = perceptron(UNITS, [0] * 4)
        seen = x.copy()
        seen[:, column] = value
        found = evaluate(quantise(graph, seen), {"x": x})
        assert relative_noise(evaluate(graph, {"x": x}), found) < 0.1

    def test_few_samples_scale_by_the_weights(self) -> None:
        graph, x = perceptron(UNITS, [0] * 4)
        found = evaluate(quantise(graph, x[:3], bits=12), {"x": x})
        assert relative_noise(evaluate(graph, {"x": x}), found) < 0.2  # ranges beyond the samples

    def test_nothing_but_zero(self) -> None:
        graph, x = perceptron(UNITS, [0] * 4)
        with pytest.warns(QuantisationWarning, match="all calibration samples are alike"):
            fixed = quantise(graph, 0 * x)
        assert np.isfinite(evaluate(fixed, {"x": x})["y"]).all()

    def test_not_a_number_is_refused(self) -> None:
        graph, x = perceptron(UNITS, [0] * 4)
        with pytest.raises(QuantisationError, match="NaN"):
            quantise(graph, x * np.nan)

    @pytest.mark.parametrize("is_folded", [False, True])
    def test_two_features_keep_their_range(self, is_folded: bool) -> None:
        g, scale = Graph("g"), F([1 / 4000, 10])
        x = g.input("x", Tensor("f32", ("N", 2)))
        y = (
            op.linear(x, np.diag(scale), np.zeros(2, F))
            if is_folded
            else op.linear(op.mul(x, scale), np.eye(2, dtype=F))
        )
        g.output("y", y)
        samples = {"x": np.random.default_rng(0).uniform(size=(200, 2)).astype(F) / scale}
        found, real = evaluate(quantise(g, samples, bits=16), samples)["y"], evaluate(g, samples)["y"]
        assert np.abs(found - real).max() < 1e-4

    def test_pixels_stay_raw(self) -> None:
        g = Graph("g")
        x = op.div(g.input("x", Tensor("f32", ("N", 3, 6, 6))), F(255))
        y = op.relu(op.conv(x, weights(6, 3, 3, 3), weights(6)))
        g.output("y", op.linear(op.flatten(y), weights(4, 96), weights(4)))
        pixels = np.random.default_rng(1).integers(0, 256, (60, 3, 6, 6)).astype(F)
        for bits, raw in ((8, "u8f0"), (4, "u4f-4")):
            fixed = quantise(g, pixels, bits=bits)
            assert str(fixed.nodes[next(fixed.successors("x"))]["element"]) == raw

    def test_each_bit_lowers_the_noise(self) -> None:
        g, x = perceptron([0.5, 2, 10, 40], [3.0, 20.0, 50.0, 100.0])
        inputs = {"x": x}
        wanted = evaluate(g, inputs)
        found = [relative_noise(wanted, evaluate(quantise(g, x, bits=bits), inputs)) for bits in range(6, 17, 2)]
        assert all(more < 0.2 * less for less, more in pairwise(found)), found

    def test_inputs_side_by_side(self) -> None:
        g, scale = Graph("g"), F([1e3, 1e3, 0.02])
        both = op.concat(*(g.input(name, Tensor("f32", ("N", size))) for name, size in (("a", 2), ("b", 1))), axis=1)
        g.output("y", op.linear(op.relu(op.linear(both, weights(6, 3) / scale, weights(6))), weights(2, 6), weights(2)))
        x = weights(60, 3, seed=5) * scale
        assert noise(g, {"a": x[:, :2], "b": x[:, 2:]}) < 1e-3

    def test_what_another_op_reads_stays_as_it_is(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f32", ("N", 3)))
        g.output("y", op.linear(op.sigmoid(x), weights(2, 3), weights(2)))
        assert "mul" not in {data["type"] for _, data in quantise(g, weights(40, 3) * F(UNITS[:3])).nodes(data=True)}

    def test_it_can_be_switched_off(self) -> None:
        graph, x = perceptron(UNITS, [0] * 4)
        with pytest.warns(QuantisationWarning, match="all its quantised values are zero"):
            fixed = quantise(graph, x, equalise=False)
        assert next(fixed.successors("x")).startswith("quantise")


def with_name(network: tuple[Graph, np.ndarray]) -> tuple[Graph, dict[str, np.ndarray]]:
    return network[0], {"x": network[1]}


def with_scaler(kind: str) -> Graph:
    """The cancer network behind a scaler of its raw inputs, as exporters write it."""
    raw, graph = from_onnx(learnt("cancer_raw").model), from_onnx(learnt("cancer").model)
    mean, scale = (raw.nodes[raw.operands(n)[1].node]["value"] for n in raw if raw.nodes[n]["type"] in ("sub", "div"))
    ops = {
        "sub, div": [(op.sub, [mean], {}), (op.div, [scale], {})],
        "mul, add": [(op.mul, [1 / scale], {}), (op.add, [-mean / scale], {})],
        "norm": [(op.batch_norm, [np.ones(30, F), np.zeros(30, F), mean, scale**2], {"epsilon": 0.0})],
    }
    value = "x"
    for applied, constants, attributes in ops[kind.removesuffix(", folded")]:
        operands = [graph.value(value), *map(graph.constant, constants)]
        made = graph.add(applied, operands, attributes)
        rewire(graph, value, Operand(made.node))
        value = made.node
    return rewrite(graph, (*FOLDING, *RULES)) if kind.endswith("folded") else graph


@pytest.mark.parametrize("kind", ["sub, div", "mul, add", "norm", "sub, div, folded"])
def test_raw_inputs_lose_no_more_than_scaled_ones(kind: str) -> None:
    scaled, raw = learnt("cancer"), learnt("cancer_raw")
    for bits in (8, 4):
        wanted = scaled.points(
            evaluate(quantise(from_onnx(scaled.model), scaled.calibration, bits=bits), {"x": scaled.test})
        )
        found = raw.points(evaluate(quantise(with_scaler(kind), raw.calibration, bits=bits), {"x": raw.test}))
        assert found >= wanted - 1


def test_layers_share_their_ranges() -> None:
    """Two layers whose channels differ a thousandfold, which cancels."""
    graph, x = perceptron([1] * 4, [0] * 4)
    first, second = (n for n in graph if graph.nodes[n]["type"] == "linear")
    factors = np.geomspace(0.03, 30, 8)
    for node, slot, scale in ((first, 1, factors[:, None]), (first, 2, factors), (second, 1, 1 / factors)):
        data = graph.nodes[graph.operands(node)[slot].node]
        data["value"] = (data["value"] * scale).astype(F)
    real = evaluate(graph, {"x": x})
    with_it, without = (
        relative_noise(real, evaluate(quantise(graph, x, bits=6, equalise=equalise), {"x": x}))
        for equalise in (True, False)
    )
    assert with_it < without / 10


@pytest.mark.parametrize("ratio", [50, 1e6])
def test_outputs_of_other_units(ratio: float) -> None:
    graph, x = perceptron([1] * 4, [0] * 4)
    last = [n for n in graph if graph.nodes[n]["type"] == "linear"][-1]
    for slot, scale in ((1, np.array([[ratio], [1], [1]])), (2, np.array([ratio, 1, 1]))):
        data = graph.nodes[graph.operands(last)[slot].node]
        data["value"] = (data["value"] * scale).astype(F)
    assert noise(graph, {"x": x}) < 1e-3
    found, real = evaluate(quantise(graph, x), {"x": x})["y"], evaluate(graph, {"x": x})["y"]
    assert (np.square(found - real).mean(axis=0) < 2e-3 * real.var(axis=0)).all()
