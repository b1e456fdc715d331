"""Properties of rules, passes and lowerings, each tested by one line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass
from math import prod
from typing import Any

from graphrewrite.errors import RuleError
from graphrewrite.graph import Graph
from graphrewrite.rewriting.rule.tracing import KEEPS
from graphrewrite.testing.applying import Applied, Refuted, applied, check_interface, check_repeatable
from graphrewrite.testing.comparison import RANGE, moderated, undefined
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.engines import check_by_engine, engine_of
from graphrewrite.testing.evidence import collect
from graphrewrite.testing.failure.claims import IDEMPOTENT
from graphrewrite.testing.findings import Findings
from graphrewrite.testing.meaning import Meaning
from graphrewrite.testing.own_ops import check_own_ops
from graphrewrite.testing.report import Report
from graphrewrite.testing.search import Graphs, demand, search
from graphrewrite.testing.subject import Subject, Transformation
from graphrewrite.testing.value_checks import check_meaning, check_values, check_worst
from graphrewrite.types import Stream

__all__ = ["Idempotent", "Preserving", "assert_idempotent", "assert_preserves", "assert_refines", "check"]

_INSIDE, _ALONE = 20, 8
"""One in so many graphs of streams is compared in time inside of networks, and one as it stands."""
_SHARE = 4
"""One in so many graphs is transformed twice as it is; the others a second time built in another order."""


def check(
    rules: Transformation,
    *,
    on: Graphs = None,
    tolerance: float | None = None,
    keeps: str | None = None,
    meaning: Callable[[Any], Any] | None = None,
    interval: float | None = None,
    against: str | None = None,
    adversarial: bool = False,
    seed: int | None = None,
    executor: Executor | None = None,
) -> Report:
    """Return a report on whether a transformation preserves what graphs compute; it does not raise.

    Parameters
    ----------
    rules : Rule, Pass, iterable of them, or callable
        What to test.
    on : SearchStrategy of Graph, or Graph, optional
        Graphs to test on; by default graphs that contain the rule's own pattern.
    tolerance : float, optional
        An absolute bound, instead of what the rule declares.
    keeps : {"exact", "rounding", "assumes"}, optional
        Instead of what the rule declares. Where that is not exact, inputs are compared that are between -8 and 8.
    meaning : callable, optional
        A function from a graph to what must stay as it is, instead of the values that graphs compute: the language of
        a state machine, what can be reached. A graph of which it raises an error, or gives None before and after,
        shows nothing.
    interval : float, optional
        By what factor a frame may take more cycles in a graph of streams, instead of what the rule declares.
    against : {"onnxruntime", "c", "ghdl"}, optional
        An engine that computes the graphs as well: ONNX models or C of both, equal up to rounding, or VHDL of a result
        of streams, equal to its prediction in values and cycles. What it cannot compute does not count as compared.
    adversarial : bool
        Whether to look along the gradient of the difference for inputs on which it is greatest, of what keeps values
        within a bound. Of graphs without a gradient only the drawn inputs are compared, and the report says so.
    seed : int, optional
        Seed of the graphs; by default random, or fixed if the profile of Hypothesis is derandomised.
    executor : Executor, optional
        Runs parts of the search at once: of `concurrent.futures`, or anything with its ``submit``. The report for a
        seed is the same however they are spread. What is tested must be what a module defines.

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

    >>> import networkx as nx
    >>> wrong = rule.from_graphs(nx.DiGraph([("f", "g"), ("g", "h")]), nx.DiGraph([("f", "h")]), name="inline",
    ...                          interface=["f", "h"])
    >>> check(wrong, meaning=nx.number_of_nodes).verdict
    'refuted'
    """
    return _preserving(
        rules,
        on,
        tolerance=tolerance,
        keeps=keeps,
        meaning=meaning,
        interval=interval,
        against=against,
        adversarial=adversarial,
        seed=seed,
        asked="preserved",
        executor=executor,
    )


def _preserving(
    rules: Transformation,
    on: Graphs,
    *,
    tolerance: float | None,
    keeps: str | None = None,
    meaning: Callable[[Any], Any] | None = None,
    interval: float | None = None,
    against: str | None = None,
    adversarial: bool = False,
    seed: int | None,
    asked: str,
    executor: Executor | None = None,
) -> Report:
    subject = Subject(rules, meaning)
    if keeps is not None and keeps not in KEEPS:
        raise RuleError(f"keeps is {', '.join(map(repr, KEEPS[:-1]))} or {KEEPS[-1]!r}, not {keeps!r}")
    for name, bound in (("tolerance", tolerance), ("interval", interval)):
        if bound is not None and not bound >= 0:
            raise RuleError(f"{name} is a number that is not negative, not {bound!r}")
    kept = subject.keeps if keeps is None else keeps
    moderate = kept != "exact" or tolerance is not None
    if adversarial and (not moderate or meaning is not None):
        why = "a meaning has no gradient" if meaning is not None else "here every bit counts"
        raise RuleError(f"adversarial looks for the greatest error of values within a bound, and {why}")
    told = None if meaning is None else Meaning(meaning, tolerance)
    if against is not None:
        engine_of(against)
    holds = Preserving(subject, kept, tolerance, told, interval, against, adversarial)
    terms = {"against": against} if against is not None else {}
    if moderate and meaning is None:
        error = "float rounding" if tolerance is None else f"{tolerance:g}"
        terms["within"] = f"{error}, of float inputs between -{RANGE} and {RANGE}"
    return search(subject, on, holds, moderate=moderate, seed=seed, asked=asked, executor=executor, terms=terms)


@dataclass(frozen=True)
class Preserving:
    """That what a graph computes is preserved."""

    subject: Subject
    keeps: str
    tolerance: float | None
    meaning: Meaning | None = None
    interval: float | None = None
    against: str | None = None
    adversarial: bool = False

    def __call__(self, found: Findings, graph: Any, inputs: Mapping[str, Any]) -> None:
        """Refute a result that differs by more than it may."""
        check_own_ops(graph, inputs)
        done = _applied(self.subject, found, graph, inputs)
        if done is None:
            return
        check_own_ops(done.graph, inputs)
        for name, reasons in done.declined.items():
            found.decline(name, reasons)
            found.of(name).refuse(self.subject.facts(name, graph))
        if not done.changed:
            return
        found.fired.update(done.fired.keys())
        check_interface(self.subject, graph, done)
        check_repeatable(self.subject, graph, done, rebuilding=found.graphs % _SHARE != 1)
        failure, meaning = "", None
        if self.meaning is not None:
            meaning, failure = check_meaning(self.meaning, graph, done.graph)
        elif isinstance(graph, Graph):
            failure = check_values(graph, done.graph, inputs, keeps=self.keeps, tolerance=self.tolerance)
            if self.against is not None:  # what becomes of NaN and infinities in integers is an engine's own
                asked = (graph, done.graph, moderated(inputs), self.tolerance)
                failure = failure or check_by_engine(self.against, *asked)
            if self.adversarial and found.graphs and not failure:  # a smaller case has its inputs already
                check_worst(found, graph, done.graph, inputs, keeps=self.keeps, tolerance=self.tolerance)
            if done.fired and any(isinstance(graph.result_type(port), Stream) for port in graph.inputs):
                self._check_time(found, graph, done)
        else:
            for name in done.fired:
                found.of(name).formed += 1
            return
        collect(found.evidence, done.firings, failure=failure, unchanged=done.new == done.old, meaning=meaning)

    def _check_time(self, found: Findings, graph: Graph, done: Applied) -> None:
        """Refute a result that is worse in time; that takes longer to tell than values do, so that a share is asked."""
        # Graphs of streams have loaded what it needs, which takes a while.
        from graphrewrite.testing.timing import compare_times

        timed = min(found.of(name).timed for name in done.fired)
        is_inside = found.graphs <= 1 or timed <= found.graphs // _INSIDE
        if not is_inside and found.graphs % _ALONE:
            return
        declared = prod(self.subject.intervals.get(name, 1.0) ** count for name, count in done.fired.items())
        designs, slower = compare_times(
            graph,
            done.graph,
            self.subject.apply_quickly if is_inside and not self.subject.is_deaf else None,
            interval=declared if self.interval is None else self.interval,
        )
        if slower is not None:
            example = Counterexample(slower.before, slower.after, slower.reason, claim=slower.claim)
            raise Refuted(example, slower.kind)
        for name in done.fired:
            found.of(name).timed += bool(designs) and is_inside


def _applied(subject: Subject, found: Findings, graph: Any, inputs: Mapping[str, Any]) -> Applied | None:
    """Apply a transformation; return None if it raised an error on a graph that has no values either."""
    try:
        return applied(subject, graph)
    except Refuted as refuted:
        reason = undefined(graph, inputs) if refuted.is_error else ""
        if not reason:
            raise
        for name in subject.named_in(refuted.counterexample.reason):
            found.fired[name] += 1
            found.of(name).failed[reason] += 1
        return None


def assert_preserves(
    rules: Transformation,
    on: Graphs = None,
    tolerance: float | None = None,
    *,
    meaning: Callable[[Any], Any] | None = None,
    interval: float | None = None,
    against: str | None = None,
    adversarial: bool = False,
    seed: int | None = None,
    executor: Executor | None = None,
) -> None:
    """Raise unless a transformation preserves what graphs compute, and fires.

    The result must be equal bit for bit (NaN equal to NaN) where the rule keeps ``"exact"``, and else
    equal within float rounding, with state in each cycle of a sequence; of streams there is no deadlock that was not
    there, and no longer interval; inputs, outputs and types kept, the argument untouched, the same result twice, and
    that accepted by the verifier.

    Parameters
    ----------
    rules : Rule, Pass, iterable of them, or callable
        What to test.
    on : SearchStrategy of Graph, or Graph, optional
        Graphs to test on; by default graphs that contain the rule's own pattern.
    tolerance, meaning, interval, against, adversarial, seed, executor : optional
        As for `check`.

    Raises
    ------
    AssertionError
        With both graphs as text, the inputs, and the first output that differs; or with the rules that never fired.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> @rule
    ... def drop_sign(x):
    ...     "Wrong below zero."
    ...     yield op.abs(x)
    ...     return op.identity(x)
    >>> try:
    ...     assert_preserves(drop_sign)
    ... except AssertionError as error:
    ...     print(str(error).splitlines()[0])
    drop_sign: refuted: output y... was ... and became -...
    """
    demand(
        check(
            rules,
            on=on,
            tolerance=tolerance,
            meaning=meaning,
            interval=interval,
            against=against,
            adversarial=adversarial,
            seed=seed,
            executor=executor,
        )
    )


def assert_idempotent(rules: Transformation, on: Graphs = None, *, seed: int | None = None) -> None:
    """Raise unless applying a transformation to its own result changes nothing.

    Parameters
    ----------
    rules : Rule, Pass, iterable of them, or callable
        What to test.
    on : SearchStrategy of Graph, or Graph, optional
        Graphs to test on; by default graphs that contain the rule's own pattern.
    seed : int, optional
        Seed of the graphs; by default random, or fixed if the profile of Hypothesis is derandomised.

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
    demand(search(subject, on, Idempotent(subject), moderate=True, seed=seed, asked="idempotent"))


@dataclass(frozen=True)
class Idempotent:
    """That a transformation changes nothing in its own result."""

    subject: Subject

    def __call__(self, found: Findings, graph: Any, inputs: Mapping[str, Any]) -> None:
        """Refute a result that is changed again."""
        done = _applied(self.subject, found, graph, inputs)
        if done is None:
            return
        for name, reasons in done.declined.items():
            found.decline(name, reasons)
        found.fired.update(done.fired.keys())
        again = applied(self.subject, done.graph)
        if again.new != done.new:
            reason = f"{self.subject.name} changes its own result"
            raise Refuted(Counterexample(done.graph, again.graph, reason, claim=IDEMPOTENT), "idempotent")
        for name in done.fired:
            found.of(name).note(firing for firing in done.firings if firing.member == name)


def assert_refines(
    lowering: Transformation,
    on: Graphs = None,
    *,
    error: float,
    against: str | None = None,
    adversarial: bool = False,
    seed: int | None = None,
) -> None:
    """Raise unless what a lowering gives computes the same within a stated error, on inputs between -8 and 8.

    Parameters
    ----------
    lowering : Rule, Pass, iterable of them, or callable
        What to test.
    on : SearchStrategy of Graph, or Graph, optional
        Where.
    error : float
        The greatest difference of any output.
    against : {"onnxruntime", "c", "ghdl"}, optional
        As for `check`; what an engine gives for both graphs differs by no more than this, and rounding.
    adversarial : bool
        As for `check`.
    seed : int, optional
        Seed of the graphs; by default random, or fixed if the profile of Hypothesis is derandomised.

    Raises
    ------
    AssertionError
        With both graphs as text, the inputs, and the first output that differs by more.

    Examples
    --------
    >>> from graphrewrite import op, rule
    >>> from graphrewrite.testing import graphs
    >>> @rule
    ... def sigmoid_as_line(x):
    ...     "The logistic function, very roughly."
    ...     yield op.sigmoid(x)
    ...     return op.clip(op.add(op.mul(x, 0.25), 0.5), low=0, high=1)
    >>> assert_refines(sigmoid_as_line, graphs(containing=sigmoid_as_line, ops=[]), error=0.125)
    """
    demand(
        _preserving(lowering, on, tolerance=error, against=against, adversarial=adversarial, seed=seed, asked="refined")
    )
