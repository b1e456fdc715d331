"""Look for a graph and inputs that refute a property, and take from what is found all that it does not need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from graphrewrite.graph import Graph
from graphrewrite.testing.reduction import reduced
from graphrewrite.testing.report import Report
from graphrewrite.testing.strategies import inputs_for
from graphrewrite.testing.subject import Refuted, Subject

__all__ = ["Graphs", "search"]

Graphs = st.SearchStrategy[Graph] | None
_LEAST = 25
"""Graphs to try, however quick the profile is."""
_FIRINGS = 20
"""How often a single rule should fire, if a few more graphs can do it."""
_TURNS = 8
"""How often to try again with as many graphs for what has not fired."""


def search(subject: Subject, on: Graphs, holds: Callable[[Report, Graph, Any], None], *, moderate: bool) -> Report:
    """Try graphs with inputs until one refutes the property; shrink that."""
    report = Report(subject.name, subject.names)
    profile = settings()
    checks = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large, HealthCheck.nested_given]
    phases = [p for p in profile.phases if p not in (Phase.explain, Phase.reuse)]
    quiet = settings(
        profile, database=None, deadline=None, phases=phases, report_multiple_bugs=False, suppress_health_check=checks
    )

    last: list[tuple[Graph, dict[str, np.ndarray]]] = []

    def examine(case: tuple[Graph, dict[str, np.ndarray]]) -> None:
        graph, inputs = case
        report.graphs += 1
        report.sizes[len(graph)] += 1
        report.ops.update(data["type"] for _, data in graph.nodes(data=True))
        try:
            holds(report, graph, inputs)
        except Refuted as refuted:
            report.counterexample = refuted.found
            last.append((graph, inputs))
            raise

    try:
        for turn in range(_TURNS):
            names = report.idle or subject.names  # nothing here knows how rarely a condition is met
            count = max(profile.max_examples, _LEAST) * (4 + len(names)) // 5
            where = subject.graphs(names) if on is None else on
            cases = where.flatmap(lambda g: st.tuples(st.just(g), inputs_for(g, moderate=moderate)))
            run = settings(quiet, max_examples=count)(given(cases)(examine))
            (run if turn == 0 else seed(turn)(run))()
            # One rule should fire often enough to show what is rare in it; of a set, each should fire.
            if not report.idle and (turn == 2 or len(subject.names) > 1 or report.fired.total() >= _FIRINGS):
                break
    except Refuted:
        _reduce(report, holds, *last[-1])
    except Flaky:  # the last counterexample stands: it holds at one time and not at another
        if report.counterexample is None:
            raise
    return report


def _reduce(report: Report, holds: Callable[[Report, Graph, Any], None], graph: Graph, inputs: dict[str, Any]) -> None:
    """Take from a counterexample what it does not need."""

    def refuted(smaller: Graph) -> bool:
        try:
            holds(Report(report.name), smaller, {name: inputs[name] for name in smaller.inputs})
        except Refuted as found:
            report.counterexample = found.found
            return True
        return False

    reduced(graph, refuted)
