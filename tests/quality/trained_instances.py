"""Places of quantised networks, cut out, where the rules for trained models have something to do or to decline.

The generator of graphs does not reach most of them by itself: they are what other rules make of a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache

from graphrewrite import Graph, Rule
from graphrewrite.graph_view.extraction import extract
from graphrewrite.lowering import LEAVE_MOVED, LOWER_TO_INTEGER, LOWER_TRAINED, LOWER_UNSCALED_LAYERS
from graphrewrite.match.match import Match
from graphrewrite.match.search import find_at
from graphrewrite.rules import RULES
from graphrewrite.trace import trace
from tests.lowering.trained_networks import parts_with_binary_points, trained_network

__all__ = ["TRAINED", "instances_of"]

TRAINED = (*LOWER_TRAINED, *LOWER_UNSCALED_LAYERS, *LEAVE_MOVED)
SEEDS = range(60)
MOST = {True: 16, False: 8}
"""Instances of a rule that are wanted: where it fires, and where it declines."""
_ALIKE = 4
"""Of them, those that have the same ops."""
_STATES = 10
"""Of a network on its way to integers."""
_ABOVE = 2
"""Nodes before the matched ones that stay: a rule may ask what gives its operands."""


def _networks() -> Iterator[Graph]:
    yield parts_with_binary_points()
    yield from map(trained_network, SEEDS)


@cache
def _states() -> tuple[Graph, ...]:
    return tuple(state for graph in _networks() for state in _states_of(graph))


def _states_of(graph: Graph) -> Iterator[Graph]:
    first = trace(graph, (*LOWER_TO_INTEGER, *RULES))
    for done in (first, trace(first.graph, (*LOWER_TO_INTEGER, *LOWER_UNSCALED_LAYERS, *RULES))):
        count = len(done.steps)
        yield from map(done.graph_after, sorted({count * i // (_STATES - 1) for i in range(_STATES)}))


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
    for graph in _states():
        for node in graph.in_order():
            if kinds is None or graph.nodes[node]["type"] in kinds:
                for found in find_at(rule.pattern, graph, node, shared=rule.shared):
                    yield _cut_out(graph, Match(rule, found.made, found.values).nodes)


def _cut_out(graph: Graph, nodes: tuple[str, ...]) -> Graph:
    inside = layer = set(nodes)
    for _ in range(_ABOVE):
        layer = {source for node in layer for source in graph.pred[node]}
        inside = inside | layer
    return extract(graph.view("instance", sorted(inside))).graph
