"""Quantisation: every number on its grid, one place that rounds, and errors that name the place and the remedy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, verify
from graphrewrite.lowering import QuantisationError, from_onnx, partition, quantise, to_integer, to_stream
from graphrewrite.lowering.integer.mantissas import least_fractions
from graphrewrite.lowering.quantisation.fixed_point_formats import accumulator, best_fraction, fractions_of, on_grid
from graphrewrite.op.integer.fixed_point import mantissas
from tests.support.lowering_networks import mlp, model, residual_cnn, weights
from tests.support.random_networks import Network, networks, numbers, quantised, widths


def formats(graph: Graph) -> list[FixedPoint]:
    return [graph.nodes[n]["element"] for n in graph.in_order() if graph.nodes[n]["type"] == "quantise"]


def layer(w: object, b: object, element: str = "f64") -> Graph:
    g = Graph("g")
    dtype = np.float64 if element == "f64" else np.float32
    w, b = np.asarray(w, dtype), np.asarray(b, dtype)
    g.output("y", op.linear(g.input("x", Tensor(element, ("N", w.shape[1]))), w, b))
    return g


class TestValues:
    @given(networks(), widths(), st.booleans())
    def test_weights_lie_on_grids_of_the_width(self, network: Network, bits: int, per_channel: bool) -> None:
        fixed = quantised(network, bits, per_channel=per_channel)
        verify(fixed)
        for node in fixed:
            if fixed.nodes[node]["type"] in ("linear", "conv"):
                w = fixed.nodes[fixed.operands(node)[1].node]["value"]
                rows = w.reshape(len(w), -1) if per_channel else w.reshape(1, -1)
                for row in rows[np.abs(rows).max(axis=1) > 0]:
                    # The finest grid on which the greatest number still has `bits` bits, or one of the few finer ones.
                    digits, exponents = np.frexp(row[row != 0])
                    finest = int((53 - lowest_bit(digits) - exponents).max())
                    whole = np.ldexp(row, finest)
                    assert -(2 ** (bits - 1)) <= whole.min()
                    assert whole.max() < 2 ** (bits - 1)

    @given(networks(), widths())
    def test_values_lie_on_the_grids_of_their_formats(self, network: Network, bits: int) -> None:
        fixed = quantised(network, bits)
        found = formats(fixed)
        assert all(element.width == bits for element in found[:-1])
        assert found[-1].width <= 31
        y = evaluate(fixed, {"x": network.samples})["y"]
        whole = np.ldexp(y, found[-1].fraction)
        np.testing.assert_array_equal(whole, np.rint(whole))

    def test_ties_go_to_the_even_neighbour(self) -> None:
        ties = np.array([0.5, 1.5, 2.5, 3.5, -0.5, -1.5, -2.5, 6.5, 7.5, -8.5, -9.5])
        assert mantissas(ties, element=FixedPoint(True, 4)).tolist() == [0, 2, 2, 4, 0, -2, -2, 6, 7, -8, -8]
        fixed = quantise(layer([[1.0]], [0.0]), np.array([[7.0], [-8.0]]), bits=4)
        x = ties[:, None]
        assert evaluate(fixed, {"x": x})["y"][:, 0].tolist() == [0, 2, 2, 4, 0, -2, -2, 6, 7, -8, -8]

    def test_inputs_without_a_sign_use_every_bit(self) -> None:
        fixed = quantise(layer([[1.0]], [0.0]), np.array([[0.0], [0.99]]), bits=6)
        assert str(formats(fixed)[0]) == "u6f6"

    def test_widths_by_layer(self) -> None:
        graph = from_onnx(mlp())
        fixed = quantise(graph, weights(20, 4), bits={"fc1": 5, "x": 9, "default": 7})
        assert [element.width for element in formats(fixed)[:2]] == [9, 5]

    def test_widths_by_pattern_and_of_weights_and_results(self) -> None:
        graph, x = from_onnx(mlp()), weights(20, 4)
        fixed = quantise(graph, x, bits={"fc*": (4, 9), "default": 7, "fc2": [5, 6], "*": 12})
        assert [element.width for element in formats(fixed)[:2]] == [12, 9]
        layers = [n for n in fixed.in_order() if fixed.nodes[n]["type"] == "linear"]
        found = [fixed.nodes[fixed.operands(n)[1].node]["value"] for n in layers]
        most = [np.abs(np.ldexp(w, int(least_fractions(w).max()))).max() for w in found]
        assert 4 <= most[0] <= 8 < most[1] <= 16
        lowered = to_integer(fixed)
        np.testing.assert_array_equal(evaluate(lowered, {"x": x})["y"], evaluate(fixed, {"x": x})["y"])

    def test_what_a_function_reads_is_as_fine_as_the_function_asks(self) -> None:
        g = Graph("g")
        h = op.linear(g.input("x", Tensor("f64", ("N", 1))), np.array([[8.0]]), np.array([0.0]))
        g.output("y", op.linear(op.tanh(h), np.array([[0.3]]), np.array([0.0])))
        # On its own the value needs numbers up to 8; its tanh hardly changes beyond 4.
        samples = np.linspace(-1, 1, 200)[:, None]
        found = formats(quantise(g, samples, bits=5))
        assert [str(element) for element in found[:3]] == ["s5f4", "s5f2", "s5f4"]

    def test_more_bits_are_closer(self) -> None:
        graph, x = from_onnx(residual_cnn()), weights(40, 1, 6, 6, scale=1.0)
        real = evaluate(graph, {"x": x})["y"]
        errors = [
            float(np.abs(evaluate(quantise(graph, x, bits=bits), {"x": x})["y"] - real).mean()) for bits in (4, 8, 12)
        ]
        assert errors[0] > 4 * errors[1] > 16 * errors[2]

    def test_channels_of_different_size_gain_from_points_of_their_own(self) -> None:
        w, x = np.array([[7.9, -7.3], [1.0, 0.3]]), weights(50, 2, scale=1.0).astype(np.float64)
        graph = layer(w, [0.0, 0.0])
        real = evaluate(graph, {"x": x})["y"][:, 1]
        common, own = (
            np.abs(evaluate(quantise(graph, x, bits=5, per_channel=p), {"x": x})["y"][:, 1] - real).max()
            for p in (False, True)
        )
        assert own < common / 3

    @given(networks(), widths(), st.booleans())
    def test_arguments_are_left_alone_and_the_result_is_the_same_again(
        self, network: Network, bits: int, per_channel: bool
    ) -> None:
        before, samples = network.graph.copy(), network.samples.copy()
        first = quantised(network, bits, per_channel=per_channel)
        assert network.graph == before
        np.testing.assert_array_equal(network.samples, samples)
        assert str(first) == str(quantised(network, bits, per_channel=per_channel))


def lowest_bit(digits: np.ndarray) -> np.ndarray:
    whole = np.abs(np.ldexp(digits, 53)).astype(np.int64)
    return np.log2(whole & -whole).astype(int)


class TestFormats:
    @given(st.integers(0, 2**32), st.integers(2, 16), st.booleans())
    def test_the_chosen_point_is_the_best_of_those_near_it(self, seed: int, width: int, signed: bool) -> None:
        values = numbers(np.random.default_rng(seed), 40)
        values = values if signed else np.abs(values)
        if not values.any():
            return

        def error(fraction: int) -> float:
            element = FixedPoint(signed, width, fraction)
            return float(np.square(mantissas(values, element=element) * element.step - values).sum())

        found = best_fraction(values, width, signed=signed)
        assert (found.signed, found.width) == (signed, width)
        assert error(found.fraction) <= min(error(found.fraction - 1), error(found.fraction + 1)) * (1 + 1e-12)

    def test_nothing_but_zeros(self) -> None:
        assert str(best_fraction(np.zeros(3), 8, signed=True)) == "s8f7"
        assert str(best_fraction(np.zeros(0), 8, signed=False)) == "u8f8"
        assert fractions_of(np.zeros((2, 3)), 8, per_channel=True).tolist() == [7, 7]

    @given(st.integers(0, 2**32), widths(), widths(), st.booleans(), st.booleans())
    def test_an_accumulator_holds_the_worst_input_and_no_bit_more(
        self, seed: int, bits: int, given_bits: int, signed: bool, per_channel: bool
    ) -> None:
        random = np.random.default_rng(seed)
        given_format = FixedPoint(signed, given_bits, int(random.integers(-3, 12)))
        w = numbers(random, 3, 4)
        fractions = fractions_of(w, bits, per_channel=per_channel)
        w = on_grid(w, fractions, bits)
        b = on_grid(numbers(random, 3), fractions + given_format.fraction, None)
        found = accumulator(w, b, given_format, fractions + given_format.fraction)
        least, most = given_format.minimum * given_format.step, given_format.maximum * given_format.step
        scale = 2.0**found.fraction
        # Zero lies in the range of every input: sums of some terms only, in any order, with the bias first or last.
        terms_high, terms_low = np.where(w > 0, w * most, w * least), np.where(w > 0, w * least, w * most)
        high = float((terms_high.sum(axis=1) + np.maximum(b, 0)).max() * scale)
        low = float((terms_low.sum(axis=1) + np.minimum(b, 0)).min() * scale)
        assert high == int(high)
        assert low == int(low)
        assert found.minimum <= low
        assert high <= found.maximum
        assert (
            found.width == 1
            or not -(2 ** (found.width - 2)) <= low <= high < 2 ** (found.width - 2)
            or not found.signed
        )


class TestErrors:
    @pytest.mark.parametrize(
        ("samples", "told"),
        [
            (None, "are missing; give at least one"),
            ({}, "for the input 'x' are missing; pass a mapping with x"),
            (np.zeros((0, 4)), "'x' are empty; give at least one"),
            (np.zeros((3, 5)), r"'x' have the shape \[3, 5\].*the input is f32\[N,4\]"),
            (np.zeros(4), r"shape \[4\]"),
            (np.full((3, 4), np.nan), "'x' hold NaN.*; remove"),
            (np.full((3, 4), -np.inf), "'x' hold NaN.*; remove"),
            (np.full((3, 4), 1e39), "beyond f32"),
            (np.full((3, 4), "1"), "of <U1"),
            ({"x": np.zeros((3, 4)), "xx": 1}, "name 'xx', which is not an input; did you mean 'x'"),
        ],
    )
    def test_samples(self, samples: object, told: str) -> None:
        with pytest.raises(QuantisationError, match=told):
            quantise(from_onnx(mlp()), samples)

    @pytest.mark.parametrize("bits", [3, 17, 0, -8, 8.5, True, "8", None])
    def test_widths(self, bits: object) -> None:
        with pytest.raises(QuantisationError, match="integers from 4 to 16"):
            quantise(from_onnx(mlp()), weights(3, 4), bits=bits)
        with pytest.raises(QuantisationError, match="for 'fc1' is"):
            quantise(from_onnx(mlp()), weights(3, 4), bits={"fc1": bits})

    @pytest.mark.parametrize("bits", [(4, 3), (4, 8, 8), [8], (4, "8"), ()])
    def test_pairs_of_widths(self, bits: object) -> None:
        with pytest.raises(QuantisationError, match=r"for 'fc1' is .*or a pair of them for weights and results"):
            quantise(from_onnx(mlp()), weights(3, 4), bits={"fc1": bits})

    def test_a_pattern_for_no_layer(self) -> None:
        with pytest.raises(QuantisationError, match=r"'conv\*', which fits no layer \(layers: .*fc1"):
            quantise(from_onnx(mlp()), weights(3, 4), bits={"conv*": 8})

    def test_a_width_for_no_layer(self) -> None:
        with pytest.raises(QuantisationError, match="'fc11', which is not a layer; did you mean"):
            quantise(from_onnx(mlp()), weights(3, 4), bits={"fc11": 8})

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_weights(self, value: float) -> None:
        with pytest.raises(QuantisationError, match=r"weights of .* hold NaN or infinity; train or export"):
            quantise(layer([[value, 1.0]], [0.0]), np.ones((2, 2)))

    @pytest.mark.parametrize("bias", [1e25, 1e300])
    def test_a_bias_out_of_proportion(self, bias: float) -> None:
        with pytest.raises(QuantisationError, match=r"node 'linear.*needs sums of .* bits.*48.*; scale them"):
            quantise(layer([[1.0]], [bias]), np.ones((2, 1)))

    def test_an_op_without_a_fixed_point_form(self) -> None:
        g = Graph("g")
        x = g.input("x", Tensor("f64", ("N", 2)))
        g.output("y", op.linear(op.softmax(op.linear(x, np.eye(2), np.ones(2))), np.eye(2), np.ones(2)))
        with pytest.raises(QuantisationError, match=r"node 'softmax_1': is softmax.*supported are add, .*functions of"):
            quantise(g, np.ones((2, 2)))

    def test_weights_that_are_computed(self) -> None:
        g = Graph("g")
        x, w = g.input("x", Tensor("f64", ("N", 2))), g.input("w", Tensor("f64", (3, 2)))
        g.output("y", op.linear(x, w, np.ones(3)))
        with pytest.raises(QuantisationError, match=r"node 'linear.*weights that are not constants; only the input"):
            quantise(g, {"x": np.ones((2, 2)), "w": np.ones((3, 2))})


def test_a_network_without_layers_still_gets_formats() -> None:
    from onnx import helper

    graph = from_onnx(model([helper.make_node("Relu", ["x"], ["y"])], {}, input_shape=("N", 3)))
    assert [str(element) for element in formats(quantise(graph, np.float32([[-0.9, 0.2, 0.5]])))] == ["s8f7"]


@pytest.mark.parametrize(
    "build",
    [
        lambda x, w: op.conv_transpose(x, w(2, 3, 2, 2), w(3), strides=(2, 2)),
        lambda x, w: op.transpose(op.matmul(w(3, 8), op.transpose(op.flatten(x), perm=(1, 0))), perm=(1, 0)),
    ],
)
def test_layers_in_other_forms(build) -> None:
    """Windows that meet without overlap give blocks of positions; weights may come first."""
    random = np.random.default_rng(0)
    g, x = Graph("forms"), random.normal(size=(40, 2, 2, 2)).astype(np.float32)
    y = build(op.relu(g.input("x", Tensor("f32", ("N", 2, 2, 2)))), lambda *s: random.normal(size=s).astype(np.float32))
    g.output("y", y)
    whole, wanted = to_integer(quantise(g, x)), evaluate(g, {"x": x})["y"]
    found = evaluate(whole, {"x": x})["y"]
    assert np.abs(found - wanted).max() < 0.03 * np.abs(wanted).max()
    stream, parts = to_stream(whole), partition(whole)
    np.testing.assert_array_equal(parts.decode(evaluate(stream, parts.encode({"x": x})))["y"], found)
