"""Offsets of spans of memory: those that live at the same time do not overlap, and the height is as small as can be."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from types import MappingProxyType

from graphrewrite.errors import PlacementError
from graphrewrite.memory.first_fit import first_fit, orders
from graphrewrite.memory.problem import Problem
from graphrewrite.memory.search import search
from graphrewrite.memory.span import Item, Span, items_of
from graphrewrite.runtime.display import Displayed

__all__ = ["Placement", "Usage", "place"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a placement uses of one pool.

    Attributes
    ----------
    height : int
        Where the highest span ends.
    load : int
        Greatest sum of what lives at the same time; no placement is lower.
    bound : int
        The greatest height of which it is proved that no placement is lower: at least `load`, and more where a search
        has shown that the load cannot be reached, or a given offset lies higher.
    """

    height: int
    load: int
    bound: int

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no placement is lower."""
        return self.height == self.bound


@dataclass(frozen=True, slots=True)
class Placement(Displayed, shown_by="charts.memory_chart.show_placement"):
    """Offsets of spans.

    Attributes
    ----------
    offsets : tuple of int
        Offset by span, in its pool.
    pools : mapping of str to Usage
        What is used of each pool.
    steps : int
        Steps of search that it took; 0 where first fit was enough.
    spans : tuple of Span
        The spans.
    """

    offsets: tuple[int, ...]
    pools: Mapping[str, Usage]
    steps: int
    spans: tuple[Span, ...] = field(repr=False)

    @property
    def height(self) -> int:
        """Sum of the heights of all pools."""
        return sum(usage.height for usage in self.pools.values())

    @property
    def bound(self) -> int:
        """Sum of the bounds of all pools."""
        return sum(usage.bound for usage in self.pools.values())

    @property
    def optimal(self) -> bool:
        """Whether it is proved that no placement is lower, in any pool."""
        return all(usage.optimal for usage in self.pools.values())


def place(
    spans: Sequence[Span], *, align: int = 1, capacity: int | Mapping[str, int] | None = None, steps: int = 100_000
) -> Placement:
    """Return offsets for spans, so that spans of one pool that live at the same time do not overlap.

    First fit in several orders comes first, and ends as soon as the height is the greatest sum of what lives at the
    same time. Where none of them reaches it, a search for lower offsets follows, which ends after a number of steps,
    not after a time: the same spans have the same offsets on every machine.

    Parameters
    ----------
    spans : sequence of Span
        Sizes and lives.
    align : int
        Number that divides all offsets, besides the alignment of each span. Sizes are rounded up to the greatest
        common divisor of all alignments in a pool.
    capacity : int, or mapping of str to int, optional
        Size of each pool. Any placement within it is enough then.
    steps : int
        Greatest number of steps of the search, in all pools; 0 for first fit alone. A step takes 0.05 to 0.3 ms.

    Returns
    -------
    Placement
        Offsets, and by pool the height, the lower bound, and whether it is proved that no placement is lower. Spans
        with different alignments or given offsets are not searched: proved is then what reaches the greatest load.

    Raises
    ------
    PlacementError
        Spans contradict each other, or do not fit into the capacity; the message says whether that is proved.

    Examples
    --------
    >>> spans = [Span(4, 0, 2), Span(8, 1, 3), Span(4, 2, 4), Span(8, 3, 5, over=1)]
    >>> found = place(spans)
    >>> found.offsets, found.height, found.bound, found.optimal
    ((8, 0, 8, 0), 12, 12, True)
    >>> place(spans, capacity=10)
    Traceback (most recent call last):
    graphrewrite.errors.PlacementError: pool '': spans 0, 1 and 3 live at 1 and take 12, more than the capacity 10; ...
    """
    if align < 1 or steps < 0:
        raise PlacementError(f"an alignment is 1 or more and a number of steps 0 or more, got {align} and {steps}")
    offsets = [0] * len(spans)
    pools: dict[str, list[Item]] = {}
    for item in items_of(spans, align):
        pools.setdefault(item.pool, []).append(item)
    if isinstance(capacity, Mapping) and (unknown := [pool for pool in capacity if pool not in pools]):
        raise PlacementError(f"`capacity` names the pool {unknown[0]!r}, but spans lie in {sorted(pools)}; rename one")
    usages, taken = {}, 0
    for pool, items in pools.items():
        room = capacity.get(pool) if isinstance(capacity, Mapping) else capacity
        found = _Pool(pool, items, room)
        taken += found.place(steps - taken)
        usages[pool] = found.usage()
        for item, offset in zip(found.items, found.offsets, strict=True):
            for span in item.spans:
                offsets[span] = offset
    return Placement(tuple(offsets), MappingProxyType(usages), taken, tuple(spans))


class _Pool:
    """Items of one pool, in units of the greatest common divisor of their alignments."""

    def __init__(self, name: str, items: list[Item], capacity: int | None) -> None:
        self.name, self.items, self.capacity = name, items, capacity
        self.unit = math.gcd(*(item.align for item in items))
        self.sizes = [-(-item.size // self.unit) for item in items]
        self.room = None if capacity is None else capacity // self.unit
        times = _sections(items, self.sizes)
        self.load = self.bound = 0
        for time, alive in times:
            load = sum(self.sizes[i] for i in alive)
            if self.room is not None and load > self.room:
                raise PlacementError(
                    f"pool {name!r}: {_listed(items, alive)} live at {time} and take {load * self.unit}, more than the "
                    f"capacity {capacity}; give it more, or let fewer live at that time"
                )
            self.load = self.bound = max(load, self.load)
        self._check_fixed([alive for _, alive in times])
        self.groups = _independent([alive for _, alive in times])
        self.found = [0 if item.offset is None else item.offset // self.unit for item in items]

    @property
    def offsets(self) -> list[int]:
        """Offset of each item."""
        return [offset * self.unit for offset in self.found]

    def usage(self) -> Usage:
        """What is used."""
        alive = {i for sections in self.groups for section in sections for i in section}
        ends = (self.found[i] + self.sizes[i] for i in alive)
        return Usage(max(ends, default=0) * self.unit, self.load * self.unit, self.bound * self.unit)

    def place(self, steps: int) -> int:
        """Place groups of items that do not meet one after the other; return the steps of search."""
        left = steps
        for sections in self.groups:
            names = sorted({i for alive in sections for i in alive})
            local = {name: i for i, name in enumerate(names)}
            problem = Problem(
                tuple(self.sizes[i] for i in names), tuple(sum(1 << local[i] for i in alive) for alive in sections)
            )
            aligns = [self.items[i].align // self.unit for i in names]
            fixed = [None if self.items[i].offset is None else self.found[i] for i in names]
            goal = self.bound if self.room is None else self.room
            best: tuple[int, tuple[int, ...]] | None = None
            for order in orders(problem):
                offsets = first_fit(problem, order, aligns, fixed)
                height = _height(problem, offsets)
                if best is None or height < best[0]:
                    best = height, offsets
                if best[0] <= goal:
                    break
            assert best is not None, "there is an order"
            proved = False
            if best[0] > goal and not any(o is not None for o in fixed) and {*aligns} == {1}:
                best, bound, taken = _improved(problem, best, goal, left, stop=self.room is not None)
                left -= taken
                proved = bound > goal
                self.bound = max(self.bound, bound)
            if self.room is not None and best[0] > self.room:
                raise PlacementError(
                    f"pool {self.name!r}: {_listed(self.items, names)} do not fit into the capacity {self.capacity}"
                    + (
                        ", which is proved; give it more"
                        if proved
                        else f" as far as tried, but into {best[0] * self.unit}; give it more, or more steps"
                    )
                )
            for i, offset in zip(names, best[1], strict=True):
                self.found[i] = offset
        return steps - left

    def _check_fixed(self, sections: list[list[int]]) -> None:
        for i, item in enumerate(self.items):
            if item.offset is not None and self.capacity is not None and item.offset + item.size > self.capacity:
                raise PlacementError(
                    f"span {item.spans[0]}: at its offset {item.offset} its size {item.size} goes beyond the capacity "
                    f"of pool {self.name!r}, {self.capacity}; change one of them"
                )
            if item.offset is not None and any(i in alive for alive in sections):
                self.bound = max(self.bound, item.offset // self.unit + self.sizes[i])
        for alive in sections:
            given = sorted((self.items[i].offset or 0, i) for i in alive if self.items[i].offset is not None)
            for (low, a), (high, b) in pairwise(given):
                if low + self.sizes[a] * self.unit > high:
                    one, other = self.items[a].spans[0], self.items[b].spans[0]
                    raise PlacementError(
                        f"spans {one} and {other} live at the same time, and overlap: one of size "
                        f"{self.sizes[a] * self.unit} is to lie at {low}, the other at {high}; change an offset"
                    )


def _sections(items: list[Item], sizes: list[int]) -> list[tuple[int, list[int]]]:
    """Times at which the greatest sets of items live, and these sets: each two that meet are in one of them."""
    events = sorted(
        (time, start, i)
        for i, item in enumerate(items)
        if sizes[i]
        for a, b in item.lives
        for time, start, i in ((a, 1, i), (b, 0, i))
    )
    alive: dict[int, None] = {}
    found, grown, at = [], False, 0
    for time, start, i in events:
        if start:
            alive[i] = None
            grown, at = True, time
        else:
            if grown:
                found.append((at, [*alive]))
            grown = False
            del alive[i]
    return found


def _independent(sections: list[list[int]]) -> list[list[list[int]]]:
    """Sections by connected parts of the graph of items that meet."""
    parts: list[tuple[set[int], list[list[int]]]] = []
    for alive in sections:
        joined: tuple[set[int], list[list[int]]] = ({*alive}, [alive])
        rest = []
        for part in parts:
            if part[0].isdisjoint(alive):
                rest.append(part)
            else:
                joined = joined[0] | part[0], part[1] + joined[1]
        parts = [*rest, joined]
    return [part for _, part in parts]


def _improved(
    problem: Problem, best: tuple[int, tuple[int, ...]], goal: int, steps: int, *, stop: bool
) -> tuple[tuple[int, tuple[int, ...]], int, int]:
    """Search between a goal and the best height known; return what is best, the height proved or 0, and the steps.

    The goal itself comes first, with half of the steps, then heights between by bisection; with `stop` only the goal.
    All heights are sums of sizes: only multiples of their greatest common divisor are tried.
    """
    grain = math.gcd(*problem.sizes)
    sizes = tuple(size // grain for size in problem.sizes)
    low, high = goal // grain, best[0] // grain  # the least that may be, and one that is
    bound, left, target = 0, steps, low
    while low < high and left:
        verdict = search(Problem(sizes, problem.sections), target, left if stop or target > low else -(-left // 2))
        left -= verdict.steps
        if verdict.offsets is not None:
            high = _height(Problem(sizes, problem.sections), verdict.offsets)
            best = high * grain, tuple(offset * grain for offset in verdict.offsets)
        elif verdict.proved:
            low = bound = target + 1
        else:
            low = target + 1
        if stop:
            break
        target = (low + high) // 2 if verdict.offsets is None or target > low else low
    return best, bound * grain, steps - left


def _height(problem: Problem, offsets: Sequence[int]) -> int:
    return max(map(int.__add__, offsets, problem.sizes))


def _listed(items: list[Item], alive: list[int]) -> str:
    names = [str(span) for i in sorted(alive) for span in items[i].spans]
    if len(names) > 8:
        return f"{len(names)} spans, {', '.join(names[:6])} and others,"
    return f"spans {', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else f"span {names[0]}"
