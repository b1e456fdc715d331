"""The readers of a value in the order of their names, in which further roots are looked for."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Any

from graphrewrite.graph import Graph

__all__ = ["Readers"]

_FEW = 16
"""So many readers are sorted anew each time."""


class Readers:
    """Readers of values in the order of their names, for a graph that changes.

    Those of a value with many readers are kept. As long as no two nodes lose an edge and get it back, all that is new
    stands at the end of networkx's dictionary; after any other change, `clear` is to be called.

    Examples
    --------
    >>> from graphrewrite import Graph, Tensor, op
    >>> graph = Graph("g")
    >>> x = graph.input("x", Tensor("f32", (3,)))
    >>> _ = [op.neg(x) for _ in range(20)], op.abs(x)
    >>> readers = Readers(graph)
    >>> list(readers.of("x", frozenset({"abs"}))), len(readers.above("x", 2, frozenset({"neg"})))
    (['abs_1'], 20)
    """

    def __init__(self, graph: Graph) -> None:
        self.node, self.succ = graph._node, graph._succ
        self.kept: dict[tuple[str, frozenset[str]], _Kept] = {}

    def clear(self) -> None:
        """Forget what is kept."""
        self.kept.clear()

    def of(self, name: str, kinds: frozenset[str]) -> Iterable[str]:
        """Return the readers of a value that have one of some types."""
        readers, node = self.succ[name], self.node
        if len(readers) <= _FEW:
            return sorted([reader for reader in readers if node[reader].get("type") in kinds])
        key = name, kinds
        if key not in self.kept:
            self.kept[key] = _Kept()
        return self.kept[key].update(readers, node, kinds)

    def above(self, name: str, height: int, kinds: frozenset[str]) -> list[str]:
        """Return the nodes of some types that are at most so many readers above a value."""
        seen = dict.fromkeys(self.succ[name])
        layer = list(seen)
        for _ in range(1, height):
            layer = [reader for below in layer for reader in self.succ[below] if reader not in seen]
            seen.update(dict.fromkeys(layer))
        return sorted([found for found in seen if self.node[found].get("type") in kinds])


class _Kept:
    """The readers of one value that have one of some types, those that have gone among them."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.names: list[str] = []
        self.start = 0

    def update(self, readers: dict[str, Any], node: dict[str, dict[str, Any]], kinds: frozenset[str]) -> Iterator[str]:
        """Return the readers as they are now."""
        seen, names = self.seen, self.names
        new = list(takewhile(lambda reader: reader not in seen, reversed(readers)))
        seen.update(new)
        fitting = [reader for reader in new if node[reader].get("type") in kinds]
        if len(fitting) > _FEW:
            names[:] = sorted([*names[self.start :], *fitting])
            self.start = 0
        else:
            for reader in fitting:
                insort(names, reader, self.start)
        while self.start < len(names) and names[self.start] not in readers:
            self.start += 1
        if 2 * self.start > len(names) or len(names) > 2 * len(readers):  # most have gone
            names[:] = [name for name in names[self.start :] if name in readers]
            self.start = 0
        return (names[at] for at in range(self.start, len(names)) if names[at] in readers)
