"""Where the dictionary or list behind a view is: in its owner's data, or, as a default, not there yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graphrewrite.errors import DataError

__all__ = ["Place"]


class Place:
    """A container, and what it is part of.

    A default belongs to nobody until something is written into it: reading a view changes no data.

    Parameters
    ----------
    container : dict, list or tuple
        What a view reads and writes.
    parent : Place, optional
        The container that it is in.
    key : str, optional
        Where it will be in its parent, if it is a default that is not there yet.

    Examples
    --------
    >>> owner = Place({})
    >>> default = Place([], owner, "sizes")
    >>> default.read(), owner.read()
    ([], {})
    >>> default.write().append(3)
    >>> owner.read()
    {'sizes': [3]}
    """

    __slots__ = ("container", "key", "parent")

    def __init__(self, container: Any, parent: Place | None = None, key: str | None = None) -> None:
        self.container, self.parent, self.key = container, parent, key

    def read(self) -> Any:
        """Return the container, to look at."""
        if self.key is not None and self.parent is not None:
            owner = self.parent.read()
            if self.key in owner:  # somebody else gave it a value since
                found = owner[self.key]
                if type(found) is not type(self.container):
                    raise DataError(f"was replaced by {type(found).__name__}; read it again", path=self.key)
                self.container, self.key = found, None
        return self.container

    def write(self) -> Any:
        """Return the container, to change; it and all that it is part of become data."""
        container = self.read()
        if self.parent is not None:
            owner = self.parent.write()
            if self.key is not None:
                owner[self.key], self.key = container, None
        return container

    def refuse_cycle(self, value: Any, path: str) -> None:
        """Raise if a value that is about to be stored here contains this place.

        Parameters
        ----------
        value : object
            In the form in which it is stored.
        path : str
            Of the field, for the message.
        """
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
        here: Place | None = self
        while here is not None:
            yield here.read()
            here = here.parent
