"""Right rules, many of them only by their guard: `check` never refutes them, and each fires."""

from __future__ import annotations

import pytest

from graphrewrite.testing import check
from tests.quality import right_rules
from tests.quality.families import planted_in
from tests.quality.measuring import SEEDS, Record, examine, measure, table
from tests.support.profiles import fewer_graphs, some_of

pytestmark = pytest.mark.slow

RIGHT = list(planted_in(right_rules))


def record(name: str) -> Record:
    """What twenty seeds say of one right rule."""
    (planted,) = (p for p in RIGHT if p.name == name)
    return Record(name, tuple(examine(planted.subject, seed=seed, on=planted.on) for seed in SEEDS))


def test_there_are_many():
    assert len(RIGHT) >= 100


@pytest.mark.parametrize("planted", some_of(RIGHT, 5), ids=str)
def test_a_right_rule_is_not_refuted_and_fires(planted):
    with fewer_graphs():
        report = check(planted.subject, seed=0, on=planted.on)
    assert report.verdict in ("preserved", "weak"), report


@pytest.mark.thorough
def test_right_rules_are_refuted_in_none_of_twenty_seeds():
    records = measure(record, [planted.name for planted in RIGHT])
    print(table("right rules", records))
    assert not [r.name for r in records if r.refuted]
    assert not [r.name for r in records if any(o.verdict == "never fired" for o in r.outcomes)]
