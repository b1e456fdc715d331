"""Flow of control through code: what of it has not run, given the branches that were taken, and whether it matters."""

from __future__ import annotations

import dis
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from graphrewrite.rewriting.rule.outcome import decline
from graphrewrite.testing.mentioning import Used

__all__ = ["Flow", "Part"]

_ALWAYS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"})
"""Jumps without a condition."""
_LOOPS = frozenset({"FOR_ITER", "SEND"})
"""Jumps at the end of what is gone through: that it is never empty, or never ends, is no branch that somebody wrote."""
_BEGINS = frozenset({"RESUME", "RETURN_GENERATOR", "COPY_FREE_VARS", "MAKE_CELL"})
_RAISES = frozenset({"RAISE_VARARGS", "RERAISE"})
_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "INTERPRETER_EXIT"}) | _RAISES


@dataclass(frozen=True)
class Part:
    """A part of a line.

    Attributes
    ----------
    start, end : int
        Columns, in bytes.
    matters : bool
        Whether it may change what a rule does: not if what follows can only decline, or raise.
    """

    line: int
    start: int
    end: int
    matters: bool


class Flow:
    """The instructions of code, and how they follow each other.

    Examples
    --------
    >>> def size(x, most):
    ...     return most if x > most else x
    >>> flow = Flow(Used(size.__code__, size))
    >>> (jump,) = flow.branches
    >>> [part.end - part.start for part in flow.parts({(jump, flow.branches[jump][0])}, flow.lines)]
    [4]
    """

    def __init__(self, used: Used) -> None:
        self.used = used
        steps = [step for step in dis.get_instructions(used.code) if step.offset > used.start or not used.start]
        self.steps = [step for step in steps if step.opname not in ("CACHE", "EXTENDED_ARG")]
        self._offsets = [step.offset for step in self.steps]
        self._next = dict(zip(self._offsets, self._offsets[1:], strict=False))
        self._at = dict(zip(self._offsets, self.steps, strict=True))
        self._whole: dict[int, Part] = {}

    @cached_property
    def leaders(self) -> frozenset[int]:
        """Offsets to which conditional jumps lead, with those of what extends the instructions there."""
        found = {way for ways in self.branches.values() for way in ways}
        found |= {step.argval for step in self.steps if step.offset in self.branches}
        raw = [step.offset for step in dis.get_instructions(self.used.code) if step.opname == "EXTENDED_ARG"]
        return frozenset(found | {offset for offset in raw if self.nearest(offset) in found})

    def nearest(self, offset: int) -> int:
        """Return the offset of the instruction that an offset means, which may be that of what extends it."""
        return self._offsets[min(bisect_left(self._offsets, offset), len(self._offsets) - 1)]

    @cached_property
    def branches(self) -> dict[int, tuple[int, int]]:
        """To where each conditional jump may lead: by jumping, and by going on."""
        return {
            step.offset: (self.nearest(step.argval), self._next[step.offset])
            for step in self.steps
            if _is_jump(step) and step.opname not in _ALWAYS and step.offset in self._next
        }

    @cached_property
    def lines(self) -> frozenset[int]:
        """All lines that could run."""
        spans = list(self.used.code.co_lines())
        # The line of the yield has run, or nothing is known.
        ran = {line for start, end, line in spans if start <= self.used.start < end} if self.used.start else set()
        written = {line for step in self.steps if (line := _line(step)) is not None and _is_written(step)}
        return frozenset({line for _, _, line in spans if line in written} - ran)

    def _first(self, offsets: Collection[int]) -> dict[int, int]:
        """Return the first of some instructions on each line."""
        first: dict[int, int] = {}
        for step in self.steps:
            if step.offset in offsets and (line := _line(step)) is not None:
                first.setdefault(line, step.offset)
        return first

    def whole(self, line: int) -> Part:
        """Return all that this code has on a line."""
        if line not in self._whole:
            written = [step.positions for step in self.steps if _is_written(step)]
            columns = [at for at in written if at is not None and at.lineno == at.end_lineno == line]
            starts, ends = [at.col_offset or 0 for at in columns], [at.end_col_offset or 0 for at in columns]
            matters = self._may_return(self._head(self._first(self._at)[line]))
            self._whole[line] = Part(line, min(starts, default=0), max(ends, default=0), matters)
        return self._whole[line]

    def parts(self, taken: Collection[tuple[int, int]], lines: Collection[int]) -> Iterator[Part]:
        """Yield the parts that have not run of lines that have.

        Parameters
        ----------
        taken : collection of pairs of int
            From where to where conditional jumps have led.
        lines : collection of int
            Those that have run.
        """
        leading: dict[int, list[int]] = {}
        for start, end in taken:
            leading.setdefault(self.nearest(start), []).append(self.nearest(end))
        handlers = self._first(self._handling)  # exceptions lead there, and lines tell whether they have
        ran = self._reachable([self._offsets[0], *(handlers[line] for line in lines if line in handlers)], leading)
        seen = {step.positions for step in self.steps if step.offset in ran}
        for jump, ways in self.branches.items():
            if jump not in ran or jump not in leading or self._at[jump].opname in _LOOPS:
                continue
            for way in ways:
                part = self._part(way, ran, seen)
                if part is not None and part.line in lines:
                    yield part

    def _reachable(self, work: list[int], leading: Mapping[int, list[int]]) -> set[int]:
        """Return what can be reached from some instructions if conditional jumps lead to given ones only."""
        found = set[int]()
        while work:
            at = work.pop()
            if at not in found:
                found.add(at)
                work += leading.get(at, []) if at in self.branches else self._after(at)
        return found

    @cached_property
    def _handling(self) -> set[int]:
        """Instructions to which only exceptions lead."""
        leading = {jump: list(ways) for jump, ways in self.branches.items()}
        return set(self._offsets) - self._reachable([self._offsets[0]], leading)

    def _after(self, offset: int) -> list[int]:
        """Return what may follow an instruction."""
        step = self._at[offset]
        if step.opname in _ENDS:
            return []
        if step.opname in _ALWAYS:
            return [self.nearest(step.argval)]
        if offset in self.branches:
            return list(self.branches[offset])
        return [self._next[offset]] if offset in self._next else []

    def _part(self, head: int, ran: set[int], seen: set[Any]) -> Part | None:
        """Return the part of a line that begins at an instruction and has not run; None of what nobody wrote."""
        work, met = [head], set(ran)
        line, starts, ends = None, list[int](), list[int]()
        while work:
            offset = work.pop()
            step = self._at[offset]
            if offset in met or (line is not None and _line(step) != line):
                continue
            if step.opname == "LOAD_ASSERTION_ERROR":
                return None
            met.add(offset)
            work += self._after(offset)
            at = step.positions
            if at is None or at in seen or at.lineno is None or at.lineno != at.end_lineno:
                continue  # the same again, as the end of a function is
            line = at.lineno
            if offset not in self.branches:  # which stand for the statement
                starts.append(at.col_offset or 0)
                ends.append(at.end_col_offset or 0)
        return None if line is None or not starts else Part(line, min(starts), max(ends), self._may_return(head))

    def _head(self, offset: int) -> int:
        """Return the instruction with which what runs in one go begins."""
        targets = {way for ways in self.branches.values() for way in ways}
        targets |= {self.nearest(step.argval) for step in self.steps if step.opname in _ALWAYS}
        place = self._offsets.index(offset)
        while place and self._offsets[place] not in targets and self.steps[place - 1].opname not in _ENDS | _ALWAYS:
            place -= 1
        return self._offsets[place]

    def _may_return(self, head: int) -> bool:
        """Tell whether code that begins at an instruction may return anything but what `decline` gives."""
        work, seen = [(head, False)], set[tuple[int, bool]]()
        while work:
            at, declines = work.pop()
            if (at, declines) in seen:
                continue
            seen.add((at, declines))
            step = self._at[at]
            if step.opname in _ENDS - _RAISES and not declines:
                return True
            is_of_rule = step.opname in ("LOAD_ATTR", "LOAD_METHOD") and step.argval == "decline"
            declines |= is_of_rule or self.used.value(step) is decline
            work += [(after, declines) for after in self._after(at)]
        return False


def _line(step: dis.Instruction) -> int | None:
    return None if step.positions is None else step.positions.lineno


def _is_written(step: dis.Instruction) -> bool:
    """Tell whether an instruction stands for something in the source, and not for its beginning."""
    at = step.positions
    return at is not None and bool(at.end_col_offset) and step.opname not in _BEGINS


def _is_jump(step: dis.Instruction) -> bool:
    return step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
