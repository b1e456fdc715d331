"""What a rewrite did, step by step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from graphrewrite.graph import Graph

__all__ = ["Step", "Trace"]


@dataclass(frozen=True)
class Step:
    """One application of a rule, or one run of a pass that changed something.

    Attributes
    ----------
    rule : str
        The rule's or the pass's name.
    source : str
        File and line of the rule.
    bindings : str
        What the match bound, in words.
    removed, added : dict
        Name to line of the text form.
    """

    rule: str
    source: str
    bindings: str
    removed: dict[str, str]
    added: dict[str, str]

    def __str__(self) -> str:
        lines = [
            f"{self.bindings or self.rule}",
            *(f"- {line}" for line in self.removed.values()),
            *(f"+ {line}" for line in self.added.values()),
        ]
        return "\n".join(lines)


@dataclass(frozen=True)
class Trace:
    """A rewrite: the graph before, the graph after, and every step between.

    Attributes
    ----------
    before, graph : Graph
        What came in and what came out.
    steps : list of Step
        In order.
    """

    before: Graph
    graph: Graph
    steps: list[Step] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """How often each rule fired, most often first."""
        return dict(Counter(step.rule for step in self.steps).most_common())

    def __str__(self) -> str:
        head = f"{len(self.before)} -> {len(self.graph)} nodes in {len(self.steps)} steps"
        return "\n".join([head, *(f"{i}. {step}" for i, step in enumerate(self.steps, start=1))])
