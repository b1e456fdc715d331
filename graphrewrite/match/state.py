"""What a search has bound so far, and how to take it back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["DONE", "FAILED", "NONE", "Goal", "Options", "State"]

Goal = tuple[Any, ...]
"""A step to take, and its arguments."""
Options = Iterable[tuple[Goal, ...]]
"""Ways to go on, each the goals that it takes."""
DONE: tuple[tuple[Goal, ...], ...] = ((),)
"""One way to go on, with nothing more to do."""
FAILED: tuple[tuple[Goal, ...], ...] = ()
NONE = object()
"""What stands for no embedding, where the search gives None for each."""

_ABSENT = object()


class State:
    """Assignments with a trail.

    Attributes
    ----------
    at : dict
        Term of the pattern to what it matches.
    bound : dict
        Variable to what it binds.
    used : dict
        Nodes of the graph that are matched.
    denied : dict
        `Without` to the value that it must not match, decided at the end.
    empty : dict
        `Repeated` of no links to the value where no link may be, decided at the end.
    trail : list
        What to restore, the last first.
    """

    def __init__(self) -> None:
        self.at: dict[Any, Any] = {}
        self.bound: dict[Any, Any] = {}
        self.used: dict[str, Any] = {}
        self.denied: dict[Any, Any] = {}
        self.empty: dict[Any, Any] = {}
        self.trail: list[tuple[dict[Any, Any], Any, Any]] = []

    def put(self, where: dict[Any, Any], key: Any, value: Any) -> None:
        """Assign, and remember what was there."""
        self.trail.append((where, key, where.get(key, _ABSENT)))
        where[key] = value

    def drop(self, where: dict[Any, Any], key: Any) -> None:
        """Take an assignment away, and remember it."""
        if key in where:
            self.trail.append((where, key, where.pop(key)))

    def undo(self, mark: int) -> None:
        """Restore what was when the trail was that long."""
        trail = self.trail
        while len(trail) > mark:
            where, key, old = trail.pop()
            if old is _ABSENT:
                where.pop(key, None)
            else:
                where[key] = old
