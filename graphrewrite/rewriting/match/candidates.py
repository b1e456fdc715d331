"""Candidates: nodes at which further roots of a pattern are looked for, in the order of their names."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.graph.storage import stores_plainly

__all__ = ["Candidates"]

_FEW = 16
"""So many nodes are sorted anew each time."""


class Candidates:
    """Candidates in a graph that changes: all nodes, or the readers of a value.

    Many of them are kept. As long as no two nodes lose an edge and get it back, all that is new stands at the end of
    networkx's dictionaries; `follow` sees to other changes, and after such as are no edits, `clear` is to be called.

    Attributes
    ----------
    remembers : bool
        Whether a node is left out once a term is known not to match it, until `reconsider` is told of it.
    groups : set
        Groups that have been found in the graph as it is; to be cleared whenever it changes.

    Examples
    --------
    >>> from graphrewrite import Graph, Tensor, op
    >>> graph = Graph("g")
    >>> x = graph.input("x", Tensor("f32", (3,)))
    >>> _ = [op.neg(x) for _ in range(20)], op.abs(x)
    >>> candidates = Candidates(graph)
    >>> list(candidates.of("x", frozenset({"abs"}))), len(candidates.above("x", 2, frozenset({"neg"})))
    (['abs_1'], 20)
    """

    def __init__(self, graph: Graph, *, remembers: bool = True) -> None:
        self.graph, self.node, self.succ = graph, graph._node, graph._succ
        self.remembers = remembers
        self.kept: dict[str | None, dict[Any, _Kept]] = {}
        self.unfit: dict[str, list[_Kept]] = {}
        self.groups: set[Any] = set()

    def clear(self) -> None:
        """Forget what is kept."""
        self.kept.clear()
        self.unfit.clear()
        self.groups.clear()

    def follow(self, edit: Edit) -> None:
        """Forget what an edit may have made wrong."""
        if edit.changed or not stores_plainly(self.graph):
            self.clear()
        elif self.kept:
            for name in (*edit.removed, *(source for source, _ in edit.unlinked)):
                self.kept.pop(name, None)

    def is_new(self, group: Any) -> bool:
        """Tell whether a group has not been found before in the graph as it is."""
        found = group in self.groups
        self.groups.add(group)
        return not found

    def reconsider(self, name: str) -> None:
        """Look again at a node that may match by now what it did not."""
        for kept in self.unfit.pop(name, ()):
            kept.add(name)

    def of(self, name: str, kinds: frozenset[str]) -> Iterable[str]:
        """Return the readers of a value that have one of some types; of any, where there are none."""
        if len(self.succ[name]) <= _FEW:
            return self.sorted(self.succ[name], kinds)
        return self.many(name, kinds, kinds).present()

    def above(self, name: str, height: int, kinds: frozenset[str]) -> Iterable[str]:
        """Return the nodes of some types that are at most so many readers above a value."""
        if height == 1:
            return self.of(name, kinds)
        seen = dict.fromkeys(self.succ[name])
        layer = list(seen)
        for _ in range(1, height):
            layer = [reader for below in layer for reader in self.succ[below] if reader not in seen]
            seen.update(dict.fromkeys(layer))
        return self.sorted(seen, kinds)

    def fitting(
        self, name: str | None, term: Any, kinds: frozenset[str], fits: Callable[[str], bool] | None
    ) -> Iterable[str]:
        """Return all nodes, or the readers of a value, of some types that fit a term, as ``fits`` tells."""
        found = self.node if name is None else self.succ[name]
        if len(found) <= _FEW:
            return self.sorted(found, kinds)
        if fits is None or not self.remembers:
            return self.many(name, kinds, kinds).present()
        return self.tested(self.many(name, term, kinds), fits)

    def tested(self, kept: _Kept, fits: Callable[[str], bool]) -> Iterator[str]:
        """Yield nodes that fit; those that do not are left out from now on."""
        for name in kept.present():
            if name in kept.fit or fits(name):
                kept.fit.add(name)
                yield name
            else:
                kept.discard(name)
                self.unfit.setdefault(name, []).append(kept)

    def sorted(self, names: Iterable[str], kinds: frozenset[str]) -> list[str]:
        """Return those of some nodes that have one of some types, by name."""
        node = self.node
        return sorted([name for name in names if node[name].get("type") in kinds] if kinds else names, key=str)

    def many(self, name: str | None, key: Any, kinds: frozenset[str]) -> _Kept:
        """Return the nodes of some types among all, or among the readers of a value, as they are now."""
        kept = self.kept.setdefault(name, {})
        if key not in kept:
            kept[key] = _Kept(self.node if name is None else self.succ[name])
        kept[key].update(self.node, kinds)
        return kept[key]


class _Kept:
    """Nodes of some types among the keys of a dictionary, by name; those that have gone stay until they are met.

    Attributes
    ----------
    found : dict
        The dictionary.
    seen : set
        The keys that have been looked at.
    names : list of str
        Those of the types, from ``start`` on.
    fit : set
        Those that are known to match.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.found = found
        self.seen: set[str] = set()
        self.names: list[str] = []
        self.start = 0
        self.fit: set[str] = set()

    def update(self, node: Mapping[str, Mapping[str, Any]], kinds: frozenset[str]) -> None:
        """Add what is new, and drop what has gone from the beginning."""
        found, seen, names = self.found, self.seen, self.names
        new = list(takewhile(lambda name: name not in seen, reversed(found)))
        seen.update(new)
        fitting = [name for name in new if node[name].get("type") in kinds] if kinds else new
        if len(fitting) > _FEW:
            names[:] = sorted([*names[self.start :], *fitting], key=str)
            self.start = 0
        else:
            for name in fitting:
                self.add(name)
        while self.start < len(names) and names[self.start] not in found:
            self.start += 1
        if 2 * self.start > len(names):
            del names[: self.start]
            self.start = 0

    def present(self) -> Iterator[str]:
        """Yield those that are still there; the last one may be discarded meanwhile."""
        found, names, at = self.found, self.names, self.start
        while at < len(names):
            name = names[at]
            if name in found:
                yield name
                at += at < len(names) and names[at] is name
            else:
                end = next((i for i in range(at + 1, len(names)) if names[i] in found), len(names))
                del names[at:end]

    def add(self, name: str) -> None:
        """Add a node."""
        insort(self.names, name, self.start, key=str)

    def discard(self, name: str) -> None:
        """Leave a node out."""
        del self.names[bisect_left(self.names, str(name), self.start, key=str)]
