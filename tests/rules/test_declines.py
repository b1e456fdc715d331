"""Every rule of `graphrewrite.rules` says what it keeps, and has a case in which it leaves the graph as it is."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from types import CodeType, FunctionType

import pytest

from graphrewrite import Graph, Rule, decline, rules
from tests.rules.declines import DECLINES
from tests.support.declining import given_reasons, said_reasons
from tests.support.rewritten import graph_of

MODULES = [import_module(info.name) for info in pkgutil.walk_packages(rules.__path__, "graphrewrite.rules.")]
RULES = {name: value for module in MODULES for name, value in vars(module).items() if isinstance(value, Rule)}


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


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_says_what_it_does_and_assumes_and_has_a_case(rule):
    assert rule.__doc__
    assert rule.keeps in ("exact", "rounding", "assumes")
    assert rule.keeps != "assumes" or "assum" in rule.__doc__, "the docstring states what is assumed"
    # One without conditions fits wherever its ops are.
    assert rule in DECLINES or not (may_decline(rule.function) or rule.function.__annotations__)


@pytest.mark.parametrize("rule", DECLINES, ids=lambda rule: rule.name)
def test_a_rule_leaves_what_it_does_not_fit(rule):
    reasons = []
    for case in DECLINES[rule]:
        graph = Graph.parse(f"graph g\n{case}\ny = output(r)") if isinstance(case, str) else graph_of(*case)
        reasons += given_reasons(rule, graph)
        kinds = rule.definition.root_kinds
        assert kinds is None or kinds & {graph.nodes[node]["type"] for node in graph}
    assert bool(reasons) == may_decline(rule.function), "one of its cases has all of the pattern"
    assert [said for said in said_reasons(rule) if not any(reason.startswith(said) for reason in reasons)] == []
