"""How surely, how fast and how small the faults of planted rules are found."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from statistics import mean
from typing import Any

from hypothesis import settings

from graphrewrite.rewriting.pattern import Every, Literal, Pattern, Repeated
from graphrewrite.testing import check

__all__ = ["SEEDS", "Outcome", "Record", "examine", "measure", "smallest", "table"]

SEEDS = range(20)
"""What a thorough measurement tries."""
BUDGET = settings(max_examples=100, deadline=None, database=None, derandomize=True)
"""What every user of Hypothesis has by default, whatever profile the run has."""


@dataclass(frozen=True)
class Outcome:
    """What became of one call of `check`.

    Attributes
    ----------
    verdict : str
        The report's.
    nodes : int or None
        Of the counterexample.
    graphs : int
        How many were tried.
    seconds : float
        How long a processor worked for it: what else the machine does changes nothing.
    text : str
        The report, or why it was refuted and by which graph.
    """

    verdict: str
    nodes: int | None
    graphs: int
    seconds: float
    text: str


@dataclass(frozen=True)
class Record:
    """The outcomes of one rule, seed by seed."""

    name: str
    outcomes: tuple[Outcome, ...]
    smallest: int | None = None

    @property
    def refuted(self) -> int:
        """In how many seeds it was refuted."""
        return sum(o.verdict == "refuted" for o in self.outcomes)

    @property
    def least(self) -> int | None:
        """Nodes of the smallest counterexample: that of any seed, or what is known to be possible."""
        found = [o.nodes for o in self.outcomes if o.nodes is not None]
        return min([*found, self.smallest or 1 << 30]) if found else self.smallest

    @property
    def greatest(self) -> int | None:
        """Nodes of the largest counterexample."""
        return max((o.nodes for o in self.outcomes if o.nodes is not None), default=None)

    @property
    def seconds(self) -> float:
        """The longest time."""
        return max(o.seconds for o in self.outcomes)

    @property
    def is_small(self) -> bool:
        """Whether no counterexample has more than two nodes too many."""
        return self.greatest is None or self.least is None or self.greatest <= self.least + 2

    def __str__(self) -> str:
        spent = [o.seconds for o in self.outcomes]
        tried = round(mean(o.graphs for o in self.outcomes))
        nodes = "-" if self.greatest is None else f"{self.greatest}/{self.least}"
        share = f"{self.refuted}/{len(self.outcomes)}"
        return f"{self.name[:110]:110} {share:>6} {nodes:>6} {tried:>5} {mean(spent):6.2f} {max(spent):6.2f}"


def examine(subject: Any, *, seed: int, on: Any = None) -> Outcome:
    """Check a subject once, with the budget that a rule has by default."""
    profile = settings.default
    settings.register_profile("budget", BUDGET)
    settings.load_profile("budget")
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the verdict must not hang on what numpy says beside it
            report = check(subject, seed=seed, on=on)
    finally:
        assert profile is not None
        settings.register_profile("as before", profile)
        settings.load_profile("as before")
    found = report.counterexample
    return Outcome(report.verdict, found and len(found.before), report.graphs, time.process_time() - start, str(report))


def smallest(pattern: Pattern) -> int:
    """Nodes of a graph that is one instance: what is matched, what it reads, and an output for each root."""
    read = [v for v, kind in zip(pattern.variables, pattern.kinds, strict=True) if kind == "value" and not v.optional]
    numbers = {id(t) for node in pattern.nodes for t in node.operands if isinstance(t, Literal)}
    count = len(pattern.nodes) + len(read) + len(numbers) + len(pattern.roots)
    for term in pattern.terms:
        if isinstance(term, Repeated | Every):
            count += (term.least - 1) * len(term.unit.nodes) + term.least * len(term.unit.own)
        if isinstance(term, Every):
            count += term.least - 1  # outputs
    return count


def measure(one: Callable[[Any], Record], names: Iterable[Any]) -> list[Record]:
    """Measure many rules, as many at a time as there are processors."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, names))


def table(title: str, records: Sequence[Record]) -> str:
    """Return the records as lines, the worst first, and a sum."""
    columns = f"{'':110} {'found':>6} {'nodes':>6} {'tried':>5} {'mean s':>6} {'max s':>6}"
    worst = sorted(records, key=lambda r: (r.refuted, r.is_small, -r.seconds))
    always = sum(r.refuted == len(r.outcomes) for r in records)
    small = sum(r.is_small for r in records)
    spent = [o.seconds for r in records for o in r.outcomes]
    count = len(records[0].outcomes)
    return "\n".join(
        [
            f"\n{title}",
            columns,
            *map(str, worst),
            f"{always} of {len(records)} refuted in {count} of {count} seeds; {small} with at most 2 nodes too many; "
            f"{mean(spent):.2f} s on average, {max(spent):.2f} s at most",
        ]
    )
