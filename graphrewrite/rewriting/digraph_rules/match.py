"""Matches of graph rules, and which of them can be applied together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import networkx as nx

from graphrewrite.errors import RuleError, did_you_mean

if TYPE_CHECKING:
    from graphrewrite.rewriting.digraph_rules.digraph_rule import GraphRule

__all__ = ["GraphMatch", "non_overlapping"]


@dataclass(frozen=True, repr=False)
class GraphMatch:
    """A site at which a graph rule applies.

    Attributes
    ----------
    rule : GraphRule
        The rule.
    bindings : dict
        Name in the pattern to node of the graph; of a group, to the tuple of its nodes.

    Examples
    --------
    >>> from graphrewrite.rewriting.digraph_rules import from_graphs
    >>> pattern = nx.DiGraph([("s", "x")])
    >>> grow = from_graphs(pattern, nx.DiGraph([("s", "y")]), name="grow", interface=["s"])
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("a", "b", weight=2)
    >>> match = grow.find(graph)[0]
    >>> print(match)
    grow at 'b' with s='a', x='b'
    >>> match["x"], match.edge("s", "x")
    (mappingproxy({}), mappingproxy({'weight': 2}))
    """

    rule: GraphRule
    bindings: dict[Hashable, Any]
    _graph: nx.DiGraph = field(compare=False)

    @property
    def nodes(self) -> tuple[Any, ...]:
        """The matched nodes in the order of the pattern, then those of its groups."""
        pattern = self.rule.pattern
        groups = (node for group in pattern.groups for node in self.bindings[group])
        return tuple(dict.fromkeys([*(self.bindings[name] for name in pattern.single), *groups]))

    @property
    def roots(self) -> tuple[Any, ...]:
        """The node at which the match was looked for."""
        return (self.bindings[self.rule.anchor],)

    @property
    def interior(self) -> tuple[Any, ...]:
        """The matched nodes that are no interface: they have no edge to the outside."""
        return tuple(self.bindings[name] for name in self.rule.pattern.interior)

    def __getitem__(self, name: Hashable) -> Any:
        """Return the attributes of the node of a name; of a group, a tuple of them."""
        self._check(name)
        image, data = self.bindings[name], self._graph.nodes
        if name in self.rule.pattern.groups:
            return tuple(MappingProxyType(data[node]) for node in image)
        return MappingProxyType(data[image])

    def edge(self, source: Hashable, destination: Hashable) -> Any:
        """Return the attributes of the edge that matches an edge of the pattern.

        Parameters
        ----------
        source, destination : hashable
            Names in the pattern.

        Returns
        -------
        mapping
            At a group, a tuple with one entry for each of its nodes: None where it has no such edge.
        """
        self._check(source)
        self._check(destination)
        if not self.rule.pattern.graph.has_edge(source, destination):
            raise RuleError(f"the pattern of rule {self.rule.name!r} has no edge from {source!r} to {destination!r}")
        a, b = self.bindings[source], self.bindings[destination]  # at most one of them is a group's tuple
        if source in self.rule.pattern.groups:
            return tuple(self._data(node, b) for node in a)
        if destination in self.rule.pattern.groups:
            return tuple(self._data(a, node) for node in b)
        return self._data(a, b)

    def _data(self, source: Any, destination: Any) -> Mapping[str, Any] | None:
        data = self._graph.get_edge_data(source, destination)
        return None if data is None else MappingProxyType(data)

    def _check(self, name: Hashable) -> None:
        if name not in self.bindings:
            hint = did_you_mean(str(name), map(str, self.bindings))
            raise RuleError(f"the pattern of rule {self.rule.name!r} has no node {name!r}{hint}")

    def __repr__(self) -> str:
        return f"<match: {self}>"

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={image!r}" for name, image in self.bindings.items())
        return f"{self.rule.name} at {self.roots[0]!r} with {shown}"


def non_overlapping(matches: Iterable[GraphMatch]) -> list[GraphMatch]:
    """Keep those matches that can be applied together: the first, and each that overlaps with no kept one.

    Two matches overlap if an interior node of one is matched by the other. They may share interface nodes.

    Parameters
    ----------
    matches : iterable of GraphMatch
        In order of preference, of one rule or of several.

    Examples
    --------
    >>> from graphrewrite.rewriting.digraph_rules import from_graphs
    >>> drop = from_graphs(nx.DiGraph([("s", "x"), ("x", "e")]), nx.DiGraph([("s", "e")]), name="drop",
    ...                    interface=["s", "e"])
    >>> matches = drop.find(nx.path_graph(6, nx.DiGraph))
    >>> len(matches)
    4
    >>> for match in non_overlapping(matches):
    ...     print(match)
    drop at 1 with s=0, x=1, e=2
    drop at 3 with s=2, x=3, e=4
    """
    # Greedy: the nodes of kept matches, and those of them that are interior.
    kept: list[GraphMatch] = []
    touched: set[Any] = set()
    inside: set[Any] = set()
    for match in matches:
        if inside.isdisjoint(match.nodes) and touched.isdisjoint(match.interior):
            kept.append(match)
            touched.update(match.nodes)
            inside.update(match.interior)
    return kept
