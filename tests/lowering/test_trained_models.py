"""Quantised models as they come from training, in integers: the model's own numbers, bit for bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, verify
from graphrewrite.execution.constant_grids import grid_of, multiples_of
from graphrewrite.formats import to_text
from graphrewrite.lowering import LOWER_TO_INTEGER, LoweringError, from_onnx, partition, to_integer
from graphrewrite.lowering.prequantised import (
    LEAVE_MOVED,
    LOWER_TRAINED,
    LOWER_UNSCALED_LAYERS,
    POOL_STORED,
    READ_STORED,
    RESCALE_STORED,
)
from graphrewrite.lowering.prequantised.affine_functions import Corners, line_through
from graphrewrite.lowering.prequantised.step_functions import steps_of
from graphrewrite.rewriting.traces import Step
from graphrewrite.rules import RULES
from graphrewrite.testing import assert_preserves
from tests.lowering.exchange.test_quantised_models import MODELS, quantised, samples
from tests.support.profiles import some_of
from tests.support.trained_networks import parts_with_binary_points, states, trained_network

SEEDS = range(60)
STORED = {*READ_STORED, *POOL_STORED, *RESCALE_STORED}
"""Of networks of TensorFlow Lite: see `test_stored_rescaling`."""
TRAINED = (*(each for each in LOWER_TRAINED if each not in STORED), *LOWER_UNSCALED_LAYERS, *LEAVE_MOVED)
ALL = (*LOWER_TO_INTEGER, *LOWER_UNSCALED_LAYERS, *RULES)


@cache
def lowered(seed: int) -> tuple[Graph, Graph | str, frozenset[str]]:
    """A network, its integers or why there are none, and the rules that made them."""
    graph, steps = trained_network(seed), list[Step]()
    try:
        return graph, to_integer(graph, steps=steps), frozenset(step.rule for step in steps)
    except LoweringError as error:
        return graph, str(error), frozenset(step.rule for step in steps)


@pytest.mark.parametrize("seed", some_of(SEEDS))
def test_random_networks_are_exact(seed: int, same_text: Callable[[str], None]) -> None:
    graph, found, _ = lowered(seed)
    if isinstance(found, str):
        assert "multi_threshold" in found  # whose channels step as they like
        return
    verify(found)
    shape = graph.result_type("x").shape[1:]
    x = np.random.default_rng(seed).normal(scale=3, size=(20, *shape)).astype(np.float32)
    np.testing.assert_array_equal(evaluate(found, {"x": x})["y"], evaluate(graph, {"x": x})["y"])
    core = partition(found).core
    assert all(
        isinstance(core.result_type(n).element, FixedPoint) for n in core if n not in core.outputs and core.pred[n]
    )
    if seed in SEEDS[::3]:
        same_text(to_text(found, whole=True))


RARE = {
    "enter_bipolar", "enter_thresholds", "lower_unscaled_layer", "lower_unscaled_matmul", "concat_mantissas",
    "enter_moved", "leave_moved", "leave_reshaped", "arg_max_scaled", "approach_sum", "approach_sum_steps",
    "approach_sums", "swap_difference", "swap_comparison", "swap_quotient", "add_scaled_bias",
    "add_whole_bias", "absorb_addend", "enter_sign", "compare_sums", "compare_counted_sums",
    "count_before_rescaling", "write_comparison_as_sign", "write_inverse_comparison_as_sign", "lower_scaled_resize",
}  # fmt: skip
"""Rules of which a test below has a network of its own."""


def test_most_networks_have_integers_and_every_rule_has_its_part() -> None:
    found = [lowered(seed) for seed in SEEDS]
    assert sum(isinstance(made, Graph) for _, made, _ in found) > len(SEEDS) * 0.9
    fired = frozenset[str]().union(*(rules for _, _, rules in found))
    assert {member.name for member in TRAINED} - fired <= RARE


def compare(graph: Graph, *, rules: set[str], kinds: set[str] = frozenset(), scale: float = 2.0) -> Graph:  # type: ignore[assignment]
    """Lower a network; its integers give the same numbers, some rules made them, and they have some ops."""
    steps: list[Step] = []
    made = to_integer(graph, steps=steps)
    assert rules <= {step.rule for step in steps}
    random = np.random.default_rng(0)
    x = {n: random.normal(scale=scale, size=(50, *graph.result_type(n).shape[1:])).astype("f4") for n in graph.inputs}
    for name, wanted in evaluate(graph, x).items():
        np.testing.assert_array_equal(evaluate(made, x)[name], wanted)
    core = partition(made).core
    assert kinds <= {core.nodes[n]["type"] for n in core}
    return core


def bipolar(value, scale=1.0):
    return op.bipolar_quant(value, np.float32(scale))


@pytest.mark.parametrize("product", ["linear", "matmul"])
def test_a_binary_network(product: str) -> None:
    g, random = Graph("binary"), np.random.default_rng(1)
    w = np.where(random.random((4, 6)) < 0.5, np.float32(-1), np.float32(1))
    x = bipolar(g.input("x", Tensor("f32", ("N", 6))))
    made = op.matmul(x, np.ascontiguousarray(w.T)) if product == "matmul" else op.linear(x, w, np.zeros(4, np.float32))
    g.output("y", bipolar(made, 0.5))
    core = compare(g, rules={"enter_bipolar"}, kinds={"integer_linear"})
    assert max(core.result_type(n).element.width for n in core.inputs) == 1


def test_channels_last_are_the_host_s() -> None:
    g, random = Graph("last"), np.random.default_rng(2)

    def fake(value, scale):
        return op.quant(value, np.float32(scale), np.float32(0), np.float32(4))

    def layer(value, outputs):
        w = random.integers(-7, 8, (outputs, value.type.shape[3], 3, 3)).astype(np.float32) / 16
        first = op.transpose(value, perm=(0, 3, 1, 2))
        made = op.conv(first, w, np.zeros(outputs, np.float32), pads=(1, 1, 1, 1), strides=(1, 1), dilations=(1, 1))
        return op.transpose(made, perm=(0, 2, 3, 1))

    x = fake(g.input("x", Tensor("f32", ("N", 4, 5, 3))), 0.25)
    middle = fake(op.leaky_relu(fake(layer(x, 2), 0.5), alpha=0.1), 0.25)
    g.output("y", fake(layer(middle, 2), 0.5))
    core = compare(g, rules={"enter_moved", "leave_moved", "transpose_after"}, kinds={"lookup"})
    assert not any(core.nodes[n]["type"] == "transpose" for n in core)


def test_parts_with_binary_points_are_joined() -> None:
    compare(parts_with_binary_points(), rules={"concat_mantissas"}, kinds={"concat", "lookup"})


@pytest.mark.parametrize("kind", ["add", "sub"])
@pytest.mark.parametrize("seed", [0, 9])
def test_a_sum_is_exact_for_every_pair(seed: int, kind: str) -> None:
    """Of the second one, single precision makes ties where there are none; real numbers settle them."""
    random = np.random.default_rng(seed)

    def stored(value):
        kinds = {"i8": (np.int8, -100, 100), "u8": (np.uint8, 0, 200)}
        dtype, low, high = kinds[str(random.choice(["i8", "u8"]))]
        scale, zero = np.float32(random.uniform(0.005, 0.05)), np.asarray(random.integers(low, high), dtype)
        return op.dequantize_linear(op.quantize_linear(value, scale, zero), scale, zero)

    g = Graph("pair")
    x, y = (stored(g.input(n, Tensor("f32", ("N", 3)))) for n in "xy")
    g.output("z", stored(getattr(op, kind)(x, y)))
    compare(g, rules=set(), kinds={"integer_add", "rescale"})


@pytest.mark.parametrize(
    ("name", "form", "per_channel", "activations"),
    [
        ("digits", "QDQ", False, "QInt8"),
        ("digits", "QDQ", True, "QUInt8"),
        ("digits", "QOperator", False, "QUInt8"),
        ("digits", "QOperator", True, "QInt8"),
        ("classes", "QDQ", True, "QInt8"),
        ("classes", "QOperator", False, "QUInt8"),
    ],
)
def test_models_of_onnxruntime_s_quantiser(
    tmp_path: Path, name: str, form: str, per_channel: bool, activations: str
) -> None:
    x = samples(name)
    file = tmp_path / "q.onnx"
    graph = from_onnx(quantised(name, file, x, form=form, per_channel=per_channel, activations=activations))
    made = to_integer(graph)
    (wanted,), (found,) = (evaluate(each, {graph.inputs[0]: x}).values() for each in (graph, made))
    np.testing.assert_array_equal(found, wanted)
    kinds = Counter(partition(made).core.nodes[n]["type"] for n in partition(made).core)
    layers = {"digits": {"integer_conv": 2, "integer_linear": 1}, "classes": {"integer_linear": 4}}[name]
    assert {kind: kinds[kind] for kind in layers} == layers


@pytest.mark.parametrize("name", ["bnn_model_fc_1layer", "separable_conv_model_ch_last"])
def test_qonnx_models(name: str) -> None:
    file = MODELS / f"{name}.onnx"
    if not file.is_file():
        pytest.skip(f"{file.name} is not beside this checkout")
    graph = from_onnx(file)
    made = to_integer(graph)
    (given,) = graph.inputs
    shape = graph.result_type(given).shape[1:]
    x = np.random.default_rng(0).standard_normal((1 if len(shape) > 1 else 50, *shape), dtype=np.float32)
    (wanted,), (found,) = (evaluate(each, {given: x}).values() for each in (graph, made))
    np.testing.assert_array_equal(found, wanted)
    core = partition(made).core
    assert not {"transpose", "conv", "quant"} & {core.nodes[n]["type"] for n in core}


class TestRefusals:
    def refused(self, value_of, why: str) -> None:
        g = Graph("refused")
        scale, zero = np.float32(0.1), np.asarray(3, np.int8)

        def stored(value):
            return op.dequantize_linear(op.quantize_linear(value, scale, zero), scale, zero)

        g.output("y", stored(value_of(stored(g.input("x", Tensor("f32", ("N", 2)))))))
        with pytest.raises(LoweringError, match=why):
            to_integer(g)

    def test_weights_on_no_grid(self) -> None:
        w = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
        self.refused(lambda v: op.linear(v, w, np.zeros(20, np.float32)), "its weights are not on a grid of 16 bits")

    def test_a_second_operand_that_nobody_quantised(self) -> None:
        self.refused(lambda v: op.mul(v, op.softmax(v)), "mul")

    def test_another_op(self) -> None:
        self.refused(lambda v: op.linear(op.softmax(v), np.eye(2, dtype=np.float32)), r"linear \(")


def reaches(values: np.ndarray, first: int) -> Corners:
    at = np.nonzero(np.diff(values))[0]
    numbers = np.arange(len(values)) + first
    return Corners(numbers[at + 1], values[at + 1], numbers[at], values[at] + 1)


@pytest.mark.parametrize("factor", [0.5, 0.30123, 0.0101, 3.0, 2.0**-9])
def test_a_line_passes_every_step(factor: float) -> None:
    x = np.arange(-4000, 4001)
    wanted = np.clip(np.rint(x * factor), -128, 127).astype(int)
    line = line_through([reaches(wanted, -4000)])
    assert line is not None
    (m,), (b,), (s,), rounding = line
    element = FixedPoint(True, 8)
    found = op.rescale(x, multiplier=m, addend=b, shift=s, rounding=rounding, element=element)
    np.testing.assert_array_equal(found, wanted)


def test_no_line_passes_a_curve() -> None:
    assert line_through([reaches(np.rint(100 * np.tanh(np.arange(-99, 100) / 30)).astype(int), -99)]) is None


def test_steps_that_are_searched_are_those_that_are_seen() -> None:
    def function(x):
        return np.rint(x * np.array([0.001, -0.003])).clip(-9, 9)

    seen = steps_of(function, -(1 << 15), (1 << 15) - 1, 2, is_monotone=True)
    searched = steps_of(function, -(1 << 20), (1 << 20) - 1, 2, is_monotone=True)
    for one, other in zip(seen.corners, searched.corners, strict=True):
        for found, wanted in zip(other, one, strict=True):
            np.testing.assert_array_equal(found, wanted)
    assert isinstance(steps_of(function, -(1 << 20), (1 << 20) - 1, 2, is_monotone=False), str)


def test_the_coarsest_grid_is_found() -> None:
    random = np.random.default_rng(0)
    for most in (1, 7, 127, 2000):
        whole = random.integers(-most, most + 1, (3, 50))
        whole[:, :2] = [1, most]
        found = grid_of(whole.astype(np.float32) * np.float32(0.0123))
        np.testing.assert_array_equal(found.whole, whole)


@pytest.mark.parametrize("most", [1, 1000, 1 << 16])
def test_constants_are_on_a_grid_if_float32_rounds_them_to_it(most: int) -> None:
    whole = np.random.default_rng(0).integers(1, most + 1, 50)
    constants, scale = whole * 0.0123, np.array([0.0123])
    np.testing.assert_array_equal(multiples_of(constants.astype(np.float32), scale), whole)
    assert multiples_of(constants * (1 + 2.0**-20), scale) is None


def test_constants_on_a_grid_have_32_bits() -> None:
    ends = np.array([-(2.0**31) + 1, 2.0**31 - 1])
    np.testing.assert_array_equal(multiples_of(ends, np.ones(1)), ends)
    for beyond in (-(2.0**31), 2.0**31, np.inf):
        assert multiples_of(np.array([beyond]), np.ones(1)) is None


@pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning")  # of these networks there are few
@pytest.mark.thorough
@pytest.mark.parametrize("member", TRAINED, ids=lambda member: member.name)
def test_a_rule_preserves_what_it_says(member) -> None:
    seeds = [seed for seed in SEEDS if member.name in lowered(seed)[2]]
    if not seeds:
        pytest.skip("its networks have tests of their own")
    assert_preserves(member, on=states(member, ALL, seeds))
