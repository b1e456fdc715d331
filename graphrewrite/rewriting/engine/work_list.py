"""A work list of nodes to look at, in a stable order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from functools import cached_property
from typing import Any

__all__ = ["WorkList"]

_NEAR = 1 << 40
"""Distance of the positions of two nodes: so many new ones fit between them."""


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
        self.queued: list[tuple[int, Any]] = []  # a heap
        self.waiting: set[Any] = set()
        self.added = 0

    @cached_property
    def position(self) -> dict[Any, int]:
        """Position of each node; not computed for a rewrite that queues none."""
        return {node: i * _NEAR for i, node in enumerate(self.order)}

    def push(self, node: Any, near: Any = None) -> None:
        """Look at a node again; a new one gets the position of the node from which it comes."""
        position = self.position.get(node)
        if position is None:
            self.added += 1
            around = self.position.get(near, len(self.order) * _NEAR)
            position = self.position[node] = around - around % _NEAR + self.added
        elif position >= self.next * _NEAR and not position % _NEAR:
            return  # its turn is still to come
        if node in self.waiting:
            return
        self.waiting.add(node)
        heapq.heappush(self.queued, (position, node))

    def pop(self) -> Any:
        """Take the first node; None where there is none left."""
        is_left = self.next < len(self.order)
        if self.queued and (not is_left or self.queued[0][0] <= self.next * _NEAR):
            node = heapq.heappop(self.queued)[1]
            self.waiting.discard(node)
            return node
        if not is_left:
            return None
        self.next += 1
        return self.order[self.next - 1]
