"""Rules that need types of which a graph has no node: they are not tried, until a step brings one."""

from __future__ import annotations

from typing import Any

import pytest

from graphrewrite import Graph, op, rewrite, rule
from graphrewrite.rewriting.engine.dormant_rules import DormantRules
from tests.support.pairs import graph_of
from tests.support.sources import rule_of


@pytest.mark.parametrize(
    ("source", "needed"),
    [
        ("yield op.abs(op.neg(x))", [{"abs"}, {"neg"}]),
        ("yield (op.abs | op.relu)(op.mul(x, 2))", [{"abs", "relu"}, {"mul"}, {"constant"}]),
        ("yield op.abs(op.neg(x) | op.relu(x))", [{"abs"}, {"neg", "relu"}]),
        ("yield op.abs(op.neg(op.exp(x)) | x)", [{"abs"}]),
        ("yield op.abs(rule.any_op(op.neg(x)))", [{"abs"}, {"neg"}]),
        ("yield op.sub(x, ~op.neg(x))", [{"sub"}]),
        ("yield op.abs(x), ~op.neg(x)", [{"abs"}]),
        ("yield op.neg(x), op.relu(x)", [{"neg"}, {"relu"}]),
        ("yield op.abs(rule.repeated(op.exp(x), op.neg))", [{"abs"}, {"neg"}, {"exp"}]),
        ("yield op.abs(rule.repeated(op.exp(x), op.neg, least=0))", [{"abs"}, {"neg", "exp"}, {"exp"}]),
        ("yield op.abs(rule.repeated(x, op.neg, least=0))", [{"abs"}]),
        ("yield rule.every(op.exp(x), op.neg)", [{"neg"}, {"exp"}]),
    ],
)
def test_what_a_pattern_needs(source, needed):
    returned = "rule.nothing" if source.startswith("yield rule.every") else "x, x" if "op.neg(x), op" in source else "x"
    pattern = rule_of(f"@rule\ndef r(x):\n  {source}\n  return {returned}").pattern
    assert sorted(map(sorted, pattern.needed)) == sorted(map(sorted, needed))


def test_rules_wake_once_all_that_they_need_has_been_there():
    both = rule_of("@rule\ndef r(x):\n  yield op.abs(op.neg(x))\n  return x")
    anywhere = rule_of("@rule\ndef r(x):\n  yield rule.any_op(x)\n  return op.abs(x)")
    dormant = DormantRules([both, anywhere])
    assert dormant.woken_by(["exp", "abs"]) == [anywhere]
    assert dormant.woken_by(["abs"]) == []
    assert dormant.woken_by(["neg"]) == [both]
    assert dormant.rules == []


class Tries:
    """Counts where each rule is tried."""

    def __init__(self) -> None:
        self.tried_at: dict[str, list[Any]] = {}

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        self.tried_at.setdefault(member.name, []).append(node)

    def rewritten(self, *_: Any) -> None: ...


@rule
def begin(x):
    yield op.relu(op.neg(x) | op.exp(x))
    return op.sqrt(op.tanh(x))


@rule
def go_on(x):
    yield op.abs(op.sqrt(op.tanh(x)))
    return op.abs(op.sin(x))


@rule
def end(x):
    yield op.abs(op.sin(x))
    return op.cos(x)


@pytest.mark.parametrize("rules", [[begin, go_on, end], [end, go_on, begin]])
@pytest.mark.parametrize("order", ["bottom-up", "top-down"])
def test_a_step_wakes_rules_for_what_is_above_it(rules, order):
    graph = graph_of("n = neg(p); r = relu(n); a = abs(r); b = abs(a)")
    tries = Tries()
    done = rewrite(graph, rules, order=order, watcher=tries)
    types = [done.nodes[node]["type"] for node in done.in_order()]
    assert [kind for kind in types if kind in ("sin", "tanh", "sqrt", "cos", "abs")] == ["cos", "abs"]
    assert len(tries.tried_at["end"]) == 1


def test_a_graph_without_what_rules_need_tries_none():
    tries = Tries()
    graph = graph_of("n = neg(p); r = abs(n); a = relu(r)")
    assert rewrite(graph, [begin, go_on, end], watcher=tries) == graph
    assert set(tries.tried_at) <= {"begin"}


def test_readers_of_a_matched_node_are_not_below_it():
    pattern = rule_of("@rule\ndef r(x, y):\n  yield op.add(op.abs(op.neg(x)), y)\n  return x").pattern
    assert {node.ops[0].name: pattern.most_readers(node) for node in pattern.nodes} == {"neg": 2, "abs": 1, "add": 0}
    anywhere = rule_of("@rule\ndef r(x, y):\n  yield op.add(rule.any_op(op.neg(x)), y)\n  return x").pattern
    assert {pattern.most_readers(node) for node in pattern.nodes} == {0, 1, 2}
    assert {anywhere.most_readers(node) for node in anywhere.nodes} == {2}  # of state there may be a cycle
    graph = Graph("g")
    assert rewrite(graph, [begin]) == graph
