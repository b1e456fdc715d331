"""Rules of ops with state are compared over sequences of cycles, from the initial state on."""

from __future__ import annotations

from typing import Any

import pytest

from graphrewrite import Constant, Rule, decline, op, rule
from graphrewrite.testing import check


@rule
def delays_added(x, a, b):
    """One cycle too many."""
    yield op.delay(op.delay(x, cycles=a), cycles=b)
    return op.delay(x, cycles=a + b + 1)


@rule
def delay_of_constant(x: Constant):
    """Wrong in the first cycles."""
    yield op.delay(x)
    return op.identity(x)


@rule
def delays_joined(x, a, b):
    """Right where both begin with one number."""
    inner = op.delay(x, cycles=a)
    outer = op.delay(inner, cycles=b)
    yield outer
    if inner.initial != outer.initial:
        return decline("other initial values")
    return op.delay(x, cycles=a + b, initial=inner.initial)


@pytest.mark.parametrize("wrong", [delays_added, delay_of_constant], ids=lambda each: each.name)
def test_a_wrong_cycle_is_found(wrong: Rule):
    report = check(wrong, seed=0)
    assert report.verdict == "refuted"
    assert " in cycle " in report.counterexample.reason
    assert "first difference" in str(report)
    pasted: dict[str, Any] = {}
    exec(report.counterexample.code, pasted)
    assert "evaluate_sequence" in pasted
    with pytest.raises(AssertionError):
        pasted[f"test_{wrong.name}"]()


def test_a_right_one_is_preserved():
    assert check(delays_joined, seed=0).verdict == "preserved"
