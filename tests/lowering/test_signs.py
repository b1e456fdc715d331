"""Networks with signs as activations: comparisons in place of multipliers, and layers that count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite
from graphrewrite.graph import Value
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.lowering import findings, partition, quantise, to_integer, to_stream
from graphrewrite.lowering.prequantised.signs import COMPARE_SUMS, COUNT_SIGNS

Sign = Callable[[Value], Value]
ONE, ZERO = np.float32(1), np.float32(0)


def choice(x: Value) -> Value:
    return op.where(op.greater_or_equal(x, ZERO), ONE, -ONE)


def strict_choice(x: Value) -> Value:
    return op.where(op.less_or_equal(x, ZERO), -ONE, ONE)


def twice(x: Value) -> Value:
    """As Larq has it, whose sign of 0 is 1."""
    return op.sign(op.add(op.sign(x), np.float32(0.1)))


def signs(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.choice([-1, 1], shape).astype(np.float32)


def norm(random: np.random.Generator, x: Value) -> Value:
    gain, shift, mean, var = random.normal(size=(4, x.type.shape[1])).astype(np.float32)
    return op.batch_norm(x, gain, shift, mean, np.square(var) + np.float32(0.1))


def network(sign: Sign, *, stores: bool, norms: bool, inputs: int = 9) -> Graph:
    """Three layers with weights of -1 and 1; of a quantised network, the first ones are whole numbers."""
    g, random = Graph("signs"), np.random.default_rng(3)
    x = g.input("x", Tensor("f32", ("N", inputs)))
    if stores:
        x = op.quant(x, np.float32(0.25), ZERO, np.float32(4))
    for outputs in (7, 6, 3):
        x = op.matmul(x, signs(random, x.type.shape[1], outputs))
        if outputs > 3:
            x = sign(norm(random, x) if norms else x)
    g.output("y", x)
    return g


def inputs_for(g: Graph, count: int = 60) -> dict[str, np.ndarray]:
    """Quarters, so that sums are often zero."""
    random = np.random.default_rng(1)
    return {"x": (random.integers(-4, 5, (count, *g.result_type("x").shape[1:])) / 4).astype(np.float32)}


def multipliers(stream: Graph) -> int:
    components = emit(stream, frames=1).description["components"]
    return sum(part["resources"]["multipliers"] for part in components)


@pytest.mark.parametrize("norms", [False, True])
@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("sign", [op.sign, choice, strict_choice, twice])
def test_they_need_no_multiplier(sign: Sign, stores: bool, norms: bool) -> None:
    g = network(sign, stores=stores, norms=norms)
    x = inputs_for(g)
    fixed = g if stores else quantise(g, x["x"])
    wanted = evaluate(fixed, x)["y"]
    whole = to_integer(fixed)
    np.testing.assert_array_equal(evaluate(whole, x)["y"], wanted)
    stream, parts = to_stream(whole), partition(whole)
    np.testing.assert_array_equal(parts.decode(evaluate(stream, parts.encode(x)))["y"], wanted)
    kinds = [stream.nodes[n]["type"] for n in stream.in_order()]
    assert kinds.count("popcount") == 2
    assert multipliers(stream) == 0
    # Where a sign is never zero, a bit carries it.
    assert codings(stream) == {"ternary" if sign is op.sign and not norms else "bipolar"}


def codings(stream: Graph) -> set[str]:
    return {stream.attributes(n)["coding"] for n in stream.in_order() if stream.nodes[n]["type"] == "popcount"}


@pytest.mark.parametrize(("inputs", "border", "found"), [(3, 0, "bipolar"), (4, 0, "ternary"), (3, 1, "ternary")])
def test_odd_sums_are_never_zero(inputs: int, border: int, found: str) -> None:
    g, random = Graph("odd"), np.random.default_rng(3)
    x = op.bipolar_quant(g.input("x", Tensor("f32", ("N", inputs, 4, 5))), ONE)
    plain = {"strides": (1, 1), "dilations": (1, 1)}
    x = op.sign(op.conv(x, signs(random, 5, inputs, 3, 1), pads=(border,) * 4, **plain))
    g.output("y", op.sign(op.conv(x, signs(random, 2, 5, 1, 1), pads=(0,) * 4, **plain)))
    whole, given = to_integer(g), inputs_for(g)
    np.testing.assert_array_equal(evaluate(whole, given)["y"], evaluate(g, given)["y"])
    assert multipliers(to_stream(whole)) == 0
    assert found in codings(to_stream(whole))


def test_the_host_takes_signs_of_inputs_and_a_sign_of_each_is_a_layer_s() -> None:
    g, random = Graph("host"), np.random.default_rng(3)
    x = op.sign(g.input("x", Tensor("f32", ("N", 4))))
    x = op.add(op.matmul(x, 3 * signs(random, 4, 5)), random.normal(size=5).astype(np.float32))
    g.output("y", op.quant(x, np.float32(0.3), ZERO, np.float32(6)))
    whole, given = to_integer(g), inputs_for(g)
    np.testing.assert_array_equal(evaluate(whole, given)["y"], evaluate(g, given)["y"])
    assert codings(to_stream(whole)) == {"ternary"}


@pytest.mark.parametrize("seed", range(12))
def test_comparisons_are_exact(seed: int) -> None:
    """Layers with factors in common, behind operands and before steps of any kind."""
    random = np.random.default_rng(seed)
    g, element, factor = Graph("steps"), FixedPoint(True, 2), int(random.choice([1, 2, 3, 12]))
    x = g.input("x", Tensor(FixedPoint(False, 1) if seed % 2 else FixedPoint(bool(seed % 4), 3), ("N", 3, 4)))
    if seed % 2:
        x = op.rescale(x, multiplier=2, shift=0, offset=-1, element=element, low=-1)
    w = factor * random.integers(-1 - seed % 3, 2, (4, 3, 2))
    b, wide = random.integers(-9, 9, 4), FixedPoint(True, 12)
    y = op.integer_conv(x, w, b, element=wide, pads=(int(seed % 3 == 0), 0), strides=(1,), dilations=(1,))
    gains = tuple(random.choice([-3, -1, 1, 2, 5], 4).tolist())
    match seed % 3:
        case 0:
            y = op.rescale(y, multiplier=gains, addend=3, shift=2, element=element, low=-1, rounding="down")
        case 1:
            y = op.requantise(y, shift=int(random.integers(3)), element=element, low=int(random.integers(-1, 1)))
        case _:
            y = op.rescale(y, multiplier=tuple(map(abs, gains)), addend=-2, shift=1, element=FixedPoint(True, 9))
            y = op.rescale(
                op.integer_threshold(y, np.array([[-1, 2]])), multiplier=1, shift=0, offset=-1, element=element
            )
    g.output("y", y)
    values = {"x": random.integers(int(x.type.element.minimum) if not seed % 2 else 0, 2, (200, 3, 4)).astype(np.int8)}
    changed = rewrite(rewrite(g, COMPARE_SUMS), COUNT_SIGNS)
    assert "integer_threshold" in {changed.nodes[n]["type"] for n in changed} or seed % 3 == 1
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])


def test_what_wraps_around_is_not_compared() -> None:
    g = Graph("wraps")
    x = g.input("x", Tensor(FixedPoint(True, 4), ("N", 1)))
    sums = op.integer_linear(x, np.array([[2]]), np.array([1]), element=FixedPoint(True, 6))
    how = {"multiplier": 1, "shift": 1, "rounding": "down", "saturate": False}
    g.output("y", op.rescale(sums, element=FixedPoint(False, 1), **how))
    values = {"x": np.arange(-8, 8, dtype=np.int8)[:, None]}
    np.testing.assert_array_equal(evaluate(rewrite(g, COMPARE_SUMS), values)["y"], evaluate(g, values)["y"])


@pytest.mark.parametrize(
    ("width", "weights", "is_count"),
    [(2, [3, -3, 0], True), (3, [3, -3, 0], False), (2, [3, -2, 0], False), (2, [1, -1, 0], False)],
)
def test_layers_of_signs_count_and_scale_once(width: int, weights: list[int], is_count: bool) -> None:
    g, element = Graph("count"), FixedPoint(True, width)
    x = g.input("x", Tensor(element, ("N", 3)))
    g.output("y", op.integer_linear(x, np.array([weights]), np.array([5]), element=FixedPoint(True, 7)))
    changed = rewrite(g, COUNT_SIGNS)
    assert ("rescale" in {changed.nodes[n]["type"] for n in changed}) == is_count
    values = {"x": np.random.default_rng(0).integers(element.minimum, element.maximum, (30, 3)).astype(np.int8)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])


@pytest.mark.ghdl
@pytest.mark.parametrize("stores", [False, True])
def test_they_equal_ghdl(stores: bool) -> None:
    g = network(twice, stores=stores, norms=True)
    fixed = g if stores else quantise(g, inputs_for(g)["x"])
    report = cosimulate(emit(to_stream(to_integer(fixed)), frames=3))
    assert report.equal, str(report)


def test_a_sign_has_no_bits_to_choose() -> None:
    g = network(op.sign, stores=False, norms=True)
    fixed, x = quantise(g, inputs_for(g)["x"], bits=6), {"x": inputs_for(g)["x"] * np.float32(0.7)}
    found = findings(g, fixed, x)
    assert {each.kind for each in found} == {"noise"}
    assert {each.layer for each in found}.isdisjoint({"matmul_1", "matmul_2"})
    assert all("=8)" in each.remedy for each in found)


def test_signs_that_are_stored_in_bytes_are_counted() -> None:
    def stored(x: Value, scale: float) -> Value:
        grid = np.float32(scale), np.int8(0)
        return op.dequantize_linear(op.quantize_linear(x, *grid), *grid)

    g, random = Graph("bytes"), np.random.default_rng(3)
    x = stored(g.input("x", Tensor("f32", ("N", 9))), 0.03)
    x = stored(op.sign(stored(op.matmul(x, signs(random, 9, 7)), 0.07)), 1.0)
    g.output("y", stored(op.matmul(x, signs(random, 7, 3)), 1.0))
    whole, given = to_integer(g), inputs_for(g)
    np.testing.assert_array_equal(evaluate(whole, given)["y"], evaluate(g, given)["y"])
    assert codings(to_stream(whole)) == {"ternary"}
    assert multipliers(to_stream(whole)) == 0


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_sums_are_compared_where_channels_are_the_second_axis(layout: str) -> None:
    """Each channel has weights and a bias of its own; as many positions as channels, so that only the layout tells."""
    g, random = Graph("images"), np.random.default_rng(7)
    x = g.input("x", Tensor(FixedPoint(True, 4), ("N", 3, 3, 3), layout))
    w = 2 * random.integers(-3, 4, (3, 3, 1, 1))
    sums = op.integer_conv(x, w, np.array([3, -5, 9]), element=FixedPoint(True, 9))
    g.output("y", op.requantise(sums, shift=0, element=FixedPoint(True, 2), low=-1, high=1))
    changed = rewrite(g, COMPARE_SUMS)
    assert ("integer_threshold" in {changed.nodes[n]["type"] for n in changed}) == (layout == "NCHW")
    values = {"x": random.integers(-8, 8, (50, 3, 3, 3)).astype(np.int8)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])
