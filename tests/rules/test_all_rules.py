"""Every rule of every rule set: generated graphs that contain its pattern, evaluated before and after."""

from __future__ import annotations

import pytest

from graphrewrite import Pass, Rule, lowering, rules
from graphrewrite.testing import assert_idempotent, assert_preserves

# Tuples of rules are found by what they hold, so that a new one is tested without being entered here.
SETS = {
    f"{module.__name__.rpartition('.')[2]}.{name}": found
    for module in (rules, lowering)
    for name, found in vars(module).items()
    if isinstance(found, tuple) and found and all(isinstance(member, Rule | Pass) for member in found)
}
MEMBERS = {f"{name}:{member.name}": member for name, found in SETS.items() for member in found}


def test_the_rule_sets_are_found():
    assert {"rules.RULES", "rules.FOLDING", "lowering.LOWER_TO_INTEGER", "lowering.LOWER_TO_STREAM"} <= set(SETS)
    assert len(MEMBERS) > 40


@pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
def test_a_rule_preserves_what_it_says(member):
    assert_preserves(member)


@pytest.mark.parametrize("found", SETS.values(), ids=SETS)
def test_a_rule_set_preserves_and_leaves_nothing_to_do(found):
    assert_preserves(found)
    assert_idempotent(found)


@pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
def test_a_rule_says_what_it_does(member):
    assert member.__doc__
    assert member.__doc__.strip().endswith(".")
