"""Instances of pattern graphs in digraphs: one after the other, overlapping where they can, and what is around them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from typing import Any

import networkx as nx
from hypothesis import strategies as st

from graphrewrite.rewriting.digraph_rules import GraphPattern, GraphRule, fresh_name
from graphrewrite.rewriting.digraph_rules.requirements import DataTest
from graphrewrite.rewriting.pattern import Where, same
from graphrewrite.testing.generation.demand import Pick, Unfit, admits, unmet
from graphrewrite.testing.strategies.picking import picking

__all__ = ["Site", "matches", "vocabulary"]

Data = dict[Any, Any]
_TRIES = 8
"""So often a value is drawn for a condition before any values are tried."""
_GUESSES: tuple[Any, ...] = (*range(17), -1, -2, 32, 64, 100, 1000, 0.5, -0.5, 1.5, True, False, None, "a", "A", "", ())
_ROOM = 3
"""So many nodes at most a group has, and so many the context, beside instances."""


def matches(rule: GraphRule, graph: nx.DiGraph) -> bool:
    """Tell whether the pattern of a graph rule is somewhere in a graph."""
    return any(True for node in graph for _ in rule.matches_at(graph, node))


def vocabulary(patterns: Iterable[GraphPattern], *, edges: bool) -> dict[Any, list[Any]]:
    """Return the attributes that patterns speak of, each with the values that they name and others like them.

    Examples
    --------
    >>> from graphrewrite.rewriting.digraph_rules import from_graphs
    >>> pattern = nx.DiGraph()
    >>> pattern.add_node("n", type="relu", size={1, 4})
    >>> rule = from_graphs(pattern, nx.DiGraph([("n", "m")]), name="grow", interface=["n"])
    >>> vocabulary([rule.pattern], edges=False)
    {'type': ['relu', 'other'], 'size': [1, 4, 2, 5]}
    """
    found: dict[Any, list[Any]] = {}
    for pattern in patterns:
        for graph in (pattern.graph, *pattern.without):
            for _, data in (((a, b), d) for a, b, d in graph.edges(data=True)) if edges else graph.nodes(data=True):
                for key, required in data.items():
                    found.setdefault(key, []).extend(_named_by(required))
    for key, values in found.items():
        values += [_another(value) for value in values] or list(_GUESSES)
        found[key] = [v for i, v in enumerate(values) if not any(_equal(v, other) for other in values[:i])]
    return found


def _named_by(required: Any) -> list[Any]:
    if isinstance(required, Where):
        return []
    if isinstance(required, range):
        return list(required[:4])
    return sorted(required, key=repr) if isinstance(required, Set) else [required]


def _another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else "other"


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and same(a, b)


class Site:
    """A digraph in which instances of patterns are placed.

    Parameters
    ----------
    acyclic : bool
        Whether there must be no cycle.
    """

    def __init__(
        self,
        draw: Callable[[Any], Any],
        nodes: st.SearchStrategy[Data],
        edges: st.SearchStrategy[Data],
        names: st.SearchStrategy[Any] | None,
        *,
        acyclic: bool,
    ) -> None:
        self.draw, self.nodes, self.edges, self.names, self.acyclic = draw, nodes, edges, names, acyclic
        self.pick: Pick = picking(draw)
        self.graph = nx.DiGraph()
        self.closed: set[Any] = set()
        """Nodes that may get no further edge: a match has them as its interior."""

    # ------------------------------------------------------------------ nodes and edges

    def name(self, stem: Hashable) -> Any:
        """Return a name that is free."""
        if self.names is not None:
            return self.draw(self.names.filter(lambda name: name not in self.graph))
        if self.pick((False, False, False, True)):
            return next(i for i in range(len(self.graph) + 1) if i not in self.graph)
        return fresh_name(self.graph, stem)

    def node(self, stem: Hashable, required: Mapping[Any, Any]) -> Any:
        """Add a node that has what is required, and return its name."""
        name, data = self.name(stem), self.data(self.nodes, required)
        self.graph.add_node(name)
        self.graph.nodes[name].update(data)
        return name

    def edge(self, source: Any, destination: Any, required: Mapping[Any, Any]) -> None:
        """Add an edge that has what is required, unless there is one that has."""
        if self.graph.has_edge(source, destination):
            if DataTest(required).failing(self.graph.edges[source, destination], (source, destination)) is not None:
                raise Unfit("an edge is there with other attributes")
            return
        if self.acyclic and (source == destination or nx.has_path(self.graph, destination, source)):
            raise Unfit("it would close a cycle")
        data = self.data(self.edges, required)
        self.graph.add_edge(source, destination)
        self.graph.edges[source, destination].update(data)

    def data(self, strategy: st.SearchStrategy[Data], required: Mapping[Any, Any]) -> Data:
        """Return attributes of which some fulfil what is required."""
        data = dict(self.draw(strategy))
        for key, wanted in required.items():
            data[key] = self.value(key, wanted, data, strategy)
        return data

    def value(self, key: Any, wanted: Any, data: Data, strategy: st.SearchStrategy[Data]) -> Any:
        """Return a value that an attribute may have by a pattern."""
        if isinstance(wanted, Where):
            drawn = [data, *(self.draw(strategy) for _ in range(0 if key in data else _TRIES))]
            for option in (*(d[key] for d in drawn if key in d), *_GUESSES):
                if admits(wanted, option):
                    return option
            raise Unfit(f"{key!r}: {unmet(wanted, next(iter(_GUESSES)))}")
        if isinstance(wanted, Set | range):
            return self.pick(wanted if isinstance(wanted, range) else sorted(wanted, key=repr))
        return wanted

    # ------------------------------------------------------------------ instances

    def add(self, pattern: GraphPattern, *, share: bool, holds: Callable[[nx.DiGraph], bool]) -> None:
        """Add an instance of a pattern, with nodes that are there if something is true of the graph then."""
        graph, closed = self.graph.copy(), set(self.closed)
        for shared in (True, False) if share else (False,):
            reason = "its conditions do not hold there"
            try:
                self.place(pattern, share=shared)
            except Unfit as error:
                reason = str(error)
            else:
                if holds(self.graph):
                    return
            self.graph, self.closed = graph.copy(), set(closed)
        raise Unfit(reason)

    def place(self, pattern: GraphPattern, *, share: bool) -> dict[Hashable, Any]:
        """Add an instance of a pattern, and return which node stands for which name."""
        wanted, image = pattern.graph, dict[Hashable, Any]()
        for name in pattern.single:
            image[name] = self.found(wanted.nodes[name], image, share=share)
            if image[name] is None:
                image[name] = self.node(name, wanted.nodes[name])
        for a, b, required in wanted.edges(data=True):
            if a in image and b in image:
                self.edge(image[a], image[b], required)
        for group in pattern.groups:
            self.members(pattern, group, image)
        self.closed.update(image[name] for name in pattern.interior)
        return image

    def found(self, required: Mapping[Any, Any], image: Mapping[Hashable, Any], *, share: bool) -> Any:
        """Return a node that is there, for one of a pattern; None for a new one."""
        if not share or not self.pick((True, False)):
            return None
        test, taken = DataTest(required), set(image.values())
        fitting = [n for n, data in self.graph.nodes.items() if n not in taken and test.failing(data, n) is None]
        return self.pick(fitting) if fitting else None

    def members(self, pattern: GraphPattern, group: Hashable, image: Mapping[Hashable, Any]) -> None:
        """Add some nodes that a group stands for."""
        wanted = pattern.graph
        for _ in range(self.pick(range(_ROOM + 1))):
            member = self.found(wanted.nodes[group], image, share=True)
            if member is None:
                member = self.node(group, wanted.nodes[group])
            for name in wanted.pred[group]:
                self.edge(image[name], member, wanted.edges[name, group])
            for name in wanted.succ[group]:
                self.edge(member, image[name], wanted.edges[group, name])

    # ------------------------------------------------------------------ what is around them

    def surround(self, patterns: Sequence[GraphPattern]) -> None:
        """Add nodes and edges beside what is there: readers outside of the matches, and what nearly is a match."""
        missing: Sequence[GraphPattern | None] = (None, *patterns)
        if (nearly := self.pick(missing)) is not None:
            if self.pick((True, False)):
                self.near_miss(nearly)
            else:
                self.place(nearly, share=False)
        for _ in range(self.pick(range(_ROOM + 1))):
            self.node("n", {})
        open_ = [n for n in self.graph if n not in self.closed]
        for _ in range(self.pick(range(2 * _ROOM)) if open_ else 0):
            a, b = self.pick(open_), self.pick(open_)
            if not self.graph.has_edge(a, b) and not (self.acyclic and (a == b or nx.has_path(self.graph, b, a))):
                self.edge(a, b, {})

    def near_miss(self, pattern: GraphPattern) -> None:
        """Add what lacks an edge or an attribute of an instance, or has an edge too many."""
        before, closed = set(self.graph), set(self.closed)
        image = self.place(pattern, share=False)
        self.closed = closed
        new = [n for n in self.graph if n not in before]
        edges = [(a, b) for a, b in self.graph.edges if a in new]
        ways: list[Callable[[], Any]] = [lambda: self.graph.add_edge(self.pick(new), self.node("n", {}))]
        if edges:
            ways.append(lambda: self.graph.remove_edge(*self.pick(edges)))
        told = [(image[n], k) for n in pattern.single for k in pattern.graph.nodes[n]]
        if told:
            ways.append(lambda: self.forget(*self.pick(told)))
        self.pick(ways)()

    def forget(self, node: Any, key: Any) -> None:
        """Take an attribute from a node, or give it another value."""
        data = self.graph.nodes[node]
        others = {k: v for k, v in self.draw(self.nodes).items() if k == key}
        data.pop(key)
        data.update(others)
