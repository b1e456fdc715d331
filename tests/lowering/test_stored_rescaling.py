"""Networks of TensorFlow Lite in 8 bits reach the integer level and hardware with the bits of the loaded graph."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Rule, Tensor, evaluate, op, rewrite
from graphrewrite.graph import Value
from graphrewrite.lowering import LoweringError, from_tflite, partition, to_integer, to_stream
from graphrewrite.lowering.prequantised import (
    layers,
    movement,
    quantised_inputs,
    stored_integers,
    stored_readings,
    stored_rescaling,
    stored_windows,
    sums_and_products,
    windows,
)
from graphrewrite.rewriting.traces import Step
from graphrewrite.testing import assert_preserves
from tests.support.declining import given_reasons
from tests.support.profiles import fewer_examples
from tests.support.tflite_files import Node, T, model
from tests.support.tflite_more_cases import STORED
from tests.support.tflite_networks import network
from tests.support.tflite_tensors import ints

LOWERED = (
    *("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "PAD", "PRELU"),
    *("ADD", "MUL", "ABS", "TANH", "LOGISTIC", "ELU", "EXP", "HARD_SWISH", "LEAKY_RELU", "RELU", "RELU6"),
    *("RELU_N1_TO_1", "QUANTIZE of i8", "QUANTIZE i8 as u8", "QUANTIZE i8 as i16", "QUANTIZE u8 as i8"),
)
"""Operators that have an integer form."""


def assert_same_bits(graph: Graph, lowered: Graph, inputs: dict[str, np.ndarray]) -> None:
    found = evaluate(lowered, inputs)
    for name, wanted in evaluate(graph, inputs).items():
        assert found[name].dtype == wanted.dtype
        np.testing.assert_array_equal(found[name], wanted)


@pytest.mark.parametrize("kind", LOWERED)
def test_an_operator_has_the_bits_of_its_kernel(kind: str) -> None:
    count = 0
    for seed in range(12):
        data, inputs, *_ = STORED[kind](np.random.default_rng(seed))
        graph = from_tflite(data, batch=None)
        try:
            lowered = to_integer(graph)
        except LoweringError:  # of extreme scales, or without channels
            continue
        assert_same_bits(graph, lowered, inputs)
        count += 1
        if count == 2:
            break
    assert count == 2


@pytest.fixture(scope="module")
def integer() -> tuple[Graph, Graph]:
    graph = from_tflite(network())
    return graph, to_integer(graph)


def test_a_network_with_a_sum_a_mean_and_a_softmax(integer: tuple[Graph, Graph]) -> None:
    graph, lowered = integer
    x = np.random.default_rng(1).integers(-128, 128, (60, *graph.result_type("input:0").shape[1:])).astype(np.int8)
    assert_same_bits(graph, lowered, {"input:0": x})
    parts = partition(lowered)
    kinds = {data["type"] for data in parts.core.nodes.values()}
    assert {"integer_conv", "integer_add", "integer_linear", "rescale"} <= kinds
    assert "fixed_point_softmax" in {d["type"] for d in parts.after.nodes.values()}
    mantissas, stream = parts.encode({"input:0": x}), to_stream(lowered)
    core, found = evaluate(parts.core, mantissas), evaluate(stream, mantissas)
    assert all(np.array_equal(core[name], found[name]) for name in core)


def test_parts_of_other_scales_are_concatenated() -> None:
    rng = np.random.default_rng(0)

    def held(name: str, channels: int, scale: float, zero: int) -> T:
        return T(name, (1, 4, 4, channels), scale=float(np.float32(scale)), zero=zero)

    w = T.of("w", rng.integers(-127, 128, (3, 1, 1, 2)).astype(np.int8), scale=0.01)
    b = T.of("b", rng.integers(-900, 900, 3).astype(np.int32), scale=0.0005)
    tensors = [held("x", 2, 0.05, 5), w, b, held("a", 3, 0.04, -9), held("t", 3, 0.0078125, 0), held("r", 3, 0.04, -9)]
    y = T("y", (1, 2, 2, 6), scale=float(np.float32(0.04)), zero=-9)
    tensors += [held("both", 6, 0.04, -9), T.of("axes", ints(1, 2)), y]
    nodes = [
        Node("CONV_2D", ["x", "w", "b"], ["a"], {"stride_h": 1, "stride_w": 1, "fused_activation_function": 1}),
        Node("TANH", ["a"], ["t"]),
        Node("QUANTIZE", ["t"], ["r"]),
        Node("CONCATENATION", ["a", "r"], ["both"], {"axis": 3}),
        Node("AVERAGE_POOL_2D", ["both"], ["y"], {"stride_h": 2, "stride_w": 2, "filter_height": 2, "filter_width": 2}),
    ]
    graph = from_tflite(model(tensors, nodes, ["x"], ["y"]))
    lowered = to_integer(graph)
    assert_same_bits(graph, lowered, {"x": rng.integers(-128, 128, (40, 4, 4, 2)).astype(np.int8)})
    assert "average_pool" not in {data["type"] for data in lowered.nodes.values()}


def a_layer(zero: int, then: Callable[[Value], Value]) -> tuple[Graph, dict[str, np.ndarray]]:
    """A layer on stored numbers, whose result is stored with a zero point, and what reads it."""
    rng, g = np.random.default_rng(0), Graph("g")
    x = g.input("x", Tensor("i8", ("N", 2, 4, 4)))
    sums = op.conv_integer(x, rng.integers(-9, 9, (3, 2, 1, 1)).astype(np.int8), np.int8(5))
    stored = op.multiply_fixed_point(sums, np.int32(1 << 30), np.int32(-3), zero_point=zero)
    g.output("y", then(stored))
    return g, {"x": rng.integers(-128, 128, (40, 2, 4, 4)).astype(np.int8)}


@pytest.mark.parametrize(
    ("rule", "then"),
    [
        ("change_zero_point", lambda y: op.conv_integer(y, np.ones((1, 3, 1, 1), np.int8), np.int8(-7))),
        ("arg_max_of_stored", lambda y: op.arg_max(y, axis=1)),
        ("pool_maximum_of_stored", lambda y: op.reduce_max(y, axes=(2, 3))),
        ("clip_distances", lambda y: op.clip(y, low=-3, high=40)),
        (
            "lower_average_of_transposed",
            lambda y: op.round_half_away(
                op.average_pool(op.transpose(op.cast(y, element="f32"), perm=(0, 2, 3, 1)), kernel=(2, 2))
            ),
        ),
    ],
)
def test_what_reads_stored_numbers(rule: str, then: Callable[[Value], Value]) -> None:
    graph, inputs = a_layer(3, then)
    steps: list[Step] = []
    lowered = to_integer(graph, steps=steps)
    assert rule in {step.rule for step in steps}
    assert_same_bits(graph, lowered, inputs)


@pytest.mark.slow(cases=1)
@pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning")  # few of these graphs are networks
@pytest.mark.parametrize(
    "member",
    [
        stored_readings.arg_max_of_stored,
        stored_readings.change_zero_point,
        stored_readings.clip_distances,
        stored_readings.look_up_distances,
        stored_readings.read_as_integers,
        stored_rescaling.lower_rescaling,
        stored_rescaling.multiply_distances,
        quantised_inputs.read_stored,
        stored_integers.lower_conv_integer,
        stored_integers.lower_qlinear_conv,
        stored_integers.lower_qlinear_matmul,
        stored_rescaling.lower_rescaled_choice,
        stored_windows.lower_average_of_stored,
        stored_windows.lower_mean_of_stored,
    ],
    ids=lambda member: member.name,
)
def test_a_rule_is_right_in_any_graph(member: Rule) -> None:
    with fewer_examples():
        assert_preserves(member)


def read(x: Value) -> Value:
    return op.from_fixed(x, fraction=0)


ONES = np.ones((2, 1), np.float32)


def summed(x: Value) -> Value:
    return op.integer_conv(x, np.ones((1, 2, 1), int), np.zeros(1, int), element=FixedPoint(True, 32))


def stored(x: Value, element: str, zero: int) -> Value:
    return op.quantize_linear(read(x), np.float32(1), np.asarray(zero, element))


def rescaled_choice(x: Value, start: np.ndarray, zero: int, element: str) -> Value:
    number = op.from_fixed(x, fraction=0, element="i32")
    one, nothing = np.int32(1 << 30), np.int32(0)
    above, below = (
        op.multiply_fixed_point(each, one, nothing, zero_point=zero, element=element)
        for each in (number, op.mul(number, np.int32(2)))
    )
    return op.where(op.greater_or_equal(number, start), above, below)


def rescaled_sum(x: Value, factor: int, exponent: int, zero: int, element: str) -> Value:
    one, other = (op.from_fixed(x, fraction=0, element="i32") for _ in range(2))
    half = op.multiply_fixed_point(one, np.int32(factor), np.int32(exponent), element="i32")
    total = op.add(half, op.multiply_fixed_point(other, np.int32(1 << 30), np.int32(0), element="i32"))
    return op.multiply_fixed_point(total, np.int32(1 << 30), np.int32(0), zero_point=zero, element=element)


@pytest.mark.parametrize(
    ("rule", "build", "why"),
    [
        (
            stored_windows.pool_maximum_of_stored,
            lambda x: op.reduce_max(stored(x, "u1", 9), axes=()),
            "it reduces other axes",
        ),
        (
            stored_windows.lower_average_of_stored,
            lambda x: op.round_half_away(
                op.average_pool(
                    op.cast(stored(x, "u1", 9), element="f32"), kernel=(2,), pads=(1, 0), count_include_pad=True
                ),
                element="u8",
            ),
            "its border counts as stored zeros",
        ),
        *(
            (
                stored_windows.lower_mean_of_stored,
                lambda x, element=element: op.multiply_fixed_point(
                    op.reduce_sum(op.cast(stored(x, "u1", 9), element=element), axes=(2,)),
                    np.int32(1 << 30),
                    np.int32(1),
                ),
                f"sums of 3 numbers of u8 may leave {element}",
            )
            for element in ("u8", "i8", "u4")
        ),
        (
            stored_windows.lower_average_of_stored,
            lambda x: op.round_half_away(
                op.average_pool(op.cast(stored(x, "i1", -1), element="f32"), kernel=(2,)), element="u8"
            ),
            "u8 does not hold the zero point -1",
        ),
        *(
            (
                windows.lower_scaled_resize,
                lambda x, along=along: op.resize(op.mul(read(x), np.float32(1)), mode="linear", **along),
                "it resizes more than positions",
            )
            for along in (
                {"scales": (1.25,), "axes": (1,)},
                {
                    "scales": (1.0, 1.0),
                    "axes": (0, 2),
                    "coordinate_transformation_mode": "tf_crop_and_resize",
                    "roi": (0.25, 0, 1, 1),
                },
            )
        ),
        (
            movement.lower_movement,
            lambda x: op.pad(read(x), pads=(0, 0, 1, 0, 0, 0), fill=-math.inf),
            "not on the grid",
        ),
        (
            movement.concat_mantissas,
            lambda x: op.concat(read(x), read(op.integer_add(x, x, element=FixedPoint(True, 63))), axis=1),
            "no format of 62 bits",
        ),
        (
            movement.concat_scaled,
            lambda x: op.concat(*[op.mul(read(x), np.float32([[[[2]]]]))] * 2, axis=1),
            "its scale gives it further axes",
        ),
        (
            movement.concat_stored,
            lambda x: op.concat(
                op.quantize_linear(read(x), np.float32(1), np.int8(0)),
                op.quantize_linear(op.from_fixed(x, fraction=0, element="f64"), np.float64(1), np.int8(0)),
                axis=1,
            ),
            "different element types",
        ),
        (
            movement.quantise_parts,
            lambda x: op.quantize_linear(
                op.concat(*[op.reduce_sum(read(x), axes=(0, 2), keep_dims=True)] * 2, axis=1),
                np.float32([[[1]]]),
                block_size=4,
            ),
            "its parameters differ along an axis",
        ),
        (
            movement.quantise_first,
            lambda x: op.multi_threshold(
                op.max_pool(op.relu(read(x)), kernel=(2,)), np.float32([[1, 2]]), out_scale=-1.0
            ),
            "greater numbers have lesser results",
        ),
        (
            movement.quantise_first,
            lambda x: op.quantize_linear(
                op.max_pool(op.relu(read(x)), kernel=(2,)), np.float32(1), element="f8e4m3fn", saturate=False
            ),
            "numbers beyond its type are NaN",
        ),
        (
            movement.arg_max_scaled,
            lambda x: op.arg_max(op.mul(read(x), np.float32(3e38)), axis=1),
            "rounds different numbers to one",
        ),
        (
            layers.add_scaled_bias,
            lambda x: op.add(op.cast(op.mul(read(summed(x)), ONES), element="f32"), ONES),
            "broadcasts the sums",
        ),
        (
            layers.add_scaled_bias,
            lambda x: op.add(op.cast(op.mul(read(summed(x)), np.float32(3000)), element="f16"), np.float16(1)),
            "some sums are infinite",
        ),
        (
            quantised_inputs.enter_quantised,
            lambda x: op.quant(
                x.graph.input("r", Tensor("f32", ("N",))), np.float32(1), np.int64(1 << 62), np.float32(4)
            ),
            "its zero point has more than 46 bits",
        ),
        (
            layers.add_whole_bias,
            lambda x: op.add(op.cast(op.from_fixed(summed(x), fraction=0, element="f8e5m2"), element="f32"), 1),
            "floats of 8 bits",
        ),
        (
            stored_integers.add_to_bias,
            lambda x: op.add(op.from_fixed(summed(x), fraction=0, element="i32"), np.zeros((2, 1), np.int32)),
            "broadcasts the sums",
        ),
        (
            stored_readings.change_zero_point,
            lambda x: op.conv_integer(stored(x, "i4", -(1 << 30)), np.ones((1, 2, 1), np.int32)),
            "f32 does not hold every number",
        ),
        (
            stored_rescaling.lower_rescaled_choice,
            lambda x: rescaled_choice(x, np.int32(0), 30, "i4"),
            "i4 does not hold its zero point",
        ),
        (
            stored_rescaling.lower_rescaled_choice,
            lambda x: rescaled_choice(x, np.zeros((1, 1, 1, 1), np.int32), 3, "i8"),
            "further axes",
        ),
        (
            stored_rescaling.lower_rescaled_choice,
            lambda x: rescaled_choice(x, np.int32([[0], [1]]), 3, "i8"),
            "it begins at another number",
        ),
        (
            stored_rescaling.lower_rescaled_choice,
            lambda x: rescaled_choice(x, np.int32(0), 3, "u32"),
            "its numbers are stored as u32",
        ),
        (
            stored_rescaling.lower_rescaled_sum,
            lambda x: rescaled_sum(x, 1 << 30, 0, 3, "i32"),
            "its numbers are stored as i32",
        ),
        (
            stored_rescaling.lower_rescaled_sum,
            lambda x: rescaled_sum(x, 0, 0, 3, "i8"),
            "an operand is multiplied by 0",
        ),
        (
            stored_rescaling.lower_rescaled_sum,
            lambda x: rescaled_sum(x, 1 << 30, 1 << 30, 3, "i8"),
            "its operands are shifted by",
        ),
        (
            stored_rescaling.lower_rescaled_sum,
            lambda x: rescaled_sum(x, 1 << 30, -1, 30, "i4"),
            "i4 does not hold its zero point",
        ),
    ],
)
def test_what_a_rule_leaves(rule: Rule, build: Callable[[Value], Value], why: str) -> None:
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(False, 4), ("N", 2, 3)))
    g.output("y", build(x))
    assert rewrite(g, rule, verify=True) == g
    assert any(why in reason for reason in given_reasons(rule, g))


def test_a_sum_whose_multiplier_would_be_too_large_has_thresholds_left() -> None:
    g = Graph("g")
    x, y = (g.input(n, Tensor(FixedPoint(True, 8), ("N", 2))) for n in "xy")
    total = op.add(*(op.mul(op.from_fixed(each, fraction=0), np.float32(1)) for each in (x, y)))
    g.output("z", op.multi_threshold(total, np.zeros((1, 1), np.float32), out_scale=0.125, out_bias=2.0))
    assert rewrite(g, sums_and_products.lower_sum, verify=True) == g
