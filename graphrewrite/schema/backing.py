"""The dictionary or list behind a view: a part of its owner's data, or a default that is not stored yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrewrite.errors import DataError

__all__ = ["Backing"]


class Backing:
    """A container, and the container that it is a part of.

    A default is stored in its parent when something is written into it: reading a view changes no data.

    Examples
    --------
    >>> owner = Backing({})
    >>> default = Backing([], owner, "sizes")
    >>> default.read(), owner.read()
    ([], {})
    >>> default.write().append(3)
    >>> owner.read()
    {'sizes': [3]}
    """

    __slots__ = ("container", "key", "parent")

    def __init__(self, container: Any, parent: Backing | None = None, key: str | None = None) -> None:
        self.container, self.parent, self.key = container, parent, key

    def read(self) -> Any:
        """Return the container, to read it."""
        if self.key is not None and self.parent is not None:
            owner = self.parent.read()
            if self.key in owner:  # a value was stored meanwhile
                stored = owner[self.key]
                if type(stored) is not type(self.container):
                    raise DataError(f"was replaced by {type(stored).__name__}; read it again", path=self.key)
                self.container, self.key = stored, None
        return self.container

    def write(self) -> Any:
        """Return the container, to change it; defaults on the way up are stored in their parents."""
        container = self.read()
        if self.parent is not None:
            owner = self.parent.write()
            if self.key is not None:
                owner[self.key], self.key = container, None
        return container

    def refuse_cycle(self, value: Any, path: str) -> None:
        """Raise if a value that is about to be stored contains this container, or one that it is a part of."""
        if not isinstance(value, dict | list | tuple):
            return
        mine = {id(container) for container in self._chain()}
        seen: set[int] = set()
        work = [value]
        while work:
            one = work.pop()
            if id(one) in mine:
                raise DataError("data cannot contain itself; give it a copy", path=path)
            if id(one) not in seen:
                seen.add(id(one))
                parts = one.values() if isinstance(one, dict) else one
                work += [part for part in parts if isinstance(part, dict | list | tuple)]

    def _chain(self) -> Iterator[Any]:
        here: Backing | None = self
        while here is not None:
            yield here.read()
            here = here.parent
