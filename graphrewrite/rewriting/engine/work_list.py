"""A work list of nodes to look at, in a stable order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from functools import cached_property
from typing import Any

__all__ = ["WorkList"]

_NEAR = 1 << 40
"""So many nodes may be born near one place."""


class WorkList:
    """Nodes to look at, each at most once at a time: those that it starts with in order, queued ones at their position.

    The order in which nodes are queued makes no difference.

    Examples
    --------
    >>> work = WorkList(["a", "b", "c"])
    >>> work.pop(), work.pop()
    ('a', 'b')
    >>> work.push("new", near="a")
    >>> work.pop(), work.pop(), work.pop()
    ('new', 'c', None)
    """

    def __init__(self, nodes: Iterable[Any]) -> None:
        self.order = list(nodes)
        self.next = 0
        self.queued: list[tuple[int, Any]] = []
        self.waiting: set[Any] = set()
        self.born = 0

    @cached_property
    def place(self) -> dict[Any, int]:
        """Position of each node; many a rewrite queues none, and needs none."""
        return {node: i * _NEAR for i, node in enumerate(self.order)}

    def push(self, node: Any, near: Any = None) -> None:
        """Look at a node again; one that is new stands where the node stood that it came from."""
        place = self.place.get(node)
        if place is None:
            self.born += 1
            around = self.place.get(near, len(self.order) * _NEAR)
            place = self.place[node] = around - around % _NEAR + self.born
        elif place >= self.next * _NEAR and not place % _NEAR:
            return  # its turn is still to come
        if node in self.waiting:
            return
        self.waiting.add(node)
        heapq.heappush(self.queued, (place, node))

    def pop(self) -> Any:
        """Take the first node; None where there is none left."""
        if self.queued and self.queued[0][0] <= self.next * _NEAR:
            node = heapq.heappop(self.queued)[1]
            self.waiting.discard(node)
            return node
        if self.next < len(self.order):
            self.next += 1
            return self.order[self.next - 1]
        if self.queued:
            node = heapq.heappop(self.queued)[1]
            self.waiting.discard(node)
            return node
        return None
