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
from tests.support.record_rewrites import FILE
from tests.support.recorded_texts import assert_near


@cache
def recorded() -> dict[str, list[tuple[str, str]]]:
    """Graphs before and after, by rule; nothing where it declines."""
    found: dict[str, list[tuple[str, str]]] = json.loads(lzma.decompress(FILE.read_bytes()))
    return found


@pytest.mark.parametrize("name", RULES)
def test_a_rule_makes_what_was_recorded(name: str) -> None:
    assert recorded()[name]
    for before, after in recorded()[name]:
        found = to_text(rewrite(Graph.parse(before, ops=OPS), [RULES[name]]), whole=True)
        assert_near(found, after or before)


def test_most_rules_were_recorded_where_they_fire_and_where_they_decline() -> None:
    fired = [any(after for _, after in pairs) for pairs in recorded().values()]
    declined = [any(not after for _, after in pairs) for pairs in recorded().values()]
    assert all(fired)
    assert sum(declined) >= 40
