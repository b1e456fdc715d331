"""Every exact rule of the library is looked at by `prove`, and what is not decided has a reason that is asked again."""

from __future__ import annotations

import re

import pytest

from graphrewrite import Rule
from graphrewrite.lowering import LOWER_BINARY_POINTS, LOWER_TO_STREAM
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.rules import RULES
from graphrewrite.testing import prove
from tests.support.profiles import some_of

pytestmark = pytest.mark.slow

NUMBERS = MANTISSAS | {"bool"}
EFFORT = 1_000_000
# Rules of models that come quantised read and compute floats: tests/lowering/test_trained_models.py tests them.
FOUND = {
    rule.name: rule
    for rule in (*RULES, *LOWER_BINARY_POINTS, *LOWER_TO_STREAM)
    if isinstance(rule, Rule) and rule.keeps in ("exact", "assumes")
}
REASONS = (
    r"it was applied to none of 0 graphs$",  # its pattern has an input of floats
    r"it computes with any numbers of (bf16|f16|f32|f64), which rounds",
    rf"z3 gave up on .* after {EFFORT:,} units of work",
)
TABLES = r"numbers that depend on the input|is not translated|nothing is known about values of the required attribute"
"""Of functions that read a table at places that the input says, z3 is not asked."""


@pytest.fixture(scope="module")
def proofs():
    """What was found, filled as the tests run and printed when they are done."""
    found = {}
    yield found
    print("\n")
    for name, proof in found.items():
        counts = proof.counts
        told = f"{counts['proved']:4d} of {len(proof.instances):4d} graphs"
        print(f"{name:32} {proof.verdict:8} {told}{f'  {proof.why[:150]}' if proof.why else ''}")


@pytest.mark.parametrize("name", some_of([*FOUND], 2))
def test_a_rule_is_proved_or_it_is_known_why_not(name, proofs):
    rule = FOUND[name]
    proof = proofs[name] = prove(rule, elements=NUMBERS, instances=20, effort=EFFORT)
    assert proof.verdict != "refuted", str(proof)
    if proof:
        assert proof.counts["proved"] == len(proof.instances) >= 5
        assert not proof.why
        return
    if re.search(TABLES, proof.why):
        return
    assert any(re.search(reason, proof.why) for reason in REASONS), proof.why
    assert proof.counts["unknown"] <= len(proof.instances) / 2  # of a rule for whole numbers, most is decided
    if not proof.instances:  # no input of whole numbers was found; there are graphs that it takes
        taken = prove(rule, instances=4)
        assert taken.instances
        assert taken or "which rounds" in taken.why
