"""Graph rules: what to look for in a digraph, and what takes its place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import networkx as nx

from graphrewrite.edit import Edit
from graphrewrite.errors import GraphError, RuleError, did_you_mean
from graphrewrite.graph_rule.change import Difference, check_replacement, plan_change
from graphrewrite.graph_rule.fits import DataTest, PredicateError
from graphrewrite.graph_rule.found import GraphMatch
from graphrewrite.graph_rule.naming import Names, in_order
from graphrewrite.graph_rule.obstacle import Obstacle, in_a_sentence
from graphrewrite.graph_rule.pattern import GraphPattern, copy_digraph
from graphrewrite.graph_rule.plan import (
    Plan,
    choose_anchor,
    kinds_of,
    plan_absence,
    plan_pattern,
    plan_sides,
    radius_of,
)
from graphrewrite.graph_rule.search import Search
from graphrewrite.pattern.terms import Where
from graphrewrite.replacement import Declined

__all__ = ["GraphRule", "from_graphs"]

_STARTS = 32  # so many nodes of a pattern are tried when someone asks why a node does not match

Replacement: TypeAlias = nx.DiGraph | Callable[[GraphMatch], nx.DiGraph | Declined]


class GraphRule:
    """A rewrite rule over digraphs of any kind; made by `from_graphs`.

    Attributes
    ----------
    name : str
        What it is called in messages and traces.
    pattern : GraphPattern
        What it looks for.
    replacement : networkx.DiGraph or callable
        What takes its place.
    keeps : str
        ``"exact"``, ``"rounding"`` or ``"assumes"``, as for any rule.
    file, line : str, int
        Where it is written.
    anchor : hashable
        The node of the pattern at which matches are looked for.
    kinds : frozenset of str or None
        The types that the anchor can have; None for any.
    radius : int or None
        How many edges away from the anchor a node can be that decides about a match; None for any number.
    """

    def __init__(
        self,
        name: str,
        pattern: nx.DiGraph,
        replacement: Replacement,
        *,
        interface: Iterable[Hashable],
        groups: Iterable[Hashable],
        induced: bool,
        without: Iterable[nx.DiGraph],
        condition: Where | Callable[[GraphMatch], Any] | None,
        keeps: str,
        file: str,
        line: int,
    ) -> None:
        self.name, self.keeps, self.file, self.line = name, keeps, file, line
        if not name:
            raise self.complain("its name is no word; write name='fuse'")
        if keeps not in ("exact", "rounding", "assumes"):
            raise self.complain("keeps is 'exact', 'rounding' or 'assumes'")
        self.pattern = GraphPattern.of(pattern, interface, groups, induced, without, condition, self.complain)
        self.replacement: Replacement = replacement
        self._difference: Difference | None = None
        if isinstance(replacement, nx.Graph) or not callable(replacement):
            self.replacement = copy_digraph(replacement, "its replacement", self.complain)
            self._difference = self._compare(self.replacement)
            if self._difference.is_empty:
                raise self.complain("its replacement is its pattern; change an attribute, a node or an edge")
        self.anchor = choose_anchor(self.pattern)
        self.kinds = kinds_of(self.pattern, self.anchor)
        self.radius = radius_of(self.pattern, self.anchor)
        self._absences = tuple(plan_absence(self.pattern, absent) for absent in self.pattern.without)
        self._sides = plan_sides(self.pattern)
        self._plans: dict[Hashable, Plan] = {}
        self._names: WeakKeyDictionary[nx.DiGraph, Names] = WeakKeyDictionary()

    def complain(self, message: str) -> RuleError:
        """Return an error that names this rule and its place."""
        return RuleError(f"rule {self.name!r} ({self.file}:{self.line}): {message}")

    # ------------------------------------------------------------------ using it

    def find(self, graph: nx.DiGraph) -> list[GraphMatch]:
        """Return every match that the rule accepts.

        Parameters
        ----------
        graph : networkx.DiGraph
            Any digraph.

        Returns
        -------
        list of GraphMatch
            By the anchor's place in topological order, then by the names of the others.
        """
        _check_digraph(graph)
        kinds, data = self.kinds, graph._node
        anchors = [n for n in in_order(graph) if kinds is None or data[n].get("type") in kinds]
        found = self._matches(graph, self.anchor, anchors, None)
        return [match for match in found if not isinstance(self.edit(graph, match), Declined)]

    def matches_at(self, graph: nx.DiGraph, node: Any, obstacle: Obstacle | None = None) -> Iterator[GraphMatch]:
        """Yield the matches whose anchor is a node; the rule may still decline them.

        Parameters
        ----------
        graph : networkx.DiGraph
            Any digraph; it must not change meanwhile.
        node : hashable
            The node.
        obstacle : Obstacle, optional
            Collects why there is none.

        Yields
        ------
        GraphMatch
        """
        return self._matches(graph, self.anchor, [node], obstacle)

    def edit(self, graph: nx.DiGraph, match: GraphMatch) -> Edit | Declined:
        """Plan what carrying a match out changes; change nothing.

        Parameters
        ----------
        graph : networkx.DiGraph
            The graph of the match.
        match : GraphMatch
            The match.

        Returns
        -------
        Edit or Declined

        Raises
        ------
        RuleError
            If the replacement is a function that raises, or returns something that is no replacement.
        """
        names = self._names.get(graph)
        if names is None:
            names = self._names[graph] = Names(graph._node)
        difference = self._difference or self._computed(match)
        if isinstance(difference, Declined):
            return difference
        return plan_change(difference, self.pattern, graph, match.bindings, names)

    def explain(self, graph: nx.DiGraph, *, at: Any) -> str:
        """Say in one sentence why the rule does or does not apply at a node, as any of the pattern's first 32 nodes.

        Parameters
        ----------
        graph : networkx.DiGraph
            Any digraph.
        at : hashable
            A node of the graph.

        Returns
        -------
        str

        Examples
        --------
        >>> drop = from_graphs(nx.DiGraph([("s", "x"), ("x", "e")]), nx.DiGraph([("s", "e")]), name="drop",
        ...                    interface=["s", "e"])
        >>> graph = nx.DiGraph([("a", "b"), ("b", "c"), ("d", "b")])
        >>> print(drop.explain(graph, at="b"))
        drop does not match at 'b' as x: with x='b', s='a', e='c', 'b' has an edge to the outside of the match,
        'd' -> 'b', and x is no interface node.
        """
        _check_digraph(graph)
        if at not in graph:
            raise GraphError(f"is not in the graph{did_you_mean(str(at), map(str, graph))}", node=at)
        told = {}
        for name in sorted(self.pattern.single, key=lambda name: name != self.anchor)[:_STARTS]:
            obstacle = Obstacle()
            for match in self._matches(graph, name, [at], obstacle):
                edit = self.edit(graph, match)
                if not isinstance(edit, Declined):
                    return f"{self.name} matches at {at!r} as {name}: {match}."
                obstacle.note(len(self.pattern.single) + 3, ("declined", edit.reason), match.bindings)
            required = DataTest(self.pattern.graph.nodes[name])
            likely = bool(required.required) and required.failing(graph.nodes[at], at) is None
            told[name] = (likely, obstacle.progress, obstacle)
        start = max(told, key=lambda name: told[name][:2])  # of equal ones, the anchor, which comes first
        return f"{self.name} does not match at {at!r} as {start}: {in_a_sentence(told[start][2], self.pattern)}."

    def __call__(self, graph: nx.DiGraph) -> nx.DiGraph:
        """Return the graph with this rule applied until nothing matches; the argument is untouched."""
        from graphrewrite.rewrite import rewrite  # the engine applies rules; a rule only offers itself to it

        return rewrite(graph, (self,))

    def __repr__(self) -> str:
        return f"<rule {self.name}>"

    def __str__(self) -> str:
        return f"{self.name}: {self.pattern}"

    def _matches(
        self, graph: nx.DiGraph, start: Hashable, nodes: list[Any], obstacle: Obstacle | None
    ) -> Iterator[GraphMatch]:
        """Yield the matches in which a node of the pattern is one of some nodes."""
        plan = self._plans.get(start)
        if plan is None:
            plan = self._plans[start] = plan_pattern(self.pattern, start)
        condition = self.pattern.condition
        try:
            for bindings in Search(self.pattern, plan, self._sides, self._absences, graph, obstacle).matches(nodes):
                match = GraphMatch(self, bindings, graph)
                if condition is None or self._holds(condition, match):
                    yield match
                elif obstacle is not None:
                    obstacle.note(len(plan.steps) + 2, ("condition", condition.reason), bindings)
        except PredicateError as failure:
            raise self.complain(
                f"{failure.subject} fails at {failure.place!r}: {type(failure.error).__name__}: {failure.error}"
            ) from failure.error

    def _computed(self, match: GraphMatch) -> Difference | Declined:
        """Return what the replacement that a function makes of a match changes."""
        try:
            made = self.replacement(match)
        except Exception as error:
            where = match.roots[0]
            raise self.complain(f"its replacement fails at {where!r}: {type(error).__name__}: {error}") from error
        if isinstance(made, Declined):
            return made
        return self._compare(copy_digraph(made, "what its replacement returns", self.complain))

    def _compare(self, new: nx.DiGraph) -> Difference:
        check_replacement(self.pattern, new, self.complain)
        return Difference.between(self.pattern, new)

    def _holds(self, condition: Where, match: GraphMatch) -> bool:
        try:
            return bool(condition.predicate(match))
        except Exception as error:
            raise PredicateError(match.roots[0], "the condition on the whole match", error) from error


def _check_digraph(graph: Any) -> None:
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise GraphError(f"a {type(graph).__name__} is no networkx.DiGraph; graph rules work on those")


def from_graphs(
    pattern: nx.DiGraph,
    replacement: Replacement,
    *,
    name: str,
    interface: Iterable[Hashable] = (),
    groups: Iterable[Hashable] = (),
    induced: bool = False,
    without: Iterable[nx.DiGraph] = (),
    condition: Where | Callable[[GraphMatch], Any] | None = None,
    keeps: str = "exact",
) -> GraphRule:
    """Make a rule of two graphs, for digraphs of any kind: what is found as the first becomes the second.

    A match assigns a different node to each node of the pattern, and has its edges. An attribute in the pattern must be
    equal; a set or a range of values means one of them, `rule.where` a predicate; what is absent may be anything. Nodes
    that are no interface must have no edges to the outside of the match.

    What both graphs have, by name, stays with its attributes; interface nodes must be in both. What only the pattern
    has goes; what only the replacement has is new. Attributes that the replacement gives are set. A new edge takes over
    the attributes of the edges that its destination loses, or, where that is new itself, those that its source loses;
    if they differ, the match is declined. New nodes are called as in the replacement, or with a number behind it if
    that is taken.

    Parameters
    ----------
    pattern : networkx.DiGraph
        What to look for.
    replacement : networkx.DiGraph or callable
        What takes its place; or a function from the match to that graph, or to ``decline(reason)``.
    name : str
        What to call the rule.
    interface : iterable of hashable
        Nodes of the pattern that stay, and may have edges to the outside.
    groups : iterable of hashable
        Interface nodes that stand for all outside neighbours, however many, of the interior nodes that they are
        connected to, on that side. A new edge connects all of them.
    induced : bool
        Whether matched nodes must have no edges between them but those of the pattern, to themselves included.
    without : iterable of networkx.DiGraph
        Each is what must not be there beside a match; nodes named as in the pattern are those.
    condition : Where or callable
        What the whole match must fulfil, decided by what is matched alone.
    keeps : {"exact", "rounding", "assumes"}
        What the rewrite keeps.

    Returns
    -------
    GraphRule

    Raises
    ------
    RuleError
        If the rule is written wrongly, with its file and line.

    Examples
    --------
    >>> pattern = nx.DiGraph([("s", "m"), ("m", "a"), ("a", "e")])
    >>> pattern.nodes["m"]["type"], pattern.nodes["a"]["type"] = "mul", "add"
    >>> fused = nx.DiGraph([("s", "mac"), ("mac", "e")])
    >>> fused.nodes["mac"]["type"] = "mac"
    >>> fuse = from_graphs(pattern, fused, name="fuse", interface=["s"], groups=["e"])
    >>> print(fuse)
    fuse: s -> m: mul -> a: add -> *e; interface s, e
    >>> graph = nx.DiGraph([("x", "m1"), ("m1", "a1"), ("a1", "y"), ("a1", "z")])
    >>> graph.add_nodes_from([("m1", {"type": "mul"}), ("a1", {"type": "add"})])
    >>> list(fuse(graph).edges)
    [('x', 'mac'), ('mac', 'y'), ('mac', 'z')]
    """
    caller = sys._getframe(1)
    return GraphRule(
        name,
        pattern,
        replacement,
        interface=interface,
        groups=groups,
        induced=induced,
        without=without,
        condition=condition,
        keeps=keeps,
        file=caller.f_code.co_filename,
        line=caller.f_lineno,
    )
