"""Rules of ops with state are compared over sequences of cycles, from the initial state on."""

from __future__ import annotations

from typing import Any

import pytest

from graphrewrite import Rule
from graphrewrite.testing import check
from tests.quality.right_rules.timing import delays_joined
from tests.quality.wrong_rules.timing import delay_of_constant, delays_added


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
