"""Quantised models as exporters write them: what their ends, their sums and their inputs look like."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite
from graphrewrite.graph import Value
from graphrewrite.lowering import LoweringError, function_bounds, partition, quantise, to_integer, to_stream
from graphrewrite.lowering.integer.classifier_heads import probabilities, softmax_as_arg_max
from graphrewrite.lowering.prequantised.quantised_inputs import read_stored
from graphrewrite.lowering.prequantised.stored_integers import lower_matmul_integer
from tests.lowering.test_trained_models import compare
from tests.support.trained_networks import stored


def given(*shape: int) -> tuple[Graph, Value]:
    g = Graph("export")
    return g, g.input("x", Tensor("f32", ("N", *shape)))


def quant(x: Value, scale: float, bits: int, zero: float = 0, *, signed: bool = True, mode: str = "ROUND") -> Value:
    constants = (np.float32(scale), np.float32(zero), np.float32(bits))
    return op.quant(x, *constants, signed=signed, rounding_mode=mode)


def type_of(core: Graph) -> Tensor:
    """The type of the first output."""
    return core.result_type(*core.operands(core.outputs[0])[0])


def kinds(core: Graph) -> set[str]:
    return {core.nodes[n]["type"] for n in core}


class TestEnds:
    """What nobody quantises any more is the host's."""

    @pytest.mark.parametrize(
        "end",
        [
            lambda y: op.prelu(y, np.float32([[0.25, -0.5, 3.0]])),
            op.gelu,
            op.neg,
            op.log_softmax,
            lambda y: op.reshape(op.neg(y), shape=("N", 3, 1)),
        ],
    )
    def test_functions(self, end) -> None:
        g, x = given(3)
        g.output("y", end(stored(np.random.default_rng(0), x)))
        core = compare(g, rules={"enter_stored"})
        assert kinds(core) <= {"input", "output", "reshape"}

    def test_but_not_before_a_quantiser(self) -> None:
        g, x = given(3)
        g.output("y", stored(np.random.default_rng(0), op.neg(op.softmax(stored(np.random.default_rng(1), x)))))
        with pytest.raises(LoweringError, match=r"no integer form: .*(softmax|neg) .*; replace them"):
            to_integer(g)

    @pytest.mark.parametrize("keep", [True, False])
    def test_the_class(self, keep: bool) -> None:
        g, x = given(5)
        g.output("y", op.arg_max(stored(np.random.default_rng(0), x), axis=1, keep_dims=keep))
        core = compare(g, rules={"arg_max_scaled", *(() if keep else ("leave_reshaped",))}, kinds={"arg_max"})
        to_stream(to_integer(g))
        assert type_of(core).shape == ("N", 1)

    def test_one_number_a_sample(self) -> None:
        g, x = given(1)
        g.output("y", op.squeeze(stored(np.random.default_rng(0), x), axes=(1,)))
        core = compare(g, rules={"leave_reshaped"})
        assert type_of(core).shape == ("N", 1)

    def test_a_log_softmax_is_a_head_like_a_softmax(self) -> None:
        g, x = given(3)
        g.output("y", op.log_softmax(x))
        for head, kind in ((softmax_as_arg_max, "arg_max"), (probabilities, "softmax")):
            assert kinds(head(g)) == {"input", kind, "output"}


class TestPools:
    @pytest.mark.parametrize(
        "pool",
        [
            lambda y: op.reduce_mean(y, axes=(2, 3), keep_dims=False),
            lambda y: op.reduce_max(y, axes=(3,)),
            op.global_max_pool,
        ],
    )
    def test_reductions_over_positions(self, pool) -> None:
        g, x = given(2, 2, 4)
        random = np.random.default_rng(0)
        g.output("y", stored(random, pool(stored(random, x)), 0.0625 * 1.1))
        compare(g, rules={"enter_stored"})

    @pytest.mark.parametrize("signed", [True, False])
    def test_a_truncated_sum(self, signed: bool) -> None:
        """As brevitas exports a mean: a pool, times its size, without the last bits; it says of no sign."""
        g, x = given(2, 4, 4)
        mean = op.average_pool(quant(x, 0.0625, 4, signed=signed), kernel=(2, 2), strides=(2, 2))
        total = op.mul(mean, np.float32(4))
        constants = (np.float32(0.0625), np.float32(0), np.float32(6), np.float32(4))
        g.output("y", op.trunc(total, *constants))
        core = compare(g, rules={"enter_quantised"})
        assert type_of(core).element.width == 4


class TestSums:
    @pytest.mark.parametrize("scale", [0.125, 0.0625])
    @pytest.mark.parametrize("sign", [op.add, op.sub])
    def test_whose_halves_are_rounded_to_the_even_side(self, scale: float, sign) -> None:
        """As in a residual block of brevitas, whose branches share a scale: no line that rounds down gives that."""
        g, x = given(4)
        y = g.input("y", Tensor("f32", ("N", 4)))
        total = sign(quant(x, 0.125, 5), quant(y, scale, 4))
        g.output("z", quant(op.relu(total), 0.25, 4, signed=False))
        compare(g, rules={"add_multiples"})

    def test_of_scales_that_have_nothing_in_common(self) -> None:
        g, x = given(4)
        y = g.input("y", Tensor("f32", ("N", 4)))
        wide = op.add(quant(x, 0.1, 16), quant(y, 0.0371, 16))
        g.output("z", quant(wide, 0.2, 8))
        with pytest.raises(LoweringError, match=r"no integer form: .*16 and 16 bits, too many for all pairs"):
            to_integer(g)


class TestInputs:
    """The host does what comes before the first quantiser, number by number."""

    def test_a_standardised_input(self) -> None:
        g, x = given(3, 2)
        mean, deviation = np.float32([[0.5], [0.25], [1.0]]), np.float32([[2.0], [3.0], [0.5]])
        g.output("y", stored(np.random.default_rng(0), op.div(op.sub(x, mean), deviation)))
        compare(g, rules={"enter_stored"})

    @pytest.mark.parametrize("mode", ["FLOOR", "CEIL", "ROUND"])
    @pytest.mark.parametrize(("bits", "zero"), [(4, 0), (4, 3), (4, -4), (7, -40), (7, 40)])
    def test_zero_points_and_roundings(self, mode: str, bits: int, zero: int) -> None:
        g, x = given(3)
        g.output("y", quant(x, 0.25 * 2 ** (4 - bits), bits, zero, mode=mode))
        compare(g, rules={"enter_quantised"})

    @pytest.mark.parametrize(("scale", "bias"), [(1.0, 0.0), (0.5, -1.0), (2.0, -1.0)])
    def test_thresholds(self, scale: float, bias: float) -> None:
        g, x = given(3, 2)
        steps = np.sort(np.random.default_rng(0).normal(size=(3, 7)), axis=1).astype(np.float32)
        g.output("y", op.multi_threshold(x, steps, out_scale=scale, out_bias=bias))
        compare(g, rules={"enter_thresholds"})

    @pytest.mark.parametrize(
        ("element", "limits", "kind", "zero", "holds_all"),
        [
            (FixedPoint(True, 8), (None, None), "i1", 0, True),
            (FixedPoint(False, 7), (None, None), "i1", 0, True),
            (FixedPoint(False, 7), (None, None), "i1", 1, False),
            (FixedPoint(True, 8), (None, None), "i1", 1, False),
            (FixedPoint(True, 8), (None, None), "u1", 128, True),
            (FixedPoint(True, 8), (None, None), "u1", 127, False),
            (FixedPoint(False, 8), (None, None), "i1", -128, True),
            (FixedPoint(False, 8), (None, None), "i1", -127, False),
            (FixedPoint(True, 9), (None, None), "i1", 100, False),
            (FixedPoint(True, 9), (-228, 27), "i1", 100, True),
            (FixedPoint(True, 9), (-229, 27), "i1", 100, False),
            (FixedPoint(True, 9), (-228, 28), "i1", 100, False),
        ],
    )
    def test_stored_numbers_are_those_from_before_where_the_storage_holds_all(
        self, element: FixedPoint, limits: tuple[int | None, int | None], kind: str, zero: int, holds_all: bool
    ) -> None:
        g, x = given(3)
        whole = op.from_fixed(op.to_fixed(x, element=element, low=limits[0], high=limits[1]), fraction=0)
        point = np.asarray(zero, kind)
        g.output("y", op.dequantize_linear(op.quantize_linear(whole, np.float32(1), point), np.float32(0.5), point))
        assert ("quantize_linear" not in kinds(rewrite(g, [read_stored]))) == holds_all

    @pytest.mark.parametrize(
        ("build", "told"),
        [
            (lambda x: quant(op.linear(x, np.ones((2, 3), np.float32)), 0.5, 4), r"the linear before it .* is not"),
            (lambda x: quant(x, 0.5, 4, mode="HALF_DOWN"), "it is rounded HALF_DOWN"),
            (op.neg, r"call quantise\(graph, samples\) first"),
        ],
    )
    def test_what_does_not_come_in_is_said(self, build, told: str) -> None:
        g, x = given(3)
        g.output("y", build(x))
        with pytest.raises(LoweringError, match=told):
            to_integer(g)


def test_factors_of_a_general_product() -> None:
    g, x = given(3)
    w, b = np.float32([[1, 2, 3], [-2, 0, 1]]) / 4, np.float32([0.5, -1.0])
    layer = op.gemm(quant(x, 0.125, 6), w, b, trans_b=True, alpha=0.3, beta=2.0)
    g.output("y", quant(layer, 0.11, 6))
    whole, random = to_integer(g), np.random.default_rng(0)
    values = {"x": random.normal(size=(50, 3)).astype(np.float32)}
    np.testing.assert_array_equal(evaluate(whole, values)["y"], evaluate(g, values)["y"])
    assert "integer_linear" in kinds(partition(whole).core)


def test_a_scale_for_each_channel_that_is_added_up_is_said() -> None:
    g, x = given(3)
    scales = np.sqrt(np.float32([[0.1, 0.23, 0.37]]))
    one, bits = np.float32(0), np.float32(6)
    first = op.quant(op.relu(quant(x, 0.1, 8)), scales, one, bits)
    g.output("y", quant(op.linear(first, np.float32([[1, 2, 3]])), 0.1, 8))
    with pytest.raises(LoweringError, match="its operand has a scale for each channel, which it adds up"):
        to_integer(g)


def test_a_product_of_wide_numbers_is_near_one_line() -> None:
    """A hard-swish of 16 bits, as onnxruntime's tool writes it: no table and no list of all products."""
    g, x = given(3)
    wide = quant(x, 2**-12, 16)
    gate = quant(op.hard_sigmoid(wide), 2**-15, 15, signed=False)
    g.output("y", quant(op.mul(wide, gate), 2**-12 * 1.1, 16))
    with pytest.raises(LoweringError, match=r"no multiplier of 24 bits .* approximate=True"):
        to_integer(g)
    whole = to_integer(g, approximate=True)
    bounds = function_bounds(whole)
    assert bounds
    assert max(bounds.values()) <= 8
    values = {"x": np.random.default_rng(0).normal(scale=3, size=(100, 3)).astype(np.float32)}
    off = np.abs(evaluate(whole, values)["y"] - evaluate(g, values)["y"]).max() / (2**-12 * 1.1)
    assert off < sum(bounds.values()) + 1


class TestBiases:
    """As QKeras and brevitas write them: a product, and an addend on whatever grid, or on none."""

    @pytest.mark.parametrize("bits", [4, 1])
    @pytest.mark.parametrize("last", [False, True])
    @pytest.mark.parametrize("grid", [2**-7, 2**-9, 2**-12, 0.0123, None])
    def test_an_addend_is_part_of_its_layer(self, grid: float | None, last: bool, bits: int) -> None:
        g, x = given(6)
        random = np.random.default_rng(1)
        w = (random.integers(-8, 8, (6, 5)) if bits > 1 else random.choice([-1, 1], (6, 5))) / np.float32(8)
        b = random.normal(size=5).astype(np.float32)
        b[0] = 0  # whose halves are rounded to the even side, unlike those of the others
        b = b if grid is None else np.rint(b / np.float32(grid)) * np.float32(grid)
        total = op.add(op.matmul(quant(x, 2**-4, 5), w.astype(np.float32)), b)
        g.output("y", total if last else quant(op.relu(total), 2**-3, 5, signed=False))
        compare(g, rules={"add_scaled_bias"} if last or grid == 2**-7 else {"absorb_addend"} if bits > 1 else set())
        whole = to_integer(g)
        assert "add" not in kinds(partition(whole).after)
        # Weights of one bit stay so, to be counted; at the end they have no wider multipliers.
        is_apart = grid != 2**-7 and (bits == 1 or (last and grid != 2**-9))
        assert ("affine" in kinds(to_stream(whole))) == is_apart

    @pytest.mark.parametrize("shape", [(1, 3, 1, 1), (3, 1, 1), (1,)])
    def test_of_convolutions(self, shape: tuple[int, ...]) -> None:
        g, x = given(2, 4, 4)
        w = np.random.default_rng(1).integers(-8, 8, (3, 2, 3, 3)).astype(np.float32) / 8
        b = np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(np.float32) / 128
        conv = op.conv(quant(x, 2**-4, 5), w, pads=(1, 1, 1, 1), strides=(1, 1), dilations=(1, 1))
        g.output("y", op.relu(op.add(g.constant(b), conv)))
        core = compare(g, rules={"add_scaled_bias"})
        assert kinds(core) == {"input", "output", "constant", "integer_conv"}


@pytest.mark.parametrize("stores", [False, True])
@pytest.mark.parametrize("around", [(1,), (1, 1)])
def test_a_norm_of_vectors_is_part_of_its_layer(stores: bool, around: tuple[int, ...]) -> None:
    """As PyTorch exports it: with axes of size 1 behind the channels, which are dropped again."""
    g, x = given(6)
    random = np.random.default_rng(1)
    gain, shift, mean, var = random.normal(size=(4, 5)).astype(np.float32)
    y = op.linear(quant(x, 2**-4, 5) if stores else x, random.integers(-8, 8, (5, 6)).astype(np.float32) / 8)
    axes = tuple(range(2, 2 + len(around)))
    wide = op.batch_norm(op.unsqueeze(y, axes=axes), gain, shift, mean, np.square(var))
    wide = op.mul(op.add(wide, shift.reshape(5, *around)), np.float32(0.7))
    y = op.relu(op.squeeze(wide, axes=axes))
    g.output("y", quant(y, 2**-3, 5, signed=False) if stores else y)
    fixed = g if stores else quantise(g, random.normal(size=(50, 6)).astype(np.float32))
    core = compare(fixed, rules=set())
    assert kinds(core) - {"requantise", "rescale"} <= {"input", "output", "constant", "integer_linear", "relu"}


@pytest.mark.parametrize(
    ("zero", "w_zero", "is_lowered"),
    [(None, None, True), (3, None, True), (3, 2, True), (3, [2, 0, -4], True), (3, [[2, 0, -4]], False)],
)
def test_products_of_stored_integers_are_layers(zero: int | None, w_zero: object, is_lowered: bool) -> None:
    """Whatever their zero points: of all, one for each column, or none."""
    random = np.random.default_rng(0)
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(True, 7), ("N", 4)))
    points = [g.constant(np.int8(0 if zero is None else zero))] if zero is not None or w_zero is not None else []
    stored_x = op.quantize_linear(op.from_fixed(x, fraction=0), np.float32(1), *(points or [np.int8(0)]))
    w = random.integers(-128, 128, (4, 3)).astype(np.int8)
    weight_points = [] if w_zero is None else [np.array(w_zero, np.int8)]
    g.output("y", op.matmul_integer(stored_x, w, *points, *weight_points))
    changed = rewrite(g, [lower_matmul_integer])
    assert ("integer_linear" in kinds(changed)) == is_lowered
    values = {"x": random.integers(-60, 60, (50, 4)).astype(np.int8)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])
