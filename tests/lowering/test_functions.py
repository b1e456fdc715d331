"""Functions of one value inside networks: quantised, looked up exactly, and near straight lines where they are wide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite, verify
from graphrewrite.graph import Value
from graphrewrite.hdl import cosimulate, emit
from graphrewrite.lowering import (
    LoweringError,
    function_bounds,
    lower_composite,
    partition,
    quantise,
    to_integer,
    to_stream,
)
from graphrewrite.lowering.prequantised.affine_functions import Corners, _factors, line_near
from graphrewrite.lowering.quantisation.elementwise_functions import functions_of
from graphrewrite.rewriting.traces import Step
from graphrewrite.testing import assert_refines
from graphrewrite.types import element_dtype

Function = Callable[[Value], Any]
SLOPES = np.array([0.1, 0.25, -0.3, 0.7])


def slopes(x: Value) -> np.ndarray:
    """One of each channel, in the element type of a value."""
    return SLOPES.astype(element_dtype(x.type.element)).reshape(-1, *[1] * (len(x.type.shape) - 2))


UNARY: dict[str, Function] = {
    name: getattr(op, name)
    for name in (
        *("sigmoid", "tanh", "gelu", "silu", "mish", "elu", "selu", "celu", "softplus", "softsign", "hard_swish"),
        *("hard_sigmoid", "hard_tanh", "leaky_relu", "threshold", "erf", "exp", "abs", "neg", "sign", "round", "floor"),
        *("ceil", "sin", "cos", "sinh", "cosh", "atan", "asinh"),
    )
}
"""Ops of the library that have a value everywhere."""
COMPOSED: dict[str, Function] = {
    "prelu": lambda x: op.prelu(x, slopes(x)),
    "swish": lambda x: op.mul(x, op.sigmoid(x)),
    "gelu by erf": lambda x: op.mul(op.mul(x, op.add(op.erf(op.div(x, 2**0.5)), 1)), 0.5),
    "hard swish": lambda x: op.div(op.mul(x, op.clip(op.add(x, 3), low=0, high=6)), 6),
    "mish": lambda x: op.mul(x, op.tanh(op.softplus(x))),
    "logistic": lambda x: op.div(1, op.add(op.exp(op.neg(x)), 1)),
    "complement": lambda x: op.sub(1, op.sigmoid(x)),
    "square": lambda x: op.mul(x, x),
    "root": lambda x: op.sqrt(op.abs(x)),
    "rectified": lambda x: op.mul(op.relu(x), op.sigmoid(x)),
    "two sides": lambda x: op.sub(op.relu(x), op.relu(op.neg(x))),
    "limited": lambda x: op.log(op.clip(x, low=0.5, high=4)),
    "chosen": lambda x: op.where(op.less(0, x), x, op.mul(x, 0.1)),
    "residual": lambda x: op.add(x, op.tanh(x)),
    "of channels": lambda x: op.mul(op.tanh(x), slopes(x)),
}
FUNCTIONS = UNARY | COMPOSED


def numbers(seed: int, *shape: int, scale: float = 1.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=scale, size=shape).astype(np.float32)


def network(*functions: Function, spatial: bool = False) -> Graph:
    """Each function between two layers, in double precision: its last bit, which no standard says, decides nothing."""
    g = Graph("between")
    value: Any = g.input("x", Tensor("f64", ("N", 4, 3, 3) if spatial else ("N", 4)))
    for seed, function in enumerate((*functions, None)):
        w = numbers(seed, 4, 4, 2, 2, scale=0.5) if spatial else numbers(seed, 4, 4)
        w, b = w.astype(np.float64), numbers(seed + 9, 4).astype(np.float64)
        layer = op.conv(value, w, b, pads=(1, 1, 0, 0)) if spatial else op.linear(value, w, b)
        value = function(layer) if function else layer
    g.output("y", value)
    return g


def of_one_value(function: Function, given: FixedPoint, element: FixedPoint, kind: str = "f64") -> Graph:
    """A function between two quantisers."""
    g = Graph("function")
    x = op.quantise(g.input("x", Tensor(kind, ("N", 4))), element=given)
    g.output("y", op.quantise(function(x), element=element))
    return g


def every(element: FixedPoint, most: int = 1 << 17) -> np.ndarray:
    """All real numbers of a format for each channel, or many of them."""
    step = max(1, (1 << element.width) // most)
    column = np.arange(element.minimum, element.maximum + 1, step) * element.step
    return np.stack([column] * 4, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("spatial", [False, True], ids=["vector", "image"])
def test_a_function_between_layers_is_exact_down_to_streams(name: str, spatial: bool) -> None:
    g = network(FUNCTIONS[name], spatial=spatial)
    x = {"x": numbers(1, 60, *g.result_type("x").shape[1:], scale=2)}
    fixed = quantise(g, x)
    whole = to_integer(fixed)
    verify(whole)
    wanted = evaluate(fixed, x)["y"]
    np.testing.assert_array_equal(evaluate(whole, x)["y"], wanted)
    parts = partition(whole)
    stream = to_stream(whole, parallelism="folded")
    np.testing.assert_array_equal(parts.decode(evaluate(stream, parts.encode(x)))["y"], wanted)
    real = evaluate(g, x)["y"]
    assert np.abs(wanted - real).mean() < 0.1 * np.abs(real).max()


def test_what_is_composed_becomes_one_table() -> None:
    g = network(*COMPOSED.values())
    fixed = quantise(g, numbers(0, 200, 4, scale=2))
    kinds = Counter(fixed.nodes[n]["type"] for n in fixed)
    assert kinds["quantise"] == 1 + 2 * len(COMPOSED) + 1
    made = Counter(d["type"] for _, d in to_integer(fixed).nodes(data=True))
    assert made["lookup"] >= len(COMPOSED) - 2  # of some a line passes every number


def test_functions_end_where_something_else_reads_them() -> None:
    g = Graph.parse("""graph g
    x = input() : f32[N,3]
    t = tanh(x)
    e = exp(t)
    s = add(t, e)
    r = relu(s)
    n = add(s, r)
    p = softmax(t)
    y = output(n)
    z = output(p)""")
    found = functions_of(g)
    assert list(found.ends) == ["t", "n"]
    assert {source.node for source in found.ends.values()} == {"x"}
    assert found.members == {"t", "e", "s", "r", "n"}


def test_residual_connections_stay_layers() -> None:
    g = network(lambda x: op.add(x, op.relu(x)))
    kinds = {d["type"] for _, d in to_integer(quantise(g, numbers(0, 20, 4))).nodes(data=True)}
    assert "integer_add" in kinds
    assert "lookup" not in kinds


def test_what_the_host_does_at_the_end_is_left_to_it() -> None:
    for function, left in ((op.sigmoid, "sigmoid"), (op.tanh, "tanh"), (op.gelu, None)):
        g = Graph("end")
        g.output("y", function(op.linear(g.input("x", Tensor("f32", ("N", 4))), numbers(0, 2, 4), numbers(1, 2))))
        whole = to_integer(quantise(g, numbers(2, 50, 4)))
        floats = {d["type"] for n, d in whole.nodes(data=True) if whole.op(n).level == "nn"}
        assert floats - {"constant"} == ({left} if left else set())


@st.composite
def formats(draw: st.DrawFn, low: int, high: int) -> FixedPoint:
    width = draw(st.integers(low, high))
    return FixedPoint(draw(st.booleans()) or width == 1, width, draw(st.integers(width - 6, width + 2)))


class TestTables:
    @given(st.sampled_from(sorted(FUNCTIONS)), formats(2, 12), formats(2, 16))
    def test_every_number_of_up_to_12_bits_is_exact(self, name: str, given: FixedPoint, element: FixedPoint) -> None:
        g = of_one_value(FUNCTIONS[name], given, element)
        whole, x = to_integer(g), {"x": every(given)}
        np.testing.assert_array_equal(evaluate(whole, x)["y"], evaluate(g, x)["y"])
        parts = partition(whole)
        found = parts.decode(evaluate(to_stream(whole), parts.encode(x)))
        np.testing.assert_array_equal(found["y"], evaluate(g, x)["y"])

    def test_tables_of_channels_stay_behind_the_axes_that_they_are_for(self) -> None:
        g, element = Graph("last"), FixedPoint(True, 8, 5)
        x = op.quantise(g.input("x", Tensor("f64", ("N", 3, 3, 4))), element=element)
        first = op.transpose(x, perm=(0, 3, 1, 2))
        g.output("y", op.quantise(op.prelu(first, slopes(first)), element=element))
        given = {"x": numbers(0, 20, 3, 3, 4).astype(np.float64)}
        np.testing.assert_array_equal(evaluate(to_integer(g), given)["y"], evaluate(g, given)["y"])

    def test_a_wide_operand_may_have_a_table_of_what_changes(self) -> None:
        given, element = FixedPoint(True, 16, 12), FixedPoint(True, 12, 8)
        g = of_one_value(lambda x: op.tanh(op.mul(op.sin(op.clip(x, low=-0.25, high=0.25)), 4)), given, element)
        whole, x = to_integer(g), {"x": every(given)}
        np.testing.assert_array_equal(evaluate(whole, x)["y"], evaluate(g, x)["y"])
        assert "lookup" in {d["type"] for _, d in partition(whole).core.nodes(data=True)}

    @pytest.mark.parametrize(("below", "above"), [(0.5, 2.0), (-1.0, 1.0), (0.125, 1.0)])
    def test_two_lines_that_meet_are_exact_at_any_width(self, below: float, above: float) -> None:
        def bent(x: Value) -> Any:
            return op.add(op.where(op.greater(x, 0), op.mul(x, above), op.mul(x, below)), 3.5)

        given, element = FixedPoint(True, 16, 8), FixedPoint(True, 15, 6)
        g = of_one_value(bent, given, element)
        whole, x = to_integer(g), {"x": every(given)}
        np.testing.assert_array_equal(evaluate(whole, x)["y"], evaluate(g, x)["y"])


class TestLines:
    @given(st.sampled_from(sorted(FUNCTIONS)), formats(13, 20), formats(4, 18))
    def test_the_bound_holds_for_every_number(self, name: str, given: FixedPoint, element: FixedPoint) -> None:
        g = of_one_value(FUNCTIONS[name], given, element, "f32")
        whole, x = to_integer(g, approximate=True), {"x": every(given).astype(np.float32)}
        off = np.abs(evaluate(whole, x)["y"].astype(np.float64) - evaluate(g, x)["y"]).max() / element.step
        bounds = function_bounds(whole)
        assert off <= sum(bounds.values())
        assert len(bounds) <= 1
        few = {"x": x["x"][:: max(1, len(x["x"]) // 500)]}
        parts = partition(whole)
        found = parts.decode(evaluate(to_stream(whole), parts.encode(few)))
        np.testing.assert_array_equal(found["y"], evaluate(whole, few)["y"])

    @pytest.mark.parametrize("name", ["sigmoid", "tanh", "gelu", "swish", "softplus", "prelu", "of channels"])
    def test_smooth_functions_are_within_a_unit(self, name: str) -> None:
        element = FixedPoint(True, 16, 11)
        g = of_one_value(FUNCTIONS[name], element, element)
        whole = to_integer(g, approximate=True)
        assert function_bounds(whole) == {"integer_interpolate_1": 1}
        assert_refines(lambda _: whole, st.just(g), error=1.01 * element.step)

    def test_limits_of_the_result_are_met_exactly(self) -> None:
        given, element = FixedPoint(True, 16, 10), FixedPoint(True, 16, 14)
        g = of_one_value(op.silu, given, element)
        whole, x = to_integer(g, approximate=True), {"x": every(given)}
        assert function_bounds(whole) == {"integer_interpolate_1": 1}
        found, wanted = (evaluate(each, x)["y"] for each in (whole, g))
        np.testing.assert_array_equal(found[wanted == wanted.max()], wanted.max())

    def test_what_can_be_exact_is(self) -> None:
        g = network(op.relu, UNARY["hard_tanh"], spatial=True)
        fixed = quantise(g, numbers(0, 30, 4, 3, 3), bits=12)
        whole = to_integer(fixed, approximate=True)
        assert function_bounds(whole) == {}
        assert str(whole) == str(to_integer(fixed))

    def test_stored_numbers_of_16_bits(self) -> None:
        g, random = Graph("stored"), np.random.default_rng(0)

        def stored(value: Any, scale: float, kind: type = np.int16, zero: int = 0) -> Any:
            step, point = np.float32(scale), np.asarray(zero, kind)
            return op.dequantize_linear(op.quantize_linear(value, step, point), step, point)

        def weights(*shape: int) -> np.ndarray:
            return random.integers(-127, 128, shape).astype(np.float32) * np.float32(0.0123)

        x = stored(g.input("x", Tensor("f32", ("N", 4))), 0.00037)
        first = stored(op.linear(x, weights(4, 4), np.zeros(4, np.float32)), 0.00051, np.uint16, 30000)
        gate = stored(op.sigmoid(first), 1 / 65535, np.uint16)
        product = stored(op.mul(first, gate), 0.00037, np.uint16, 1000)
        g.output("y", stored(op.sub(product, stored(op.prelu(first, slopes(first)), 0.0004)), 0.0007))
        with pytest.raises(LoweringError, match=r"approximate=True \(--approximate\)"):
            to_integer(g)
        steps: list[Step] = []
        whole = to_integer(g, approximate=True, steps=steps)
        assert {"approximate_sum", "approximate_steps"} <= {step.rule for step in steps}
        assert len(function_bounds(whole)) == 5
        assert max(function_bounds(whole).values()) <= 2
        given = {"x": numbers(5, 300, 4, scale=4)}
        found, wanted = (evaluate(each, given)["y"] for each in (whole, g))
        off = np.abs(found - wanted).max() / 0.0007
        assert 0 < off < 4
        parts = partition(whole)
        np.testing.assert_array_equal(parts.decode(evaluate(to_stream(whole), parts.encode(given)))["y"], found)

    @given(st.integers(0, 2**32), st.integers(1, 3))
    def test_a_near_line_is_as_near_as_it_says(self, seed: int, channels: int) -> None:
        random = np.random.default_rng(seed)
        x = np.arange(-3000, 3001)
        tables = [np.cumsum(random.random(len(x)) < random.uniform(0.01, 1)) for _ in range(channels)]
        corners = []
        for table in tables:
            at = np.nonzero(np.diff(table))[0]
            corners.append(Corners(x[at + 1], table[at + 1], x[at], table[at] + 1))
        line, bound = line_near(corners, 3000)
        for table, m, b, s in zip(tables, line.multipliers, line.addends, line.shifts, strict=True):
            off = np.abs(np.clip((x * m + b) >> s, table.min(), table.max()) - table).max()
            assert off <= bound
            assert bound < 200


class TestRefusals:
    def test_without_a_bound_wide_functions_are_refused(self) -> None:
        fixed = quantise(network(op.tanh), numbers(0, 30, 4), bits=14)
        with pytest.raises(LoweringError, match=r"give its operand 12 bits, or lower it with approximate=True"):
            to_integer(fixed)

    @pytest.mark.parametrize("approximate", [False, True])
    def test_no_value(self, approximate: bool) -> None:
        wide = FixedPoint(True, 14 if approximate else 8, 4)
        with pytest.raises(LoweringError, match=r"no value \(NaN\); op\.clip keeps them"):
            to_integer(of_one_value(op.sqrt, wide, wide), approximate=approximate)

    def test_two_values(self) -> None:
        g = Graph("two")
        x, y = (op.quantise(g.input(n, Tensor("f32", ("N", 2))), element=FixedPoint(True, 8, 4)) for n in "xy")
        g.output("z", op.quantise(op.mul(x, op.tanh(y)), element=FixedPoint(True, 8, 4)))
        with pytest.raises(LoweringError, match="it is not a function of one number"):
            to_integer(g)

    def test_too_many_numbers(self) -> None:
        wide = FixedPoint(True, 26, 20)
        with pytest.raises(LoweringError, match="its operand has 26 bits"):
            to_integer(of_one_value(op.tanh, wide, FixedPoint(True, 16, 14)), approximate=True)


def test_what_activations_are_made_of_is_one_function_as_well() -> None:
    g = network(op.gelu, op.mish, op.silu)
    written = lower_composite(g)
    assert len({d["type"] for _, d in written.nodes(data=True)} & {"gelu", "mish", "silu"}) < 3
    fixed = quantise(written, numbers(0, 60, 4))
    x = {"x": numbers(1, 60, 4)}
    np.testing.assert_array_equal(evaluate(to_integer(fixed), x)["y"], evaluate(fixed, x)["y"])


@pytest.mark.ghdl
@pytest.mark.parametrize(("bits", "approximate"), [(8, False), (14, True)], ids=["tables", "lines"])
@pytest.mark.parametrize("spatial", [False, True], ids=["vector", "image"])
def test_networks_equal_ghdl(bits: int, approximate: bool, spatial: bool) -> None:
    names = ("prelu", "swish", "tanh", "gelu by erf")
    g = network(*(FUNCTIONS[name] for name in names), spatial=spatial)
    x = {"x": numbers(2, 40, *g.result_type("x").shape[1:])}
    whole = to_integer(quantise(g, x, bits=bits), approximate=approximate)
    assert (set(function_bounds(whole).values()) == {1}) == approximate
    parts = partition(whole)
    stream = to_stream(whole, parallelism=2, stages=2)
    report = cosimulate(emit(stream, inputs=parts.encode({"x": x["x"][:3]})))
    assert report.equal, str(report)


def test_the_rules_are_their_own_set() -> None:
    from graphrewrite.lowering import APPROXIMATE_STEPS, LOWER_TO_INTEGER

    assert {member.keeps for member in APPROXIMATE_STEPS} == {"rounding"}
    assert not {*APPROXIMATE_STEPS} & {*LOWER_TO_INTEGER}
    g = of_one_value(op.tanh, FixedPoint(True, 14, 10), FixedPoint(True, 14, 12))
    lines = rewrite(rewrite(g, LOWER_TO_INTEGER), (*APPROXIMATE_STEPS, *LOWER_TO_INTEGER))
    assert str(lines) == str(to_integer(g, approximate=True))


def test_multipliers_lie_between_two_slopes_near_their_middle() -> None:
    low, high = (each.ravel() for each in np.meshgrid(*[np.arange(-12, 13) / 4] * 2, indexing="ij"))
    low, high = low[low < high], high[low < high]
    for shift in (0, 1, 3):
        found = _factors(low, high, np.full(len(low), shift))
        least, most = low * 2**shift, high * 2**shift
        holds_one = np.floor(least) + 1 < most
        np.testing.assert_array_equal((least < found) & (found < most), holds_one)


def test_what_else_says_of_a_bound_is_no_function() -> None:
    g = Graph("g")
    x = g.input("x", Tensor("f32", ("N",)))
    g.output("y", x)
    g.nodes["x"]["bound"] = 3
    assert function_bounds(g) == {}
