"""Rules of the lowerings make of recorded graphs what they made when values before and after were compared.

`tests.support.record_rewrites` has compared and recorded them: where a rule makes another graph of purpose, it is
recorded again.
"""

from __future__ import annotations

import json
import lzma
from functools import cache

import pytest

from graphrewrite import Graph, rewrite
from graphrewrite.formats import to_text
from tests.support.lowering_rules import OPS, RULES
from tests.support.neighbouring_graphs import neighbours
from tests.support.record_rewrites import FILE
from tests.support.recorded_texts import assert_near


@cache
def recorded() -> dict[str, list[tuple[str, str]]]:
    """Graphs before and after, by rule; nothing where it declines."""
    found: dict[str, list[tuple[str, str]]] = json.loads(lzma.decompress(FILE.read_bytes()))
    return found


ELSEWHERE = {
    "prequantised.sums_and_products.add_multiples", "prequantised.sums_and_products.approach_sum_steps",
}  # fmt: skip
"""Rules whose pattern only whole networks have: `test_trained_exports` and `test_trained_models` have these."""
DECLINED = {"prequantised.signs.compare_sums", "prequantised.signs.count_then_scale"}
"""Rules that fire in networks only, as `test_signs` has them."""


@pytest.mark.parametrize("name", [name for name in RULES if name not in ELSEWHERE])
def test_a_rule_makes_what_was_recorded(name: str) -> None:
    assert recorded()[name]
    for before, after in recorded()[name]:
        found = to_text(rewrite(Graph.parse(before, ops=OPS), [RULES[name]]), whole=True)
        assert_near(found, after or before)


def test_most_rules_were_recorded_where_they_fire_and_where_they_decline() -> None:
    fired = {name for name, pairs in recorded().items() if any(after for _, after in pairs)}
    declined = {name for name, pairs in recorded().items() if any(not after for _, after in pairs)}
    assert fired == RULES.keys() - ELSEWHERE - DECLINED
    assert declined >= DECLINED
    assert len(declined) >= 100


@pytest.mark.parametrize("name", ["streaming.scaling.map_rescale", "prequantised.layers.absorb_addend"])
def test_graphs_near_recorded_ones_are_always_the_same_and_others(name: str) -> None:
    """`tests.support.distinguishing_graphs` looks among them for what tells a rule from its mutants."""
    given = [before for before, _ in recorded()[name]]
    made = neighbours(name, given, 20)
    assert made == neighbours(name, given, 20)
    assert len(made) == 20
    assert not {*made} & {*given}
    fired = [rewrite(graph, [RULES[name]]) != graph for graph in (Graph.parse(text, ops=OPS) for text in made)]
    assert 5 <= sum(fired) <= 20
