"""Seeds and failures of earlier runs, as Hypothesis handles those of its own tests."""

from __future__ import annotations

from collections.abc import Iterator

import networkx as nx
import pytest
from hypothesis import HealthCheck, Phase, core, given, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

from graphrewrite import define_op, op, rule
from graphrewrite.rewriting.digraph_rules import from_graphs
from graphrewrite.testing import assert_idempotent, check, digraphs, graphs
from graphrewrite.testing.known_failures import KnownFailures
from graphrewrite.testing.reduction import Case
from graphrewrite.testing.snapshot import snapshot
from graphrewrite.testing.strategies.inputs import batch_for
from graphrewrite.testing.subject import Subject

DROP = from_graphs(nx.DiGraph([("s", "x"), ("x", "e")]), nx.DiGraph([("s", "e")]), name="drop", interface=["s", "e"])


@define_op
def thrice(x):
    """Three times a value."""
    return 3 * x


def made(*, mended):
    """The same rule at the same place, before and after somebody mended it."""

    @rule
    def double(x):
        yield thrice(x)
        return op.add(op.add(x, x), x) if mended else op.add(x, x)

    return double


@pytest.fixture
def database() -> Iterator[InMemoryExampleDatabase]:
    """The database of a profile that is neither derandomised nor without one, as is that of most users."""
    before = settings.get_current_profile_name()
    kept = InMemoryExampleDatabase()
    settings.register_profile("user", database=kept, derandomize=False, max_examples=25)
    settings.load_profile("user")
    yield kept
    settings.load_profile(before)


def entries(database):
    return [entry for kept in database.data.values() for entry in kept]


@pytest.mark.filterwarnings("ignore::graphrewrite.testing.EvidenceWarning")  # one of two versions is never run
def test_a_failure_is_tried_first_until_the_rule_is_mended(database):
    first = check(made(mended=False))
    assert (first.verdict, len(entries(database))) == ("refuted", 1)
    again = check(made(mended=False))
    assert (again.graphs, again.seed, again.counterexample.seed) == (1, None, None)
    assert snapshot(again.counterexample.before) == snapshot(first.counterexample.before)
    assert entries(database), "it stays as long as it fails"
    assert check(made(mended=False), seed=3).seed == 3
    assert_idempotent(made(mended=False))  # another property, which what is kept says nothing of
    assert check(made(mended=False), on=graphs(ops=[thrice])).graphs > 0
    mended = check(made(mended=True))
    assert mended.verdict != "refuted"
    assert mended.graphs >= 25, "what was tried first is no part of the search"
    check(made(mended=True), on=graphs(ops=[thrice]))
    assert not entries(database)


def test_the_seed_is_that_of_the_option_and_then_nothing_is_kept(database, monkeypatch):
    monkeypatch.setattr(core, "global_force_seed", 5)
    report = check(made(mended=False))
    assert (report.verdict, report.seed) == ("refuted", 5)
    assert report.graphs == check(made(mended=False), seed=5).graphs
    monkeypatch.setattr(core, "global_force_seed", "any word")
    assert check(made(mended=False)).seed == check(made(mended=False)).seed
    assert not entries(database)


def test_phases_of_the_profile_hold(database):
    whole = check(made(mended=False), seed=0).counterexample.before
    settings.register_profile("user", database=database, derandomize=False, phases=[Phase.generate])
    settings.load_profile("user")
    assert len(check(made(mended=False), seed=0).counterexample.before) >= len(whole)
    check(made(mended=False))
    assert not entries(database)


@settings(max_examples=15, suppress_health_check=list(HealthCheck))
@given(graphs(every_type=True) | graphs(ops=[thrice, "concat"]) | digraphs(), st.integers(0, 255))
def test_what_is_kept_is_what_comes_back(database, graph, seed):
    database.data.clear()
    known = KnownFailures(Subject(DROP if type(graph) is nx.DiGraph else made(mended=False)), None, "preserved")
    known.database = database  # the settings in here are those of this test
    case = Case(graph, {} if type(graph) is nx.DiGraph else batch_for(graph, seed))
    known.keep(case)
    (again,) = known
    assert type(again.graph) is type(graph)
    assert snapshot(again.graph) == snapshot(graph)
    assert {n: (a.dtype, a.shape, a.tobytes()) for n, a in again.inputs.items()} == {
        n: (a.dtype, a.shape, a.tobytes()) for n, a in case.inputs.items()
    }
    known.forget(again)
    assert not list(known)


def test_entries_that_cannot_be_read_any_more_are_dropped(database):
    known = KnownFailures(Subject(made(mended=False)), None, "preserved")
    database.save(known.key, b"{}")
    database.save(known.key, b"\xff")
    assert check(made(mended=True)).verdict != "refuted"
    assert not entries(database)
