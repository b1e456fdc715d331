"""The order in which the nodes of a pattern are searched, and the edges that lead to each."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Iterable, Set
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple, TypeAlias

import networkx as nx

from graphrewrite.rewriting.digraph_rules.pattern import GraphPattern
from graphrewrite.rewriting.digraph_rules.requirements import DataTest

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

_MANY = 32  # so many candidates for the anchor are compared: each comparison walks the whole pattern


class Hop(NamedTuple):
    """The distance of a pattern node from the anchor, the next node on the way, and whether the edge leads there."""

    distance: int
    next: Hashable
    forward: bool


Routes: TypeAlias = dict[Hashable, Hop]
"""The ways from all nodes of a pattern to the anchor."""


@dataclass(frozen=True, slots=True)
class Step:
    """The search for one node of a pattern when others are matched.

    Attributes
    ----------
    name : hashable
        The node of the pattern.
    test : DataTest
        Requirements on its attributes.
    loop : DataTest, optional
        Requirements on its edge to itself; None where the pattern has none.
    bare : bool
        Whether it must have no edge to itself.
    backs : tuple of (name, forward, DataTest)
        Edges to nodes that are found before; ``forward`` ones come from there.
    apart : tuple of (name, forward)
        Edges to such nodes that must not exist.
    least, most : tuple of int
        Bounds on the numbers of edges that come in and go out.
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
    """A negative condition: it holds for a match beside which all of this cannot be found.

    Attributes
    ----------
    graph : networkx.DiGraph
        The graph that must not be there.
    nodes : tuple of (name, DataTest)
        Further requirements on matched nodes.
    edges : tuple of (source, destination, DataTest)
        Edges between matched nodes.
    plan : Plan
        The search for its own nodes.
    """

    graph: nx.DiGraph
    nodes: tuple[tuple[Hashable, DataTest], ...]
    edges: tuple[tuple[Hashable, Hashable, DataTest], ...]
    plan: Plan


@dataclass(frozen=True, slots=True)
class Side:
    """The edges of an interior node on one side, checked when all nodes are found.

    Attributes
    ----------
    name : hashable
        The interior node.
    forward : bool
        Whether these are the edges that go out.
    group : hashable, optional
        The group of the outside neighbours; without one, there must be no such neighbours.
    node, edge : DataTest
        Requirements on each of them, and on its edge.
    """

    name: Hashable
    forward: bool
    group: Hashable | None
    node: DataTest
    edge: DataTest


def plan_sides(pattern: GraphPattern) -> tuple[Side, ...]:
    """Plan the checks of the edges around interior nodes."""
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
    """Plan the search for a graph that must not be there beside a match."""
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
    ranks = {name: (name not in interior, kinds_of(pattern, name) is None) for name in pattern.single}
    # Of equally good ones that with the shortest way to the farthest node: affected nodes are found along these ways.
    least = min(ranks.values())
    best = [name for name, rank in ranks.items() if rank == least]
    return min(best[:_MANY], key=lambda name: _reach(routes_of(pattern, name)))


def kinds_of(pattern: GraphPattern, name: Hashable) -> frozenset[Any] | None:
    """Return the types that a node may have that matches a node of the pattern; None for any."""
    required = pattern.graph.nodes[name].get("type")  # a predicate may accept any type
    if isinstance(required, str):
        return frozenset((required,))
    if isinstance(required, Set) and all(isinstance(kind, str) for kind in required):
        return frozenset(required)
    return None


def radius_of(pattern: GraphPattern, routes: Routes, absences: tuple[Absence, ...]) -> int | None:
    """Return the greatest distance from the anchor at which a node decides about a match; None if unbounded."""
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
    single = set(pattern.single)
    undirected = nx.Graph([(a, b) for a, b in pattern.graph.edges if a in single and b in single])
    undirected.add_node(anchor)
    routes: Routes = {anchor: Hop(0, anchor, True)}
    for name, other in nx.bfs_edges(undirected, anchor):
        routes[other] = Hop(routes[name].distance + 1, name, pattern.graph.has_edge(other, name))
    return routes


def _reach(routes: Routes) -> int:
    return max(hop.distance for hop in routes.values())


def _order(
    graph: nx.DiGraph, names: Collection[Hashable], placed: Iterable[Hashable], cost: Callable[[Any], Any]
) -> list[Hashable]:
    """Return names so that each has edges to as many earlier ones as can be; ties by cost, then as given."""
    position = {name: index for index, name in enumerate(names)}
    ordered: dict[Hashable, None] = {}
    links = dict.fromkeys(names, 0)
    heap: list[tuple[int, Any, int, Hashable]] = []

    def reach(name: Hashable) -> None:
        for other in {**graph.pred[name], **graph.succ[name]}:
            if other in links and other not in ordered:
                links[other] += 1  # the older, lesser entry of the heap is passed over when it comes up
                heapq.heappush(heap, (-links[other], cost(other), position[other], other))

    for name in placed:
        reach(name)
    rest = iter(sorted(names, key=lambda name: (cost(name), position[name])))
    while len(ordered) < len(position):
        name = heapq.heappop(heap)[3] if heap else next(n for n in rest if n not in ordered)
        if name not in ordered:
            ordered[name] = None
            reach(name)
    return list(ordered)


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
    # The pattern has all edges of an interior node.
    return least, (inf if groups[0] is not None else least[0], inf if groups[1] is not None else least[1])
