"""The engine: apply rules until none matches, at a cost that follows the number of rewrites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar, runtime_checkable

import networkx as nx

from graphrewrite.attempt import Attempt, attempt_of
from graphrewrite.dataflow import GreatestNumbers
from graphrewrite.edit import Edit, edit_directly, edit_publicly
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.graph import Graph
from graphrewrite.index import ANY, Entry, Index, Wake, entries_of
from graphrewrite.neighbourhood import Neighbourhood
from graphrewrite.provenance import Provenance
from graphrewrite.replacement import Declined
from graphrewrite.rule import Rule
from graphrewrite.storage import stores_plainly
from graphrewrite.strategy import Strategy
from graphrewrite.verify import verify as verify_graph
from graphrewrite.worklist import WorkList

__all__ = ["GraphRewriting", "Member", "Rules", "Watcher", "WholeGraph", "rewrite"]

G = TypeVar("G", bound=nx.DiGraph)


@runtime_checkable
class WholeGraph(Protocol):
    """A member of a rule set that works on whole graphs, such as a `graphrewrite.passes.Pass`."""

    @property
    def name(self) -> str:
        """What it is called in messages and traces."""

    def apply_in_place(self, graph: Graph) -> list[str]:
        """Change a graph; return the names of the nodes that went."""


@runtime_checkable
class GraphRewriting(Protocol):
    """A member of a rule set that is no `Rule` but finds places and plans edits, such as a rule made of two graphs."""

    name: str
    file: str
    line: int

    @property
    def kinds(self) -> frozenset[str] | None:
        """Types of the node at which a match is found; None for any."""

    @property
    def radius(self) -> int | None:
        """How far from there, along edges in either direction, a node can be that decides; None for anywhere."""

    def matches_at(self, graph: Any, node: Any, obstacle: Any = None) -> Iterator[Any]:
        """Yield the matches that are found at a node."""

    def edit(self, graph: Any, match: Any) -> Edit | Declined:
        """Plan the rewrite of a match."""


class Watcher(Protocol):
    """Is told of every step of a rewrite; `graphrewrite.trace.trace` is one."""

    def tried(self, member: Any, node: Any, outcome: Any) -> None:
        """Learn that a rule was tried at a node: nothing was found, or it declined, or what was planned."""

    def rewritten(self, graph: Any, match: Any, edit: Edit) -> None:
        """Look at the graph just after a match was rewritten."""

    def passing(self, graph: Graph) -> None:
        """Look at the graph just before a pass runs."""

    def passed(self, graph: Graph, name: str, removed: list[str]) -> None:
        """Look at the graph just after a pass changed it."""


Member = Rule | GraphRewriting
Rules = Iterable[Rule | GraphRewriting | WholeGraph]
"""A rule set: rules and passes."""


def rewrite(
    graph: G,
    rules: Rules,
    *,
    at: Any = None,
    once: bool = False,
    order: str = "bottom-up",
    first: str = "place",
    measure: Callable[[dict[str, Any]], float] | None = None,
    verify: bool = False,
    limit: int | None = None,
    watcher: Watcher | None = None,
) -> G:
    r"""Return the graph with rules applied until none matches; the argument is untouched.

    Rules come first, at each place in the order of the set; then each pass runs once; and again, until nothing changes.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Any graph; what comes out is of its class.
    rules : iterable of Rule and Pass
        A rule set.
    at : node or list of nodes, optional
        Apply rules there only, and at each of them once.
    once : bool
        Whether to visit each node of the graph once instead of coming back to what has become possible.
    order : {"bottom-up", "top-down"}
        From operands to readers, or from outputs to operands.
    first : {"place", "rule"}
        Whether the first place counts, where the first rule that matches is applied; or the first rule, at the first
        place where it matches: rules are then priorities.
    measure : callable, optional
        From a node's data to a number. A rewrite whose new nodes do not sum up to less than those that go is declined,
        so that two rules which undo each other come to an end.
    verify : bool
        Whether to check the whole graph after every step.
    limit : int, optional
        Steps after which a rule set counts as endless; a multiple of the graph's size where not given.
    watcher : Watcher, optional
        Is told of every step.

    Returns
    -------
    Graph or networkx.DiGraph

    Raises
    ------
    RewriteError
        If the rule set does not end, or a rule would corrupt the graph.
    RuleError
        If two rules have one name, or a rule fails.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite.rule import rule
    >>> @rule
    ... def drop_identity(x):
    ...     "The identity is its operand."
    ...     yield op.identity(x)
    ...     return x
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ni = identity(x)\nj = identity(i)\ny = output(j)")
    >>> print(rewrite(g, [drop_identity]))
    graph g
    x = input() : f32[N]
    y = output(x)
    >>> print(rewrite(g, [drop_identity], at="i"))
    graph g
    x = input() : f32[N]
    j = identity(x) : f32[N]
    y = output(j)
    """
    strategy = Strategy(at=at, once=once, order=order, first=first, measure=measure)
    return _Engine(graph, rules, strategy, verify, limit, watcher).run()  # type: ignore[no-any-return]  # of the class that came in


class _Engine:
    def __init__(
        self, graph: Any, rules: Rules, strategy: Strategy, verify: bool, limit: int | None, watcher: Watcher | None
    ) -> None:
        members = _checked(rules)
        self.rules: list[Any] = [m for m in members if isinstance(m, Rule | GraphRewriting)]
        self.passes: list[Any] = [m for m in members if not isinstance(m, Rule | GraphRewriting)]
        self.plain = not isinstance(graph, Graph)
        self.given = graph
        if self.plain and any(not isinstance(m, GraphRewriting) or isinstance(m, Rule) for m in members):
            self.graph: Any = Graph(graph)
        else:
            self.graph = graph.copy()
        self.strategy, self.verify, self.watcher = strategy, verify, watcher
        strategy.check(graph, self.rules, limit)
        self.limit = 1000 + 100 * len(graph) if limit is None else limit
        groups = [[m] for m in self.rules] if strategy.first == "rule" else [self.rules]
        self.indices = [Index([e for m in group for e in _entries(m)]) for group in groups]
        open_ = any(index.kinds is None for index in self.indices)
        self.kinds = None if open_ else frozenset().union(*(index.kinds or () for index in self.indices))
        bounded = [m for m in self.rules if isinstance(m, Rule)]
        self.wake = Wake((m.pattern, m.definition.is_curious) for m in bounded)
        self.neighbourhood = Neighbourhood(self.rules)
        self.provenance = Provenance()
        self.attempts: dict[Entry, Attempt] = {}
        self.carry_out = edit_directly if stores_plainly(self.graph) else edit_publicly
        if isinstance(self.graph, Graph):
            # New names follow from all names that came in, those of nodes included that are gone when one is needed.
            self.graph._fresh = GreatestNumbers(graph._node)
        self.fired: list[tuple[str, Any]] = []

    def run(self) -> Any:
        changed = True
        while changed:
            steps = len(self.fired)
            self.sweep()
            changed = self.neighbourhood.is_unbounded and len(self.fired) > steps and not self.strategy.is_single
            for member in self.passes:
                changed |= self.run_pass(member)
            changed &= not self.strategy.is_single
        self.provenance.settle(self.graph)
        if isinstance(self.graph, Graph):
            self.graph._fresh.names = self.graph._node
        if self.plain and isinstance(self.graph, Graph):
            made = self.given.__class__(**self.graph.graph)
            made.add_nodes_from(self.graph.nodes(data=True))
            made.add_edges_from(self.graph.edges(data=True))
            return made
        return self.graph

    def run_pass(self, member: WholeGraph) -> bool:
        self.provenance.settle(self.graph)
        if self.watcher is not None:
            self.watcher.passing(self.graph)
        removed = member.apply_in_place(self.graph)
        if not removed:
            return False
        self.count(member.name, removed[0])
        if self.watcher is not None:
            self.watcher.passed(self.graph, member.name, removed)
        if self.verify:
            verify_graph(self.graph)
        return True

    def sweep(self) -> None:
        """Look at every place, and again at those that an edit has enabled, until nothing is left to look at."""
        graph, strategy = self.graph, self.strategy
        nodes, pred = graph._node, graph._pred
        self.pairs = [(index, WorkList(strategy.places(graph, index.kinds))) for index in self.indices]
        while True:
            for index, work in self.pairs:
                if work:
                    break
            else:
                return
            node = work.pop()
            data = nodes.get(node)
            if data is None:
                continue
            for entry in index.at(data.get("type", ANY), pred[node], nodes):
                edit = self.fire(entry, node)
                if edit is not None:
                    if not strategy.is_single:
                        self.look_again(edit, node)
                    break

    def look_again(self, edit: Edit, near: Any) -> None:
        """Queue the places where an edit can have enabled a match."""
        nodes = self.graph._node
        found = self.wake.after(self.graph, edit, self.kinds)
        if self.neighbourhood.radius:
            self.neighbourhood.after(self.graph, edit, found)
        if near in nodes:
            found[near] = None
        for node in found:
            kind = nodes[node].get("type")
            for index, work in self.pairs:
                if index.kinds is None or kind in index.kinds:
                    work.push(node, near)

    def fire(self, entry: Entry, node: Any) -> Edit | None:
        """Apply a rule at a node if it matches there and does not decline."""
        watcher = self.watcher
        attempt = self.attempts.get(entry)
        if attempt is None:
            attempt = self.attempts[entry] = attempt_of(entry, self.graph)
        for planned, match in attempt(node):
            if self.strategy.measure is not None and isinstance(planned, Edit):
                planned = self.strategy.judge(self.graph, planned)
            if watcher is not None:
                watcher.tried(entry.member, node, planned)
            if isinstance(planned, Declined):
                continue
            made = match() if watcher is not None else None
            self.carry_out(self.graph, planned)
            self.provenance.note(planned)
            self.count(entry.member.name, node)
            if watcher is not None:
                watcher.rewritten(self.graph, made, planned)
            if self.verify and isinstance(self.graph, Graph):
                verify_graph(self.graph)
            return planned
        if watcher is not None:
            watcher.tried(entry.member, node, None)
        return None

    def count(self, name: str, node: Any) -> None:
        self.fired.append((name, node))
        if len(self.fired) > self.limit:
            last = Counter(name for name, _ in self.fired[-100:])
            names = ", ".join(f"{name} ({times})" for name, times in last.most_common())
            raise RewriteError(
                f"the rules do not end: {self.limit} steps, of the last 100 fired {names}; one undoes the "
                "other, or a rule matches its own result; give a measure that must fall, or once=True",
                node=node,
            )


def _entries(member: Any) -> list[Entry]:
    if isinstance(member, Rule):
        return list(entries_of(member, member.pattern))
    return [Entry(member, member.kinds or frozenset())]


def _checked(rules: Rules) -> list[Any]:
    """Return the members of a rule set, each once."""
    members: dict[int, Any] = {}
    names: dict[str, Any] = {}
    for member in rules:
        if not isinstance(member, Rule | WholeGraph | GraphRewriting):
            raise RuleError(f"{member!r} is neither a rule nor a pass; decorate it with @rule")
        members[id(member)] = member
        other = names.setdefault(member.name, member)
        if other is not member:
            place = ", ".join(f"{m.file}:{m.line}" for m in (other, member) if hasattr(m, "file"))
            raise RuleError(f"two rules of the set are called {member.name!r} ({place}); rename one, or leave one out")
    return list(members.values())
