"""Search for a graph and inputs that refute a property, and reduce them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from secrets import randbits
from typing import Any, TypeAlias

import networkx as nx
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from graphrewrite.errors import RuleError
from graphrewrite.graph import Graph
from graphrewrite.testing.applying import Refuted
from graphrewrite.testing.reduction import Case, reduced
from graphrewrite.testing.report import Report
from graphrewrite.testing.strategies.inputs import batch_for
from graphrewrite.testing.subject import Subject

__all__ = ["Graphs", "Holds", "demand", "search"]

Graphs: TypeAlias = "st.SearchStrategy[Any] | nx.DiGraph[Any] | None"
Holds = Callable[[Report, Any, Mapping[str, Any]], None]
"""Raises `Refuted` if a property does not hold of a graph and inputs; notes in the report what fired."""

_LEAST = 25
"""Graphs to try, however quick the profile is."""
_TURNS = 8
"""Number of tries, with as many graphs each, until all rules have fired often enough."""
_PATIENT = 2
"""Turns for one rule."""
_LOOKS = 20
"""Graphs to try for a clear difference, after one in which only signs of zeros or NaN differ."""
_SAMPLES = 20
_SEEDS = 2**32


class _Failure(BaseException):
    """A counterexample, on its way out of Hypothesis, which handles ordinary errors itself."""

    def __init__(self, refuted: Refuted, case: Case) -> None:
        self.refuted, self.case = refuted, case


def search(
    subject: Subject, on: Graphs, holds: Holds, *, moderate: bool, seed: int | None = None, asked: str = "preserved"
) -> Report:
    """Try graphs with inputs until one refutes a property; make that smaller.

    Parameters
    ----------
    seed : int, optional
        Seed of the graphs; by default random, or fixed if the profile of Hypothesis is derandomised.
    """
    if not isinstance(on, nx.DiGraph | st.SearchStrategy | None):
        raise RuleError(
            f"on is a graph or a strategy of graphs, such as graphs(ops=[…]), not {type(on).__name__}; "
            "of several graphs, sampled_from([…]) is one"
        )
    profile = settings()
    if seed is None:
        seed = 0 if profile.derandomize else randbits(32)
    report = Report(subject.name, subject.names, asked=asked, rules=subject.transformation, seed=seed)
    faint: list[tuple[_Failure, int]] = []

    def examine(case: tuple[Any, int]) -> None:
        graph, number = case
        if not isinstance(graph, nx.DiGraph):
            raise RuleError(f"on gives {type(graph).__name__}; pass a strategy of graphs, such as graphs(ops=[…])")
        inputs = batch_for(graph, number, moderate=moderate) if isinstance(graph, Graph) else {}
        _count(report, graph)
        try:
            holds(report, graph, inputs)
        except Refuted as refuted:
            failure = _Failure(refuted, Case(graph, inputs))
            if not refuted.is_faint:
                raise failure from None
            faint.append((failure, report.graphs + _LOOKS))
        if faint and report.graphs >= faint[0][1]:
            raise faint[0][0]

    try:
        _try_graphs(subject, on, examine, report, max(profile.max_examples, _LEAST))
        if faint:
            raise faint[0][0]
    except _Failure as failure:
        smallest = _smallest(holds, failure)
        report.counterexample = replace(_completed(subject, smallest), rules=subject.transformation, seed=seed)
    return report


def demand(report: Report) -> None:
    """Raise unless a property holds."""
    if not report:
        raise AssertionError(str(report)) from None


def _try_graphs(
    subject: Subject, on: Graphs, examine: Callable[[tuple[Any, int]], None], report: Report, least: int
) -> None:
    """Draw graphs until all members have fired, and for long enough that rare cases have occurred."""
    assert report.seed is not None
    for turn in range(_TURNS):
        names = report.idle or subject.names  # all of them again: a condition of a rule may hold rarely
        count = least * (4 + len(names)) // 5
        strategy = st.just(on) if isinstance(on, nx.DiGraph) else subject.graphs(names) if on is None else on
        run = given(st.tuples(strategy, st.integers(0, 255)))(examine)
        run = settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )(run)
        seeded((report.seed * _TURNS + turn) % _SEEDS)(run)()
        if not report.idle and (turn + 1 >= _PATIENT or len(subject.names) > 1):
            break


def _count(report: Report, graph: Any) -> None:
    report.graphs += 1
    report.sizes[len(graph)] += 1
    report.ops.update(str(data.get("type", "")) for data in graph._node.values())
    report.samples.append(graph)
    if len(report.samples) > _SAMPLES:
        del report.samples[0]


def _smallest(holds: Holds, failure: _Failure) -> Any:
    """Return the counterexample of the smallest case that shows the same failure."""
    smallest = failure.refuted.counterexample

    def is_refuted(case: Case) -> bool:
        nonlocal smallest
        try:
            holds(Report(""), case.graph, case.inputs)
        except Refuted as refuted:
            if not failure.refuted.kind.startswith(refuted.kind):
                return False
            smallest = refuted.counterexample
            return True
        return False

    reduced(failure.case, is_refuted)
    return smallest


def _completed(subject: Subject, failure: Any) -> Any:
    """Add the result of a transformation that the verifier interrupted, if it can be computed without it."""
    if failure.after is not None:
        return failure
    try:
        return replace(failure, after=subject.apply_quickly(failure.before.copy()))
    except Exception:  # it failed before, and is known to
        return failure
