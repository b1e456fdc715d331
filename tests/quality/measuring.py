"""How fast and how small the faults of planted rules are found."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from graphrewrite.pattern import Every, Literal, Pattern, Repeated
from graphrewrite.testing import check

__all__ = ["Outcome", "examine", "smallest"]


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
        How long it took.
    text : str
        The report.
    """

    verdict: str
    nodes: int | None
    graphs: int
    seconds: float
    text: str

    @property
    def refuted(self) -> bool:
        return self.verdict == "refuted"


def examine(subject: Any, *, seed: int, **options: Any) -> Outcome:
    """Check a subject once; what cannot even be made or read is refuted as well."""
    start = time.perf_counter()
    report = check(subject, seed=seed, **options)
    seconds = time.perf_counter() - start
    found = report.counterexample
    return Outcome(report.verdict, found and len(found.before), report.graphs, seconds, str(report))


def smallest(pattern: Pattern) -> int:
    """Nodes of the smallest graph with one instance: what is matched, what it reads, and an output for each root."""
    read = [v for v, kind in zip(pattern.variables, pattern.kinds, strict=True) if kind == "value" and not v.optional]
    numbers = {id(t): t for node in pattern.nodes for t in node.operands if isinstance(t, Literal)}
    count = len(pattern.nodes) + len(read) + len(numbers) + len(pattern.roots)
    for term in pattern.made:
        if isinstance(term, Repeated | Every):
            count += (term.least - 1) * len(term.unit.nodes) + term.least * len(term.unit.own)
        if isinstance(term, Every):
            count += term.least - 1  # outputs
    return count
