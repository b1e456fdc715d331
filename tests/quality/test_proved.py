"""Rules that are wrong at one value of an attribute or a constant, and right ones with a guard: `prove` tells."""

from __future__ import annotations

import pytest

from graphrewrite import Rule
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.testing import prove
from tests.quality.right_rules import proved as right
from tests.quality.wrong_rules import proved as wrong

pytest.importorskip("z3")

WRONG = [found for found in vars(wrong).values() if isinstance(found, Rule)]
RIGHT = [found for found in vars(right).values() if isinstance(found, Rule)]


@pytest.mark.parametrize("planted", WRONG, ids=lambda found: found.name)
def test_a_wrong_rule_is_refuted(planted):
    proof = prove(planted, elements=MANTISSAS, instances=40)
    assert proof.verdict == "refuted", str(proof)


@pytest.mark.parametrize("planted", RIGHT, ids=lambda found: found.name)
def test_a_right_rule_is_proved_or_it_is_said_of_what(planted):
    proof = prove(planted, elements=MANTISSAS, instances=3, effort=100_000)
    assert proof.verdict in ("proved", "proved for samples"), str(proof)
    assert (proof.verdict == "proved") == (not proof.sampled)
