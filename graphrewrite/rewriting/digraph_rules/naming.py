"""Names of new nodes, and the order of nodes: both follow from the names in a graph alone."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Hashable
from typing import Any

import networkx as nx

from graphrewrite.graph.fresh_names import GreatestNumbers

__all__ = ["Names", "fresh_name", "in_order", "order_key"]


def fresh_name(taken: Collection[Hashable], request: Hashable) -> Hashable:
    """Return a requested name if it is free, else its stem with the next number.

    Parameters
    ----------
    taken : collection of hashable
        Names that are in use.
    request : hashable
        The requested name. ``"conv_1"`` counts as a numbered ``"conv"``.

    Returns
    -------
    hashable
        The request where it is free; otherwise a string whose number is the greatest of that stem plus one.

    Examples
    --------
    >>> fresh_name(["b"], "a"), fresh_name(["a", "a_3", "a_2"], "a"), fresh_name(["conv", "conv_1"], "conv_1")
    ('a', 'a_4', 'conv_2')
    """
    return Names(taken).fresh(request)


class Names:
    """The names in a graph, for many fresh ones: looks through them once for each stem.

    Examples
    --------
    >>> graph = nx.DiGraph([("a", "b")])
    >>> names = Names(graph)
    >>> names.fresh("a", {"a_1"})
    'a_2'
    """

    def __init__(self, taken: Collection[Hashable]) -> None:
        self.taken = taken
        self.greatest = GreatestNumbers(taken)

    def fresh(self, request: Hashable, more: Collection[Hashable] = ()) -> Hashable:
        """Return a name that is neither taken nor among some more."""
        if request not in self.taken and request not in more:
            return request
        stem, _, number = str(request).rpartition("_")
        if not number.isdecimal() or not stem:
            stem = str(request)
        count = self.greatest[stem] + 1
        while (name := f"{stem}_{count}") in self.taken:
            count += 1
        self.greatest[stem] = count - 1  # names of `more` are only planned, and may never be taken
        while name in self.taken or name in more:
            count += 1
            name = f"{stem}_{count}"
        return name


def order_key(node: Any) -> tuple[str, int, str]:
    """Return a sort key for nodes of any kind: the name of their type, then the number or the text.

    Examples
    --------
    >>> sorted(["b", 10, "a", 9], key=order_key)
    [9, 10, 'a', 'b']
    """
    return ("int", node, "") if isinstance(node, int) else (type(node).__name__, 0, str(node))


def in_order(graph: nx.DiGraph) -> list[Any]:
    """Return the nodes in topological order, then by name, however the graph was built.

    If only nodes on cycles, or after them, are left, the first of them by name comes next.

    Examples
    --------
    >>> in_order(nx.DiGraph([("z", "a"), ("b", "c"), ("c", "b")]))
    ['z', 'a', 'b', 'c']
    """
    names = sorted(graph, key=order_key)
    rank = {node: index for index, node in enumerate(names)}
    waiting = {node: sum(source != node for source in graph._pred[node]) for node in names}
    ready = [rank[node] for node in names if not waiting[node]]  # sorted, so it is a heap
    ordered: dict[Any, None] = {}
    rest = iter(names)
    while len(ordered) < len(names):
        # networkx's own lexicographical sort raises here, where only cycles are left.
        node = names[heapq.heappop(ready)] if ready else next(n for n in rest if n not in ordered)
        if node in ordered:
            continue
        ordered[node] = None
        for reader in graph._succ[node]:
            waiting[reader] -= reader != node
            if not waiting[reader] and reader not in ordered:
                heapq.heappush(ready, rank[reader])
    return list(ordered)
