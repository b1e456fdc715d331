"""Levels, from networks to hardware and those of a dialect: which of two is the more specific one."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["BRIDGES", "LEVELS", "Level"]

_LIBRARY = ("nn", "integer", "stream", "memory")

BRIDGES = ("structure", "bridge")
"""What ops are that have no level of their own: inputs, outputs and constants; what only changes between levels."""


@dataclass(frozen=True, eq=False)
class Level:
    """A level; of one dialect, each stands above the next, which is more specific.

    Examples
    --------
    >>> nn, integer, stream, memory = LEVELS
    >>> sample = Level("sample", 1, dialect="sig", above="integer")
    >>> nn.stands_above(stream), sample.stands_above(stream), sample.stands_above(nn), nn.stands_above(sample)
    (True, True, False, False)
    """

    name: str
    index: int
    """Its place among the levels of its dialect, from the least specific one."""
    dialect: str = ""
    """The dialect; empty for the library's own levels."""
    above: str | None = None
    below: str | None = None
    """The levels of the library that its dialect stands above and below; None where it does not say."""

    def stands_above(self, other: Level) -> bool:
        """Tell whether another level is known to be more specific than this one."""
        if self.dialect == other.dialect:
            return self.index < other.index
        return self._first_below() <= other._last_above()

    def _first_below(self) -> int:
        """Return the first level of the library that this one is, or stands above; behind the last if none is known."""
        if not self.dialect:
            return self.index
        return len(_LIBRARY) if self.above is None else _LIBRARY.index(self.above)

    def _last_above(self) -> int:
        """Return the last level of the library that this one is, or stands below; -1 if none is known."""
        if not self.dialect:
            return self.index
        return -1 if self.below is None else _LIBRARY.index(self.below)

    def __str__(self) -> str:
        return f"{self.dialect}.{self.name}" if self.dialect else self.name


LEVELS: tuple[Level, ...] = tuple(Level(name, index) for index, name in enumerate(_LIBRARY))
"""Those of the library, from the least specific level to the most specific one."""
