"""Patterns with many ways to fit are matched in a time that follows their size: else this file takes for ever."""

from __future__ import annotations

import pytest

from graphrewrite import rewrite
from tests.benchmarks.blow_up import CASES

pytestmark = pytest.mark.slow


@pytest.mark.slow(cases=3)
@pytest.mark.parametrize("name", CASES)
def test_result_is_right_and_comes(name):
    case = CASES[name]()
    if case.matches is not None:
        assert len(case.rule.find(case.graph)) == case.matches
    case.check(rewrite(case.graph, [case.rule]))
