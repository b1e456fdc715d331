"""A tuple with a short text, for what is long and a default of many functions."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["Catalogue"]

T = TypeVar("T")
_SHOWN = 3


class Catalogue(tuple[T, ...]):
    """A tuple whose text has its first members only.

    Examples
    --------
    >>> Catalogue(range(40))
    (0, 1, 2, … and 37 more)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        if len(self) <= _SHOWN:
            return super().__repr__()
        return f"({', '.join(map(repr, self[:_SHOWN]))}, … and {len(self) - _SHOWN} more)"
