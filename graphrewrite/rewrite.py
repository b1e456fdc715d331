"""Apply rules to a graph until nothing matches any more."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from graphrewrite.edit import Edit, apply
from graphrewrite.errors import RewriteError, RuleError
from graphrewrite.graph import Graph
from graphrewrite.replacement import Declined
from graphrewrite.rule import Match, Rule
from graphrewrite.verify import verify as verify_graph

__all__ = ["Rules", "Watcher", "WholeGraph", "rewrite"]


@runtime_checkable
class WholeGraph(Protocol):
    """A member of a rule set that works on whole graphs, such as a `graphrewrite.passes.Pass`."""

    @property
    def name(self) -> str:
        """What it is called in messages and traces."""

    def apply_in_place(self, graph: Graph) -> list[str]:
        """Change a graph; return the names of the nodes that went."""


class Watcher(Protocol):
    """Is told of every step of a rewrite; `graphrewrite.trace.trace` is one."""

    def matched(self, graph: Graph, match: Match) -> None:
        """Look at the graph just before a match is rewritten."""

    def rewritten(self, graph: Graph, match: Match, edit: Edit) -> None:
        """Look at the graph just after."""

    def passing(self, graph: Graph) -> None:
        """Look at the graph just before a pass runs."""

    def passed(self, graph: Graph, name: str, removed: list[str]) -> None:
        """Look at the graph just after a pass changed it."""


Rules = Iterable[Rule | WholeGraph]
"""A rule set: rules and passes."""


def rewrite(
    graph: Graph, rules: Rules, *, verify: bool = False, limit: int | None = None, watcher: Watcher | None = None
) -> Graph:
    r"""Return the graph with rules applied, in topological order, until none matches; the argument is untouched.

    Rules come first, at each place in the order of the set; then each pass runs once; and again, until nothing changes.

    Parameters
    ----------
    graph : Graph
        Any graph.
    rules : iterable of Rule and Pass
        A rule set.
    verify : bool
        Whether to check the whole graph after every step.
    limit : int, optional
        Steps after which a rule set counts as endless; a multiple of the graph's size where not given.
    watcher : Watcher, optional
        Is told of every step.

    Returns
    -------
    Graph

    Raises
    ------
    RewriteError
        If the rule set does not end, or a rule would corrupt the graph.

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
    """
    return _Engine(graph, rules, verify, limit, watcher).run()


@dataclass
class _WorkList:
    """Nodes to look at, each at most once at a time, in a stable order."""

    heap: list[tuple[int, int, str]] = field(default_factory=list)
    waiting: set[str] = field(default_factory=set)
    position: dict[str, int] = field(default_factory=dict)
    serial: int = 0

    def push(self, node: str, near: str | None = None) -> None:
        """Queue a node; one that is new stands where the node stood that it came from."""
        if node in self.waiting:
            return
        place = self.position.setdefault(node, self.position.get(near, 0) if near is not None else len(self.position))
        self.serial += 1
        self.waiting.add(node)
        heapq.heappush(self.heap, (place, self.serial, node))

    def pop(self) -> str:
        """Take the first node."""
        node = heapq.heappop(self.heap)[2]
        self.waiting.remove(node)
        return node


class _Engine:
    def __init__(self, graph: Graph, rules: Rules, verify: bool, limit: int | None, watcher: Watcher | None) -> None:
        self.graph = graph.copy()
        members = tuple(rules)
        for member in members:
            if not isinstance(member, Rule | WholeGraph):
                raise RuleError(f"{member!r} is neither a rule nor a pass; decorate it with @rule")
        self.rules = [m for m in members if isinstance(m, Rule)]
        self.passes = [m for m in members if not isinstance(m, Rule)]
        self.index: dict[str, list[Rule]] = {}
        for found in self.rules:
            self.index.setdefault(found.pattern.roots[0].op.name, []).append(found)
        self.reach = max((r.pattern.depth for r in self.rules), default=0)
        # Fewer readers enable a match only where a pattern wants a node for itself, or a rule counts them.
        self.inner = {n.op.name for r in self.rules for n in r.pattern.nodes if n not in r.pattern.roots}
        self.widest = max((len(r.pattern.nodes) for r in self.rules), default=0)
        self.counting = any("readers" in r.function.__code__.co_names for r in self.rules)
        self.scattered = {r.pattern.roots[0].op.name for r in self.rules if len(r.pattern.roots) > 1}
        self.verify, self.watcher = verify, watcher
        self.limit = 1000 + 100 * len(graph) if limit is None else limit
        self.fired: list[tuple[str, str]] = []

    def run(self) -> Graph:
        changed = True
        while changed:
            self.fixed_point()
            changed = False
            for member in self.passes:
                changed |= self.run_pass(member)
        return self.graph

    def run_pass(self, member: WholeGraph) -> bool:
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

    def fixed_point(self) -> None:
        work = _WorkList()
        for node in self.graph.in_order():
            work.push(node)
        while work.heap:
            node = work.pop()
            if node not in self.graph:
                continue
            for found in self.index.get(self.graph.nodes[node].get("type"), ()):
                edit = self.fire(found, node)
                if edit is not None:
                    self.wake(work, edit, node)
                    break

    def fire(self, found: Rule, node: str) -> Edit | None:
        """Apply a rule at a node if it matches there and does not decline."""
        for match in found.matches_at(self.graph, node):
            replay, parts = found.replacement(self.graph, match)
            if isinstance(parts, Declined):
                continue
            if self.watcher is not None:
                self.watcher.matched(self.graph, match)
            try:
                edit = apply(self.graph, match.roots, match.nodes, replay, parts)
            except RewriteError as error:
                raise found.complain(str(error)) from error
            self.count(found.name, node)
            if self.watcher is not None:
                self.watcher.rewritten(self.graph, match, edit)
            if self.verify:
                verify_graph(self.graph)
            return edit
        return None

    def count(self, name: str, node: str) -> None:
        self.fired.append((name, node))
        if len(self.fired) > self.limit:
            last = Counter(name for name, _ in self.fired[-100:])
            names = ", ".join(f"{name} ({times})" for name, times in last.most_common())
            raise RewriteError(
                f"the rules do not end: {self.limit} steps, of the last 100 fired {names}; one undoes the "
                "other, or a rule matches its own result",
                node=node,
            )

    def can_enable(self, node: str) -> bool:
        """Tell whether other readers of a node can matter: it may be matched inside, and its readers may all be too."""
        if self.counting:
            return True
        return self.graph.nodes[node].get("type") in self.inner and len(self.graph._succ[node]) <= self.widest

    def wake(self, work: _WorkList, edit: Edit, near: str) -> None:
        """Queue each node where the edit can have enabled a match: all within a pattern's depth below a change."""
        seen = dict.fromkeys([*edit.added, *edit.moved, *filter(self.can_enable, edit.released)])
        layer: Iterator[str] | list[str] = list(seen)
        for _ in range(self.reach):
            layer = [r for n in layer for r in self.graph._succ[n] if r not in seen]
            seen.update(dict.fromkeys(layer))
        for node in seen:
            if self.graph.nodes[node].get("type") in self.index:
                work.push(node, near)
        if self.scattered:
            for node in self.graph:
                if self.graph.nodes[node].get("type") in self.scattered:
                    work.push(node, near)
