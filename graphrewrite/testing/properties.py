"""Properties of rules, passes and lowerings, each tested by one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.passes import Pass
from graphrewrite.rewrite import GraphRewriting
from graphrewrite.rule import Rule
from graphrewrite.testing.comparison import compare, interface, snapshot
from graphrewrite.testing.reduction import reduced
from graphrewrite.testing.report import Counterexample, Report
from graphrewrite.testing.strategies import graphs, inputs_for
from graphrewrite.text import to_text
from graphrewrite.trace import trace
from graphrewrite.verify import verify

__all__ = ["assert_idempotent", "assert_preserves", "assert_refines", "check"]

Single = Rule | GraphRewriting | Pass
Transformation = Single | Iterable[Single] | Callable[[Graph], Graph]
"""A rule, a pass, a rule set, or a function from graph to graph."""
Graphs = st.SearchStrategy[Graph] | None
_LEAST = 25
"""Graphs to try, however quick the profile is."""
_FIRINGS = 20
"""How often a single rule should fire, if a few more graphs can do it."""
_TURNS = 8
"""How often to try again with as many graphs for what has not fired."""


class _Refuted(AssertionError):
    def __init__(self, found: Counterexample) -> None:
        self.found = found
        super().__init__(str(found))


class _Subject:
    """A transformation in one form, whatever it was given as."""

    def __init__(self, given_: Transformation) -> None:
        self.members: tuple[Single, ...] = ()
        if isinstance(given_, Rule | GraphRewriting | Pass):
            self.members = (given_,)
        elif isinstance(given_, Iterable):
            self.members = tuple(given_)
        else:
            self.function = given_
        alone = self.members[0].name if len(self.members) == 1 else f"{len(self.members)} rules"
        self.name = getattr(given_, "__name__", alone)
        kept = {getattr(m, "keeps", "exact") for m in self.members}
        self.keeps = "exact" if kept <= {"exact"} else "rounding"

    def apply(self, graph: Graph) -> tuple[Graph, Counter[str]]:
        if not self.members:
            made = self.function(graph)
            return made, Counter({self.name: 1} if made != graph else {})
        done = trace(graph, self.members, verify=True, limit=20 + 5 * len(graph))
        return done.graph, Counter(dict.fromkeys(done.counts, 1))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(m.name for m in self.members) or (self.name,)

    def graphs(self, names: Iterable[str]) -> st.SearchStrategy[Graph]:
        """Graphs on which these members may fire."""
        wanted = set(names)
        chosen = [m for m in self.members if m.name in wanted]
        kinds = [graphs(containing=m) for m in chosen if isinstance(m, Rule)]
        if len(kinds) < len(chosen) or not kinds:
            kinds.append(graphs())
        return st.one_of(kinds)


def _search(subject: _Subject, on: Graphs, holds: Callable[[Report, Graph, Any], None], *, moderate: bool) -> Report:
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
        except _Refuted as refuted:
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
    except _Refuted:
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
        except _Refuted as found:
            report.counterexample = found.found
            return True
        return False

    reduced(graph, refuted)


def _applied(subject: _Subject, graph: Graph) -> tuple[Graph, Counter[str]]:
    """Apply a transformation to a graph that must stay as it is; the result must be well formed."""
    old = snapshot(graph)
    try:
        made, fired = subject.apply(graph)
    except GraphRewriteError as error:
        raise _Refuted(Counterexample(graph, None, f"{subject.name} failed: {error}")) from None
    if snapshot(graph) != old:
        raise _Refuted(Counterexample(graph, made, f"{subject.name} changed the graph that it was given"))
    try:
        verify(made)
    except GraphRewriteError as error:
        reason = f"{subject.name} gives a graph that is not well formed: {error}"
        raise _Refuted(Counterexample(graph, None, reason)) from None
    return made, fired


def check(
    rules: Transformation, *, on: Graphs = None, tolerance: float | None = None, keeps: str | None = None
) -> Report:
    """Return a report on whether a transformation preserves what graphs compute; it does not raise.

    Parameters
    ----------
    rules : Rule, Pass, iterable of them, or callable
        What to test.
    on : SearchStrategy of Graph, optional
        Where; graphs that contain the rule's own pattern where not given.
    tolerance : float, optional
        An absolute bound, instead of what the rule declares.
    keeps : {"exact", "rounding", "assumes"}, optional
        Instead of what the rule declares.

    Returns
    -------
    Report
        True if nothing was refuted and everything fired.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def swap_difference(x, y):
    ...     "Wrong: a difference does not commute."
    ...     yield op.sub(x, y)
    ...     return op.neg(op.add(x, y))
    >>> report = check(swap_difference)
    >>> report.verdict
    'refuted'
    >>> sorted(report.counterexample.before)
    ['sub_1', 'x', 'y']
    """
    subject = _Subject(rules)
    kept = subject.keeps if keeps is None else keeps

    def holds(report: Report, graph: Graph, inputs: Any) -> None:
        made, fired = _applied(subject, graph)
        report.fired += fired
        if not fired:
            return
        again, _ = _applied(subject, graph)
        if to_text(again, whole=True) != to_text(made, whole=True) or list(again) != list(made):
            raise _Refuted(Counterexample(graph, made, f"{subject.name} gave two different graphs for one"))
        old, new = interface(graph), interface(made)
        for kind, ports in old.items():
            if new[kind] != ports:
                raise _Refuted(Counterexample(graph, made, f"the {kind} were {ports} and became {new[kind]}"))
        found = compare(graph, made, inputs, keeps=kept, tolerance=tolerance)
        if found is not None:
            raise _Refuted(found)

    return _search(subject, on, holds, moderate=kept != "exact" or tolerance is not None)


def assert_preserves(rules: Transformation, on: Graphs = None, tolerance: float | None = None) -> None:
    """Raise unless a transformation preserves what graphs compute, and fires.

    The result must be equal bit for bit (NaN equal to NaN) where the rule keeps ``"exact"``, and else
    equal within float rounding; inputs, outputs and types kept, the argument untouched, the same result twice,
    and that accepted by the verifier.

    Parameters
    ----------
    rules : Rule, Pass, iterable of them, or callable
        What to test.
    on : SearchStrategy of Graph, optional
        Where; graphs that contain the rule's own pattern where not given.
    tolerance : float, optional
        An absolute bound, instead of what the rule declares.

    Raises
    ------
    AssertionError
        With both graphs as text, the inputs, and the first output that differs; or with the rules that never fired.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def add_nothing(x):
    ...     "Wrong: -0 + 0 is +0."
    ...     yield op.add(x, 0)
    ...     return x
    >>> try:
    ...     assert_preserves(add_nothing)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    add_nothing: refuted: output y[0] was np.float32(0.0) and became np.float32(-0.0)
    """
    report = check(rules, on=on, tolerance=tolerance)
    if not report:
        raise AssertionError(str(report)) from None


def assert_idempotent(rules: Transformation, on: Graphs = None) -> None:
    """Raise unless applying a transformation to its own result changes nothing.

    Parameters
    ----------
    rules : Rule, Pass, iterable of them, or callable
        What to test.
    on : SearchStrategy of Graph, optional
        Where; graphs that contain the rule's own pattern where not given.

    Raises
    ------
    AssertionError
        With the result, and the result of the result.

    Examples
    --------
    >>> from graphrewrite.rules import drop_identity
    >>> assert_idempotent(drop_identity)
    """
    subject = _Subject(rules)

    def holds(report: Report, graph: Graph, inputs: Any) -> None:
        made, fired = _applied(subject, graph)
        report.fired += fired
        again, _ = _applied(subject, made)
        if again != made:
            raise _Refuted(Counterexample(made, again, f"{subject.name} changes its own result"))

    report = _search(subject, on, holds, moderate=True)
    if not report:
        raise AssertionError(str(report)) from None


def assert_refines(lowering: Transformation, on: Graphs = None, *, error: float) -> None:
    """Raise unless what a lowering gives computes the same within a stated error, on inputs between -8 and 8.

    Parameters
    ----------
    lowering : Rule, Pass, iterable of them, or callable
        What to test.
    on : SearchStrategy of Graph, optional
        Where.
    error : float
        The greatest difference of any output.

    Raises
    ------
    AssertionError
        With both graphs as text, the inputs, and the first output that differs by more.

    Examples
    --------
    >>> from graphrewrite import FixedPoint, op, rule
    >>> @rule
    ... def sigmoid_as_line(x):
    ...     "The logistic function, very roughly."
    ...     yield op.sigmoid(x)
    ...     return op.clip(op.add(op.mul(x, 0.25), 0.5), low=0, high=1)
    >>> assert_refines(sigmoid_as_line, graphs(containing=sigmoid_as_line, ops=[]), error=0.125)
    """
    assert_preserves(lowering, on, tolerance=error)
