"""Memory plan: registers that are never alive at the same time share memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from graphrewrite.execution.program.instruction import Instruction, Register
from graphrewrite.memory import Span, place

__all__ = ["Memory", "plan"]

_GRAIN = 8
"""Multiple, in bytes per frame, of all offsets, so that every carrier is aligned for any number of frames."""
_STEPS = 200
"""Limit of the search for a lower placement, where first fit does not reach the greatest load."""


@dataclass(frozen=True)
class Memory:
    """A plan of registers in one block of memory, all sizes proportional to the number of frames.

    Attributes
    ----------
    registers : tuple of Register
        The registers.
    offsets : tuple of int
        Their offsets in bytes per frame.
    size : int
        Total size in bytes per frame.
    free : tuple of (int, int)
        For each instruction, from where to where the greatest room lies that no register takes meanwhile, in bytes per
        frame.
    """

    registers: tuple[Register, ...]
    offsets: tuple[int, ...]
    size: int
    free: tuple[tuple[int, int], ...]

    def views(self, block: np.ndarray, frames: int) -> list[np.ndarray]:
        """Return the registers' arrays in a block of at least ``size * frames`` bytes."""
        return [
            block[offset * frames : offset * frames + _bytes(register) * frames]
            .view(register.dtype)
            .reshape(*register.shape, frames)
            for register, offset in zip(self.registers, self.offsets, strict=True)
        ]


def plan(
    registers: Sequence[Register], instructions: Sequence[Instruction], loaded: Iterable[int], stored: Iterable[int]
) -> Memory:
    """Place registers so that those that are alive together do not overlap; an instruction may write over its operand.

    Registers `loaded` are written before the first instruction, `stored` are read after the last one.

    Examples
    --------
    >>> from graphrewrite.execution.program.carrier import FLOAT32, Map
    >>> from graphrewrite.execution.program.chain import Apply
    >>> steps = [Apply((i,), i + 1, Map(2.0)) for i in range(2)]
    >>> memory = plan([Register((4,), FLOAT32)] * 4, steps, [0, 3], [2])
    >>> memory.offsets, memory.free
    ((0, 0, 0, 16), ((16, 32), (16, 32)))
    """
    end = len(instructions) + 1
    last = {r: time for time, step in enumerate(instructions, 1) for r in step.reads}
    last.update(dict.fromkeys(stored, end))
    born = dict.fromkeys(loaded, 0)
    for register in born:
        last.setdefault(register, 0)  # nobody reads it, but it is loaded
    over: dict[int, int] = {}
    for time, step in enumerate(instructions, 1):
        first, target = step.reads[0], step.writes
        if target not in born and step.in_place and last[first] == time:
            one, other = registers[first], registers[target]
            if _aligned(one) == _aligned(other) and one.dtype == other.dtype:
                over[target] = first
        born.setdefault(target, time)
        last.setdefault(target, time)
    spans = [
        Span(_aligned(register), born.get(i, 0), last.get(i, -1) + 1, over=over.get(i))
        for i, register in enumerate(registers)
    ]
    placement = place(spans, align=_GRAIN, steps=_STEPS)
    taken: list[list[tuple[int, int]]] = [[] for _ in instructions]
    for span, offset in zip(spans, placement.offsets, strict=True):
        for time in range(max(span.begin, 1), min(span.end, end)):
            taken[time - 1].append((offset, offset + span.size))
    free = tuple(_greatest_gap(each, placement.height) for each in taken)
    return Memory(tuple(registers), placement.offsets, placement.height, free)


def _greatest_gap(taken: Iterable[tuple[int, int]], height: int) -> tuple[int, int]:
    """Return the greatest room below a height that lies between parts of memory.

    Examples
    --------
    >>> _greatest_gap([(12, 16), (0, 4), (2, 6)], 20)
    (6, 12)
    """
    greatest, reached = (0, 0), 0
    for first, last in (*sorted(taken), (height, height)):
        if first - reached > greatest[1] - greatest[0]:
            greatest = reached, first
        reached = max(reached, last)
    return greatest


def _bytes(register: Register) -> int:
    return math.prod(register.shape) * register.dtype.itemsize


def _aligned(register: Register) -> int:
    return -(-_bytes(register) // _GRAIN) * _GRAIN
