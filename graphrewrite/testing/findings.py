"""Findings of a search: what some graphs showed, in a form that processes can send and that adds up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.testing.evidence import Evidence, merged
from graphrewrite.testing.reduction import Case

__all__ = ["Failure", "Findings"]

_SAMPLES = 20


@dataclass(frozen=True)
class Failure:
    """A graph and inputs on which a property does not hold.

    Attributes
    ----------
    kind : str
        Kind of the failure; a smaller counterexample must be of the same kind.
    """

    case: Case
    counterexample: Counterexample
    kind: str


@dataclass
class Findings:
    """What a number of graphs showed.

    Attributes
    ----------
    graphs : int
        Graphs tried.
    fired, declined, ops, sizes, samples, evidence, attacked, without_gradient
        As of `Report`.
    reached : dict
        What the search has come upon, each once: it goes on as long as there is more. The values are not used.
    failure : Failure or None
        The first one that is clear.
    faint : Failure or None
        The first one in which only signs of zeros, infinities or NaN differ.
    looked : int
        Graphs tried since that one.
    is_measured : bool
        Whether branches are among what is reached.

    Examples
    --------
    >>> one, other = Findings(3, Counter(drop=1)), Findings(2, Counter(drop=1, fold=2))
    >>> both = one.then(other)
    >>> both.graphs, both.fired
    (5, Counter({'drop': 2, 'fold': 2}))
    """

    graphs: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    declined: dict[str, Counter[str]] = field(default_factory=dict)
    ops: Counter[str] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)
    samples: list[Any] = field(default_factory=list, repr=False)
    evidence: dict[str, Evidence] = field(default_factory=dict, repr=False)
    reached: dict[Hashable, None] = field(default_factory=dict, repr=False)
    failure: Failure | None = None
    faint: Failure | None = None
    looked: int = 0
    is_measured: bool = True
    attacked: int = 0
    without_gradient: Counter[str] = field(default_factory=Counter)

    def count(self, graph: Any) -> None:
        """Note that a graph is tried."""
        self.graphs += 1
        self.looked += self.faint is not None
        self.sizes[len(graph)] += 1
        self.ops.update(str(data.get("type", "")) for data in graph._node.values())
        self.samples.append(graph)
        del self.samples[:-_SAMPLES]

    def of(self, name: str) -> Evidence:
        """Return the evidence of a member, to which more can be added."""
        return self.evidence.setdefault(name, Evidence())

    def decline(self, name: str, reasons: Counter[str]) -> None:
        """Note why a member did not fire."""
        self.declined.setdefault(name, Counter()).update(reasons)

    def then(self, later: Findings) -> Findings:
        """Return these findings and those of later graphs; the first failures count."""
        declined = {name: Counter(reasons) for name, reasons in self.declined.items()}
        found = Findings(
            self.graphs + later.graphs,
            self.fired + later.fired,
            declined,
            self.ops + later.ops,
            self.sizes + later.sizes,
            [*self.samples, *later.samples][-_SAMPLES:],
            merged(self.evidence, later.evidence),
            {**self.reached, **later.reached},
            self.failure or later.failure,
            self.faint or later.faint,
            self.looked + (later.looked if self.faint is None else later.graphs),
            self.is_measured and later.is_measured,
            self.attacked + later.attacked,
            self.without_gradient + later.without_gradient,
        )
        for name, reasons in later.declined.items():
            found.decline(name, reasons)
        return found
