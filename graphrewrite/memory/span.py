"""A span of memory with its life, and spans that share their place merged to items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from graphrewrite.errors import PlacementError

__all__ = ["Item", "Span", "items_of"]


@dataclass(frozen=True, slots=True)
class Span:
    """A buffer of a known size and life, before it has an offset.

    Attributes
    ----------
    size : int
        Size in bytes, or in any other unit that offsets then have as well.
    begin, end : int
        Its life: from `begin` on, until before `end`.
    holes : tuple of (int, int)
        Parts of its life, half-open, in which its content is not needed and others may use its memory.
    align : int
        Number that divides its offset.
    offset : int, optional
        Its offset, where that is given and not to be found.
    pool : str
        Memory in which it lies; spans of different pools never meet.
    over : int, optional
        Index of the span whose memory it takes over (in place): both have the same offset, even while both live.

    Examples
    --------
    >>> Span(16, 0, 3)
    Span(size=16, begin=0, end=3, holes=(), align=1, offset=None, pool='', over=None)
    """

    size: int
    begin: int
    end: int
    holes: tuple[tuple[int, int], ...] = ()
    align: int = 1
    offset: int | None = None
    pool: str = ""
    over: int | None = None

    def lives(self) -> tuple[tuple[int, int], ...]:
        """Return the parts of its life in which its content is needed, in order.

        Examples
        --------
        >>> Span(16, 0, 9, holes=((2, 4), (6, 9))).lives()
        ((0, 2), (4, 6))
        """
        if not self.holes:
            return ((self.begin, self.end),) if self.begin < self.end else ()
        borders = self.borders()
        return tuple((a, b) for a, b in zip(borders[::2], borders[1::2], strict=True) if a < b)

    def borders(self) -> list[int]:
        """Return where its life begins, where each hole begins and ends, and where it ends.

        Examples
        --------
        >>> Span(16, 0, 9, holes=((2, 4),)).borders()
        [0, 2, 4, 9]
        """
        return [self.begin, *(border for hole in sorted(self.holes) for border in hole), self.end]


@dataclass(frozen=True, slots=True)
class Item:
    """Spans with one common offset: a span and those over it.

    Attributes
    ----------
    spans : tuple of int
        Their indices.
    size, align, offset, pool
        As of a span; the largest size counts all the time.
    lives : tuple of (int, int)
        Disjoint parts of time, in order, in which any of them lives.
    """

    spans: tuple[int, ...]
    size: int
    align: int
    offset: int | None
    pool: str
    lives: tuple[tuple[int, int], ...]


def items_of(spans: Sequence[Span], align: int) -> list[Item]:
    """Merge spans that share their place; refuse those that are malformed.

    Examples
    --------
    >>> [item.lives for item in items_of([Span(8, 0, 3), Span(8, 2, 5, over=0), Span(4, 1, 2)], 1)]
    [((0, 5),), ((1, 2),)]
    """
    root = list(range(len(spans)))

    def find(index: int) -> int:
        while root[index] != index:
            index = root[index]
        return index

    for index, span in enumerate(spans):
        _check(index, span, len(spans))
        if span.over is not None:
            a, b = sorted((find(index), find(span.over)))
            root[b] = a
    groups: dict[int, list[int]] = {}
    for index in range(len(spans)):
        groups.setdefault(find(index), []).append(index)
    return [_merged(spans, tuple(group), align) for group in groups.values()]


def _merged(spans: Sequence[Span], group: tuple[int, ...], align: int) -> Item:
    lives: list[tuple[int, int]] = []
    for begin, end in sorted(life for i in group for life in spans[i].lives()):
        if lives and begin <= lives[-1][1]:
            lives[-1] = lives[-1][0], max(end, lives[-1][1])
        else:
            lives.append((begin, end))
    first = spans[group[0]]
    offsets = {spans[i].offset: i for i in group if spans[i].offset is not None}
    for name, given in ("pool", {spans[i].pool: i for i in group}), ("offset", offsets):
        if len(given) > 1:
            (a, i), (b, j), *_ = given.items()
            raise PlacementError(
                f"spans {i} and {j} share their place, but have the {name}s {a!r} and {b!r}; give them one {name}, or "
                "remove `over`"
            )
    common = math.lcm(align, *(spans[i].align for i in group))
    offset = next(iter(offsets), None)
    if offset is not None and offset % common:
        raise PlacementError(
            f"span {offsets[offset]}: the offset {offset} is no multiple of the alignment {common}; change one"
        )
    return Item(group, max(spans[i].size for i in group), common, offset, first.pool, tuple(lives))


def _check(index: int, span: Span, count: int) -> None:
    message = None
    if span.size < 0:
        message = f"a size is not negative, got {span.size}"
    elif span.end < span.begin:
        message = f"a life ends after it begins, got {span.begin} to {span.end}"
    elif span.align < 1:
        message = f"an alignment is 1 or more, got {span.align}"
    elif span.offset is not None and span.offset < 0:
        message = f"an offset is not negative, got {span.offset}"
    elif span.over is not None and (span.over == index or not 0 <= span.over < count):
        message = f"`over` is the index of another of {count} spans, got {span.over}"
    elif span.holes and (borders := span.borders()) != sorted(borders):
        message = f"holes are disjoint and within the life, got {list(span.holes)}"
    if message is not None:
        raise PlacementError(f"span {index}: {message}")
