"""The pattern of a graph rule: a graph, and the roles of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import networkx as nx

from graphrewrite.errors import did_you_mean
from graphrewrite.graph.argument_errors import no_digraph
from graphrewrite.graph.storage import own
from graphrewrite.rewriting.digraph_rules.requirements import in_words
from graphrewrite.rewriting.pattern.condition import Where, same

__all__ = ["Complain", "GraphPattern", "copy_digraph", "same_requirement"]

Complain = Callable[[str], Exception]
"""Makes an error that names a rule and its source location."""


@dataclass(frozen=True, eq=False)
class GraphPattern:
    """The graph that a graph rule looks for.

    Attributes
    ----------
    graph : networkx.DiGraph
        Nodes, edges and the requirements on their attributes; frozen.
    interface : tuple of hashable
        Nodes that stay, and may have edges to the outside; groups included.
    groups : tuple of hashable
        Those that stand for all outside neighbours of the interior nodes that they are connected to.
    induced : bool
        Whether interface nodes, too, have no edges between matched nodes but those of the pattern.
    without : tuple of networkx.DiGraph
        Graphs that must not be there beside a match.
    condition : Where, optional
        A condition on a whole match.

    Examples
    --------
    >>> from graphrewrite.rewriting.digraph_rules import from_graphs
    >>> graph = nx.DiGraph([("s", "x"), ("x", "e")])
    >>> graph.nodes["x"]["type"] = "relu"
    >>> skip = from_graphs(graph, nx.DiGraph([("s", "e")]), name="skip", interface=["s"], groups=["e"])
    >>> print(skip.pattern)
    s -> x: relu -> *e; interface s, e
    """

    graph: nx.DiGraph
    interface: tuple[Hashable, ...]
    groups: tuple[Hashable, ...]
    induced: bool
    without: tuple[nx.DiGraph, ...]
    condition: Where | None

    @classmethod
    def of(
        cls,
        graph: Any,
        interface: Iterable[Hashable],
        groups: Iterable[Hashable],
        induced: bool,
        without: Iterable[Any],
        condition: Any,
        complain: Complain,
    ) -> GraphPattern:
        """Check the arguments of `graphrewrite.rewriting.digraph_rules.from_graphs`, and make the pattern."""
        # Later changes of the caller's graph must not change the rule.
        frozen = copy_digraph(graph, "its pattern", complain)
        if not len(frozen):
            raise complain("its pattern is empty; give it at least one node")
        named: dict[str, dict[Hashable, None]] = {}
        for what, names in (("interface", interface), ("groups", groups)):
            # A string, and a graph below, could be iterated over as well.
            if isinstance(names, str):
                raise complain(f"{what} is a collection of names; write {what}=[{names!r}]")
            named[what] = dict.fromkeys(names)
            for name in named[what]:
                if name not in frozen:
                    hint = did_you_mean(str(name), map(str, frozen)) or "; it must be a node of the pattern"
                    raise complain(f"{what} names {name!r}, which the pattern does not have{hint}")
        if isinstance(without, nx.Graph):
            raise complain("without is a collection of graphs; write without=[graph]")
        pattern = cls(
            frozen,
            tuple(n for n in frozen if n in named["interface"] or n in named["groups"]),
            tuple(n for n in frozen if n in named["groups"]),
            induced,
            tuple(copy_digraph(g, f"without[{i}]", complain) for i, g in enumerate(without)),
            _as_where(condition, complain),
        )
        pattern.check_groups(complain)
        for index, absent in enumerate(pattern.without):
            pattern.check_without(index, absent, complain)
        return pattern

    @cached_property
    def single(self) -> tuple[Hashable, ...]:
        """The nodes that match one node each."""
        groups = frozenset(self.groups)
        return tuple(name for name in self.graph if name not in groups)

    @cached_property
    def interior(self) -> tuple[Hashable, ...]:
        """The nodes that are no interface."""
        interface = frozenset(self.interface)
        return tuple(name for name in self.graph if name not in interface)

    def sides(self, name: Hashable) -> tuple[Hashable | None, Hashable | None]:
        """Return the group that feeds a node and the one that reads it, None where there is none."""
        return (
            next((g for g in self.groups if self.graph.has_edge(g, name)), None),
            next((g for g in self.groups if self.graph.has_edge(name, g)), None),
        )

    def check_groups(self, complain: Complain) -> None:
        """Raise for a group without interior neighbours, and for two groups on one side of a node."""
        if not self.single:
            raise complain("its pattern holds groups only; give it a node that matches one node")
        for group in self.groups:
            # A group has no node of its own: only interior nodes, all of whose edges are known, say which nodes it is.
            neighbours = {*self.graph.pred[group], *self.graph.succ[group]}
            outer = [n for n in self.graph if n in neighbours and n in self.interface]
            if outer or not neighbours:
                beside = f"the interface node {outer[0]!r}" if outer else "nothing"
                raise complain(
                    f"the group {group!r} is connected to {beside}; a group stands for the outside neighbours of "
                    "interior nodes"
                )
        for name in self.interior:
            for near, verb in ((self.graph.pred[name], "feed"), (self.graph.succ[name], "read")):
                groups = [g for g in self.groups if g in near]
                if len(groups) > 1:
                    raise complain(
                        f"the groups {groups[0]!r} and {groups[1]!r} both {verb} {name!r}; one stands for all"
                    )

    def check_without(self, index: int, absent: nx.DiGraph, complain: Complain) -> None:
        """Refuse a negative condition that does not touch the pattern, or that the pattern itself fulfils."""
        shared = [name for name in absent if name in self.graph]
        if not shared:
            raise complain(f"without[{index}] shares no node with the pattern; name one as the pattern does")
        for group in self.groups:
            if group in absent:
                raise complain(f"without[{index}] names the group {group!r}; it can name nodes that match one node")
        # A graph that is part of the pattern is there in every match.
        inside = len(shared) == len(absent) and all(
            self.graph.has_edge(a, b) and same_requirement(data, self.graph.edges[a, b])
            for a, b, data in absent.edges(data=True)
        )
        if inside and all(same_requirement(absent.nodes[name], self.graph.nodes[name]) for name in shared):
            raise complain(f"without[{index}] asks for nothing beside the pattern; the rule would never match")

    def __str__(self) -> str:
        parts = [_drawn(self.graph, self.groups)]
        if self.interface:
            parts.append("interface " + ", ".join(map(str, self.interface)))
        parts += ["induced"] if self.induced else []
        parts += [f"without {_drawn(graph, ())}" for graph in self.without]
        parts += [f"where {self.condition.reason}"] if self.condition else []
        return "; ".join(parts)

    def __repr__(self) -> str:
        return f"<pattern {self}>"


def copy_digraph(graph: Any, what: str, complain: Complain) -> nx.DiGraph:
    """Return a frozen plain copy of a digraph, of its nodes, edges and their attributes."""
    if not isinstance(graph, nx.DiGraph) or graph.is_multigraph():
        raise complain(f"{what} is a {type(graph).__name__}; {no_digraph(graph)}")
    copied = nx.DiGraph()
    copied.add_nodes_from((name, own(data)) for name, data in graph.nodes(data=True))
    copied.add_edges_from((a, b, own(data)) for a, b, data in graph.edges(data=True))
    return nx.freeze(copied)


def same_requirement(data: dict[str, Any], pattern: dict[str, Any]) -> bool:
    """Tell whether each requirement of a dictionary is one of another, too."""
    return all(key in pattern and (value is pattern[key] or same(value, pattern[key])) for key, value in data.items())


def _as_where(condition: Any, complain: Complain) -> Where | None:
    if condition is None or isinstance(condition, Where):
        return condition
    if callable(condition):
        return Where(condition, "its condition holds")
    raise complain("its condition is neither a predicate nor rule.where(predicate, reason)")


def _drawn(graph: nx.DiGraph, groups: tuple[Hashable, ...]) -> str:
    """Write a graph as paths on one line, each edge once, a node's attributes where it first stands."""
    left = dict.fromkeys(graph.edges)
    written: set[Hashable] = set()

    def write_once(name: Hashable) -> str:
        label = f"*{name}" if name in groups else str(name)
        if name in written:
            return label
        written.add(name)
        data = graph.nodes[name]
        kind = in_words(data["type"]) if "type" in data and not isinstance(data["type"], str) else data.get("type")
        others = ", ".join(f"{key}={in_words(value)}" for key, value in data.items() if key != "type")
        return label + (f": {kind}" if kind is not None else "") + (f"({others})" if others else "")

    paths: list[str] = []
    # First from nodes that nothing feeds, then from any that still has an unwritten edge, then nodes without edges.
    starts = [*(n for n in graph if not graph.pred[n] and graph.succ[n]), *graph]
    for start in starts:
        while any((start, reader) in left for reader in graph.succ[start]) or (
            start not in written and not graph.pred[start] and not graph.succ[start]
        ):
            node, path = start, write_once(start)
            while (reader := next((r for r in graph.succ[node] if (node, r) in left), None)) is not None:
                del left[node, reader]
                data = ", ".join(f"{key}={in_words(value)}" for key, value in graph.edges[node, reader].items())
                path += (f" -[{data}]-> " if data else " -> ") + write_once(reader)
                node = reader
            paths.append(path)
    return ", ".join(paths)
