"""Mutants of the rules down to integers: those that are wrong are refuted, the others are known, each with a reason."""

from __future__ import annotations

from collections import Counter
from functools import cache
from hashlib import sha256

import pytest

from graphrewrite import Rule
from graphrewrite.errors import RuleError
from graphrewrite.lowering import LOWER_BINARY_POINTS
from graphrewrite.rules import FOLDING, RULES
from graphrewrite.testing import graphs
from graphrewrite.testing.generation.instance import NoInstanceError
from tests.quality.equivalent_mutants import EQUIVALENT, IDLE, MISSED
from tests.quality.measuring import Outcome, Record, examine, measure, smallest, table
from tests.quality.mutants import OPERATORS, Mutant, all_mutants

pytestmark = pytest.mark.slow

KNOWN = {
    name: verdict
    for verdict, kinds in (("preserved", EQUIVALENT), ("never fired", IDLE), ("preserved", MISSED))
    for names in kinds.values()
    for name in names
}
"""What becomes of those that are not refuted."""
SAMPLE = 4
"""How many of those that are wrong are tried in every run."""
AS_RIGHT = sorted(name for names in EQUIVALENT.values() for name in names)


# Made when the first test asks for them, not when tests are collected, which every process does.
@cache
def made() -> dict[str, Mutant]:
    """All mutants, by name."""
    return {mutant.name: mutant for mutant in all_mutants((*RULES, *FOLDING, *LOWER_BINARY_POINTS))}


@cache
def wrong() -> list[str]:
    """The names of those that are refuted."""
    return [name for name in made() if name not in KNOWN]


def sample(names: list[str], count: int) -> list[str]:
    """What there is time for in every run: some names, the others in place of which would be as good."""
    return sorted(names, key=lambda name: sha256(name.encode()).digest())[:count]


def record(name: str) -> Record:
    """What two seeds find of a mutant on every type; one that is no rule, or that has no instance, is found by that."""
    try:
        rule = made()[name].make()
        on = graphs(containing=rule, every_type=True) if isinstance(rule, Rule) else None
    except (RuleError, NoInstanceError) as error:
        return Record(name, (Outcome("refuted", None, 0, 0.0, str(error)),))
    outcome = examine(rule, seed=0, on=on)
    if outcome.verdict != "refuted":  # one mutant in a hundred is missed by a seed
        outcome = examine(rule, seed=1, on=on)
    return Record(name, (outcome,), smallest(rule.pattern) if isinstance(rule, Rule) else None)


def test_every_operator_makes_mutants():
    assert {name.split(": ")[1] for name in made()} == set(OPERATORS)
    assert len(wrong()) > 500


def test_those_that_are_known_are_still_made_and_named_once():
    named = Counter(name for kinds in (EQUIVALENT, IDLE, MISSED) for names in kinds.values() for name in names)
    assert not set(named) - set(made())
    assert set(named.values()) == {1}


def test_few_of_those_that_are_wrong_are_missed():
    missed = sum(map(len, MISSED.values()))
    assert missed <= 0.08 * (len(wrong()) + missed)


@pytest.mark.parametrize("number", range(SAMPLE))
def test_a_mutant_is_refuted_by_a_small_graph(number):
    name = sample(wrong(), SAMPLE)[number]
    found = record(name)
    assert found.refuted, f"{name}\n{made()[name].source}\n\n{found.outcomes[0].text}"
    assert found.is_small, found.outcomes[0].text
    assert found.seconds < 10


@pytest.mark.parametrize("name", sample(AS_RIGHT, 2))
def test_a_mutant_that_is_as_right_as_the_rule_is_not_refuted(name):
    assert record(name).outcomes[0].verdict in ("preserved", "weak")


@pytest.mark.thorough
def test_every_mutant_is_refuted_or_known():
    records = measure(record, list(made()))
    print(table("mutants of the library's rules", records))
    left = {r.name: r.outcomes[0].verdict.replace("weak", "preserved") for r in records if not r.refuted}
    print(
        len(records) - len(left),
        "refuted;",
        *(f"{count} {verdict}" for verdict, count in Counter(left.values()).items()),
    )
    missed = {name for names in MISSED.values() for name in names}  # to refute one of these is no fault
    assert left == {name: verdict for name, verdict in KNOWN.items() if name in left or name not in missed}
    assert all(r.is_small for r in records)
    assert max(r.seconds for r in records) < 10
