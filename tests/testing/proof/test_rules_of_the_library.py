"""`prove` refutes no exact rule of `rules`, `lowering` and `hdl`, and says why it does not prove some."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

from graphrewrite import Rule, hdl, lowering, rules
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.testing import prove
from tests.support.profiles import some_of

pytestmark = pytest.mark.slow

NUMBERS = MANTISSAS | {"bool"}


def exact_rules():
    """All exact rules of three packages, by module and name."""
    found = {}
    for package in (rules, lowering, hdl):
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for rule in vars(importlib.import_module(info.name)).values():
                if isinstance(rule, Rule) and rule.keeps == "exact":
                    found[f"{rule.__module__}.{rule.name}"] = rule
    return found


FOUND = exact_rules()


def test_there_are_many():
    assert len(FOUND) > 100
    assert {name.split(".")[1] for name in FOUND} >= {"rules", "lowering"}


@pytest.mark.parametrize("name", some_of(sorted(FOUND)))
def test_a_rule_is_proved_or_it_is_said_why_not(name):
    proof = prove(FOUND[name], elements=NUMBERS, instances=2, effort=50_000)
    assert proof.verdict != "refuted", str(proof)
    if proof.verdict == "proved":
        assert proof.counts["proved"] == len(proof.instances) > 0
        assert not proof.why
        assert not proof.sampled
    elif proof.verdict == "unknown":
        assert proof.why
    else:
        assert proof.sampled
        assert all(proof.sampled.values())
