"""Exact orders: a search over cuts, each a set of steps that may have run, for the least peak.

What lives depends on which steps have run, not on their order: each cut is looked at once. Cuts are entered at a
limit, which is raised to the least that lets the search go on; the first order that is found is the best one, and the
limit is a lower bound at any time.

From some cuts one way is as good as any. A value counts from the step that writes it until all of its readers have
run, so that a step frees no less where more has run. Therefore a step that fits below the limit and leaves no more
alive than before can run at once, and so can one together with steps that it enables and that each leave no more
alive.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from graphrewrite.memory.step import Steps

__all__ = ["Cut", "Found", "Masks", "following_cuts", "least_needed", "search", "weight"]


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found.

    Attributes
    ----------
    order : tuple of int, optional
        The best order, where one lower than the given peak was found.
    bound : int
        No order has a lower peak; the given peak where it is proved to be the best.
    cuts : int
        Number of cuts that were looked at, one with many steps that may run several times.
    """

    order: tuple[int, ...] | None
    bound: int
    cuts: int


class Cut(NamedTuple):
    """Steps that have run, as bits; what lives; the steps that may run, as bits; the way there."""

    done: int
    live: int
    ready: int
    last: tuple[int, ...] = ()
    parent: Cut | None = None

    def order(self) -> tuple[int, ...]:
        """The steps on the way there."""
        parts, cut = [], self
        while cut.parent is not None:
            parts.append(cut.last)
            cut = cut.parent
        return tuple(step for part in reversed(parts) for step in part)


class Masks:
    """Steps with sets of steps as bits."""

    def __init__(self, steps: Steps) -> None:
        values = steps.values
        readers = [sum(1 << step for step in value.readers) for value in values]
        self.start = steps.start()
        self.everything = (1 << len(steps)) - 1
        self.before = [sum(1 << other for other in before) for before in steps.before]
        self.after = steps.after()
        self.adds = [sum(values[v].size for v in writes) for writes in steps.writes]
        self.stays = [sum(values[v].size for v in writes if values[v].is_read) for writes in steps.writes]
        # Values that a step frees if all others that read them have run: their sizes, and these others.
        self.frees = [
            [(values[v].size, readers[v] ^ 1 << step) for v in reads if values[v].size and not values[v].is_kept]
            for step, reads in enumerate(steps.reads)
        ]
        self.over = [
            [(values[v].size, readers[v] ^ 1 << step) for v in over if values[v].size and not values[v].is_kept]
            for step, over in enumerate(steps.over)
        ]
        self.early = [
            [(values[v].size, readers[v] ^ 1 << step) for v in early if values[v].size and not values[v].is_kept]
            for step, early in enumerate(steps.early)
        ]

    def first(self) -> Cut:
        """Return the cut before the first step."""
        return Cut(0, self.start, sum(1 << step for step, before in enumerate(self.before) if not before))

    def needs(self, step: int, done: int, live: int) -> int:
        """Size of what lives while a step runs."""
        needed = live + self.adds[step]
        if self.early:
            for size, others in self.early[step]:
                if not others & ~done:
                    needed -= size
        for size, others in self.over[step]:
            if not others & ~done:
                return needed - size
        return needed

    def change(self, step: int, done: int) -> int:
        """By how much more lives after a step than before it."""
        change = self.stays[step]
        for size, others in self.frees[step]:
            if not others & ~done:
                change -= size
        return change

    def enabled(self, step: int, done: int) -> int:
        """Return the steps, as bits, that may run now that a step has run."""
        ready = 0
        for other in self.after[step]:
            if not self.before[other] & ~done:
                ready |= 1 << other
        return ready


def search(steps: Steps, bound: int, peak: int, limit: int) -> Found:
    """Look for an order with a peak below a given one, by at most a number of cuts; no order is below the bound.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2), "c": Step(1, reads=("a",))}, {}, ["b", "c"])
    >>> search(found, 9, 11, 100)
    Found(order=(0, 2, 1), bound=9, cuts=2)
    """
    masks = Masks(steps)
    level = max(bound, masks.start)
    first = masks.first()
    seen: set[int] = set()
    waiting: dict[int, list[Cut]] = {level: [first]}
    count = 0
    while waiting and (level := min(waiting)) < peak:
        stack = waiting.pop(level)
        fresh = len(stack)  # those below are seen again, at a higher level
        while stack:
            cut = stack.pop()
            if len(stack) < fresh:
                fresh = len(stack)
            elif cut.done in seen:
                continue
            if cut.done == masks.everything:
                return Found(cut.order(), level, count)
            if count + weight(cut) > limit:
                return Found(None, level, count)
            count += weight(cut)
            seen.add(cut.done)
            least, following = following_cuts(masks, cut, level)
            stack += following
            if least is not None and least < peak:
                waiting.setdefault(least, []).append(cut)
    return Found(None, peak, count)


def weight(cut: Cut) -> int:
    """Return how many times a cut counts: once for each of so many steps that may run.

    Examples
    --------
    >>> weight(Cut(0, 0, 0b111)), weight(Cut(0, 0, (1 << 40) - 1))
    (1, 3)
    """
    return 1 + cut.ready.bit_count() // 16


def following_cuts(masks: Masks, cut: Cut, level: int) -> tuple[int | None, list[Cut]]:
    """Return the least level above one at which more follows a cut, and the cuts that follow at this level, best last.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> masks = Masks(steps_of({"a": Step(8), "b": Step(2), "c": Step(1, reads=("a",))}, {}, ["b", "c"])[0])
    >>> least, cuts = following_cuts(masks, masks.first(), 9)
    >>> least, [(cut.order(), cut.live) for cut in cuts]
    (None, [((1,), 2), ((0, 2), 1)])
    """
    found: list[tuple[int, Cut]] = []
    least = None
    for step in _bits(cut.ready):
        needed = masks.needs(step, cut.done, cut.live)
        if needed > level:
            least = needed if least is None else min(least, needed)
            continue
        done = cut.done | 1 << step
        live = cut.live + masks.change(step, cut.done)
        enabled = masks.enabled(step, done)
        order = [step]
        while live > cut.live:
            for other in _bits(enabled):
                change = masks.change(other, done)
                if change <= 0 and masks.needs(other, done, live) <= level:
                    break
            else:
                break
            done |= 1 << other
            live += change
            enabled = enabled ^ 1 << other | masks.enabled(other, done)
            order.append(other)
        ready = (cut.ready | enabled) & ~done
        after = Cut(done, live, ready, tuple(order), cut)
        if live <= cut.live:
            return None, [after]
        found.append((live, after))
    found.sort(key=lambda pair: pair[0], reverse=True)
    return least, [after for _, after in found]


def _bits(mask: int) -> Iterator[int]:
    """Yield the places of the bits, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def least_needed(steps: Steps) -> int:
    """Return a lower bound of the peak: what lives at the start, at the end, and while each step runs, in any order.

    While a step runs, those values live that it or what it depends on writes, and that it or what depends on it reads.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2, reads=("a",)), "c": Step(1, reads=("a", "b"))}, {}, ["c"])
    >>> least_needed(found)
    11
    """
    values, order, after = steps.values, steps.in_order(), steps.after()
    kept = sum(1 << v for v, value in enumerate(values) if value.is_kept)
    given = sum(1 << v for v in steps.given if values[v].is_read)
    made, needed, later = [0] * len(order), [0] * len(order), [0] * len(order)
    for step in order:
        made[step] = given | sum(1 << v for v in steps.writes[step])
        for other in steps.before[step]:
            made[step] |= made[other]
    for step in reversed(order):
        needed[step] = sum(1 << v for v in steps.reads[step])
        for other in after[step]:
            needed[step] |= needed[other]
            later[step] |= later[other] | 1 << other
    least = max(steps.start(), steps.idle + sum(value.size for value in values if value.is_kept))
    for step in order:
        own = sum(1 << v for v in steps.writes[step])
        alive = made[step] & (needed[step] | kept | own)
        size = steps.idle + sum(values[v].size for v in _bits(alive))
        if any(_may_die(steps, v, step, later[step]) for v in steps.over[step]):
            size -= values[steps.writes[step][0]].size
        if steps.early:
            size -= sum(values[v].size for v in steps.early[step] if _may_die(steps, v, step, later[step]))
        least = max(least, size)
    return least


def _may_die(steps: Steps, value: int, step: int, later: int) -> bool:
    """Tell whether a step may be the last one that reads a value."""
    found = steps.values[value]
    return not found.is_kept and not any(later >> reader & 1 for reader in found.readers if reader != step)
