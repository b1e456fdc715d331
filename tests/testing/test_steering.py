"""What a rule's own code mentions and does decides where it is looked at."""

from __future__ import annotations

import numpy as np
import pytest

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.testing import check
from graphrewrite.testing.mentioning import values_mentioned

LIMIT = 23
FORMAT = FixedPoint(True, 8, 3)


def _bound():
    return 0.375


@rule
def limit_at_a_number(x):
    """Wrong of one limit."""
    clip = op.clip(x, low=0)
    yield clip
    return op.relu(x) if clip.high == LIMIT else decline("another limit")


@rule
def size_off_by_one(x):
    """Wrong of one size."""
    total = op.reduce_sum(x)
    yield total
    if x.shape[-1] != 14:
        return decline("another size")
    return op.neg(total) if total.type == x.type else decline("another type")


@rule
def entry_of_a_constant(x, c: Constant):
    """Wrong of a number in a constant."""
    yield op.add(x, c)
    return op.sub(x, c) if (c.value == _bound()).any() else decline("not there")


@rule
def mode_of_an_op(x):
    """Wrong of a mode that few graphs have."""
    border = op.pad(x)
    yield op.neg(border)
    return op.relu(border) if border.mode == "reflect" else decline("another mode")


@rule
def way_among_others(x, y):
    """Wrong on one of the ways through it, on which it fires seldom, and never elsewhere."""
    yield op.sub(x, y)
    if x.type.element == "f64" and len(x.shape) == 3:
        return op.sub(y, x)
    return op.add(x, op.neg(y))


WRONG = (limit_at_a_number, size_off_by_one, entry_of_a_constant, mode_of_an_op, way_among_others)


@pytest.mark.parametrize("fault", WRONG, ids=lambda fault: fault.name)
def test_what_the_code_mentions_is_tried(fault):
    assert check(fault, seed=0).verdict == "refuted"


def test_values_of_code_of_helpers_of_the_module_and_of_defaults():
    def decide(node, most=31, *, of=FORMAT):
        table = np.array([5, 7])
        return table.sum() < most and LIMIT + _bound() and node.kind in {"wide", "narrow"} and of

    found = values_mentioned(decide)
    assert {31, LIMIT, 0.375, 5, 7} <= set(found.numbers)
    assert {"wide", "narrow", FORMAT} <= set(found.others)
    assert {"kind"} <= found.attributes


def test_what_stands_above_the_yield_is_the_pattern_and_no_message_is_a_value():
    found = values_mentioned(limit_at_a_number.function)
    assert found.numbers == (LIMIT,)
    assert found.others == ()
