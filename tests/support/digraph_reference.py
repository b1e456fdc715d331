"""What a match and its replacement are, straight from their definitions: every injective assignment is tried."""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import networkx as nx

from graphrewrite.rewriting.digraph_rules import GraphRule, from_graphs
from graphrewrite.rewriting.pattern.condition import Where

KINDS = ("A", "B")
IS_A = Where(lambda kind: kind == "A", "it is an A")
POSITIVE = Where(lambda weight: weight > 0, "it is positive")


@dataclass
class Written:
    """The parts of a graph rule, as a user gives them."""

    pattern: nx.DiGraph
    replacement: nx.DiGraph
    interface: list[Hashable]
    groups: list[Hashable]
    induced: bool = False
    without: list[nx.DiGraph] = field(default_factory=list)
    condition: Where | None = None
    replaced: list[Hashable] = field(default_factory=list)

    def rule(self) -> GraphRule:
        return from_graphs(
            self.pattern,
            self.replacement,
            name="written",
            interface=self.interface,
            groups=self.groups,
            induced=self.induced,
            without=self.without,
            condition=self.condition,
            replaced=self.replaced,
        )


def admits(required: Any, found: Any) -> bool:
    if isinstance(required, Where):
        return bool(required.predicate(found))
    return found in required if isinstance(required, set | range) else bool(found == required)


def fits(required: dict[str, Any], data: dict[str, Any]) -> bool:
    return all(key in data and admits(value, data[key]) for key, value in required.items())


def embedded(graph: nx.DiGraph, wanted: nx.DiGraph, image: dict[Hashable, Any]) -> bool:
    return all(fits(wanted.nodes[n], graph.nodes[image[n]]) for n in wanted if n in image) and all(
        graph.has_edge(image[a], image[b]) and fits(data, graph.edges[image[a], image[b]])
        for a, b, data in wanted.edges(data=True)
        if a in image and b in image
    )


def members(graph: nx.DiGraph, written: Written, image: dict[Hashable, Any]) -> dict[Hashable, set[Any]] | None:
    """Bind the groups; None where an interior node has an edge that neither the pattern has nor a group stands for."""
    pattern, matched = written.pattern, set(image.values())
    found: dict[Hashable, set[Any]] = {group: set() for group in written.groups}
    interior = set(pattern) - set(written.interface) - set(written.groups)
    inner = {(image[a], image[b]) for a, b in pattern.edges if a in image and b in image}
    ends = {image[name] for name in interior}
    if any((a, b) not in inner and ends & {a, b} for a, b in graph.subgraph(matched).edges):
        return None
    for name in interior:
        for other in set(graph.pred[image[name]]) - matched:
            groups = [g for g in written.groups if pattern.has_edge(g, name)]
            if not groups or not fits(pattern.nodes[groups[0]], graph.nodes[other]):
                return None
            if not fits(pattern.edges[groups[0], name], graph.edges[other, image[name]]):
                return None
            found[groups[0]].add(other)
        for other in set(graph.succ[image[name]]) - matched:
            groups = [g for g in written.groups if pattern.has_edge(name, g)]
            if not groups or not fits(pattern.nodes[groups[0]], graph.nodes[other]):
                return None
            if not fits(pattern.edges[name, groups[0]], graph.edges[image[name], other]):
                return None
            found[groups[0]].add(other)
    return found


def is_there(graph: nx.DiGraph, absent: nx.DiGraph, image: dict[Hashable, Any], taken: set[Any]) -> bool:
    own = [name for name in absent if name not in image]
    return any(
        embedded(graph, absent, {**{n: image[n] for n in absent if n in image}, **dict(zip(own, chosen, strict=True))})
        for chosen in permutations([n for n in graph if n not in taken], len(own))
    )


def matches(graph: nx.DiGraph, written: Written) -> Iterator[dict[Hashable, Any]]:
    """Yield the bindings of every match."""
    pattern = written.pattern
    single = [name for name in pattern if name not in written.groups]
    inner = pattern.subgraph(single)
    for chosen in permutations(graph, len(single)):
        image = dict(zip(single, chosen, strict=True))
        if not embedded(graph, inner, image):
            continue
        if written.induced and any(
            graph.has_edge(image[a], image[b]) and not pattern.has_edge(a, b) for a in single for b in single
        ):
            continue
        found = members(graph, written, image)
        if found is None:
            continue
        taken = set(chosen).union(*found.values())
        if any(is_there(graph, absent, image, taken) for absent in written.without):
            continue
        bindings = {name: tuple(sorted(found[name])) if name in found else image[name] for name in pattern}
        if written.condition is None or written.condition.predicate(bindings):
            yield bindings


def comparable(bindings: dict[Hashable, Any]) -> tuple[Any, ...]:
    return tuple(sorted((str(name), found) for name, found in bindings.items()))


# ---------------------------------------------------------------------- random rules and graphs


def random_graph(rng: random.Random) -> nx.DiGraph:
    graph = nx.DiGraph(origin="random")
    count = rng.randint(1, 6)
    density = rng.choice([0.2, 0.35, 0.6])
    for node in range(count):
        graph.add_node(f"n{node}", **some(rng, type=rng.choice(KINDS), size=rng.randint(0, 2)))
    for a in graph:
        for b in graph:
            if rng.random() < density * (0.4 if a == b else 1):
                graph.add_edge(a, b, **some(rng, weight=rng.randint(0, 1)))
    return graph


def some(rng: random.Random, **data: Any) -> dict[str, Any]:
    return {key: value for key, value in data.items() if rng.random() < 0.75}


def random_written(rng: random.Random, graph: nx.DiGraph) -> Written:
    """A rule whose pattern is often a piece of the graph, with all that a pattern can say."""
    names = "stuv"
    size = min(rng.choice([1, 2, 2, 3, 3, 4]), len(graph))
    pattern = nx.DiGraph()
    if rng.random() < 0.7:  # a piece of the graph, or less than that
        chosen = piece(rng, graph, size)
        for name, node in zip(names, chosen, strict=False):
            pattern.add_node(name, **{k: asked(rng, k, v) for k, v in graph.nodes[node].items() if rng.random() < 0.5})
        for name, node in zip(names, chosen, strict=False):
            for other, reader in zip(names, chosen, strict=False):
                if graph.has_edge(node, reader) and rng.random() < 0.9:
                    data = graph.edges[node, reader]
                    pattern.add_edge(
                        name, other, **{k: asked(rng, k, v) for k, v in data.items() if rng.random() < 0.3}
                    )
    else:
        pattern = nx.relabel_nodes(random_graph(rng), dict(zip((f"n{i}" for i in range(6)), "stuvwz", strict=True)))
        pattern.remove_nodes_from([n for n in list(pattern) if n not in names])
    single = list(pattern)
    interface = [name for name in single if rng.random() < rng.choice([0.3, 0.7])]
    groups = []
    for group in ("before", "after"):
        around = [n for n in single if n not in interface and rng.random() < 0.6]
        if around and rng.random() < 0.6:
            groups.append(group)
            pattern.add_node(group, **some(rng, type=rng.choice([*KINDS, set(KINDS)])) if rng.random() < 0.2 else {})
            for name in around:
                pattern.add_edge(*((group, name) if group == "before" else (name, group)))
    written = Written(pattern, pattern, interface, groups, rng.random() < 0.3)
    if rng.random() < 0.35:
        written.without = [absent for absent in [random_absence(rng, single, pattern)] if absent is not None]
    if rng.random() < 0.1:
        written.condition = Where(lambda m, name=single[0]: bound(m, name) != "n0", "not the first")
    written.replacement = random_replacement(rng, written)
    kept = [n for n in pattern if n in written.replacement]
    kept += [edge for edge in pattern.edges if written.replacement.has_edge(*edge)]
    if rng.random() < 0.3:
        written.replaced = rng.sample(kept, min(len(kept), rng.randint(1, 2)))
    return written


def bound(match: Any, name: Hashable) -> Any:
    return match[name] if isinstance(match, dict) else match.bindings[name]


def piece(rng: random.Random, graph: nx.DiGraph, size: int) -> list[Any]:
    """Some nodes, mostly neighbours of each other."""
    chosen = [rng.choice(list(graph))]
    while len(chosen) < size:
        near = sorted({m for n in chosen for m in nx.all_neighbors(graph, n)} - set(chosen))
        chosen.append(rng.choice(near if near and rng.random() < 0.9 else sorted(set(graph) - set(chosen))))
    return chosen


def asked(rng: random.Random, key: str, value: Any) -> Any:
    if rng.random() < 0.6:
        return value
    if key == "type":
        return rng.choice([{"A"}, {"A", "B"}, IS_A])
    return rng.choice([{0, 1}, range(1, 3), POSITIVE])


def random_absence(rng: random.Random, single: list[Hashable], pattern: nx.DiGraph) -> nx.DiGraph | None:
    absent = nx.DiGraph()
    shared = rng.sample(single, rng.randint(1, min(2, len(single))))
    absent.add_nodes_from((name, some(rng, type=rng.choice(KINDS)) if rng.random() < 0.3 else {}) for name in shared)
    own = [f"x{i}" for i in range(rng.choice([0, 1, 1, 2]))]
    absent.add_nodes_from((name, some(rng, type=rng.choice(KINDS)) if rng.random() < 0.5 else {}) for name in own)
    for a in absent:
        for b in absent:
            if rng.random() < 0.35:
                absent.add_edge(a, b, **({"weight": 1} if rng.random() < 0.2 else {}))
    # What the pattern itself has is refused when the rule is defined.
    inside = not own and all(
        pattern.has_edge(a, b) and asks_no_more(d, pattern.edges[a, b]) for a, b, d in absent.edges(data=True)
    )
    return (
        None if inside and all(asks_no_more(data, pattern.nodes[n]) for n, data in absent.nodes(data=True)) else absent
    )


def asks_no_more(data: dict[str, Any], pattern: dict[str, Any]) -> bool:
    return all(key in pattern and pattern[key] == value for key, value in data.items())


def random_replacement(rng: random.Random, written: Written) -> nx.DiGraph:
    """Another graph with the same interface."""
    pattern = written.pattern
    interior = [n for n in pattern if n not in written.interface and n not in written.groups]
    new = nx.DiGraph()
    new.add_nodes_from(n for n in pattern if n not in interior or rng.random() < 0.4)
    new.add_nodes_from((f"n{i}", {"type": "new"}) for i in range(rng.choice([0, 1, 1, 2])))
    for name in new:
        if rng.random() < 0.2:
            new.nodes[name]["size"] = 7
    for a in new:
        for b in new:
            if not (a == b and a in written.groups) and rng.random() < (0.7 if pattern.has_edge(a, b) else 0.2):
                new.add_edge(a, b, **({"weight": 5} if rng.random() < 0.3 else {}))
    if set(new) == set(pattern) and set(new.edges) == set(pattern.edges):
        new.add_node("more")
    return new
