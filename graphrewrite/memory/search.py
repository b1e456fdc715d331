"""Exact placement: a search for offsets below a given height, or the proof that there are none.

As in MiniMalloc (M. D. Moffitt, ASPLOS 2023) only canonical solutions are searched, in which every item lies on another
one or on the ground, and the load that is still to come bounds what each section of time may waste.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass

from graphrewrite.memory.problem import Problem

__all__ = ["Outcome", "search"]

_FIRST_LIMIT = 3
_GROWTH = 1.1
"""Steps for each item until the first restart, and by what factor more after each round of orders."""
_NOISE = 0.1
"""By which part at most values that rank items grow at random, from the second round on."""
_KEPT = 0.8
"""Which part of the failures that a section has counted still counts after a restart."""


@dataclass(frozen=True)
class Outcome:
    """What a search found.

    Attributes
    ----------
    offsets : tuple of int, optional
        Offsets by item, if found.
    proved : bool
        There are none, where none are found; else the limit was reached.
    steps : int
        Steps taken.
    """

    offsets: tuple[int, ...] | None
    proved: bool
    steps: int


@dataclass(slots=True)
class _State:
    """A partial placement: the items left; by section its floor, the true top, what it may waste, and what caused it.

    Causes are sets of decisions, as bits by depth.
    """

    left: int
    floor: list[int]
    top: list[int]
    slack: list[int]
    causes: list[int]
    sections: list[int]


@dataclass(slots=True)
class _Branches:
    """What may come next in a section: one of some items, at its floor; or nothing there, which wastes something."""

    state: _State
    section: int
    items: list[int]
    waste: int
    waste_cause: int
    conflict: int


def search(problem: Problem, height: int, limit: int) -> Outcome:
    """Place all items below a height, or prove that it cannot be done, within a limit of steps.

    The search restarts after few steps with another order of the items. Sections in which it failed come earlier then.
    Every second time, items come first at the heights where they lay last, so that what fits is not searched again;
    the other times nothing is kept, as what was found first may leave no room for the rest.

    Examples
    --------
    >>> problem = Problem((1, 2, 2, 1), (0b0011, 0b0110, 0b1100))
    >>> search(problem, 4, 100).offsets, search(problem, 3, 100).proved, search(problem, 4, 1).proved
    ((0, 2, 0, 2), True, False)
    """
    return _Search(problem, height).run(limit)


class _Search:
    def __init__(self, problem: Problem, height: int) -> None:
        # Bits in the order of sizes: the lowest bit of a set is its smallest item.
        self.names = sorted(range(len(problem.sizes)), key=lambda i: (problem.sizes[i], i))
        self.sizes = [problem.sizes[name] for name in self.names]
        self.members = [problem.members[name] for name in self.names]
        self.cover = [0] * len(problem.sections)
        for i, sections in enumerate(self.members):
            for section in sections:
                self.cover[section] |= 1 << i
        self.beside = Problem(tuple(self.sizes), tuple(self.cover)).beside
        self.loads = problem.loads
        self.slack = [height - load for load in self.loads]
        self.weight = [1.0] * len(self.cover)
        # Items of the same size and life are interchangeable: they come in order.
        twins: dict[tuple[int, tuple[int, ...]], int] = {}
        self.before = []
        for i, size in enumerate(self.sizes):
            key = size, tuple(self.members[i])
            self.before.append(twins.get(key, 0))
            twins[key] = twins.get(key, 0) | 1 << i
        self.offsets = [-1] * len(self.sizes)
        self.wanted = self.offsets  # where items come first
        self.depths = [0] * len(self.sizes)
        self.rank: Sequence[tuple[float, ...]] = ()

    def run(self, limit: int) -> Outcome:
        if min(self.slack, default=0) < 0:
            return Outcome(None, proved=True, steps=0)
        noise, steps = random.Random(0), 0
        nowhere, last = [-1] * len(self.sizes), [-1] * len(self.sizes)
        allowed = first = float(_FIRST_LIMIT * len(self.sizes))
        while True:
            for order, keeps in itertools.product(self._orders(), (False, True)):
                self.offsets, self.wanted = (last, last) if keeps else (nowhere[:], nowhere)
                self.rank = (
                    order
                    if allowed == first
                    else [tuple(value * (1 + _NOISE * noise.random()) for value in each) for each in order]
                )
                self.weight = [1 + _KEPT * (weight - 1) for weight in self.weight]
                found, taken = self._descend(min(int(allowed), limit - steps))
                steps += taken
                if found is not None:
                    offsets = dict(zip(self.names, self.offsets, strict=True))
                    placed = tuple(offsets[i] for i in range(len(offsets))) if found else None
                    return Outcome(placed, proved=not found, steps=steps)
                if steps >= limit:
                    return Outcome(None, proved=False, steps=steps)
            allowed *= _GROWTH

    def _orders(self) -> list[list[tuple[float, ...]]]:
        """Orders in which items of one section are tried: widest, largest area, in the fullest section, largest."""
        width = [len(sections) for sections in self.members]
        fullest = [max(self.loads[s] for s in sections) for sections in self.members]
        every = range(len(self.sizes))
        return [
            [(width[i], self.sizes[i]) for i in every],
            [(width[i] * self.sizes[i], self.sizes[i]) for i in every],
            [(fullest[i], width[i], self.sizes[i]) for i in every],
            [(self.sizes[i], width[i]) for i in every],
        ]

    def _descend(self, limit: int) -> tuple[bool | None, int]:
        """Search depth first; return whether there is a placement, None if the limit was reached, and the steps."""
        zeros = [0] * len(self.cover)
        everything = [s for s, items in enumerate(self.cover) if items]
        state = _State((1 << len(self.sizes)) - 1, zeros, zeros, self.slack[:], zeros, everything)
        stack: list[_Branches] = []
        steps = 0
        while state.left:
            if steps >= limit:
                return None, steps
            steps += 1
            found = self._branches(state)
            if isinstance(found, _Branches):
                stack.append(found)
            elif not self._return(stack, found):
                return False, steps
            state = self._next(stack[-1], len(stack) - 1)
        return True, steps

    @staticmethod
    def _return(stack: list[_Branches], conflict: int) -> bool:
        """Go back to the last decision among those that conflict, and on to its next branch; tell whether there is one.

        The decisions after it did not matter.
        """
        while stack:
            last, decision = stack[-1], 1 << len(stack) - 1
            if conflict & decision:
                last.conflict |= conflict & ~decision
                if last.items or last.waste:
                    return True
                conflict = last.conflict
            stack.pop()
        return False

    def _next(self, branches: _Branches, depth: int) -> _State:
        """Take the next branch."""
        old, section = branches.state, branches.section
        floor, top, slack, causes = old.floor[:], old.top[:], old.slack[:], old.causes[:]
        if not branches.items:
            floor[section] += branches.waste
            slack[section] -= branches.waste
            causes[section] |= branches.waste_cause | 1 << depth
            branches.waste = 0
            return _State(old.left, floor, top, slack, causes, old.sections)
        item = branches.items.pop()
        self.offsets[item] = floor[section]
        self.depths[item] = depth
        height = floor[section] + self.sizes[item]
        for s in self.members[item]:
            floor[s] = top[s] = height
            causes[s] |= 1 << depth
        return _State(old.left ^ 1 << item, floor, top, slack, causes, old.sections)

    def _blocking(self, state: _State, items: int, groups: list[list[int]]) -> int:
        """Return what caused that items lie no lower than the lowest of groups of sections."""
        cause = 0
        for group in groups:
            for s in group:
                if self.cover[s] & items:
                    cause |= state.causes[s]
                    items &= ~self.cover[s]
                    if not items:
                        return cause
        return cause

    def _lying(self, state: _State, items: int) -> int:
        """Return what caused all floors below items."""
        cause = 0
        while items:
            for s in self.members[items.bit_length() - 1]:
                cause |= state.causes[s]
            items ^= 1 << items.bit_length() - 1
        return cause

    def _branches(self, state: _State) -> _Branches | int:
        """Raise floors as far as items allow, and return those of a section with few branches, or what conflicts."""
        while True:
            found = self._scan(state)
            if found is not None:
                return found

    def _scan(self, state: _State) -> _Branches | int | None:
        """Raise floors once; return the branches of a section where there is nothing to raise, or what conflicts.

        An item lies at the greatest floor of its sections or above it; a section's floor rises to where its first item
        can lie, which is waste. Where all items that can lie at the floor of a section have all of their sections at
        this height, nothing comes below them any more: the section has one of them there that lies on something, or
        its first item lies on one of another section that is still to come.
        """
        cover, floor, top, left = self.cover, state.floor, state.top, state.left
        slack, causes = state.slack, state.causes
        order = state.sections = [s for s in state.sections if cover[s] & left]
        order.sort(key=floor.__getitem__, reverse=True)
        levels: list[int] = []  # heights, the greatest first, and by height:
        groups: list[list[int]] = []  # sections,
        lying: list[int] = []  # items that can lie there and no lower,
        held: list[int] = []  # items that would lie on another one or on the ground.
        free = left
        for s in order:
            if not levels or floor[s] != levels[-1]:
                if levels:
                    free &= ~lying[-1]
                levels.append(floor[s])
                groups.append([])
                lying.append(0)
                held.append(0)
            groups[-1].append(s)
            lying[-1] |= cover[s] & free
            if top[s] == levels[-1]:
                held[-1] |= cover[s]
        smallest = self.sizes[(left & -left).bit_length() - 1]
        best: tuple[float, int, int, int] | None = None  # its urgency, section, level and gap
        below, weight, raised = 0, self.weight, False
        for level in range(len(levels) - 1, -1, -1):
            height, here = levels[level], 0
            for s in groups[level]:
                items = cover[s]
                rest = lying[level] & items
                above = level - 1
                if not rest:
                    while not lying[above] & items:
                        above -= 1
                    slack[s] -= levels[above] - height
                    causes[s] |= self._blocking(state, items & left, groups[: above + 1])
                    if slack[s] < 0:
                        weight[s] += 1
                        return causes[s]
                    floor[s] = levels[above]
                    groups[above].append(s)
                    continue
                here |= items
                if rest & below:
                    continue
                resting, gap, may_waste = rest & held[level], 0, False
                if slack[s]:
                    while above >= 0 and not lying[above] & items:
                        above -= 1
                    gap = levels[above] - height if above >= 0 else slack[s] + 1
                    may_waste = min(gap, smallest) <= slack[s]
                    if may_waste and not resting:
                        waste, smaller = self._waste(rest, items, left, gap)
                        if waste <= slack[s]:
                            causes[s] |= self._blocking(state, items & left & ~rest, groups[:level])
                            causes[s] |= self._lying(state, rest) | self._placing(smaller)
                            floor[s] += waste
                            slack[s] -= waste
                            raised = True
                            continue
                        may_waste = False
                urgency = (resting.bit_count() + may_waste - 0.9) / weight[s] ** 0.5
                if best is None or urgency < best[0]:
                    best = urgency, s, level, gap
                    if urgency < 0:
                        break
            if best is not None and best[0] < 0:
                break
            below |= here
        if raised and (best is None or best[0] >= 0):
            return None
        assert best is not None, "an item lies at the lowest height at which any can"
        _, s, level, gap = best
        rest = lying[level] & cover[s]
        conflict = causes[s] | self._blocking(state, cover[s] & left & ~rest, groups[:level])
        waste = waste_cause = 0
        if slack[s]:
            waste, smaller = self._waste(rest, cover[s], left, gap)
            waste_cause = self._lying(state, rest) | self._placing(smaller)
            if waste > slack[s]:
                waste = 0
        conflict |= waste_cause | self._lying(state, rest & ~held[level])
        rest &= held[level]
        if not rest and not waste:
            weight[s] += 1
            return conflict
        items_here = []
        while rest:
            item = (rest & -rest).bit_length() - 1
            rest &= rest - 1
            if not self.before[item] & left:
                items_here.append(item)
        return _Branches(
            state,
            s,
            sorted(items_here, key=lambda i: (self.wanted[i] == floor[s], self.rank[i])),
            waste,
            waste_cause | conflict,
            conflict,
        )

    def _waste(self, rest: int, items: int, left: int, gap: int) -> tuple[int, int]:
        """Return what a section wastes at least if none of the items that can lie at its floor does, and the cause.

        Its first item lies a gap higher, where others can lie, or on an item that is still to come, beside it in
        another section. The cause is a set of items: smaller ones, which are placed already.
        """
        others = 0
        while rest:
            item = rest.bit_length() - 1
            others |= self.beside[item]
            rest ^= 1 << item
        others &= ~items
        smallest = others & left
        smallest &= -smallest
        if smallest:
            gap = min(gap, self.sizes[smallest.bit_length() - 1])
        return gap, others & (smallest - 1)

    def _placing(self, items: int) -> int:
        """Return the decisions that placed items."""
        cause = 0
        while items:
            cause |= 1 << self.depths[items.bit_length() - 1]
            items ^= 1 << items.bit_length() - 1
        return cause
