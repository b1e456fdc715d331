"""Why a rule does not match: the furthest point that was reached, and the first thing that failed there."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from graphrewrite.errors import RuleError
from tests.support.pairs import Pair, graph_of
from tests.support.sources import rule_of

REFUSALS = [
    ("missing operand", "def r(x, w, b):\n  yield affine(x, w, b)", "a = affine(p, q)", "a", "'a'", "2 operands.*3"),
    ("missing elsewhere", "def r(x, w, b=None):\n  yield op.sub(affine(x, w, b), affine(w, x, b))",
     "m = affine(p, q, p); n = affine(q, p); a = sub(m, n)", "a", "'[mnpq]'", "'b'"),
    ("too few for a rest", "def r(x, y, zs):\n  yield pack(x, y, *zs)", "a = pack(p)", "a",
     "'a'", "1 operand.*at least 2"),
    ("wrong op", "def r(x):\n  yield op.abs(op.neg(x))", "m = relu(p); a = abs(m)", "a", "'m'", "relu.*needs neg"),
    ("wrong op at the root", "def r(x):\n  yield op.abs(op.neg(x))", "a = relu(p)", "a", "'a'", "relu.*needs abs"),
    ("none of several ops", "def r(x):\n  yield (op.abs | op.neg)(x)", "a = relu(p)", "a", "'a'", "relu.*abs or neg"),
    ("input for any op", "def r(x):\n  yield op.abs(rule.any_op(x))", "a = abs(p)", "a", "'p'", "input.*any op"),
    ("wrong attribute", "def r(x):\n  yield scale(x, by=2)", "a = scale(p, by=3)", "a", "'a'", "by is 3.*needs 2"),
    ("no such attribute value", "def r(x):\n  yield scale(x, by={2, 4})", "a = scale(p, by=3)", "a",
     "'a'", "by is 3.*2, 4"),
    ("attribute predicate", "def r(x):\n  yield scale(x, by=rule.where(lambda k: k > 4, 'it is large'))",
     "a = scale(p, by=3)", "a", "'a'", "by is 3.*it is large"),
    ("attribute bound", "def r(x, k):\n  yield scale(scale(x, by=k), by=k)", "m = scale(p, by=2); a = scale(m, by=3)",
     "a", "'[am]'", "by is [23].*'k'.*[23]"),
    ("condition", "def r(x: rule.where(lambda v: v.shape == (), 'it is a scalar')):\n  yield op.neg(x)",
     "a = neg(p)", "a", "'p'", "it is a scalar"),
    ("condition of no name", "def r(x):\n  yield op.sub(x, rule.where(lambda v: v.shape == (), 'it is a scalar'))",
     "a = sub(p, q)", "a", "'q'", "it is a scalar"),
    ("variable bound", "def r(x):\n  yield op.sub(x, x)", "a = sub(p, q)", "a", "'q'", "'p'.*x stands for already"),
    ("not a constant", "def r(x, c: Constant):\n  yield op.sub(x, c)", "a = sub(p, q)", "a", "'q'",
     "'c' must be a constant"),
    ("no literal", "def r(x):\n  yield op.sub(x, 1)", "a = sub(p, q)", "a", "'q'", "input.*constant 1"),
    ("another literal", "def r(x):\n  yield op.sub(x, 1)", "a = sub(p, two)", "a", "'two'", "not 1"),
    ("not in the set", "def r(x):\n  yield op.sub(x, {0, 1})", "a = sub(p, two)", "a", "'two'", r"not \{0, 1\}"),
    ("another result", "def r(x):\n  a, b = halves(x)\n  yield op.sub(a, b)", "h = halves(p); a = sub(h, h)", "a",
     "'h'", "result 0.*result 1"),
    ("another node", "def r(x):\n  n = op.neg(x)\n  yield op.sub(op.relu(n), op.abs(n))",
     "n = neg(p); m = neg(p); b = relu(n); c = abs(m); a = sub(b, c)", "a", "'m'", "same neg.*'n'"),
    ("outside reader", "def r(x):\n  yield op.abs(op.neg(x))", "n = neg(p); a = abs(n); b = relu(n)", "a", "'n'",
     "disappear.*'b' outside"),
    ("output reads it", "def r(x):\n  yield op.abs(op.neg(x))", "n = neg(p); a = abs(n)", "a", "'n'",
     "disappear.*'extra' outside"),
    ("forbidden operand", "def r(x, y):\n  yield op.sub(x, ~op.neg(y))", "n = neg(p); a = sub(p, n)", "a",
     "'n'", "forbid"),
    ("forbidden node", "def r(x):\n  n = op.neg(x)\n  yield n, ~op.abs(n)", "a = neg(p); b = abs(a)", "a",
     "'b'", "forbid"),
    ("run too short", "def r(x):\n  yield rule.repeated(x, op.relu, least=3)", "m = relu(p); a = relu(m)", "a",
     "'[amp]'", "run of 2.*3"),
    ("inside a longer run", "def r(x):\n  yield rule.repeated(x, op.relu)", "a = relu(p); b = relu(a)", "a", "'a'",
     "longer run"),
    ("group too small", "def r(x):\n  yield rule.every(x, op.relu, least=3)", "a = relu(p); b = relu(p)", "a", "'a'",
     "group of 2.*3"),
    ("component missing", "def r(x, y):\n  yield op.neg(x), op.abs(y)\n  return x, y", "a = neg(p)", "a", "'a'", "abs"),
    ("one of several patterns", "def r(x):\n  yield op.abs(op.neg(x) | op.relu(x))", "m = exp(p); a = abs(m)",
     "a", "'m'", "is exp, and the pattern needs neg or relu"),
    ("result bound", "def r(x):\n  yield op.sub(x, x)", "h = halves(p); a = sub(h, h:1)", "a", "'h'",
     "gives result 1 here, and x stands for result 0 of it already"),
    ("several bound", "def r(xs):\n  yield op.sub(pack(*xs), pack(*xs))\n  return pack(*xs)",
     "m = pack(p, q); n = pack(q, p); a = sub(m, n)", "a", "'n'",
     r"reads \['q', 'p'\] for xs, which stands for \['p', 'q'\] already"),
    ("none of several bound", "def r(xs, y):\n  yield pack(*xs, pack(*xs, y))\n  return y",
     "m = pack(p); a = pack(p, m)", "a", "'m'", r"reads \[\] for xs, which stands for \['p'\] already"),
    ("zero of the other sign", "def r(x):\n  yield op.sub(x, 0)", "z = constant(value=-0.0) : f32[]; a = sub(p, z)",
     "a", "'z'", "not 0: it is -0.0"),
    ("run that a reader ends", "def r(x):\n  yield op.abs(rule.repeated(x, op.neg, least=2))",
     "l = neg(p); m = neg(l); b = relu(l); a = abs(m)", "a", "'l'",
     "run of 1.*2 or more; a run ends at what 'b' reads"),
    ("declined", "def r(x):\n  yield op.neg(x)\n  return rule.decline('it is Monday', at=x)", "a = neg(p)", "a", "'p'",
     "declined: it is Monday"),
]  # fmt: skip


TRUE = {
    r"is (\w+), and the pattern needs": lambda graph, node, found: graph.nodes[node]["type"] == found[1],
    r"is (\w+), and '\w+' must be a constant": lambda graph, node, found: graph.nodes[node]["type"] == found[1],
    r"would disappear, but '(\w+)' outside": lambda graph, node, found: found[1] in graph.succ[node],
    r"has (\d+) operands?, and": lambda graph, node, found: len(graph.operands(node)) == int(found[1]),
    r"gives result (\d) here": lambda graph, node, found: any(
        (node, int(found[1])) in graph.operands(reader) for reader in graph.succ[node]
    ),
    r"by is (\d), and": lambda graph, node, found: graph.attributes(node)["by"] == int(found[1]),
    r"is not '(\w+)', which": lambda graph, node, found: node != found[1] in graph,
}
"""Reasons, and what must then be so of the graph and the node."""


@pytest.mark.parametrize(
    ("source", "lines", "at", "node", "reason"), [e[1:] for e in REFUSALS], ids=[e[0] for e in REFUSALS]
)
def test_explain_names_the_node_and_the_reason(source, lines, at, node, reason, request):
    graph = graph_of(lines)
    if "output" in request.node.callspec.id:
        graph.output("extra", graph.value("n"))
    tested = rule_of(f"@rule\n{source}" + ("" if "return" in source else "\n  return x"))
    assert [m for m in tested.find(graph) if at in m.roots] == []
    sentence = tested.explain(graph, at=at)
    assert re.search(rf"^r does not match at '{at}': {node}.*{reason}.*\.$", sentence), sentence
    assert "\n" not in sentence


def test_explain_says_where_a_rule_matches():
    tested = rule_of("@rule\ndef r(x, y):\n  yield op.sub(x, y)\n  return x")
    assert tested.explain(graph_of("a = sub(p, q)"), at="a").startswith("r matches at 'a': ")


def test_explain_names_the_furthest_point_of_several():
    tested = rule_of("@rule\ndef r(x):\n  yield op.abs(op.neg(op.relu(x)) | op.relu(x))\n  return x")
    assert "'m'" in tested.explain(graph_of("m = exp(p); n = neg(m); a = abs(n)"), at="a")


def test_a_match_says_what_variables_stand_for_and_nothing_of_the_others():
    tested = rule_of("@rule\ndef r(x, y, b=None):\n  yield affine(x, ~op.neg(y), b)\n  return x")
    graph = graph_of("h = halves(p); a = affine(h:1, q)")
    assert tested.explain(graph, at="a") == "r matches at 'a': r at a with x=h:1, b=None."
    assert repr(tested.find(graph)) == "[<match: r at a with x=h:1, b=None>]"


@pytest.mark.parametrize("source", ["every(op.relu(x), lambda v: op.neg(v))", "every(x, lambda v: op.neg(v))"])
def test_a_group_of_readers_that_nothing_leads_to_is_no_rule(source):
    with pytest.raises(RuleError, match=r"nothing says where (relu\(x\)|x) is; name it in the form"):
        rule_of(f"@rule\ndef r(x):\n  yield rule.{source}\n  return x")
    leads = rule_of(
        "@rule\ndef r(x):\n  n = op.relu(x)\n  yield n, rule.every(n, lambda v: op.neg(v))\n  return x, [x, x]"
    )
    assert leads.find(graph_of("n = relu(p); a = neg(n); b = neg(n)"))


def test_explain_says_where_the_match_is_that_has_a_node_as_another_root():
    tested = rule_of("@rule\ndef r(x):\n  n = op.neg(x)\n  yield op.abs(n), op.relu(n)\n  return n, n")
    graph = graph_of("n = neg(p); b = abs(n); a = relu(n); c = relu(p)")
    told = tested.explain(graph, at="a")
    assert told.endswith("is relu, and the pattern needs abs. It is another root of what matches at 'b'.")
    assert told.match is None
    assert tested.explain(graph, at="c").endswith("is relu, and the pattern needs abs.")


def test_what_is_said_is_true():
    said: Counter[str] = Counter()
    for seed in range(250):
        pair = Pair(random.Random(seed))
        graph, matches = pair.graph, pair.rule.find(pair.graph)
        for node in graph:
            told = pair.rule.explain(graph, at=node)
            if told.is_match:
                assert told.match in matches
                continue
            assert node not in {match.replaced()[0][0][0] for match in matches}, f"{told}\n\n{pair}"
            assert {told.node, *told.nodes} <= set(graph), f"{told}\n\n{pair}"
            for form, holds in TRUE.items():
                if found := re.match(form, told.reason):
                    said[form] += 1
                    assert holds(graph, told.node, found), f"{told}\n\n{pair}"
    assert min(said[form] for form in TRUE) > 0, said
