"""Bars: what lives from one step to another, with its size, its place and its words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphrewrite.view.colour import VARIABLES

__all__ = ["Bar", "Timeline", "alive_at", "amount", "rounded", "ticks", "tint"]

_KIBI, _MANY, _PREFIXES = 1024, 10_000, " KMGTP"


@dataclass(frozen=True)
class Bar:
    """A buffer.

    Attributes
    ----------
    name : str
        Its node.
    size, offset : int
        Its size and place.
    begin, end : int
        Its life: from `begin` on, until before `end`.
    fill : str
        Its colour in the light theme.
    words : str
        What else is said of it.
    """

    name: str
    size: int
    offset: int
    begin: int
    end: int
    fill: str
    words: str = ""


@dataclass(frozen=True)
class Timeline:
    """Bars over time.

    Attributes
    ----------
    title : str
        What is shown.
    bars : tuple of Bar
        Buffers that take memory.
    order : tuple of str
        What runs at each step, from 0 on; empty where only lives are known.
    height, load, bound : int
        Where the highest bar ends, the greatest sum of what lives at a time, and what cannot be undercut.
    window : tuple of (int, int), optional
        The first step that is drawn, and the one after the last; all where not given.
    """

    title: str
    bars: tuple[Bar, ...]
    order: tuple[str, ...]
    height: int
    load: int
    bound: int

    window: tuple[int, int] | None = None

    @property
    def first(self) -> int:
        """The first step."""
        if self.window is not None:
            return self.window[0]
        return 0 if self.order else min((bar.begin for bar in self.bars), default=0)

    @property
    def last(self) -> int:
        """The step after the last one."""
        if self.window is not None:
            return self.window[1]
        return max([self.first + 1, len(self.order), *(bar.end for bar in self.bars)])

    def shown(self) -> list[tuple[Bar, int, int]]:
        """Return the bars that are drawn, each with its first step and the one after its last, within the window."""
        clipped = [(bar, max(bar.begin, self.first), min(bar.end, self.last)) for bar in self.bars]
        return [each for each in clipped if each[1] < each[2]]

    def loads(self) -> list[tuple[int, int]]:
        """Return what lives, as steps from which on it is another sum, and this sum; in place counts once."""
        events: dict[int, int] = {}
        for low, high, begin, end in _rows(self.bars):
            events[begin] = events.get(begin, 0) + high - low
            events[end] = events.get(end, 0) - (high - low)
        found, total = [], 0
        for step in sorted(events):
            total += events[step]
            found.append((step, total))
        return found


def _rows(bars: Iterable[Bar]) -> Iterable[tuple[int, int, int, int]]:
    """Yield the rectangles of bars without what an earlier one at the same place covers."""
    reach: dict[tuple[int, int], int] = {}
    for bar in sorted(bars, key=lambda bar: (bar.begin, bar.end)):
        place = bar.offset, bar.size
        begin = max(bar.begin, reach.get(place, bar.begin))
        if begin < bar.end:
            yield bar.offset, bar.offset + bar.size, begin, bar.end
            reach[place] = bar.end


def alive_at(bars: Sequence[Bar], step: int) -> list[Bar]:
    """Return the bars that live at a step, the largest first."""
    return sorted((bar for bar in bars if bar.begin <= step < bar.end), key=lambda bar: (-bar.size, bar.offset))


def amount(size: int, unit: str) -> str:
    """Return a size in words.

    Examples
    --------
    >>> amount(6464, "bytes"), amount(3_932_160, "bytes"), amount(12_000, "words")
    ('6,464 bytes', '3.75 MiB', '12,000 words')
    """
    power = _power(size, unit)
    if not power:
        return f"{size:,} {unit}"
    value = size / _KIBI**power
    return f"{value:.3g} {_PREFIXES[power]}iB" if value < 999.5 else f"{value:.0f} {_PREFIXES[power]}iB"


def _power(size: int, unit: str) -> int:
    """Return which power of 1024 bytes a size is written in."""
    power = 0
    if unit == "bytes" and size >= _MANY:
        while size >= _KIBI and power < len(_PREFIXES) - 1:
            size, power = size // _KIBI, power + 1
    return power


def ticks(top: int, unit: str) -> list[int]:
    """Return round sizes up to one, for the axis of a chart.

    Examples
    --------
    >>> ticks(6464, "bytes"), [tick / 1024 for tick in ticks(23_000, "bytes")]
    ([0, 2000, 4000, 6000], [0.0, 10.0, 20.0])
    """
    one = _KIBI ** _power(top, unit)
    distance = rounded(top / one / 4) * one
    return list(range(0, top + 1, distance))


def rounded(distance: float) -> int:
    """Return the least of 1, 2, 5, 10, 20, … that is not less.

    Examples
    --------
    >>> rounded(0.3), rounded(3), rounded(12)
    (1, 5, 20)
    """
    power = 1
    while True:
        for factor in (1, 2, 5):
            if factor * power >= distance:
                return factor * power
        power *= 10


def tint(index: int) -> str:
    """Return one of few colours that neighbours do not share."""
    return VARIABLES[index % len(VARIABLES)]
