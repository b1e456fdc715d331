"""Rules that ask what is known of numbers, on all numbers of small ranges: what they drop, changes nothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate, op, rewrite
from graphrewrite.rules.known_values import drop_mask, drop_shift_there_and_back
from graphrewrite.types import element_dtype, integer_limits

RANGES = [(0, 3), (1, 15), (-2, 1), (-4, -1), (-8, 7), (16, 31)]


def _dropped(rule, element, limits, build):
    """Tell whether a rule fires on what is built on numbers within limits; if it does, it changes none of them."""
    dtype, (least, most) = element_dtype(element), integer_limits(element)
    graph = Graph("limited")
    x = op.clip(graph.input("x", Tensor(element, ("N",))), low=limits[0], high=limits[1])
    graph.output("y", build(x, lambda number: graph.constant(np.int64(number).astype(dtype))))
    after = rewrite(graph, rule)
    numbers = {"x": np.arange(max(least, limits[0]), min(most, limits[1]) + 1).astype(dtype)}
    assert evaluate(after, numbers)["y"].tolist() == evaluate(graph, numbers)["y"].tolist()
    return len(after) < len(graph)


@pytest.mark.parametrize("element", ["i8", "u8"])
def test_shifts_that_are_dropped_lose_no_bit(element):
    def shifted(bits, first, then, even):
        def build(x, number):
            by, x = number(bits), op.bit_shift(x, number(1), direction="left") if even else x
            return op.bit_shift(op.bit_shift(x, by, direction=first), by, direction=then)

        return build

    ways = [("left", "right"), ("right", "left")]
    found = {
        (limits, bits, *way, even): _dropped(drop_shift_there_and_back, element, limits, shifted(bits, *way, even))
        for limits, bits, way, even in product(RANGES, (0, 1, 3, 4, 8), ways, (False, True))
        if limits[0] >= integer_limits(element)[0]
    }
    assert 15 < sum(found.values()) < len(found) - 15
    assert found[(0, 3), 3, "left", "right", False]
    assert not found[(1, 15), 8, "left", "right", False]


@pytest.mark.parametrize("element", ["i8", "u8"])
def test_masks_that_are_dropped_change_no_bit(element):
    def masked(mask, by):
        return lambda x, number: by(x, number(mask))

    found = {
        (limits, mask, by): _dropped(drop_mask, element, limits, masked(mask, by))
        for limits, mask, by in product(RANGES, (0, 1, 15, 16, -8, -1), (op.bitwise_and, op.bitwise_or))
        if limits[0] >= integer_limits(element)[0]
    }
    assert found[(0, 3), 15, op.bitwise_and]
    assert found[(16, 31), 16, op.bitwise_or]
    assert not found[(16, 31), 15, op.bitwise_and]
    assert not found[(0, 3), 1, op.bitwise_or]
