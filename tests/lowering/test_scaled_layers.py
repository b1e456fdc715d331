"""Layers of scaled mantissas: the integers give the float layer's numbers, and no accumulator is too narrow."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import FixedPoint
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
