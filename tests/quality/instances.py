"""Places of networks, cut out, where rules of a lowering have something to do or to decline.

Many of these are what other rules make of a network, which the generator of graphs hardly ever draws by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from graphrewrite import Graph, Rule
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.hierarchy.extraction import extract
from graphrewrite.hierarchy.region import region
from graphrewrite.lowering import (
    LEAVE_MOVED,
    LOWER_TO_INTEGER,
    LOWER_TO_STREAM,
    LOWER_TRAINED,
    LOWER_UNSCALED_LAYERS,
    LoweringError,
    partition,
)
from graphrewrite.lowering.streaming.bridge import enter, leave
from graphrewrite.lowering.streaming.multiplier_free import MAP_COUNTING
from graphrewrite.rewriting.match.match import Match
from graphrewrite.rewriting.match.search import find_at
from graphrewrite.rewriting.traces import Trace, trace
from graphrewrite.rules import RULES
from tests.support.trained_networks import parts_with_binary_points, trained_network

__all__ = ["TRAINED", "cut_out", "instances_of"]

TRAINED = (*LOWER_TRAINED, *LOWER_UNSCALED_LAYERS, *LEAVE_MOVED)
SEEDS = range(40)
MOST = {True: 16, False: 8}
"""Instances of a rule that are wanted: where it fires, and where it declines."""
_ALIKE = 4
"""Of them, those that have the same ops."""
_STATES = 10
"""Of a network on its way down."""
_ABOVE = 2
"""Nodes before the matched ones that stay: a rule may ask what gives its operands."""


@cache
def _to_integers() -> tuple[Trace, ...]:
    networks = [parts_with_binary_points(), *map(trained_network, SEEDS)]
    first = [trace(graph, (*LOWER_TO_INTEGER, *RULES)) for graph in networks]
    second = [trace(done.graph, (*LOWER_TO_INTEGER, *LOWER_UNSCALED_LAYERS, *RULES)) for done in first]
    return (*first, *second)


def _to_streams() -> tuple[Trace, ...]:
    lowered = [done.graph for done in _to_integers()[: 1 + len(SEEDS)]]
    return tuple(trace(core, (*LOWER_TO_STREAM, *MAP_COUNTING)) for core in map(_entered, lowered) if core is not None)


def _entered(graph: Graph) -> Graph | None:
    """What is to be hardware, between streams that enter and leave; None where a node has no integers."""
    try:
        core = partition(graph).core
    except LoweringError:
        return None
    for name in core.inputs:
        entered = enter(core.value(name))
        rewire(core, name, Operand(entered.node))
        rewire(core, entered.node, Operand(leave(entered).node))
    return core


@cache
def _states(*, of_streams: bool) -> list[Graph]:
    found: list[Graph] = []
    for done in _to_streams() if of_streams else _to_integers():
        count = len(done.steps)
        found += map(done.graph_after, sorted({count * i // (_STATES - 1) for i in range(_STATES)}))
    return found


def instances_of(rule: Rule) -> list[Graph]:
    """Return small graphs in which a rule's pattern is, of different ops or of the same ones a few times."""
    forms: Counter[tuple[bool, tuple[str, ...]]] = Counter()
    found: dict[bool, list[Graph]] = {True: [], False: []}
    for graph in _candidates(rule):
        fires = bool(rule.find(graph))
        form = fires, tuple(sorted(graph.nodes[n]["type"] for n in graph))
        forms[form] += 1
        if forms[form] <= _ALIKE and len(found[fires]) < MOST[fires]:
            found[fires].append(graph)
        if all(len(found[kind]) == most for kind, most in MOST.items()):
            break
    return found[True] + found[False]


def _candidates(rule: Rule) -> Iterator[Graph]:
    kinds = rule.definition.root_kinds
    for graph in _states(of_streams=rule not in TRAINED):
        for node in graph.in_order():
            if kinds is None or graph.nodes[node]["type"] in kinds:
                for found in find_at(rule.pattern, graph, node, shared=rule.shared):
                    yield cut_out(graph, Match(rule, found.images, found.values).nodes)


def cut_out(graph: Graph, nodes: tuple[str, ...]) -> Graph:
    """Return some nodes with those that give their operands, as a graph."""
    inside = layer = set(nodes)
    for _ in range(_ABOVE):
        layer = {source for node in layer for source in graph.pred[node]}
        inside = inside | layer
    return extract(region(graph, "instance", sorted(inside))).graph
