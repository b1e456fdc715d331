"""Search for a graph and inputs that refute a property, in rounds that any process can run, and reduce them."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from secrets import randbits
from typing import Any, TypeAlias

import networkx as nx
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from graphrewrite.errors import RuleError
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import check_digraph
from graphrewrite.testing.applying import Refuted
from graphrewrite.testing.elsewhere import run_elsewhere
from graphrewrite.testing.evidence import FEW, EvidenceWarning
from graphrewrite.testing.findings import Failure, Findings
from graphrewrite.testing.generation.demand import Unfit
from graphrewrite.testing.known_failures import KnownFailures
from graphrewrite.testing.reduction import Case, reduced
from graphrewrite.testing.report import Report
from graphrewrite.testing.seeds import repeatable_randomness, stated_seed
from graphrewrite.testing.strategies.inputs import batch_for
from graphrewrite.testing.strategies.picking import BYTE, Choices, making
from graphrewrite.testing.subject import Subject

__all__ = ["Graphs", "Holds", "Rounds", "demand", "search", "warn_of"]

Graphs: TypeAlias = "st.SearchStrategy[Any] | nx.DiGraph[Any] | None"
Holds = Callable[[Findings, Any, Mapping[str, Any]], None]
"""Raises `Refuted` if a property does not hold of a graph and inputs; notes in the findings what fired."""

_PURPOSE = "on which rules are tested"
_LEAST = 25
"""Graphs in a round, and in a search, however quick the profile is."""
_USUAL, _GROWING, _LONG, _MOST = 2, 3, 4, 8
"""Multiples of what the profile says: graphs to try if everything fires, if there still is more code to come upon, if
something fires seldom, and if something does not fire."""
_ATTEMPTS = 10
"""Times as many graphs are begun at most as are wanted: some end where nothing fits."""
_LOOKS = 20
"""Graphs to try for a clear difference, after one in which only signs of zeros or NaN differ."""


class _Found(BaseException):
    """A clear failure, on its way out of the search, of Hypothesis as well, which handles ordinary errors itself."""


@dataclass(frozen=True)
class Rounds:
    """The rounds of a search, each a pure function of its number and of what was learnt in the waves before.

    Attributes
    ----------
    seed : int
        Seed of the graphs.
    least : int
        Graphs to try, by the profile.
    """

    subject: Subject
    on: Graphs
    holds: Holds
    moderate: bool
    seed: int
    least: int

    @property
    def size(self) -> int:
        """Graphs in a round."""
        return -(-self.least // (self.least // max(_LEAST, math.isqrt(self.least))))

    def run(self, number: int, learnt: Findings, growing: Sequence[str] = ()) -> Findings:
        """Return what the graphs of a round show, up to the first that clearly refutes the property.

        Parameters
        ----------
        learnt : Findings
            Those of all rounds of the waves before.
        growing : sequence of str
            Members that did in the last wave what they had not done before.
        """
        found = Findings()
        rng = random.Random(f"{self.seed} {number}")
        self.subject.branches.is_followed = not self.subject.branches.have_run(learnt.reached)
        graphs = self._graphs(learnt, growing)
        make = making(graphs)
        with suppress(_Found), repeatable_randomness(self.seed + number):
            if make is None:
                self._draw(graphs, rng, found)
            else:
                for graph in self._made(make, rng):
                    self.examine(self._case(graph, rng.randrange(256)), found)
        return found

    def _made(self, make: Callable[[Choices], Any], rng: random.Random) -> Iterator[Any]:
        """Yield as many graphs as a round has; fewer where most attempts lead to none."""
        left = self.size
        for _ in range(_ATTEMPTS * self.size):
            with suppress(Unfit):
                yield make(Choices(rng.randbytes))
                left -= 1
            if not left:
                return

    def _draw(self, graphs: st.SearchStrategy[Any], rng: random.Random, found: Findings) -> None:
        """Examine what Hypothesis draws: any strategy that may be given."""

        def examine(drawn: tuple[Any, int]) -> None:
            self.examine(self._case(*drawn), found)

        run = given(self._numbered(graphs, rng))(examine)
        run = settings(
            max_examples=self.size,
            database=None,
            deadline=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )(run)
        with suppress(Unsatisfiable):
            seeded(rng.getrandbits(32))(run)()

    def _numbered(self, graphs: st.SearchStrategy[Any], rng: random.Random) -> st.SearchStrategy[tuple[Any, int]]:
        """Return a strategy of graphs with numbers of their inputs."""
        if self.on is None:
            # Beside a second draw most graphs would be copies of others, with other inputs.
            return graphs.map(lambda graph: (graph, rng.randrange(256)))
        return st.tuples(graphs, BYTE)  # there may be few graphs, or one, to be tried with many inputs

    def _graphs(self, learnt: Findings, growing: Sequence[str]) -> st.SearchStrategy[Any]:
        """Return a strategy of graphs: for rules that have not fired yet, or seldom, or that are growing, if any."""
        if isinstance(self.on, nx.DiGraph):
            return st.just(self.on)
        if self.on is not None:
            return self.on
        usual = learnt.graphs < _USUAL * self.least
        wanted = _seldom(self.subject, learnt, self.least) or (() if usual else growing)
        return self.subject.graphs(wanted or self.subject.names)

    def _case(self, graph: Any, number: int) -> Case:
        if not isinstance(graph, nx.Graph):
            raise RuleError(f"on gives {type(graph).__name__}; pass a strategy of graphs, such as graphs(ops=[…])")
        check_digraph(graph, _PURPOSE)
        if not isinstance(graph, Graph):
            return Case(graph)
        return Case(graph, batch_for(graph, number, moderate=self.moderate, given=self.subject.numbers))

    def examine(self, case: Case, found: Findings) -> None:
        """Note what a case shows."""
        found.count(case.graph)
        branches = self.subject.branches
        branches.take()
        try:
            self.holds(found, case.graph, case.inputs)
        except Refuted as refuted:
            shown = case if refuted.inputs is None else Case(case.graph, refuted.inputs)
            failure = Failure(shown, refuted.counterexample, refuted.kind)
            if not refuted.is_faint:
                found.failure = failure
                raise _Found from None
            found.faint = found.faint or failure
        finally:
            found.reached.update(branches.take())
            found.is_measured &= branches.is_measured


def search(
    subject: Subject,
    on: Graphs,
    holds: Holds,
    *,
    moderate: bool,
    seed: int | None = None,
    asked: str = "preserved",
    executor: Executor | None = None,
    terms: Mapping[str, str] | None = None,
) -> Report:
    """Try graphs with inputs until one refutes a property; make that smaller.

    Rounds come in waves. What was learnt is merged between waves, and in the order of the rounds' numbers, so that it
    does not matter where and when each round runs.

    Parameters
    ----------
    seed : int, optional
        Seed of the graphs. Where not given, it is as Hypothesis is told, by ``--hypothesis-seed`` or its profile, and
        else random: then known failures are tried first.
    executor : Executor, optional
        Runs the rounds of a wave; by default one after the other, here.
    terms : mapping of str to str, optional
        How it is compared, for the report.
    """
    if isinstance(on, nx.Graph):
        check_digraph(on, _PURPOSE)
    elif not isinstance(on, st.SearchStrategy | None):
        raise RuleError(
            f"on is a graph or a strategy of graphs, such as graphs(ops=[…]), not {type(on).__name__}; "
            "of several graphs, sampled_from([…]) is one"
        )
    profile = settings()
    stated = stated_seed(seed)
    # With a seed, it is what it was for that seed.
    known = KnownFailures(subject, on, asked) if stated is None else None
    chosen = randbits(32) if stated is None else stated
    rounds = Rounds(subject, on, holds, moderate, chosen, max(profile.max_examples, _LEAST))
    with repeatable_randomness(chosen):  # of each round as well, for it may run elsewhere
        repeated = None if known is None else _retried(rounds, known)
        found = repeated or _searched(rounds, executor)
        report = Report(
            subject.name,
            subject.names,
            found.graphs,
            found.fired,
            found.ops,
            found.sizes,
            asked=asked,
            rules=subject.transformation,
            seed=None if repeated else chosen,
            declined=found.declined,
            samples=found.samples,
            evidence={name: found.of(name) for name in subject.names},
            is_of_one_graph=isinstance(on, nx.DiGraph),
            never_run=subject.branches.never_run(found.reached) if found.is_measured else None,
            attacked=found.attacked,
            without_gradient=found.without_gradient,
            terms=dict(terms or {}),
        )
        failure = found.failure or found.faint
        if failure is not None:
            smallest = _smallest(holds, failure) if Phase.shrink in profile.phases else failure
            report.counterexample = replace(
                _completed(subject, smallest.counterexample), rules=subject.transformation, seed=report.seed
            )
            if known is not None:
                known.keep(smallest.case)
        return report


def demand(report: Report) -> None:
    """Raise unless a property holds; warn the caller of a public function if the evidence is thin."""
    if not report:
        raise AssertionError(str(report)) from None
    warn_of(report, callers=3)


def warn_of(report: Report, *, callers: int = 1) -> None:
    """Give a warning if a property holds, and little was compared.

    Parameters
    ----------
    callers : int
        How many calls above the function the warning is placed.
    """
    if report and report.verdict != report.asked:
        warnings.warn("\n".join((report.headline, *report.advice)), EvidenceWarning, stacklevel=callers + 1)


def _retried(rounds: Rounds, known: KnownFailures) -> Findings | None:
    """Return what the first of the known failures shows that still is one; forget those that are none."""
    for case in known:
        found = Findings()
        with suppress(_Found):
            rounds.examine(case, found)
        known.forget(case)  # it is kept again, as small as it can be now
        if found.failure or found.faint:
            return found
    return None


def _searched(rounds: Rounds, executor: Executor | None) -> Findings:
    """Run rounds until one refutes the property, or for long enough that rare cases have occurred."""
    least = rounds.least
    found, number, growing = Findings(), 0, rounds.subject.names
    wave = max(1, 2 * math.isqrt(least) // 5)  # the more there is to do, the more may be done at once
    while number * rounds.size < _budget(rounds, found, growing):
        known = found.reached.keys()
        numbers = range(number, number + wave)
        run = partial(rounds.run, learnt=found, growing=growing)
        for each in (
            map(run, numbers) if executor is None else run_elsewhere(run, numbers, executor, rounds.subject.name)
        ):
            found = found.then(each)
            if found.failure is not None or found.looked >= _LOOKS:
                return found
        number += wave
        growing = rounds.subject.running(found.reached.keys() - known)
        if not found.graphs:
            raise RuleError("on gave no graph at all; pass a strategy that rejects less, such as graphs(ops=[…])")
    return found


def _budget(rounds: Rounds, found: Findings, growing: Sequence[str]) -> int:
    """Return how many graphs to try: more of many members, and where some fire seldom or there is more to come upon."""
    subject, least = rounds.subject, rounds.least
    count = max(_USUAL * least, _for_each(rounds, subject.names))
    if not found.graphs:
        return count
    seldom = _seldom(subject, found, least)
    if not seldom:
        return count + (_GROWING - _USUAL) * _for_each(rounds, growing) if growing else count
    times = _MOST if any(not found.fired[name] for name in seldom) else _LONG
    return count + (times - _USUAL) * _for_each(rounds, seldom)


def _for_each(rounds: Rounds, names: Sequence[str]) -> int:
    """Return how many graphs are as much for each of some members as so many for one."""
    weight = rounds.subject.weight(names) if rounds.on is None else len(names)
    return rounds.least * (4 + weight) // 5


def _seldom(subject: Subject, found: Findings, least: int) -> list[str]:
    """Return the members that have not fired, or else those that did so seldom, or on hardly anything compared."""
    idle = [name for name in subject.names if not found.fired[name]]
    often = -(-least // len(subject.names))
    return idle or [n for n in subject.names if found.fired[n] < often or found.of(n).judged < FEW]


def _smallest(holds: Holds, failure: Failure) -> Failure:
    """Return the same failure of the smallest case that shows it."""
    smallest = failure

    def is_refuted(case: Case) -> bool:
        nonlocal smallest
        try:
            holds(Findings(), case.graph, case.inputs)
        except Refuted as refuted:
            if not failure.kind.startswith(refuted.kind):
                return False
            smallest = Failure(case, refuted.counterexample, failure.kind)
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
