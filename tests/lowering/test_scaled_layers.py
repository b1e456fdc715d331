"""Layers of scaled mantissas: the integers give the float layer's numbers, and no accumulator is too narrow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite
from graphrewrite.lowering.prequantised.layers import LOWER_SCALED_LAYERS, absorb_addend, accumulated, add_whole_bias
from graphrewrite.testing import check
from tests.support.scaled_layers import scaled_layers

WEIGHTS = st.lists(st.integers(-5, 5), min_size=1, max_size=4)


def partial_sums(row: list[int], bias: int, element: FixedPoint) -> Iterator[int]:
    """What an accumulator may hold while it adds, in any order: each product of an extreme operand is there or not."""
    yield from map(sum, product(*([0, w * element.minimum, w * element.maximum] for w in row), [0, bias]))


@given(WEIGHTS, st.integers(-3000, 3000), st.builds(FixedPoint, st.booleans(), st.integers(1, 8)))
def test_an_accumulator_holds_all_partial_sums_and_no_more(row: list[int], bias: int, element: FixedPoint) -> None:
    sums = list(partial_sums(row, bias, element))
    assert accumulated(np.array([row]), np.array([bias]), element) == FixedPoint.holding(min(sums), max(sums))


@pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning")  # some fire seldom, such as absorb_addend
def test_layers_are_those_of_floats() -> None:
    # Sums of scale 1 are not among them.
    report = check([rule for rule in LOWER_SCALED_LAYERS if rule is not add_whole_bias], on=scaled_layers())
    assert report, str(report)


@pytest.mark.parametrize(("addend", "is_whole"), [([1.0, -7.0], True), ([0.0, 300.0], True), ([0.3, 1.0], False)])
def test_what_is_added_to_sums_of_scale_one_is_a_bias(addend: list[float], is_whole: bool) -> None:
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(True, 8), ("N", 3)))
    sums = op.integer_linear(x, np.array([[1, -2, 3], [5, 0, -1]]), np.array([4, -4]), element=FixedPoint(True, 12))
    real = op.cast(op.from_fixed(sums, fraction=0, element="f32"), element="f64")
    g.output("y", op.add(real, np.array(addend)))
    changed = rewrite(g, [add_whole_bias])
    (layer,) = (n for n in changed if changed.nodes[n]["type"] == "integer_linear")
    bias = changed.nodes[changed.operands(layer)[2].node]["value"]
    np.testing.assert_array_equal(bias, np.array([4, -4]) + (addend if is_whole else 0))
    values = {"x": np.random.default_rng(0).integers(-128, 128, (20, 3)).astype(np.int8)}
    np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])


FORMS: dict[str, dict[str, Any]] = {
    "whole": {"shift": 0, "element": FixedPoint(True, 16)},
    "above": {"shift": 0, "element": FixedPoint(True, 6)},
    "below": {"shift": 0, "element": FixedPoint(False, 16)},
    "low": {"shift": 0, "element": FixedPoint(True, 16), "low": -9},
    "high": {"shift": 0, "element": FixedPoint(True, 16), "high": 20},
    "offset": {"shift": 0, "element": FixedPoint(True, 16), "offset": 5},
    "shift": {"shift": (0, 1), "element": FixedPoint(True, 12), "rounding": "half_up"},
}
"""What is done with the sums behind the addend: nothing, limits of each kind, an offset, a shift."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_conv", [False, True])
def test_addends_and_small_factors_behind_sums_become_part_of_them(form: str, is_conv: bool) -> None:
    matrix, bias = np.array([[1, -2, 3], [5, 0, -1]]), np.array([4, -4])
    shape = (3, 2) if is_conv else (3,)
    values = {"x": np.random.default_rng(0).integers(-8, 8, (9, *shape)).astype(np.int8)}
    for factor, addend in product((1, -1, 2, 4, (1, -1), (-4, 4)), (0, 7, (-3, 0))):
        g = Graph("g")
        x = g.input("x", Tensor(FixedPoint(True, 4), ("N", *shape)))
        layer, w = (op.integer_conv, matrix[..., None]) if is_conv else (op.integer_linear, matrix)
        sums = layer(x, w, bias, element=FixedPoint(True, 8))
        g.output("y", op.rescale(sums, multiplier=factor, addend=addend, **FORMS[form]))
        changed = rewrite(g, [absorb_addend])
        np.testing.assert_array_equal(evaluate(changed, values)["y"], evaluate(g, values)["y"])
        left = [changed.attributes(n) for n in changed if changed.nodes[n]["type"] == "rescale"]
        if (factor, addend) == (1, 0):
            assert changed == g
        elif form == "whole":
            assert not left
        else:
            assert [(each["multiplier"], each["addend"]) for each in left] == [(1, 0)]


@pytest.mark.parametrize(
    ("matrix", "factor", "addend", "reason"),
    [
        ([[2, 1]], 1, 0, "no addend"),
        ([[2, 1]], 3, 1, "a multiplier adds its addend"),
        ([[2, 1], [1, 2]], (1, 2), 1, "a multiplier adds its addend"),
        ([[1, 1]], 1, 1, "its weights are signs, or all 1"),
        ([[1, -1]], 2, 1, "its weights are signs, or all 1"),
        ([[2, 1]], 1, 1 << 50, "bits"),
    ],
)
def test_other_addends_stay(matrix: list[list[int]], factor: Any, addend: int, reason: str) -> None:
    g = Graph("g")
    x = g.input("x", Tensor(FixedPoint(True, 4), ("N", 2)))
    sums = op.integer_linear(x, np.array(matrix), np.zeros(len(matrix), np.int64), element=FixedPoint(True, 8))
    result = op.rescale(sums, multiplier=factor, addend=addend, shift=0, element=FixedPoint(True, 8))
    g.output("y", result)
    assert rewrite(g, [absorb_addend]) == g
    assert reason in absorb_addend.explain(g, at=result.node)
