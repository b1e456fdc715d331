"""Rules of the lowerings leave what they do not fit, each for every reason that it names."""

from __future__ import annotations

import pytest

from graphrewrite import Rule
from tests.lowering import declines, stream_declines
from tests.support.declining import given_reasons, said_reasons
from tests.support.rewritten import graph_of

DECLINES = {**declines.DECLINES, **stream_declines.DECLINES}


@pytest.mark.parametrize("rule", DECLINES, ids=lambda rule: rule.name)
def test_a_rule_leaves_what_it_does_not_fit(rule: Rule) -> None:
    reasons = [given_reasons(rule, graph_of(*case)) for case in DECLINES[rule]]
    assert all(reasons), "each case has all of the pattern"
    given = [reason for each in reasons for reason in each]
    assert [said for said in said_reasons(rule) if not any(reason.startswith(said) for reason in given)] == []
