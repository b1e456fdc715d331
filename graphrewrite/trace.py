"""What a rewrite did, step by step."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from graphrewrite.edit import Edit
from graphrewrite.graph import Graph
from graphrewrite.rewrite import Rules, rewrite
from graphrewrite.rule import Match
from graphrewrite.text import line_of

__all__ = ["Step", "Trace", "trace"]


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


def trace(graph: Graph, rules: Rules, *, verify: bool = False, limit: int | None = None) -> Trace:
    r"""Return what `rewrite` does, with every step recorded.

    Parameters
    ----------
    graph, rules, verify, limit
        As for `rewrite`.

    Returns
    -------
    Trace

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite.rule import rule
    >>> @rule
    ... def drop_identity(x):
    ...     "The identity is its operand."
    ...     yield op.identity(x)
    ...     return x
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ni = identity(x)\ny = output(i)")
    >>> trace(g, [drop_identity]).counts
    {'drop_identity': 1}
    """
    recorder = _Recorder()
    after = rewrite(graph, rules, verify=verify, limit=limit, watcher=recorder)
    return Trace(graph, after, recorder.steps)


class _Recorder:
    """Writes down each step as it happens."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.gone: dict[str, str] = {}
        self.old: Graph | None = None

    def matched(self, graph: Graph, match: Match) -> None:
        self.gone = {n: line_of(graph, n) for n in match.nodes}

    def rewritten(self, graph: Graph, match: Match, edit: Edit) -> None:
        removed = {n: line for n, line in self.gone.items() if n not in graph}
        added = {n: line_of(graph, n) for n in edit.added}
        self.steps.append(Step(match.rule.name, f"{match.rule.file}:{match.rule.line}", str(match), removed, added))

    def passing(self, graph: Graph) -> None:
        self.old = graph.copy()

    def passed(self, graph: Graph, name: str, removed: list[str]) -> None:
        assert self.old is not None
        gone = {n: line_of(self.old, n) for n in removed if n in self.old}
        added = {n: line_of(graph, n) for n in graph if n not in self.old}
        self.steps.append(Step(name, "", f"{name}: {len(gone)} nodes", gone, added))
