"""What a property test found: a verdict, statistics, and the smallest counterexample."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.testing.counterexample import Counterexample

__all__ = ["Report"]


@dataclass
class Report:
    """The result of `check`; true if the property holds as far as it was tested.

    Attributes
    ----------
    name : str
        What was tested.
    graphs : int
        Graphs tried.
    fired : Counter
        On how many of them each rule or pass changed something.
    members : tuple of str
        Names of all rules and passes.
    ops : Counter
        Ops in the graphs.
    sizes : Counter
        Numbers of nodes.
    counterexample : Counterexample or None
        The smallest that was found.
    asked : str
        What was asked, in a word: "preserved", "refined", "idempotent", "confluent", "terminating".
    rules : object
        What was tested, as it was given.
    seed : int or None
        Of the search.
    declined : dict of str to Counter
        By member, how often it refused a match, by reason.
    samples : list of Graph
        Some of the graphs that were tried last, to see why what never fired did not.
    """

    name: str
    members: tuple[str, ...] = ()
    graphs: int = 0
    fired: Counter[str] = field(default_factory=Counter)
    ops: Counter[str] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)
    counterexample: Counterexample | None = None
    asked: str = "preserved"
    rules: Any = None
    seed: int | None = None
    declined: dict[str, Counter[str]] = field(default_factory=dict)
    samples: list[Graph] = field(default_factory=list, repr=False)

    @property
    def idle(self) -> tuple[str, ...]:
        """Rules and passes that never fired."""
        return tuple(m for m in self.members if not self.fired[m])

    @property
    def verdict(self) -> str:
        """One of "refuted", "never fired" and the property, such as "preserved"."""
        if self.counterexample is not None:
            return "refuted"
        return "never fired" if self.idle else self.asked

    def __bool__(self) -> bool:
        return self.counterexample is None and not self.idle

    def __str__(self) -> str:
        if self.counterexample is not None:
            return f"{self.name}: refuted: {self.counterexample}"
        if self.idle:
            advice = "repair the pattern or its conditions, or say on which graphs it fires"
            return f"{self.name}: {', '.join(self.idle)} never fired in {self.graphs} graphs; {advice}"
        largest = max(self.sizes, default=0)
        fired = ", ".join(f"{name} {count}" for name, count in self.fired.most_common())
        return f"{self.name}: {self.asked} in {self.graphs} graphs of up to {largest} nodes; fired: {fired}"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"
