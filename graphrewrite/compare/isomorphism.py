"""Isomorphism of digraphs: numbering along ordered edges, colour refinement, search."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import networkx as nx

from graphrewrite.graph.cycles import order_of

__all__ = ["Coloured", "are_isomorphic", "digest", "reached_from"]


def digest(data: bytes) -> str:
    """Return a hash of bytes: 32 hexadecimal digits, the same everywhere.

    Examples
    --------
    >>> digest(b"")
    'cae66941d9efbd404e4d88758ea67670'
    """
    return hashlib.blake2b(data, digest_size=16).hexdigest()


class Coloured:
    """A digraph whose nodes have colours that do not depend on names.

    Nodes that are reached from the roots against ordered edges are numbered in that order; the number is their colour.
    The colours of all other nodes are refined by those of their neighbours until no more nodes are distinguished.

    Examples
    --------
    >>> g = nx.DiGraph([("a", "y"), ("b", "y"), ("b", "c")])
    >>> coloured = Coloured(g, ["y"], lambda node: "node", str)
    >>> coloured.number, sorted(coloured.rest)
    ({'y': 0}, ['a', 'b', 'c'])
    >>> len(set(coloured.colour.values()))
    4
    """

    def __init__(
        self,
        graph: nx.DiGraph,
        roots: Iterable[Any],
        node_text: Callable[[Any], str],
        edge_text: Callable[[Mapping[str, Any]], str],
    ) -> None:
        self.graph, self.edge_text = graph, edge_text
        self.number = reached_from(graph, roots)
        self.rest = [node for node in graph._node if node not in self.number]
        self.rows = [f"{node_text(node)} <- {self._row(node)}" for node in self.number]
        self.colour: dict[Any, str] = {node: f"#{i}" for node, i in self.number.items()}
        self.colour.update({node: node_text(node) for node in self.rest})
        if self.rest:
            self._refine()

    def signature(self) -> list[str]:
        """Return texts that isomorphic digraphs share."""
        return [*self.rows, "rest", *sorted(self.colour[node] for node in self.rest)]

    def _row(self, node: Any) -> list[tuple[int, str]]:
        number, sources = self.number, self.graph._pred[node]
        return sorted([(number[source], self.edge_text(e)) for source, e in sources.items() if source in number])

    def _refine(self) -> None:
        """Refine colours along edges in both directions until the number of colours stays the same."""
        inner = nx.DiGraph()
        inner.add_nodes_from((node, {}) for node in self.rest)
        inner.add_edges_from((s, node) for node in self.rest for s in self.graph._pred[node] if s in inner._node)
        # Along acyclic parts one sweep in topological order carries colours from end to end; cycles need several.
        order = order_of(inner)
        placed = set(order.nodes)
        tangled = [node for node in self.rest if node not in placed]
        count = 0
        while True:
            self._sweep(self.graph._pred, order.nodes, tangled, tangled_first=False)
            self._sweep(self.graph._succ, order.nodes[::-1], tangled, tangled_first=True)
            distinct = len({self.colour[node] for node in self.rest})
            if distinct <= count:  # refinement only splits colours: their number is stable, and so are they
                return
            count = distinct

    def _sweep(self, near: Mapping[Any, Any], order: list[Any], tangled: list[Any], *, tangled_first: bool) -> None:
        colour = self.colour

        def seen(node: Any) -> str:
            around = sorted(f"{self.edge_text(edge)}\0{colour[other]}" for other, edge in near[node].items())
            return digest("\1".join([colour[node], *around]).encode("utf-8", "surrogatepass"))

        if tangled_first:
            colour.update({node: seen(node) for node in tangled})
        for node in order:
            colour[node] = seen(node)
        if not tangled_first:
            colour.update({node: seen(node) for node in tangled})


def reached_from(graph: nx.DiGraph, roots: Iterable[Any]) -> dict[Any, int]:
    """Return the numbers of the nodes that are reached from the roots against ordered edges.

    Examples
    --------
    >>> graph = nx.DiGraph()
    >>> graph.add_edge("a", "y", slots=((0, 0),))
    >>> reached_from(graph, ["y"])
    {'y': 0, 'a': 1}
    """
    number: dict[Any, int] = {}
    work = list(roots)[::-1]
    while work:
        node = work.pop()
        if node in number:
            continue
        number[node] = len(number)
        sources = graph._pred[node]
        if len(sources) == 1:
            ((source, edge),) = sources.items()
            if edge.get("slots") and source not in number:
                work.append(source)
        elif sources:
            work += [source for source in reversed(_ordered(sources)) if source not in number]
    return number


def _ordered(sources: Mapping[Any, Any]) -> list[Any]:
    """Return the sources of a node's ordered edges, in order."""
    by_slot: dict[Any, list[Any]] = {}
    for source, edge in sources.items():
        slots = edge.get("slots")
        if not slots:
            continue
        try:
            first = min(slots)[0]
        except TypeError:
            continue  # malformed
        if type(first) is int:
            by_slot.setdefault(first, []).append(source)
    return [group[0] for _, group in sorted(by_slot.items()) if len(group) == 1]


def are_isomorphic(a: Coloured, b: Coloured) -> bool:
    """Tell whether two digraphs are isomorphic.

    Examples
    --------
    >>> paths = [nx.path_graph(names, create_using=nx.DiGraph) for names in ("abc", "zyx", "cb")]
    >>> a, b, c = [Coloured(g, [], lambda node: "node", str) for g in paths]
    >>> are_isomorphic(a, b), are_isomorphic(a, c)
    (True, False)
    """
    if a.signature() != b.signature():
        return False
    waiting: dict[tuple[str, ...], list[list[Any]]] = {}
    for part in _parts(b):
        waiting.setdefault(tuple(sorted(b.colour[n] for n in part)), []).append(part)
    # Connected components are matched one by one: isomorphism is transitive, so any of several candidates will do.
    for part in _parts(a):
        likely = waiting.get(tuple(sorted(a.colour[n] for n in part)), [])
        for i in reversed(range(len(likely))):
            if _Search(a, b, part, likely[i]).succeeds():
                del likely[i]
                break
        else:
            return False
    return True


def _parts(of: Coloured) -> Iterator[list[Any]]:
    """Yield the connected components of the nodes without a number."""
    seen: set[Any] = set()
    pred, succ, number = of.graph._pred, of.graph._succ, of.number
    for start in of.rest:
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for node in part:  # grows as it goes
            for near in (pred[node], succ[node]):
                neighbours = [other for other in near if other not in seen and other not in number]
                seen.update(neighbours)
                part += neighbours
        yield part


class _Search:
    """A backtracking search, without recursion, for an isomorphism of two connected components."""

    def __init__(self, a: Coloured, b: Coloured, ours: list[Any], theirs: list[Any]) -> None:
        self.a, self.b = a, b
        self.by_colour: dict[str, list[Any]] = {}
        for node in theirs:
            self.by_colour.setdefault(b.colour[node], []).append(node)
        self.image: dict[Any, Any] = {}
        self.taken: set[Any] = set()
        self.lists: dict[Any, list[Any]] = {}
        self.begin: Counter[Any] = Counter()
        self.steps = self._steps(ours)

    def _steps(self, ours: list[Any]) -> list[tuple[Any, Any, bool]]:
        """Return each node with an earlier neighbour, and whether it is a source of that neighbour."""
        a = self.a
        start = min(ours, key=lambda node: len(self.by_colour.get(a.colour[node], ())))
        inside, seen = set(ours), {start}
        steps: list[tuple[Any, Any, bool]] = [(start, None, True)]
        for node, *_ in steps:  # grows as it goes
            for near, is_source in ((a.graph._pred[node], True), (a.graph._succ[node], False)):
                for other in near:
                    if other in inside and other not in seen:
                        seen.add(other)
                        steps.append((other, node, is_source))
        return steps

    def succeeds(self) -> bool:
        """Tell whether there is an isomorphism."""
        tries: list[Iterator[Any]] = [self._candidates(0)]
        while tries:
            node = self.steps[len(tries) - 1][0]
            if node in self.image:
                self.taken.discard(self.image.pop(node))
            candidate = next((c for c in tries[-1] if c not in self.taken and self._fits(node, c)), None)
            if candidate is None:
                tries.pop()
                continue
            self.image[node] = candidate
            self.taken.add(candidate)
            if len(tries) == len(self.steps):
                return True
            tries.append(self._candidates(len(tries)))
        return False

    def _candidates(self, step: int) -> Iterator[Any]:
        """Yield candidate images of a node, beginning after the image of the last similar node."""
        node, beside, is_source = self.steps[step]
        colour = self.a.colour[node]
        key = (None if beside is None else self.image[beside], is_source, colour)
        candidates = self.lists.get(key)
        if candidates is None:
            graph = self.b.graph
            near = (
                self.by_colour.get(colour, [])
                if beside is None
                else (graph._pred if is_source else graph._succ)[key[0]]
            )
            candidates = self.lists[key] = [c for c in near if self.b.colour[c] == colour]
        begin = self.begin[key]
        for i in range(len(candidates)):
            index = (begin + i) % len(candidates)
            self.begin[key] = index + 1
            yield candidates[index]

    def _fits(self, node: Any, candidate: Any) -> bool:
        """Tell whether the edges between a node and the mapped nodes are those of the candidate."""
        for ours, theirs in (
            (self.a.graph._pred[node], self.b.graph._pred[candidate]),
            (self.a.graph._succ[node], self.b.graph._succ[candidate]),
        ):
            count = 0
            for other, edge in ours.items():
                image = candidate if other == node else self.image.get(other)
                if image is None:
                    continue
                count += 1
                if image not in theirs or self.a.edge_text(edge) != self.b.edge_text(theirs[image]):
                    return False
            if count != sum(other in self.taken or other == candidate for other in theirs):
                return False
        return True
