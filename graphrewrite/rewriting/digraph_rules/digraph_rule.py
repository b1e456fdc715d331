"""Graph rules: a pattern graph, and the graph that replaces it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import networkx as nx

from graphrewrite.errors import RuleError, did_you_mean, not_there
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import check_digraph
from graphrewrite.graph.dataflow import Dataflow
from graphrewrite.graph.edit import Edit
from graphrewrite.op.op import Op
from graphrewrite.rewriting.digraph_rules.affected_nodes import enabled_by
from graphrewrite.rewriting.digraph_rules.change import Change, check_replacement, loses_operands, plan_change
from graphrewrite.rewriting.digraph_rules.match import GraphMatch
from graphrewrite.rewriting.digraph_rules.naming import Names, in_order
from graphrewrite.rewriting.digraph_rules.pattern import GraphPattern, copy_digraph
from graphrewrite.rewriting.digraph_rules.plan import (
    Plan,
    choose_anchor,
    kinds_of,
    plan_absence,
    plan_pattern,
    plan_sides,
    radius_of,
    routes_of,
)
from graphrewrite.rewriting.digraph_rules.requirements import DataTest, PredicateError, in_context
from graphrewrite.rewriting.digraph_rules.search import Search
from graphrewrite.rewriting.engine.entry import rewrite
from graphrewrite.rewriting.match import Obstacle
from graphrewrite.rewriting.pattern.condition import Where
from graphrewrite.rewriting.rule.explanation import Explanation
from graphrewrite.rewriting.rule.outcome import Declined
from graphrewrite.rewriting.rule.tracing import KEEPS
from graphrewrite.runtime.display import Displayed
from graphrewrite.runtime.source_location import rule_error

__all__ = ["GraphRule", "Replacement", "from_graphs"]

_STARTS = 32  # so many nodes of a pattern are tried to explain why a node does not match

Replacement: TypeAlias = nx.DiGraph | Callable[[GraphMatch], nx.DiGraph | Declined]
"""The graph that replaces a match, or a function from a match to it."""


class GraphRule(Displayed):
    """A rewrite rule over digraphs of any kind; made by `graphrewrite.rewriting.digraph_rules.from_graphs`.

    Attributes
    ----------
    name : str
        Its name in messages and traces.
    pattern : GraphPattern
        The graph that it looks for.
    replacement : networkx.DiGraph or callable
        The graph that replaces it.
    replaced : frozenset of hashable
        Nodes and edges of which attributes are replaced, and not merged.
    keeps : str
        ``"exact"``, ``"rounding"`` or ``"assumes"``, as for any rule.
    file, line : str, int
        Its source location.
    anchor : hashable
        The node of the pattern at which matches are looked for.
    kinds : frozenset of str or None
        The types that the anchor can have; None for any.
    radius : int or None
        The greatest distance from the anchor at which a node decides about a match; None if unbounded.
    """

    def __init__(
        self,
        name: str,
        pattern: GraphPattern,
        replacement: Replacement,
        *,
        replaced: Iterable[Hashable] = (),
        keeps: str = "exact",
        file: str,
        line: int,
    ) -> None:
        self.name, self.keeps, self.file, self.line = name, keeps, file, line
        if not name:
            raise self.complain("its name is empty; write name='fuse'")
        if keeps not in KEEPS:
            raise self.complain("keeps is 'exact', 'rounding' or 'assumes'")
        self.pattern = pattern
        self.replaced = self._check_replaced(replaced)
        self.replacement: Replacement = replacement
        self._change: Change | None = None
        self._ops: tuple[Op, ...] = ()
        if isinstance(replacement, nx.Graph) or not callable(replacement):
            self.replacement = copy_digraph(replacement, "its replacement", self.complain)
            self._ops = _ops_of(replacement)
            self._change = self._compare(self.replacement)
            if self._change.is_empty:
                raise self.complain("its replacement is its pattern; change an attribute, a node or an edge")
        self.anchor = choose_anchor(self.pattern)
        self.kinds = kinds_of(self.pattern, self.anchor)
        self._absences = tuple(plan_absence(self.pattern, absent) for absent in self.pattern.without)
        self._routes = routes_of(self.pattern, self.anchor)
        self.radius = radius_of(self.pattern, self._routes, self._absences)
        self._sides = plan_sides(self.pattern)
        # Edges between matched nodes whose coming and going decides whether the rule declines; None for any of them.
        self._watched = None if self._change is None else self._change.inside(self.pattern)
        self._plans: dict[Hashable, Plan] = {}
        self._names: WeakKeyDictionary[nx.DiGraph, Names] = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_plans": {}, "_names": None}  # without the caches of graphs

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _names=WeakKeyDictionary())

    def complain(self, message: str) -> RuleError:
        """Return an error that names this rule and its source location."""
        return rule_error(self.name, self.file, self.line, message)

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
            By the anchor's position in topological order, then by the names of the others.
        """
        check_digraph(graph, "that graph rules work on")
        kinds, data = self.kinds, graph._node
        anchors = [n for n in in_order(graph) if kinds is None or data[n].get("type") in kinds]
        matches = self._matches(graph, self.anchor, anchors, None)
        return [match for match in matches if not isinstance(self.edit(graph, match), Declined)]

    def matches_at(self, graph: nx.DiGraph, node: Any, obstacle: Obstacle | None = None) -> Iterator[GraphMatch]:
        """Yield the matches whose anchor is a node; the rule may still decline them.

        The graph must not change meanwhile.
        """
        return self._matches(graph, self.anchor, [node], obstacle)

    def edit(self, graph: nx.DiGraph, match: GraphMatch) -> Edit | Declined:
        """Plan the edit that applies a match; change nothing."""
        names = self._names.get(graph)
        if names is None:
            names = self._names[graph] = Names(graph._node)
        change = self._change or self._computed(match)
        if isinstance(change, Declined):
            return change
        # New nodes may be of ops that only the replacement graph knows.
        for op in self._ops if isinstance(graph, Graph) else ():
            graph.adopt(op)
        planned = plan_change(change, self.pattern, graph, match.bindings, names)
        if isinstance(planned, Edit) and isinstance(graph, Dataflow) and (node := loses_operands(graph, planned)):
            return Declined("its operands would be missing or collide; a rule made of ops knows which is which", node)
        return planned

    def enabled_by(self, graph: nx.DiGraph, edit: Edit) -> list[Any]:
        """Return the nodes at which the rule may match, or no longer decline, since an edit; and possibly others.

        An empty list where `radius` is None: then the engine looks at all nodes again.
        """
        if self.radius is None:
            return []
        search = Search(self.pattern, self._plan(self.anchor), self._sides, self._absences, graph)
        return enabled_by(search, graph, self._routes, self._watched, self.radius, edit)

    def explain(self, graph: nx.DiGraph, *, at: Any) -> Explanation:
        """Say in one sentence why the rule does or does not apply at a node, as any of the pattern's first 32 nodes.

        A notebook draws it.

        Parameters
        ----------
        graph : networkx.DiGraph
            Any digraph.
        at : hashable
            A node of the graph.

        Returns
        -------
        Explanation
            The sentence, with the nodes that fitted and the node that did not.

        Examples
        --------
        >>> from graphrewrite.rewriting.digraph_rules import from_graphs
        >>> drop = from_graphs(nx.DiGraph([("s", "x"), ("x", "e")]), nx.DiGraph([("s", "e")]), name="drop",
        ...                    interface=["s", "e"])
        >>> graph = nx.DiGraph([("a", "b"), ("b", "c"), ("d", "b")])
        >>> print(drop.explain(graph, at="b"))
        drop does not match at 'b' as x: with x='b', s='a', e='c', 'b' has an edge to the outside of the match,
        'd' -> 'b', and x is no interface node.
        """
        check_digraph(graph, "that graph rules work on")
        if at not in graph:
            raise not_there(at, graph)
        # Which node of the pattern the user has in mind is not said: try each, and explain the one that came furthest.
        tried: dict[Hashable, tuple[bool, int, Obstacle]] = {}
        about: dict[str, Any] = {"rule": self, "graph": graph, "at": at}
        for name in sorted(self.pattern.single, key=lambda name: name != self.anchor)[:_STARTS]:
            obstacle = Obstacle()
            for match in self._matches(graph, name, [at], obstacle):
                edit = self.edit(graph, match)
                if not isinstance(edit, Declined):
                    sentence = f"{self.name} matches at {at!r} as {name}: {match}."
                    return Explanation(sentence, match=match, fits=match.bindings, nodes=match.nodes, **about)
                obstacle.note(len(self.pattern.single) + 3, None, f"declined: {edit.reason}", images=match.bindings)
            required = DataTest(self.pattern.graph.nodes[name])
            # Of nodes that came equally far, one whose own requirements fit is what the user means.
            likely = bool(required.required) and required.failing(graph.nodes[at], at) is None
            tried[name] = (likely, obstacle.progress, obstacle)
        start = max(tried, key=lambda name: tried[name][:2])  # of equal ones, the anchor, which comes first
        obstacle = tried[start][2]
        reason = in_context(obstacle.images, obstacle.reason)
        sentence = f"{self.name} does not match at {at!r} as {start}: {reason}."
        about.update(node=at if obstacle.node is None else obstacle.node, reason=reason, term=obstacle.term)
        groups = self.pattern.groups
        fitting = [node for name, image in obstacle.images.items() for node in (image if name in groups else (image,))]
        return Explanation(sentence, fits=obstacle.images, nodes=dict.fromkeys(fitting), **about)

    def __call__(self, graph: nx.DiGraph) -> nx.DiGraph:
        """Return the graph with this rule applied until nothing matches; the argument is untouched."""
        return rewrite(graph, (self,))

    def __repr__(self) -> str:
        return f"<rule {self.name}>"

    def __str__(self) -> str:
        return f"{self.name}: {self.pattern}"

    def _plan(self, start: Hashable) -> Plan:
        if start not in self._plans:
            self._plans[start] = plan_pattern(self.pattern, start)
        return self._plans[start]

    def _matches(
        self, graph: nx.DiGraph, start: Hashable, nodes: list[Any], obstacle: Obstacle | None
    ) -> Iterator[GraphMatch]:
        """Yield the matches in which a node of the pattern is one of some nodes."""
        plan = self._plan(start)
        condition = self.pattern.condition
        try:
            for bindings in Search(self.pattern, plan, self._sides, self._absences, graph, obstacle).matches(nodes):
                match = GraphMatch(self, bindings, graph)
                if condition is None or self._holds(condition, match):
                    yield match
                elif obstacle is not None:
                    reason = f"the pattern needs of the whole match: {condition.reason}"
                    obstacle.note(len(plan.steps) + 2, None, reason, images=bindings)
        except PredicateError as failure:
            raise self.complain(
                f"{failure.subject} fails at {failure.site!r}: {type(failure.error).__name__}: {failure.error}"
            ) from failure.error

    def _computed(self, match: GraphMatch) -> Change | Declined:
        """Return the change of a replacement that a function computes from a match."""
        try:
            new = self.replacement(match)
        except Exception as error:
            anchor = match.roots[0]
            raise self.complain(f"its replacement fails at {anchor!r}: {type(error).__name__}: {error}") from error
        if isinstance(new, Declined):
            return new
        for op in _ops_of(new) if isinstance(match._graph, Graph) else ():
            match._graph.adopt(op)
        return self._compare(copy_digraph(new, "what its replacement returns", self.complain))

    def _compare(self, new: nx.DiGraph) -> Change:
        check_replacement(self.pattern, new, self.replaced, self.complain)
        return Change.between(self.pattern, new, self.replaced)

    def _check_replaced(self, names: Iterable[Hashable]) -> frozenset[Hashable]:
        if isinstance(names, str):
            raise self.complain(f"replaced is a collection of names; write replaced=[{names!r}]")
        listed, graph = list(names), self.pattern.graph
        for name in listed:
            if name not in graph and not (isinstance(name, tuple) and len(name) == 2 and graph.has_edge(*name)):
                hint = did_you_mean(str(name), map(str, graph)) or "; it names nodes and edges of the pattern"
                raise self.complain(f"replaced names {name!r}, which the pattern does not have{hint}")
        return frozenset(listed)

    def _holds(self, condition: Where, match: GraphMatch) -> bool:
        try:
            return bool(condition.predicate(match))
        except Exception as error:
            raise PredicateError(match.roots[0], "the condition on the whole match", error) from error


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
    replaced: Iterable[Hashable] = (),
    keeps: str = "exact",
) -> GraphRule:
    """Make a rule of two graphs, for digraphs of any kind: each match of the first is replaced by the second.

    A match assigns a different node to each node of the pattern, and has its edges. An attribute in the pattern must be
    equal; a set or a range of values means one of them, `rule.where` a predicate; other attributes are free. Nodes
    that are no interface must have no edges but those of the pattern and to members of groups, so that none is lost
    with them (the dangling condition of double-pushout rewriting).

    Nodes and edges of both graphs, by name, stay with their attributes; interface nodes must be in both. Those of the
    pattern alone are removed; those of the replacement alone are new. Attributes of the replacement are set. A new edge
    takes over the attributes of the edges that its destination loses, or, where that is new itself, those that its
    source loses; if they differ, the match is declined. New nodes are named as in the replacement, with a number after
    it if that is taken.

    Parameters
    ----------
    pattern : networkx.DiGraph
        The graph to look for.
    replacement : networkx.DiGraph or callable
        The graph that replaces it; or a function from the match to that graph, or to ``decline(reason)``.
    name : str
        Name of the rule.
    interface : iterable of hashable
        Nodes of the pattern that stay, and may have edges to the outside.
    groups : iterable of hashable
        Interface nodes that stand for all outside neighbours, however many, of the interior nodes that they are
        connected to, on that side. A new edge connects all of them.
    induced : bool
        Whether interface nodes, too, must have no edges between matched nodes but those of the pattern, to themselves
        included.
    without : iterable of networkx.DiGraph
        Graphs that must not be there beside a match; their nodes that are named as in the pattern are those.
    condition : Where or callable
        A condition on the whole match, which depends on nothing but the match.
    replaced : iterable of hashable
        Nodes, and edges as pairs, that stay and have just the attributes that the replacement gives them; others keep
        theirs beside those.
    keeps : {"exact", "rounding", "assumes"}
        What the rewrite preserves.

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
    file, line = caller.f_code.co_filename, caller.f_lineno
    complain = partial(rule_error, name, file, line)
    checked = GraphPattern.of(pattern, interface, groups, induced, without, condition, complain)
    return GraphRule(name, checked, replacement, replaced=replaced, keeps=keeps, file=file, line=line)


def _ops_of(replacement: Any) -> tuple[Op, ...]:
    """Return the ops beside the library's that new nodes of a replacement may name."""
    return tuple(replacement.ops.values()) if isinstance(replacement, Graph) else ()
