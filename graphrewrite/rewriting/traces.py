"""Traces: the steps of a rewrite, recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import networkx as nx

from graphrewrite.errors import RewriteError
from graphrewrite.formats.text import line_of_data
from graphrewrite.formats.text.literal_printer import quote
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import check_digraph
from graphrewrite.graph.edit import Edit, difference, reapply_edit
from graphrewrite.hierarchy.region_tracking import tracking_regions
from graphrewrite.op import find_op
from graphrewrite.op.op import Op
from graphrewrite.rewriting.engine.attempt import Change
from graphrewrite.rewriting.engine.entry import Rules, rewrite
from graphrewrite.rewriting.passes import Pass, Pipeline
from graphrewrite.rewriting.profile import Profile, RuleProfile
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.rewriting.verification import Checks
from graphrewrite.runtime.display import Displayed
from graphrewrite.runtime.source_location import located

__all__ = ["Step", "Trace", "trace"]


@dataclass(frozen=True, eq=False, repr=False)
class Step:
    """One application of a rule, or one run of a pass that changed something.

    Attributes
    ----------
    rule : str
        The rule's or the pass's name.
    source : str
        File and line of the rule, or of the pass's function.
    change : Change or Record
        The match, and the edit.
    seconds : float
        Time since the previous step.
    ops : mapping of str to Op
        The ops of the graph that are not in the library.
    """

    rule: str
    source: str
    change: Any
    seconds: float
    ops: Mapping[str, Op] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<step: {self.bindings}>"

    @property
    def match(self) -> Any:
        """The match; None for a pass."""
        return self.change.match

    @property
    def edit(self) -> Edit:
        """The change."""
        edit: Edit = self.change.edit
        return edit

    @property
    def bindings(self) -> str:
        """The bindings of the match, as text."""
        return str(self.match) if self.match is not None else f"{self.rule}: {len(self.removed)} nodes"

    @cached_property
    def removed(self) -> dict[str, str]:
        """Name to line of the text form, of each removed node."""
        gone = {entry[0]: entry for entry in self.edit.lost if len(entry) == 4}
        # The edges between two removed nodes are recorded with the one that was removed first.
        sources: dict[Any, dict[Any, Any]] = {name: dict(entry[2]) for name, entry in gone.items()}
        for name, entry in gone.items():
            for reader, data in entry[3].items():
                if reader in sources:
                    sources[reader][name] = data
        # Operands first, as a graph is printed.
        order = dict.fromkeys([n for n in self.edit.matched if n in gone])
        order = dict.fromkeys([*(n for n in self.edit.removed if n not in order), *order])
        return {name: self._line(name, gone[name][1], sources[name]) for name in order}

    @cached_property
    def added(self) -> dict[str, str]:
        """Name to line of the text form, of each node that is new."""
        sources: dict[Any, dict[Any, Any]] = {name: {} for name, _ in self.edit.added}
        for source, destination, data in self.edit.linked:
            if destination in sources:
                sources[destination][source] = data
        return {name: self._line(name, data, sources[name]) for name, data in self.edit.added}

    def _line(self, name: str, data: dict[str, Any], sources: dict[Any, Any]) -> str:
        return line_of_data(name, data, sources, find_op(data.get("type"), self.ops))

    @property
    def moved(self) -> list[str]:
        """Changed attributes and edges of nodes that stay, in a digraph that is no dataflow."""
        edit = self.edit
        new = {name for name, _ in edit.added}
        changed = [f"~ {quote(name, strict=False)}: {data}" for name, data in edit.changed]
        cut = [_arrow("-", a, b) for a, b in edit.unlinked]
        linked = [_arrow("+", a, b) for a, b, data in edit.linked if not {a, b} & new and "slots" not in data]
        return [*changed, *(cut if linked or changed else ()), *linked]

    def __str__(self) -> str:
        lines = [
            self.bindings,
            *(f"- {line}" for line in self.removed.values()),
            *(f"+ {line}" for line in self.added.values()),
            *self.moved,
        ]
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Trace(Displayed, shown_by="stepper.show_trace"):
    """A rewrite: the graph before, the graph after, every step between, and a profile.

    Attributes
    ----------
    before, graph : Graph
        The argument and the result.
    profile : Profile
        Tried, matched, declined and fired, of each rule.
    members : dict
        Name to rule or pass.
    """

    before: Graph
    graph: Graph
    noted: list[tuple[str, str, Any, float]] = field(default_factory=list, repr=False)
    profile: Profile = field(default_factory=Profile)
    members: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def steps(self) -> list[Step]:
        """In order."""
        ops = {name: op for graph in (self.before, self.graph) for name, op in getattr(graph, "ops", {}).items()}
        return [Step(*step, ops) for step in self.noted]

    @property
    def headline(self) -> str:
        """Both sizes, and the number of steps between them, in words."""
        count = len(self)
        return f"{len(self.before)} -> {len(self.graph)} nodes in {count} step{'s' if count != 1 else ''}"

    @property
    def counts(self) -> dict[str, int]:
        """The number of steps of each rule, the greatest first."""
        return dict(Counter(step.rule for step in self.steps).most_common())

    def graph_after(self, steps: int) -> Graph:
        """Return the graph as it was after so many steps.

        Parameters
        ----------
        steps : int
            From 0, for the argument, to ``len(trace)``.

        Returns
        -------
        Graph
            Without the origins of new nodes, which are written at the end.
        """
        if not 0 <= steps <= len(self):
            raise RewriteError(f"there is no step {steps}; the trace has {len(self)}")
        result: nx.DiGraph = self.graph
        graph: Any = self.before.copy()
        if isinstance(result, Graph):
            graph = graph if isinstance(graph, Graph) else Graph(graph)  # rules of ops make one of a plain digraph
            graph.ops |= result.ops  # those of nodes that rules have made
        views = tracking_regions(graph)
        for step in self.steps[:steps]:
            # Which node of a pass replaced which one follows only from the wiring before and after.
            old = graph.copy() if views is not None and step.match is None else None
            edit = reapply_edit(graph, step.edit)
            if views is not None:
                views.follow(edit, before=old)
        if views is not None:
            views.settle()
        restored: Graph = graph
        return restored

    def save(self, path: str | Path, *, steps: slice | None = None, most: int = 2000) -> Path:
        """Write the rewrite viewer to a file that needs nothing else.

        Parameters
        ----------
        path : str or Path
            Ends in .html, or in .txt for the text.
        steps, most
            As for `graphrewrite.view.stepper.show_trace`.
        """
        saved: Path = self.show(steps=steps, most=most).save(path)
        return saved

    def __len__(self) -> int:
        return len(self.noted)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<Trace: {self.headline}>"

    def __str__(self) -> str:
        return "\n".join([self.headline, *(f"{i}. {step}" for i, step in enumerate(self.steps, start=1))])


def trace(
    graph: Graph,
    rules: Rules | Pipeline,
    *,
    at: Any = None,
    once: bool = False,
    order: str = "bottom-up",
    first: str = "place",
    measure: Callable[[dict[str, Any]], float] | None = None,
    copy: bool = True,
    verify: bool | Checks = False,
    limit: int | None = None,
) -> Trace:
    r"""Rewrite a graph by a rule set or a pipeline, and record every step.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        As for `rewrite`.
    rules : rule set or Pipeline
        As for `rewrite`; or a pipeline, of which a function on graphs is recorded as a pass is, as one step.
    at, once, order, first, measure, copy, verify, limit
        As for `rewrite`.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite import rule
    >>> @rule
    ... def drop_identity(x):
    ...     "The identity is its operand."
    ...     yield op.identity(x)
    ...     return x
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ni = identity(x)\ny = output(i)")
    >>> found = trace(g, [drop_identity])
    >>> found.counts
    {'drop_identity': 1}
    >>> print(found)
    3 -> 2 nodes in 1 step
    1. drop_identity at i with x=x
    - i = identity(x) : f32[N]
    """
    check_digraph(graph, "whose rewriting can be traced")
    before = graph if copy else graph.copy()
    recorder = _Recorder()
    for phase in _phases(rules):
        if isinstance(phase, list):
            recorder.expect(phase)
            # A pass of a pipeline runs once, as it does when it is called.
            is_once = once or (isinstance(rules, Pipeline) and isinstance(phase[0], Pass))
            graph = rewrite(
                graph,
                phase,
                at=at,
                once=is_once,
                order=order,
                first=first,
                measure=measure,
                copy=copy,
                verify=verify,
                limit=limit,
                watcher=recorder,
            )
        else:
            graph = recorder.called(phase, graph)
    return Trace(before, graph, recorder.steps, recorder.profile, recorder.members)


def _phases(rules: Any) -> Iterator[Any]:
    """Yield rule sets as lists, and functions on graphs."""
    if isinstance(rules, Pipeline):
        for phase in rules.phases:
            yield from _phases(phase)
    elif isinstance(rules, Iterable):
        yield list(rules)
    elif isinstance(rules, Pass | nx.Graph) or hasattr(rules, "matches_at") or not callable(rules):
        yield [rules]
    else:
        yield rules


def _arrow(sign: str, source: Any, destination: Any) -> str:
    return f"{sign} {quote(source, strict=False)} -> {quote(destination, strict=False)}"


def _place(member: Any) -> str:
    """Return the source location of a rule, or of the function of a pass; empty if it is no Python."""
    if hasattr(member, "file"):
        return located(member.file, member.line)
    code = getattr(getattr(member, "function", member), "__code__", None)
    return located(code.co_filename, code.co_firstlineno) if code is not None else ""


class _Recorder:
    """Records each step as it happens; texts are computed on access."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str, Any, float]] = []
        self.profile = Profile()
        self.members: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.old: Graph | None = None
        self.clock = self.last = perf_counter()

    def expect(self, members: list[Any]) -> None:
        """Take note of a rule set that is about to be applied."""
        for member in members:
            if hasattr(member, "name"):  # anything without one is refused by `rewrite`
                self.members[member.name] = member
                self.sources[member.name] = _place(member)
                if hasattr(member, "matches_at"):
                    self.profile.setdefault(member.name, RuleProfile())

    def called(self, function: Callable[[Graph], Graph], graph: Graph) -> Graph:
        """Return the result of a function on a graph; record the difference as one step."""
        name = getattr(function, "__name__", type(function).__name__)
        self.passing(graph)
        result = function(graph)
        check_digraph(result, f"that {name!r} may return")
        self.members[name], self.sources[name] = function, _place(function)
        self.passed(result, name, [])
        return result

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        now = perf_counter()
        profile = self.profile[member.name]
        profile.seconds += now - self.clock
        self.clock = now
        if outcome is None:
            profile.tried += 1
            return
        profile.matched += 1
        if isinstance(outcome, Declined):
            profile.declined[outcome.reason] += 1
        else:
            profile.fired += 1
            profile.tried += 1

    def rewritten(self, graph: Any, member: Any, change: Any) -> None:
        now = self.clock = perf_counter()
        name = member.name
        self.steps.append((name, self.sources[name], change, now - self.last))
        self.last = now

    def passing(self, graph: Graph) -> None:
        self.old = graph.copy()

    def passed(self, graph: Graph, name: str, removed: list[str]) -> None:
        assert self.old is not None
        now = self.clock = perf_counter()
        edit = difference(self.old, graph)
        if not edit.is_empty:
            self.steps.append((name, self.sources.get(name, ""), Change(None, edit), now - self.last))
        self.last = now
