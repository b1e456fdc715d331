"""The rules of the lowerings to hardware and of trained models, one by one; and how many of their mutants are found.

What a mutant survives by, of all that were looked at: widths, shifts and constants close to what a lane or an
accumulator holds (48 bits) are not drawn, so that guards against them may go; a negative axis is the same axis; a
condition is said again by the op, or by another rule; what is dropped is the default. There are too many, and they
change with every line of these rules, to be named one by one as those of the other rules are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from hashlib import sha256

import pytest
from hypothesis import settings

from graphrewrite import Pass, Rule
from graphrewrite.errors import RuleError
from graphrewrite.testing import assert_preserves
from graphrewrite.testing.generation.instance import NoInstanceError
from tests.quality.grounds import HARDWARE, TRAINED, ground_of
from tests.quality.measuring import Outcome, Record, examine, measure, table
from tests.quality.mutants import Mutant, all_mutants

pytestmark = pytest.mark.slow

FAMILIES: dict[str, tuple[Rule | Pass, ...]] = {"hardware": HARDWARE, "trained": TRAINED}
LEAST = {"hardware": 0.65, "trained": 0.55}
"""The share of all mutants that is found at least, equivalent ones among them."""
SAMPLE = 2
SLOW = {"lower_sum", "lower_sum_steps", "approach_sum", "approach_sum_steps"}
"""Rules that look at all pairs of numbers."""
SELDOM = {"lower_average_of_stored"}
"""Rules that fire by luck on graphs of every type: tests/lowering/test_stored_rescaling.py has usual ones."""


@cache
def mutants(family: str) -> dict[str, Mutant]:
    """The mutants of a family by name, each of a function that several rules call once."""
    return {mutant.name: mutant for mutant in all_mutants(FAMILIES[family])}


def record(mutant: Mutant) -> Record:
    """What seed 0 finds; a mutant that cannot be made, or never fires where the rule does, is found by that."""
    name = mutant.name
    try:
        changed = mutant.make()
        found = examine(changed, seed=0, on=ground_of(name.split(": ")[0], changed))
    except (RuleError, NoInstanceError, TypeError) as error:  # the last of a decline whose reason is no text
        found = Outcome("refuted", None, 0, 0.0, str(error))
    if found.verdict == "never fired":
        found = Outcome("refuted", None, found.graphs, found.seconds, found.text)
    return Record(name, (found,))


def record_of(place: tuple[str, str]) -> Record:
    """The same by family and name, which another process can be told."""
    family, name = place
    return record(mutants(family)[name])


def by_chance(names: Iterable[str]) -> list[str]:
    """Some order of names, which other names do not change."""
    return sorted(names, key=lambda name: sha256(name.encode()).digest())


MEMBERS = {member.name: member for members in FAMILIES.values() for member in members}
IN_EVERY_RUN = by_chance(set(MEMBERS) - SLOW - SELDOM)[:2]


@pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning")  # in few networks some attributes vary
@pytest.mark.parametrize("name", IN_EVERY_RUN)
def test_a_rule_preserves_what_it_says(name: str) -> None:
    before = settings.get_current_profile_name()
    settings.load_profile("quick")
    try:
        assert_preserves(MEMBERS[name], on=ground_of(name, MEMBERS[name]))
    finally:
        settings.load_profile(before)


@pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning")  # in few networks some attributes vary
@pytest.mark.thorough
@pytest.mark.parametrize("name", sorted(MEMBERS))
def test_every_rule_preserves_what_it_says(name: str) -> None:
    assert_preserves(MEMBERS[name], on=ground_of(name, MEMBERS[name]))


@pytest.mark.parametrize("family", FAMILIES)
def test_most_mutants_of_a_sample_are_found(family: str) -> None:
    made = mutants(family)
    chosen = by_chance(name for name in made if name.split(": ")[0] not in SLOW)[:SAMPLE]
    found = [record(made[name]) for name in chosen]
    assert sum(r.refuted for r in found) >= SAMPLE // 2, table(f"mutants of {family}", found)


@pytest.mark.thorough
@pytest.mark.parametrize("family", FAMILIES)
def test_most_mutants_are_found(family: str) -> None:
    places = [(family, name) for name in mutants(family)]
    records = measure(record_of, places)
    print(table(f"mutants of {family}", records))
    by_rule = Counter(r.name.split(": ")[0] for r in records if not r.refuted)
    found = sum(r.refuted for r in records)
    print(f"{family}: {found} of {len(records)} found; left:", *(f"{n} of {m}," for m, n in by_rule.most_common()))
    assert found >= LEAST[family] * len(records)
