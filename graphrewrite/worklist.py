"""Places to look at, in a stable order."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from typing import Any

__all__ = ["WorkList"]


class WorkList:
    """Nodes to look at, each at most once at a time: those that it starts with in order, woken ones at their place.

    Parameters
    ----------
    nodes : iterable of node
        Where to look first, in order.

    Examples
    --------
    >>> work = WorkList(["a", "b", "c"])
    >>> work.pop(), work.pop()
    ('a', 'b')
    >>> work.push("new", near="a")
    >>> work.pop(), work.pop(), bool(work)
    ('new', 'c', False)
    """

    def __init__(self, nodes: Iterable[Any]) -> None:
        self.order = list(nodes)
        self.place = {node: i for i, node in enumerate(self.order)}
        self.next = 0
        self.woken: list[tuple[int, int, Any]] = []
        self.waiting: set[Any] = set()
        self.serial = 0

    def __bool__(self) -> bool:
        return bool(self.woken) or self.next < len(self.order)

    def push(self, node: Any, near: Any = None) -> None:
        """Look at a node again; one that is new stands where the node stood that it came from."""
        place = self.place.get(node)
        if place is None:
            place = self.place[node] = self.place.get(near, len(self.order))
        elif place >= self.next and place < len(self.order) and self.order[place] == node:
            return  # its turn is still to come
        if node in self.waiting:
            return
        self.waiting.add(node)
        self.serial += 1
        heapq.heappush(self.woken, (place, self.serial, node))

    def pop(self) -> Any:
        """Take the first node."""
        if self.woken and (self.next == len(self.order) or self.woken[0][0] <= self.next):
            node = heapq.heappop(self.woken)[2]
            self.waiting.discard(node)
            return node
        node = self.order[self.next]
        self.next += 1
        return node
