"""The work list's result is that of looking everywhere again until nothing matches."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import Graph, op, rewrite, rule, trace
from graphrewrite.errors import RewriteError
from graphrewrite.graph.edit import apply_edit
from graphrewrite.rewriting.rule.outcome import Declined
from tests.support.enabling import CONFLUENT, ENABLING, random_graph
from tests.support.pairs import RuleSet, graph_of
from tests.support.profiles import some_of
from tests.support.sources import rule_of

pytestmark = pytest.mark.slow

GRAPHS, CHUNKS = 1000, 10
SEEDS = [range(i, i + GRAPHS // CHUNKS) for i in range(0, GRAPHS, GRAPHS // CHUNKS)]
SIMPLE = ("neg", "relu", "abs", "mul", "maximum", "identity", "neg", "relu")


def left(graph: Graph, rules: tuple[Any, ...]) -> list[str]:
    """What a look at the whole graph still finds."""
    return [str(match) for found in rules for match in found.find(graph)]


def fire(graph: Graph, node: str, rules: tuple[Any, ...]) -> Any:
    """Apply the first match at a node; return the edit."""
    for found in rules:
        for match in found.matches_at(graph, node):
            edit = found.edit(graph, match)
            if not isinstance(edit, Declined):
                apply_edit(graph, edit)
                return edit
    return None


def scan(graph: Graph, rules: tuple[Any, ...]) -> Graph:
    """The plain way: look everywhere, apply one match, look everywhere again."""
    graph = graph.copy()
    while any(fire(graph, node, rules) is not None for node in graph.in_order()):
        pass
    return graph


def waking_direct_readers_only(graph: Graph, rules: tuple[Any, ...]) -> Graph:
    """An engine with a fault: after an edit it looks at the new nodes and at their readers again, and nowhere else."""
    graph = graph.copy()
    work = list(graph.in_order())
    while work:
        node = work.pop(0)
        if node in graph and (edit := fire(graph, node, rules)) is not None:
            new = [name for name, _ in edit.added]
            moved = [reader for _, reader, _ in edit.linked]
            work += [n for n in dict.fromkeys([*new, *moved]) if n in graph and n not in work]
    return graph


def meaning(graph: Graph, known: dict[Any, int]) -> dict[str, int]:
    """A number for what each output computes; operands of commutative ops come in any order, and -0 is 0."""
    numbers: dict[tuple[str, int], int] = {}
    outputs = {}
    for node in graph.in_order():
        found = graph.op(node)
        operands = [numbers[operand] for operand in graph.operands(node)]
        free = found.interchangeable(len(operands))
        operands[:free] = sorted(operands[:free])
        if found.name == "output":
            outputs[node] = operands[0]
            continue
        attributes = {k: (v + 0).tolist() if k == "value" else v for k, v in graph.attributes(node).items()}
        term = (found.name, node if found.name == "input" else "", repr(attributes), tuple(operands))
        for i in range(found.results):
            numbers[node, i] = known.setdefault((*term, i), len(known))
    return outputs


@pytest.mark.parametrize("seeds", some_of(SEEDS, 6), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_nothing_is_left_that_a_look_at_the_whole_graph_would_find(seeds):
    for seed in seeds:
        graph = random_graph(seed)
        made = rewrite(graph, ENABLING, verify=seed % 10 == 0)
        assert left(made, ENABLING) == [], f"seed {seed}\n{graph}\n\n{made}"


def settled(rules: RuleSet) -> Graph | None:
    """The fixed point of random rules; None where they go round, as one in fifteen of these sets does."""
    try:
        return rewrite(rules.graph, rules.rules, limit=200)
    except RewriteError as error:
        if "do not end" in str(error):
            return None
        raise


@pytest.mark.parametrize("seeds", some_of(SEEDS[::2], 6), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_nothing_is_left_by_rules_that_are_random_themselves(seeds):
    ended = 0
    for seed in seeds:
        rules = RuleSet(random.Random(seed))
        made = settled(rules)
        if made is not None:
            ended += 1
            assert left(made, rules.rules) == [], f"seed {seed}\n{rules}\n\n{made}"
    assert ended > 0.8 * len(seeds)


@given(st.randoms(use_true_random=False))
def test_nothing_is_left_by_random_rules_and_counterexamples_are_small(rng):
    rules = RuleSet(rng, count=2, size=6)
    made = settled(rules)
    assert made is None or left(made, rules.rules) == [], f"{rules}\n\n{made}"


@pytest.mark.parametrize("seeds", some_of(SEEDS, 6), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_the_result_is_that_of_scanning_again_after_every_step(seeds):
    for seed in seeds:
        graph = random_graph(seed, SIMPLE, phrases=0)
        made, scanned = rewrite(graph, CONFLUENT), scan(graph, CONFLUENT)
        assert left(scanned, CONFLUENT) == left(made, CONFLUENT) == []
        known: dict[Any, int] = {}
        assert meaning(made, known) == meaning(scanned, known), f"seed {seed}\n{graph}\n\n{made}\n\n{scanned}"


@pytest.mark.parametrize(
    "options", [{"order": "top-down"}, {"first": "rule"}, {"order": "top-down", "first": "rule"}], ids=str
)
def test_every_strategy_ends_in_a_fixed_point(options):
    for seed in range(100):
        assert left(rewrite(random_graph(seed), ENABLING, **options), ENABLING) == [], f"seed {seed}"


def test_every_rule_fires_and_the_graphs_need_several_steps():
    assert len(ENABLING) >= 20
    fired: Counter[str] = Counter()
    steps = []
    for seed in range(300):
        found = trace(random_graph(seed), ENABLING)
        fired.update(found.counts)
        steps.append(len(found.steps))
    assert {member.name for member in ENABLING} - {name for name, count in fired.items() if count > 1} == set()
    assert sum(steps) / len(steps) > 5


@pytest.mark.slow(cases=0)
def test_the_check_notices_an_engine_that_wakes_direct_readers_only():
    short = sum(left(waking_direct_readers_only(random_graph(seed), ENABLING), ENABLING) != [] for seed in range(200))
    assert short >= 200 / 8, f"only {short} of 200 graphs were short of the fixed point"


def test_the_check_notices_a_rule_that_was_not_asked_again():
    graph = Graph.parse("graph g\nx = input() : f32[3]\nd = exp(x)\nr = relu(x)\ny = output(d)")

    @rule
    def alone(x):
        root = op.exp(x)
        yield root, ~op.relu(x)
        return op.sigmoid(x)

    @rule
    def unread(x):
        yield op.relu(x)
        return rule.nothing

    assert left(waking_direct_readers_only(graph, (alone, unread)), (alone, unread)) != []
    assert left(rewrite(graph, (alone, unread)), (alone, unread)) == []


# ---------------------------------------------------------------------- what random rules have found, made small

FOUND = [
    (
        "a run that was continued by a link of two nodes",
        ["@rule(shared='keep')\ndef r(x):\n  yield rule.repeated(x, lambda l: op.relu(op.neg(l)))\n  return x"],
        "a = neg(p); b = relu(a); c = neg(b); d = relu(c); e = abs(c)",
    ),
    (
        "a group that lost a member",
        [
            "@rule\ndef r(y):\n  g = rule.every(y, op.neg, least=1)\n  yield g\n"
            "  return [y] if len(g.nodes) == 1 else rule.decline('several')",
            "@rule\ndef q(x):\n  yield op.abs(op.neg(x))\n  return x",
        ],
        "a = neg(p); b = neg(p); c = abs(b)",
    ),
    (
        "a forbidden node that went far away",
        [
            "@rule\ndef r(x, y):\n  yield op.relu(op.neg(x)), ~op.abs(y)\n  return x",
            "@rule\ndef q(x):\n  yield op.exp(op.abs(x))\n  return x",
        ],
        "a = neg(p); b = relu(a); c = exp(p); d = exp(c); e = exp(d); f = exp(e); g = exp(f); h = abs(g); i = exp(h)",
    ),
    (
        "an inner node that is bound to a variable as well",
        ["@rule\ndef r(x, y):\n  yield op.sub(op.neg(x), op.add(y, x))\n  return x"],
        "a = neg(p); b = add(p, a); c = sub(a, b)",
    ),
    (
        "a result that nobody reads, of a node that stays",
        ["@rule(shared='keep')\ndef r(x):\n  a, b = halves(x)\n  yield b\n  return x"],
        "h = halves(p); a = neg(h)",
    ),
]


@pytest.mark.parametrize(("sources", "lines"), [f[1:] for f in FOUND], ids=[f[0] for f in FOUND])
def test_the_fixed_point_of(sources, lines):
    rules = tuple(map(rule_of, sources))
    assert left(rewrite(graph_of(lines), rules), rules) == []
