"""Scales moved past data movement: which formats concatenated mantissas get, and where a rule declines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite
from graphrewrite.lowering.prequantised.elementwise_chains import _is_monotone, channels_of
from graphrewrite.lowering.prequantised.movement import (
    _stay_apart,
    arg_max_scaled,
    concat_mantissas,
    concat_scaled,
    concat_stored,
    double_scaled,
    leave_reshaped,
    move_scale,
    move_stored,
    quantise_first,
)

S4, S8, U4, U8 = (FixedPoint(signed, width) for signed in (True, False) for width in (4, 8))
FORMATS: dict[str, tuple[list[FixedPoint], FixedPoint | None, int]] = {
    "one": ([S4], S4, 0),
    "alike": ([S4, S4], S4, 0),
    "the first is narrower": ([S4, S8, S8], S8, 1),
    "the last is narrower": ([S8, S8, S4], S8, 1),
    "without signs": ([U4, U8], U8, 1),
    "of both signs": ([S8, U8], FixedPoint(True, 9), 2),
    "a wide sign": ([S8, U4], S8, 1),
    "as wide as may be": ([FixedPoint(True, 61), FixedPoint(False, 61)], FixedPoint(True, 62), 2),
    "too wide together": ([FixedPoint(True, 62), FixedPoint(False, 62)], None, 0),
    "wide, of one sign": ([FixedPoint(True, 62), S8], FixedPoint(True, 62), 1),
    "too wide, and alike": ([FixedPoint(True, 63), FixedPoint(True, 63)], FixedPoint(True, 63), 0),
    "too wide for a narrow one": ([FixedPoint(True, 63), S8], None, 0),
}
"""Formats of operands, that of the concatenation if there is one, and how many operands are brought to it."""


def concatenation(rule: Any, formats: list[FixedPoint]) -> Graph:
    g = Graph("g")
    reals = [op.from_fixed(g.input(f"x{i}", Tensor(each, (2, 3))), fraction=0) for i, each in enumerate(formats)]
    if rule is concat_scaled:
        reals = [op.mul(real, np.float32(0.5)) for real in reals]
    if rule is concat_stored:
        reals = [op.quantize_linear(real, np.float32(1), np.int8(3)) for real in reals]
    g.output("y", op.concat(*reals, axis=1))
    return g


@pytest.mark.parametrize("case", FORMATS)
@pytest.mark.parametrize("rule", [concat_mantissas, concat_scaled, concat_stored], ids=lambda rule: rule.name)
def test_concatenated_mantissas_have_the_narrowest_format_that_holds_all(rule: Any, case: str) -> None:
    formats, expected, brought = FORMATS[case]
    g = concatenation(rule, formats)
    changed = rewrite(g, [rule])
    if expected is None:
        assert changed == g
        return
    ops = [node["type"] for node in changed.nodes.values()]
    (joined,) = (name for name, node in changed.nodes.items() if node["type"] == "concat")
    assert changed.result_type(joined) == Tensor(expected, (2, 3 * len(formats)))
    assert ops.count("rescale") == brought
    rng = np.random.default_rng(0)
    values = {f"x{i}": rng.integers(max(f.minimum, -99), min(f.maximum, 99), (2, 3)) for i, f in enumerate(formats)}
    values = {name: value.astype(f.dtype) for (name, value), f in zip(values.items(), formats, strict=True)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])


def test_operands_of_different_meaning_are_not_concatenated_as_mantissas() -> None:
    """One is scaled otherwise, is no constant's multiple, or stored with another zero point."""

    def parts(build: Any) -> Graph:
        g = Graph("g")
        kinds = [g.input(name, Tensor(S8, (2, 3))) for name in ("x", "y")]
        g.output("z", op.concat(*build(*(op.from_fixed(each, fraction=0) for each in kinds)), axis=1))
        return g

    def stored(real: Any, scale: Any = 1, zero: Any = 3) -> Any:
        return op.quantize_linear(real, np.array(scale, np.float32), np.array(zero, np.int8), axis=1)

    one, other = np.float32(0.5), np.float32(0.25)
    declined = {
        concat_scaled: (
            lambda x, y: (op.mul(x, one), op.mul(y, other)),
            lambda x, y: (op.mul(x, one), op.mul(y, x)),
            lambda x, y: (op.mul(x, one), op.add(y, one)),
            lambda x, y: (op.mul(x, one), op.mul(y, np.array([0.5, 0.5, 0.5], np.float32))),
        ),
        concat_stored: (
            lambda x, y: (stored(x), stored(y, zero=4)),
            lambda x, y: (stored(x), stored(y, scale=2)),
            lambda x, y: (stored(x), stored(y, scale=[1, 1, 1], zero=[3, 3, 4])),
        ),
    }
    for rule, builds in declined.items():
        for build in builds:
            g = parts(build)
            assert rewrite(g, [rule]) == g


@pytest.mark.parametrize(
    ("element", "scale", "expected"),
    [
        (FixedPoint(True, 22), np.float32(1), True),
        (FixedPoint(True, 23), np.float32(1), False),
        (FixedPoint(True, 51), np.float64(1), True),
        (FixedPoint(True, 9), np.float16(255.875), True),  # 256 times that is the greatest of these floats
        (FixedPoint(True, 9), np.float16(256), False),  # of -256 alone
        (FixedPoint(False, 8), np.float16(256), True),
        (FixedPoint(False, 8), np.float16(257), False),
    ],
)
def test_scaled_numbers_stay_apart_where_floats_hold_all_of_them(
    element: FixedPoint, scale: np.ndarray, expected: bool
) -> None:
    assert _stay_apart(element, np.asarray(scale)) is expected


POOLED = {
    "rising": (lambda x: op.multi_threshold(x, np.array([[0.0, 1.0]], np.float32), out_scale=0.5), True),
    "level": (lambda x: op.multi_threshold(x, np.array([[0.0, 1.0]], np.float32), out_scale=0.0), True),
    "falling": (lambda x: op.multi_threshold(x, np.array([[0.0, 1.0]], np.float32), out_scale=-0.5), False),
    "saturating": (lambda x: op.quantize_linear(x, np.float32(0.5), element="f8e4m3fn"), True),
    "NaN beyond": (lambda x: op.quantize_linear(x, np.float32(0.5), element="f8e4m3fn", saturate=False), False),
    "of integers": (lambda x: op.quantize_linear(x, np.float32(0.5), np.int8(0)), True),
}
"""Quantisers behind a movement, and whether a maximum may be taken after them."""


@pytest.mark.parametrize("case", POOLED)
def test_a_maximum_is_quantised_first_where_quantisers_keep_the_order_and_a_copy_always(case: str) -> None:
    quantised, keeps_order = POOLED[case]
    for is_pool in (True, False):
        g = Graph("g")
        x = op.relu(g.input("x", Tensor("f32", (1, 2, 4))))
        moved = (
            op.max_pool(x, kernel=(2,), strides=(1,), pads=(0, 0), dilations=(1,))
            if is_pool
            else op.tile(x, repeats=(1, 1, 2))
        )
        g.output("y", quantised(moved))
        assert (rewrite(g, [quantise_first]) != g) is (keeps_order or not is_pool)


def test_a_number_without_axes_leaves_reshaped() -> None:
    g = Graph("g")
    x = g.input("x", Tensor(S8, ()))
    g.output("y", op.from_fixed(op.reshape(x, shape=(1, 1, 1)), fraction=0))
    changed = rewrite(g, [leave_reshaped])
    assert changed != g
    np.testing.assert_array_equal(evaluate(changed, {"x": np.int8(7)})["y"], evaluate(g, {"x": np.int8(7)})["y"])


RULES = {
    move_scale: lambda real: op.reshape(op.mul(real, np.float32(0.5)), shape=(6,)),
    move_stored: lambda real: op.reshape(op.quantize_linear(real, np.float32(1), np.int8(3)), shape=(6,)),
    double_scaled: lambda real: op.add(*[op.mul(real, np.float32(0.5))] * 2),
    arg_max_scaled: lambda real: op.arg_max(op.mul(real, np.float32(0.5)), axis=1),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_whole_mantissas_that_are_scaled_are_moved_as_they_are(rule: Any) -> None:
    g = Graph("g")
    g.output("y", RULES[rule](op.from_fixed(g.input("x", Tensor(S8, (2, 3))), fraction=0)))
    changed = rewrite(g, [rule])
    assert changed != g
    values = {"x": np.array([[-128, 127, 0], [1, 5, -7]], np.int8)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("relu", [None], {}, True),
        ("round_half_away", [None], {}, True),
        ("sigmoid", [None], {}, False),
        ("abs", [None], {}, False),
        ("neg", [None], {}, True),
        ("add", [None, floats(1)], {}, True),
        ("add", [None, floats(1, np.nan)], {}, False),
        ("add", [None, None], {}, False),
        ("add", [None, np.array([1])], {}, False),
        ("sub", [None, np.array([1])], {}, False),
        ("mul", [None, np.array([1])], {}, False),
        ("mul", [None, floats(-2)], {}, True),
        ("minimum", [None, np.array([1])], {}, True),
        ("div", [None, floats(2)], {}, True),
        ("div", [floats(2), None], {}, False),
        ("prelu", [None, floats(0, 1)], {}, True),
        ("prelu", [None, floats(-1, 1)], {}, False),
        ("prelu", [floats(1), None], {}, False),
        ("leaky_relu", [None], {}, True),
        ("leaky_relu", [None], {"alpha": 0.0}, True),
        ("leaky_relu", [None], {"alpha": -0.5}, False),
        ("cast", [None], {"element": "f16"}, True),
        ("cast", [None], {"element": "i32"}, False),
        ("multi_threshold", [None, floats(1)], {}, True),
        ("multi_threshold", [None, floats(1)], {"out_scale": 0.5}, True),
        ("multi_threshold", [None, floats(1)], {"out_scale": 0.0}, False),
        ("quantize_linear", [None, floats(1)], {}, True),
        ("quantize_linear", [None, floats(0)], {}, False),
        ("quantize_linear", [None, floats(1, -1)], {}, False),
        *(("quantize_linear", [None, floats(1)], {"element": each}, True) for each in ("i8", "u8", "i16", "u16")),
        ("quantize_linear", [None, floats(1)], {"element": "f8e4m3fn"}, False),
        ("quant", [None, floats(1), floats(0), floats(4)], {}, True),
        ("trunc", [None, floats(-1), floats(0), floats(4)], {}, False),
        ("multiply_fixed_point", [None, np.array([3]), np.array([0])], {}, True),
        ("multiply_fixed_point", [None, np.array([0]), np.array([-1])], {}, True),
        ("multiply_fixed_point", [None, np.array([-3]), np.array([0])], {}, False),
        ("multiply_fixed_point", [None, np.array([3]), np.array([1])], {}, False),
        ("multiply_fixed_point", [None, np.array([3]), np.array([-1, 1])], {}, False),
        ("multiply_fixed_point", [None, np.array([3]), np.array([-1])], {"left_shift": 1}, False),
    ],
)  # fmt: skip
def test_ops_that_never_turn_round_are_monotone(
    name: str, operands: list[np.ndarray | None], attributes: dict[str, Any], expected: bool
) -> None:
    assert _is_monotone(getattr(op, name), operands, attributes) is expected


THREE, ONE = np.zeros(3), np.zeros(1)


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "rank", "channels", "expected"),
    [
        ("mul", [None, np.zeros((3, 1, 1))], {}, 4, 3, 3),
        ("mul", [None, np.zeros((1, 3))], {}, 2, 3, 3),
        ("mul", [None, np.zeros(())], {}, 4, 3, 1),
        ("mul", [None, np.zeros((3, 1))], {}, 4, 3, None),
        ("multi_threshold", [None, np.zeros((3, 2))], {}, 4, 3, 3),
        ("multi_threshold", [None, np.zeros((1, 2))], {}, 4, 3, 1),
        ("multi_threshold", [None, np.zeros((3, 2))], {"data_layout": "NHWC"}, 4, 3, None),
        ("multi_threshold", [None, np.zeros((1, 2))], {"data_layout": "NHWC"}, 4, 3, 1),
        ("multi_threshold", [None, np.zeros((3, 2))], {"data_layout": "NC"}, 2, 3, 3),
        ("quantize_linear", [None, THREE, THREE], {}, 4, 3, 3),
        ("quantize_linear", [None, ONE, ONE], {"axis": 0}, 4, 3, 1),
        ("quantize_linear", [None, THREE], {"axis": 2}, 4, 3, None),
        ("quantize_linear", [None, THREE], {"axis": -3}, 4, 3, 3),
        ("dequantize_linear", [None, THREE], {"block_size": 2}, 4, 3, None),
        ("batch_norm", [None, THREE, THREE, THREE, THREE], {}, 4, 3, 3),
        ("prelu", [None, np.zeros((3, 1, 1))], {}, 4, 3, 3),
        ("prelu", [None, np.zeros((3, 1))], {}, 4, 3, None),
        ("batch_norm", [None, THREE, ONE], {}, 4, 3, 3),
        ("quantize_linear", [None, THREE, ONE], {}, 4, 3, 3),
        ("add", [None, THREE], {}, 4, 3, None),
    ],
)  # fmt: skip
def test_constants_that_differ_along_channels_have_as_many_functions(
    name: str,
    operands: list[np.ndarray | None],
    attributes: dict[str, Any],
    rank: int,
    channels: int,
    expected: int | None,
) -> None:
    assert channels_of(name, operands, attributes, rank, channels) == expected
