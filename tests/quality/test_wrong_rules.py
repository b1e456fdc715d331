"""Wrong rules, each with one fault that people make: `check` refutes every one, soon, with a small counterexample."""

from __future__ import annotations

import re
import textwrap
from typing import Any

import pytest

from graphrewrite import Graph, Rule, decline, op, rule
from graphrewrite.testing import assert_preserves, graphs
from tests.quality import wrong_rules
from tests.quality.families import Planted, planted_in
from tests.quality.measuring import SEEDS, Record, examine, measure, smallest, table
from tests.quality.wrong_rules.arithmetic import sign_error
from tests.quality.wrong_rules.fixed_point import ignored_saturation
from tests.support.profiles import some_of

pytestmark = pytest.mark.slow

WRONG = list(planted_in(wrong_rules))
RARELY: dict[str, int] = {
    "coincidences.borders_of_the_other_axis": 15,
    "guards.square_of_any_sign": 19,
    "structure.merges_constants_of_one_value": 19,
}
"""Those that some seeds do not refute: how many of twenty do, as measured."""
MISSED: dict[str, str] = {}
"""Those that no seed refutes, and why."""


def planted_or_missed(planted: Planted) -> Any:
    """A wrong rule as the parameter of a test that fails as long as it is missed."""
    reason = MISSED.get(planted.name)
    return pytest.param(planted, marks=[pytest.mark.xfail(reason=reason, strict=True)] if reason else [])


def possible(planted: Planted) -> int:
    """Nodes of the smallest graph that shows a fault."""
    if planted.smallest is None:
        assert isinstance(planted.subject, Rule), f"{planted.name}: say in SMALLEST how many nodes show it"
        return smallest(planted.subject.pattern)
    return planted.smallest


def record(name: str) -> Record:
    """What twenty seeds find of one wrong rule."""
    (planted,) = (p for p in WRONG if p.name == name)
    outcomes = tuple(examine(planted.subject, seed=seed, on=planted.on) for seed in SEEDS)
    return Record(name, outcomes, possible(planted))


def test_there_are_many_of_every_family():
    families = {planted.name.partition(".")[0] for planted in WRONG}
    assert len(WRONG) >= 200
    assert len(families) >= 10


def test_few_need_more_than_one_seed():
    assert {*RARELY, *MISSED} <= {planted.name for planted in WRONG}
    assert all(0 < count < len(SEEDS) for count in RARELY.values())
    assert len({*RARELY, *MISSED}) <= 0.01 * len(WRONG)


@pytest.mark.parametrize("planted", WRONG, ids=str)
def test_a_wrong_rule_says_what_its_fault_is(planted):
    assert planted.subject.__doc__
    assert planted.subject.__doc__.strip().endswith(".")


@pytest.mark.parametrize("planted", [planted_or_missed(p) for p in some_of(WRONG, 6)], ids=str)
def test_a_wrong_rule_is_refuted_by_a_small_graph(planted):
    seeds = SEEDS if planted.name in RARELY else SEEDS[:1]
    for outcome in (examine(planted.subject, seed=seed, on=planted.on) for seed in seeds):
        if outcome.verdict == "refuted":
            break
    assert outcome.verdict == "refuted", outcome.text
    assert outcome.nodes <= possible(planted) + 2, outcome.text
    assert outcome.seconds < 10, outcome.text


@pytest.mark.thorough
def test_wrong_rules_are_refuted_in_twenty_seeds():
    records = measure(record, [planted.name for planted in WRONG])
    print(table("wrong rules", records))
    always = sum(r.refuted == len(SEEDS) for r in records)
    assert always >= 0.99 * len(records)
    assert not {r.name: r.refuted for r in records if r.refuted < len(SEEDS) and r.name not in {*RARELY, *MISSED}}
    assert {r.name for r in records if not r.refuted} <= set(MISSED)
    assert all(r.is_small for r in records)
    assert max(r.seconds for r in records) < 10


@rule
def never_fires(x):
    yield op.relu(x)
    return decline("never")


def test_a_rule_that_never_fires_fails():
    with pytest.raises(AssertionError, match=r"never_fires never fired in \d+ graphs"):
        assert_preserves(never_fires)


def test_a_pattern_that_nothing_fits_says_so():
    @rule
    def impossible(x):
        yield op.linear(op.is_nan(x), x)
        return x

    with pytest.raises(ValueError, match="no graph that contains linear"):
        graphs(containing=impossible)


@pytest.mark.parametrize("fault", [sign_error, ignored_saturation], ids=lambda fault: fault.name)
def test_the_message_shows_both_graphs_inputs_and_the_difference(fault):
    with pytest.raises(AssertionError) as caught:
        assert_preserves(fault)
    text = str(caught.value)
    assert text.startswith(f"{fault.name}: refuted: output y")
    before, after = text.split("a test that fails:", maxsplit=1)[0].split("\nbefore")[1].split("after", maxsplit=1)
    assert "<- first difference" not in before
    assert "<- first difference" in after
    assert "inputs: x = np.array(" in text


@pytest.mark.parametrize("fault", [sign_error, ignored_saturation], ids=lambda fault: fault.name)
def test_the_counterexample_can_be_pasted_into_a_test(fault):
    with pytest.raises(AssertionError) as caught:
        assert_preserves(fault)
    pasted = re.search(r'Graph.parse\("""\n(.*?)"""', str(caught.value), re.DOTALL)
    assert pasted
    assert fault.find(Graph.parse(textwrap.dedent(pasted[1])))
