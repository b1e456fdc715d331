"""Properties of rules, passes and lowerings, each tested by one line."""

from __future__ import annotations

from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.testing.comparison import compare, interface
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.report import Report
from graphrewrite.testing.search import Graphs, search
from graphrewrite.testing.subject import Refuted, Subject, Transformation, applied
from graphrewrite.text import to_text

__all__ = ["assert_idempotent", "assert_preserves", "assert_refines", "check"]


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
    subject = Subject(rules)
    kept = subject.keeps if keeps is None else keeps

    def holds(report: Report, graph: Graph, inputs: Any) -> None:
        made, fired = applied(subject, graph)
        report.fired += fired
        if not fired:
            return
        again, _ = applied(subject, graph)
        if to_text(again, whole=True) != to_text(made, whole=True) or list(again) != list(made):
            raise Refuted(Counterexample(graph, made, f"{subject.name} gave two different graphs for one"))
        old, new = interface(graph), interface(made)
        for kind, ports in old.items():
            if new[kind] != ports:
                raise Refuted(Counterexample(graph, made, f"the {kind} were {ports} and became {new[kind]}"))
        found = compare(graph, made, inputs, keeps=kept, tolerance=tolerance)
        if found is not None:
            raise Refuted(found)

    return search(subject, on, holds, moderate=kept != "exact" or tolerance is not None)


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
    subject = Subject(rules)

    def holds(report: Report, graph: Graph, inputs: Any) -> None:
        made, fired = applied(subject, graph)
        report.fired += fired
        again, _ = applied(subject, made)
        if again != made:
            raise Refuted(Counterexample(made, again, f"{subject.name} changes its own result"))

    report = search(subject, on, holds, moderate=True)
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
