"""Every rule says what it keeps, and has a case in which its pattern is there and the rule leaves the graph."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType

import pytest

from graphrewrite import Rule, decline, rules
from graphrewrite.rewriting.rule.outcome import Declined
from tests.rules.declines import DECLINES
from tests.support.rewritten import graph_of

RULES = [member for member in rules.RULES if isinstance(member, Rule)]


def _named(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _named(inner)


def may_decline(function: FunctionType, seen: frozenset[FunctionType] = frozenset()) -> bool:
    """Whether a function names `decline`, or another function of the rules that does."""
    known = [function.__globals__.get(name) for name in _named(function.__code__)]
    others = [f for f in known if isinstance(f, FunctionType) and f.__module__.startswith("graphrewrite.rules")]
    return decline in known or any(may_decline(f, seen | {function}) for f in others if f not in seen)


def test_each_rule_that_may_decline_has_a_case():
    assert [rule.name for rule in RULES if may_decline(rule.function) and rule not in DECLINES] == []


@pytest.mark.parametrize("rule", DECLINES, ids=lambda rule: rule.name)
def test_a_rule_leaves_what_it_does_not_fit(rule):
    declined = False
    for body, *types in DECLINES[rule]:
        graph = graph_of(body, *types)
        assert rule(graph) == graph
        matches = [match for node in graph.in_order() for match in rule.matches_at(graph, node)]
        declined |= any(isinstance(rule.edit(graph, match), Declined) for match in matches)
        kinds = rule.definition.root_kinds
        assert kinds is None or kinds & {graph.nodes[node]["type"] for node in graph}
    assert declined == may_decline(rule.function)
