"""Random rules go both ways alike: what is written out for a rule does what the parts of the engine do."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrewrite import rewrite, trace
from graphrewrite.errors import GraphRewriteError
from tests.rewriting.test_fused import at_once, ordinary_way, told, whole  # noqa: F401  # a fixture
from tests.support.profiles import some_of
from tests.support.random_rules import FusedRules

SETS, CHUNKS = 500, 5
SEEDS = [range(i, i + SETS // CHUNKS) for i in range(0, SETS, SETS // CHUNKS)]
OPTIONS: tuple[dict[str, Any], ...] = (
    {"once": True}, {"limit": 15}, {"once": True, "order": "top-down"}, {"limit": 15, "first": "rule"},
    {"limit": 15, "copy": False},
)  # fmt: skip


def outcome(found: FusedRules, options: dict[str, Any]) -> Any:
    """All that becomes of a graph, or the complaint; told and untold."""
    graph = found.graph.copy()
    try:
        made = whole(rewrite(graph, found.rules, **options))
    except GraphRewriteError as error:
        made = str(error), whole(graph)[:2]  # edges that come back may come in another order
    try:
        traced = trace(found.graph.copy(), found.rules, **options)
    except GraphRewriteError as error:
        return made, str(error)
    return made, told(traced), whole(traced.graph), [row[4] for row in traced.profile.rows]


def check(found: FusedRules, options: dict[str, Any]) -> int:
    fast = outcome(found, options)
    with ordinary_way(pytest.MonkeyPatch()):
        slow = outcome(found, options)
    assert fast == slow, f"{options}\n{found}"
    return len(fast[1]) if isinstance(fast[1], list) else 0


@pytest.mark.parametrize("seeds", some_of(SEEDS, 6), ids=lambda seeds: f"{seeds.start}-{seeds.stop - 1}")
def test_both_ways_are_alike(seeds):
    steps = fused = 0
    for seed in seeds:
        found = FusedRules(random.Random(seed))
        steps += check(found, OPTIONS[seed % len(OPTIONS)]) > 0
        fused += len(found.fused)
    assert fused > 2 * len(seeds), "too few of the rules have a fast way"
    assert steps > 0.4 * len(seeds), "too few of the graphs are rewritten"


@given(st.randoms(use_true_random=False), st.sampled_from(OPTIONS))
def test_both_ways_are_alike_and_counterexamples_are_small(rng, options):
    check(FusedRules(rng, count=1, size=6), options)
