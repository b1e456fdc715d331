"""Integers: the same numbers as the quantised network, bit for bit, in accumulators that never overflow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite, verify
from graphrewrite.lowering import LOWER_TO_INTEGER, LoweringError, from_onnx, quantise, to_integer
from graphrewrite.lowering.integer.arithmetic import scale_sums
from graphrewrite.lowering.integer.binary_points import absorb_clip, lower_rounding
from graphrewrite.lowering.integer.mantissas import least_fractions, of_layer
from graphrewrite.rewriting.traces import Step
from tests.support.lowering_networks import mlp, residual_cnn, weights
from tests.support.random_networks import Network, networks, numbers, quantised, widths


def kinds(graph: Graph) -> list[str]:
    return [graph.nodes[n]["type"] for n in graph.in_order()]


def one_layer(element: FixedPoint | None = None, **attributes: object) -> Graph:
    g = Graph("g")
    x = op.quantise(g.input("x", Tensor("f64", ("N", 2))), element=FixedPoint(True, 8, 4))
    made = op.linear(x, np.array([[0.5, -0.25]]), np.array([0.125]))
    g.output("y", op.quantise(made, element=element or FixedPoint(True, 8, 3), **attributes))
    return g


@given(networks(), widths(), st.booleans())
def test_integers_are_the_quantised_numbers(network: Network, bits: int, per_channel: bool) -> None:
    fixed = quantised(network, bits, per_channel=per_channel)
    unchanged = fixed.copy()
    lowered = to_integer(fixed)
    assert fixed == unchanged
    verify(lowered)
    # Beyond the calibration samples too, where values saturate.
    for scale in (1.0, 37.0, -1000.0):
        x = network.samples * scale
        np.testing.assert_array_equal(evaluate(lowered, {"x": x})["y"], evaluate(fixed, {"x": x})["y"])
    before = {n for entry in lowered if lowered.nodes[entry]["type"] == "to_fixed" for n in lowered.upstream(entry)}
    kept = {n for n in lowered if lowered.nodes[n]["type"] in ("relu", "max_pool", "reshape")}
    levels = {lowered.op(n).level for n in {*lowered} - kept - before}
    assert levels <= {"structure", "bridge", "integer"}


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("per_channel", [False, True])
def test_sums_of_24_bits_are_exact_in_single_precision(bits: int, per_channel: bool) -> None:
    for proto, shape in ((mlp(), (30, 4)), (residual_cnn(), (30, 1, 6, 6))):
        x = weights(*shape, scale=1.0)
        fixed = quantise(from_onnx(proto), x, bits=bits, per_channel=per_channel)
        np.testing.assert_array_equal(evaluate(to_integer(fixed), {"x": x})["y"], evaluate(fixed, {"x": x})["y"])


@given(networks(), widths(), st.booleans())
def test_no_input_overflows_an_accumulator(network: Network, bits: int, per_channel: bool) -> None:
    lowered = to_integer(quantised(network, bits, per_channel=per_channel))
    for node in lowered:
        if lowered.nodes[node]["type"] not in ("integer_linear", "integer_conv"):
            continue
        x, w, b = lowered.operands(node)
        element, given_format = lowered.nodes[node]["element"], lowered.result_type(x.node, x.result).element
        rows = lowered.nodes[w.node]["value"].reshape(len(lowered.nodes[b.node]["value"]), -1).tolist()
        for row, bias in zip(rows, lowered.nodes[b.node]["value"].tolist(), strict=True):
            worst = [[int(v) * pick(int(v), given_format) for v in row] for pick in (most, least)]
            for start in (0, bias):  # the bias may be added first or last
                assert start + sum(worst[0]) <= element.maximum
                assert start + sum(worst[1]) >= element.minimum
        assert element.width <= 48


def most(weight: int, element: FixedPoint) -> int:
    return element.maximum if weight > 0 else element.minimum


def least(weight: int, element: FixedPoint) -> int:
    return element.minimum if weight > 0 else element.maximum


@given(st.integers(0, 2**32), widths(), st.booleans())
def test_the_worst_input_is_computed_exactly(seed: int, bits: int, signed: bool) -> None:
    random = np.random.default_rng(seed)
    given_format = FixedPoint(signed, bits, int(random.integers(0, 9)))
    w = random.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (3, 9)) / 2.0**5
    b = random.integers(-500, 500, 3) / 2.0 ** (5 + given_format.fraction)
    found = of_layer(w, b, given_format)
    assert not isinstance(found, str)
    for pick in (most, least):
        x = np.array([[pick(v, given_format) for v in row] for row in found.weights.tolist()])
        wanted = [
            [sum(a * c for a, c in zip(row, frame, strict=True)) + d for row, d in zip(*layer, strict=True)]
            for layer in [(found.weights.tolist(), found.bias.tolist())]
            for frame in x.tolist()
        ]
        y = op.integer_linear(x, found.weights, found.bias, element=found.element)
        assert y.tolist() == wanted
        assert found.element.minimum <= y.min()
        assert y.max() <= found.element.maximum


@given(st.integers(0, 2**32), st.integers(-20, 20))
def test_least_fractions(seed: int, shift: int) -> None:
    random = np.random.default_rng(seed)
    whole = random.integers(-99, 99, (4, 3)) * 2 + 1
    rows = np.ldexp(whole.astype(float), -shift)
    assert least_fractions(rows).tolist() == [shift] * 4
    np.testing.assert_array_equal(least_fractions(rows * 0), 0)


class TestRules:
    def test_relu_and_clip_become_limits(self) -> None:
        for activation in (op.relu, lambda v: op.clip(v, low=0.0, high=2.0)):
            g = Graph("g")
            x = op.quantise(g.input("x", Tensor("f64", ("N", 2))), element=FixedPoint(True, 8, 4))
            made = activation(op.linear(x, np.array([[0.5, -0.25]]), np.array([0.125])))
            g.output("y", op.quantise(made, element=FixedPoint(False, 8, 5)))
            lowered = to_integer(g)
            assert kinds(lowered).count("requantise") == 1
            assert not {"relu", "clip"} & set(kinds(lowered))
            values = numbers(np.random.default_rng(3), 40, 2)
            np.testing.assert_array_equal(evaluate(lowered, {"x": values})["y"], evaluate(g, {"x": values})["y"])

    @pytest.mark.parametrize("fraction", [-3, 0, 6, 10, 20])
    def test_shifts_to_either_side_round_half_to_even(self, fraction: int) -> None:
        g = one_layer(FixedPoint(True, 16, fraction))
        x = np.arange(-64, 64).reshape(-1, 2) / 16
        np.testing.assert_array_equal(evaluate(to_integer(g), {"x": x})["y"], evaluate(g, {"x": x})["y"])

    def test_a_closing_softmax_stays_with_the_host(self) -> None:
        x = weights(9, 4)
        fixed = quantise(from_onnx(mlp(softmax=True)), x)
        lowered = to_integer(fixed)
        assert kinds(lowered)[-2:] == ["softmax", "output"]
        np.testing.assert_array_equal(evaluate(lowered, {"x": x})["y"], evaluate(fixed, {"x": x})["y"])

    def test_what_each_rule_did_is_collected(self) -> None:
        steps: list[Step] = []
        to_integer(one_layer(), steps=steps)
        assert {"enter_fixed", "lower_linear"} <= {step.rule for step in steps}


class TestErrors:
    def test_a_graph_that_is_not_quantised(self) -> None:
        with pytest.raises(LoweringError, match=r"nothing .* is quantised; call quantise"):
            to_integer(from_onnx(mlp()))

    def test_every_node_that_is_left_is_named_with_the_reason(self) -> None:
        g = Graph("g")
        x = op.quantise(g.input("x", Tensor("f64", ("N", 2))), element=FixedPoint(True, 8, 4))
        first = op.linear(x, np.array([[np.pi, -0.25]]), np.array([0.125]))
        made = op.quantise(first, element=FixedPoint(True, 8, 3))
        g.output("y", op.quantise(op.mul(made, made), element=FixedPoint(True, 8, 3)))
        with pytest.raises(LoweringError, match=r"linear \(.*its weights need .* bits and are not quantised.*mul \("):
            to_integer(g)

    def test_a_bias_beyond_every_accumulator(self) -> None:
        found = of_layer(np.array([[1.0]]), np.array([2.0**60]), FixedPoint(True, 8))
        assert found == "its bias is too large for an accumulator of 48 bits"


@pytest.mark.parametrize(
    ("bias", "width", "why"),
    [([np.inf], 8, "not all finite"), ([np.nan], 8, "not all finite"), ([1.0], 48, "may need more than 63 bits")],
)
def test_a_layer_without_exact_sums_says_why(bias, width, why):
    assert why in of_layer(np.array([[1.0, 2.0**-18]]), np.array(bias), FixedPoint(True, width))


@pytest.mark.parametrize("wide", [2.0**70, -(2.0**70)])
def test_weights_of_very_different_sizes_need_too_many_bits(wide):
    found = of_layer(np.array([[1.0, wide]]), np.zeros(1), FixedPoint(True, 8))
    assert found == "its weights need 64 bits and are not quantised; quantise the graph first"


def lowered(text):
    return rewrite(Graph.parse(text), LOWER_TO_INTEGER)


@pytest.mark.parametrize(
    "text",
    [
        "x = input() : s8f4[N,1]\nr = from_fixed(x, fraction=4, element='i8')\na = relu(r)\ny = output(a)",
        "x = input() : u31f0[N,4]\nr = from_fixed(x, fraction=0)\na = arg_max(r, axis=1)\ny = output(a)",
        "x = input() : s8f4[N,1,3,3]\nr = from_fixed(x, fraction=4)\n"
        "a = max_pool(r, kernel=(1, 1), pads=(1, 0, 0, 0))\ny = output(a)",
        "x = input() : s63f0[N,1]\nr = from_fixed(x, fraction=0, element='f64')\na = add(r, r)\n"
        "q = quantise(a, element=s8f0)\ny = output(q)",
        # float16 ends at 65504: infinity times 0 is NaN
        "x = input() : s32f0[N]\nx1 = input() : s6f0[N]\nr = from_fixed(x, fraction=0, element='f16')\n"
        "r1 = from_fixed(x1, fraction=1, element='f16')\na = mul(r, r1)\nq = quantise(a, element=u8f8)\ny = output(q)",
        "x = input() : u16f0[N,1]\nr = from_fixed(x, fraction=0, element='f16')\n"
        "w = constant(value=[[0.0]]) : f16[1,1]\n"
        "b = constant(value=[0.0]) : f16[1]\na = linear(r, w, b)\nq = quantise(a, element=s8f0)\ny = output(q)",
        # a sum of 64 bits
        "x = input() : s60f30[N]\nr = from_fixed(x, fraction=30, element='f64')\n"
        "c = constant(value=1.1641532182693481e-10) : f64[]\n"
        "a = sub(r, c)\nq = quantise(a, element=s8f0)\ny = output(q)",
    ],
)
def test_what_mantissas_do_not_tell_is_not_lowered(text):
    given = Graph.parse(f"graph g\n{text}")
    assert lowered(f"graph g\n{text}") == given


def test_a_binary_point_that_is_moved_counts():
    g = "graph g\nx = input() : s8f4[N,1]\nr = from_fixed(x, fraction=6)\nq = quantise(r, element=s8f4)\ny = output(q)"
    x = np.arange(-128, 128, dtype=np.int8)[:, None]
    before, after = Graph.parse(g), lowered(g)
    assert "requantise" in str(after)
    assert np.array_equal(evaluate(before, {"x": x})["y"], evaluate(after, {"x": x})["y"])


@pytest.mark.parametrize(
    "element",
    [FixedPoint(True, 3, 0), FixedPoint(False, 4, 2), FixedPoint(True, 4, 1), FixedPoint(True, 2, 3)],
    ids=str,
)
@pytest.mark.parametrize("low", [None, -80, -5, -4, -3, -1, 0, 1, 6, 80])
def test_limits_on_the_grid_of_a_format_or_beyond_it_are_part_of_it(element: FixedPoint, low: int | None) -> None:
    """Limits are quarters; those stay that lie between numbers of the format, or leave no number of it."""
    x = np.arange(-90, 91) / 16
    for high in (None, -80, -6, -4, -1, 0, 2, 3, 5, 8, 80):
        low_, high_ = (None if limit is None else limit / 4 for limit in (low, high))
        g = Graph("g")
        g.output("y", op.quantise(op.clip(g.input("x", Tensor("f64", ("N",))), low=low_, high=high_), element=element))
        ends = element.minimum * element.step, element.maximum * element.step
        least = ends[0] if low_ is None else max(low_, ends[0])
        most = ends[1] if high_ is None else min(high_, ends[1])
        is_on_grid = all(limit % element.step == 0 for limit in (least, most))
        changed = absorb_clip(g)
        assert ("clip" in kinds(changed)) == (not (is_on_grid and least <= most)), (low_, high_)
        np.testing.assert_array_equal(evaluate(changed, {"x": x})["y"], evaluate(g, {"x": x})["y"])


@pytest.mark.parametrize("limits", [{"low": math.inf}, {"high": -math.inf}, {"low": math.nan}])
def test_limits_that_leave_no_number_stay(limits: dict[str, float]) -> None:
    g = Graph("g")
    g.output("y", op.quantise(op.clip(g.input("x", Tensor("f32", ("N",))), **limits), element=FixedPoint(True, 4)))
    assert absorb_clip(g) == g


@pytest.mark.parametrize("element", [FixedPoint(True, 8, -80), FixedPoint(True, 8, 80)], ids=str)
def test_binary_points_that_lie_far_apart(element: FixedPoint) -> None:
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(True, 8), ("N", 1)))
    g.output("y", op.quantise(op.from_fixed(x, fraction=0, element="f64"), element=element))
    changed, samples = lower_rounding(g), {"x": np.array([[-128], [0], [1]], np.int8)}
    assert "requantise" in kinds(changed)
    np.testing.assert_array_equal(evaluate(changed, samples)["y"], evaluate(g, samples)["y"])


@example([1, 1], [0, 0], (2, 2), True)
@example([1, 1], [0, 3], (2, 2), True)
@example([3, 1], [0, 0], (2, 1), True)
@example([-9, 5], [7, -50], (1, 3), True)
@example([2, 2], [4, 4], (1, 1), True)
@given(
    st.lists(st.integers(-9, 9), min_size=2, max_size=2),
    st.lists(st.integers(-50, 50), min_size=2, max_size=2),
    st.sampled_from([(1, 1), (2, 1), (2, 2), (1, 3)]),
    st.booleans(),
)
def test_equal_weights_of_a_window_are_one_product(
    gains: list[int], biases: list[int], window: tuple[int, int], is_equal: bool
) -> None:
    w = np.array(gains).reshape(2, 1, 1, 1) * np.ones((2, 1, *window), np.int64)
    w[0, 0, 0, 0] += not is_equal
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(True, 4), ("N", 2, 3, 4)))
    sums = op.integer_conv(x, w, np.array(biases), groups=2, element=FixedPoint(True, 16))
    g.output("y", op.requantise(sums, shift=2, element=FixedPoint(True, 6)))
    changed = scale_sums(g)
    is_plain = bool((w == 1).all()) and not any(biases)
    has_one = is_equal and window != (1, 1) and not is_plain
    assert ("rescale" in kinds(changed)) == has_one
    (conv,) = (n for n in changed if changed.nodes[n]["type"] == "integer_conv")
    assert not has_one or (changed.nodes[changed.operands(conv)[1].node]["value"] == 1).all()
    values = {"x": np.random.default_rng(0).integers(-8, 8, (20, 2, 3, 4)).astype(np.int8)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])
