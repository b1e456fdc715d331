"""The order in which the nodes of a pattern are searched, and the edges that lead to each."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterable, Set
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, TypeAlias

import networkx as nx

from graphrewrite.rewriting.digraph_rules.fits import DataTest
from graphrewrite.rewriting.digraph_rules.pattern import GraphPattern

__all__ = [
    "Absence",
    "Plan",
    "Routes",
    "Side",
    "Step",
    "choose_anchor",
    "kinds_of",
    "plan_absence",
    "plan_pattern",
    "plan_sides",
    "radius_of",
    "routes_of",
]

_MANY = 32  # of so many nodes that could be the anchor, the one nearest to all others is taken


class Hop(NamedTuple):
    """How far a node of a pattern is from the anchor, the next node on the way, and whether the edge goes there."""

    distance: int
    next: Hashable
    forward: bool


Routes: TypeAlias = dict[Hashable, Hop]
"""The ways from all nodes of a pattern to the anchor."""


@dataclass(frozen=True, slots=True)
class Step:
    """How one node of a pattern is found when others are.

    Attributes
    ----------
    name : hashable
        The node of the pattern.
    test : DataTest
        What its attributes must be.
    loop : DataTest, optional
        What the attributes of its edge to itself must be; None where the pattern has none.
    bare : bool
        Whether it must have no edge to itself.
    backs : tuple of (name, forward, DataTest)
        Edges to nodes that are found before; ``forward`` ones come from there.
    apart : tuple of (name, forward)
        Edges to such nodes that must not be.
    least, most : tuple of int
        How many edges come in and go out.
    """

    name: Hashable
    test: DataTest
    loop: DataTest | None
    bare: bool
    backs: tuple[tuple[Hashable, bool, DataTest], ...]
    apart: tuple[tuple[Hashable, bool], ...]
    least: tuple[int, int]
    most: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps from one node of a pattern to all others.

    Attributes
    ----------
    steps : tuple of Step
        In order.
    connected : bool
        Whether each but the first has an edge to an earlier one.
    """

    steps: tuple[Step, ...]
    connected: bool


@dataclass(frozen=True, slots=True)
class Absence:
    """A negative condition: it is there if all of this is found.

    Attributes
    ----------
    graph : networkx.DiGraph
        As it was given.
    nodes : tuple of (name, DataTest)
        What more is asked of matched nodes.
    edges : tuple of (source, destination, DataTest)
        Edges between matched nodes.
    plan : Plan
        How its own nodes are found.
    """

    graph: nx.DiGraph
    nodes: tuple[tuple[Hashable, DataTest], ...]
    edges: tuple[tuple[Hashable, Hashable, DataTest], ...]
    plan: Plan


@dataclass(frozen=True, slots=True)
class Side:
    """The edges of an interior node on one side, when all nodes are found.

    Attributes
    ----------
    name : hashable
        The interior node.
    forward : bool
        Whether it is about the edges that go out.
    group : hashable, optional
        What outside neighbours belong to; where there is none, there must be none.
    node, edge : DataTest
        What each of them must be, and its edge.
    """

    name: Hashable
    forward: bool
    group: Hashable | None
    node: DataTest
    edge: DataTest


def plan_sides(pattern: GraphPattern) -> tuple[Side, ...]:
    """Plan what is looked at around the interior nodes, when all nodes are found."""
    sides = []
    for name in pattern.interior:
        for forward, group in zip((False, True), pattern.sides(name), strict=True):
            node = {} if group is None else pattern.graph.nodes[group]
            edge = {} if group is None else pattern.graph.edges[(name, group) if forward else (group, name)]
            sides.append(Side(name, forward, group, DataTest(node), DataTest(edge)))
    return tuple(sides)


def plan_pattern(pattern: GraphPattern, anchor: Hashable) -> Plan:
    """Plan how the nodes of a pattern that match one node each are found, beginning with one of them."""
    graph, interior = pattern.graph, set(pattern.interior)

    # Interior nodes have few edges: to go on from them, and to them, keeps the choice small.
    def cost(name: Hashable) -> tuple[bool, bool]:
        return (name not in interior, not graph.nodes[name])

    order = [anchor, *_order(graph, [n for n in pattern.single if n != anchor], [anchor], cost)]
    steps = []
    earlier: set[Hashable] = set()
    for index, name in enumerate(order):
        apart = [
            (other, forward)
            for other in (order[:index] if pattern.induced else ())
            for forward in (True, False)
            if not (graph.has_edge(other, name) if forward else graph.has_edge(name, other))
        ]
        bare = pattern.induced and not graph.has_edge(name, name)
        degrees = _degrees(pattern, name, name in interior)
        steps.append(_step(graph, name, earlier, tuple(apart), bare, *degrees))
        earlier.add(name)
    return Plan(tuple(steps), all(step.backs for step in steps[1:]))


def plan_absence(pattern: GraphPattern, absent: nx.DiGraph) -> Absence:
    """Plan how what must not be there is found beside a match."""
    shared = [name for name in absent if name in pattern.graph]
    own = _order(absent, [name for name in absent if name not in pattern.graph], shared, lambda name: 0)
    steps = []
    earlier = set(shared)
    for name in own:
        steps.append(_step(absent, name, earlier))
        earlier.add(name)
    return Absence(
        absent,
        tuple((name, DataTest(absent.nodes[name])) for name in shared),
        tuple((a, b, DataTest(absent.edges[a, b])) for a in shared for b in absent.succ[a] if b in pattern.graph),
        Plan(tuple(steps), all(step.backs for step in steps)),
    )


def choose_anchor(pattern: GraphPattern) -> Hashable:
    """Choose the node of a pattern at which matches are looked for.

    An interior node, for those have few edges; one whose type is known; the one nearest to all others; the first.
    """
    interior = set(pattern.interior)
    best = min((name not in interior, kinds_of(pattern, name) is None) for name in pattern.single)
    equal = [name for name in pattern.single if (name not in interior, kinds_of(pattern, name) is None) == best]
    return min(equal[:_MANY], key=lambda name: _reach(routes_of(pattern, name)))


def kinds_of(pattern: GraphPattern, name: Hashable) -> frozenset[Any] | None:
    """Return the types that a node may have that matches a node of the pattern; None for any."""
    required = pattern.graph.nodes[name].get("type")
    if isinstance(required, str):
        return frozenset((required,))
    if isinstance(required, Set) and all(isinstance(kind, str) for kind in required):
        return frozenset(required)
    return None


def radius_of(pattern: GraphPattern, routes: Routes, absences: tuple[Absence, ...]) -> int | None:
    """Return how many edges away from the anchor a node can be that decides about a match; None for any number."""
    if len(routes) < len(pattern.single) or not all(absence.plan.connected for absence in absences):
        return None
    reach = _reach(routes)
    # An edge from an interior node to the outside blocks a match, or is a group's: its other end decides as well.
    return max(
        1,
        reach,
        *(routes[name].distance + 1 for name in pattern.interior),
        *(reach + len(a.plan.steps) for a in absences),
    )


def routes_of(pattern: GraphPattern, anchor: Hashable) -> Routes:
    """Return the shortest way to the anchor from each node of a pattern that is connected to it."""
    graph, single = pattern.graph, set(pattern.single)
    routes: Routes = {anchor: Hop(0, anchor, True)}
    layer = [anchor]
    while layer:
        reached = []
        for name in layer:
            for near, forward in ((graph.pred[name], True), (graph.succ[name], False)):
                for other in near:
                    if other in single and other not in routes:
                        routes[other] = Hop(routes[name].distance + 1, name, forward)
                        reached.append(other)
        layer = reached
    return routes


def _reach(routes: Routes) -> int:
    return max(hop.distance for hop in routes.values())


def _order(
    graph: nx.DiGraph, names: Collection[Hashable], placed: Iterable[Hashable], cost: Callable[[Any], Any]
) -> list[Hashable]:
    """Return names so that each has edges to as many earlier ones as can be; ties by cost, then as given."""
    position = {name: index for index, name in enumerate(names)}
    found: dict[Hashable, None] = {}
    known = dict.fromkeys(names, 0)
    heap: list[tuple[int, Any, int, Hashable]] = []

    def reach(name: Hashable) -> None:
        for other in {**graph.pred[name], **graph.succ[name]}:
            if other in known and other not in found:
                known[other] += 1
                heapq.heappush(heap, (-known[other], cost(other), position[other], other))

    for name in placed:
        reach(name)
    rest = iter(sorted(names, key=lambda name: (cost(name), position[name])))
    while len(found) < len(position):
        name = heapq.heappop(heap)[3] if heap else next(n for n in rest if n not in found)
        if name not in found:
            found[name] = None
            reach(name)
    return list(found)


def _step(
    graph: nx.DiGraph,
    name: Hashable,
    earlier: Collection[Hashable],
    apart: tuple[tuple[Hashable, bool], ...] = (),
    bare: bool = False,
    least: tuple[int, int] = (0, 0),
    most: tuple[float, float] = (inf, inf),
) -> Step:
    backs = [(other, True, DataTest(data)) for other, data in graph.pred[name].items() if other in earlier]
    backs += [(other, False, DataTest(data)) for other, data in graph.succ[name].items() if other in earlier]
    loop = DataTest(graph.edges[name, name]) if graph.has_edge(name, name) else None
    return Step(name, DataTest(graph.nodes[name]), loop, bare, tuple(backs), apart, least, most)


def _degrees(pattern: GraphPattern, name: Hashable, interior: bool) -> tuple[tuple[int, int], tuple[float, float]]:
    """Return how many edges a node that matches has at least, and at most, coming in and going out."""
    graph = pattern.graph
    groups = pattern.sides(name)
    least = (graph.in_degree(name) - (groups[0] is not None), graph.out_degree(name) - (groups[1] is not None))
    if not interior:
        return least, (inf, inf)
    # Edges to the outside block a match; among matched nodes there may be more, unless the pattern is induced.
    inner = least if pattern.induced else (len(pattern.single),) * 2
    return least, (inf if groups[0] is not None else inner[0], inf if groups[1] is not None else inner[1])
