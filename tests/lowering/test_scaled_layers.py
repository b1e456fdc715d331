"""Layers of scaled mantissas: the integers give the float layer's numbers, and no accumulator is too narrow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Tensor, evaluate, op, rewrite
from graphrewrite.lowering.prequantised.layers import LOWER_SCALED_LAYERS, accumulated, add_whole_bias
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
