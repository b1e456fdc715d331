"""Memory plan: registers that are never alive at the same time share memory."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from graphrewrite.execution.program.instruction import Instruction, Register

__all__ = ["Memory", "plan"]

_GRAIN = 8
"""Multiple, in bytes per frame, of all offsets, so that every carrier is aligned for any number of frames."""


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
    """

    registers: tuple[Register, ...]
    offsets: tuple[int, ...]
    size: int

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
    """Allocate registers, each in the first gap among live registers that is large enough.

    Registers `loaded` are written before the first instruction, `stored` are read after the last one.

    Examples
    --------
    >>> from graphrewrite.execution.program.carrier import FLOAT32, Map
    >>> from graphrewrite.execution.program.instruction import Convert
    >>> steps = [Convert((i,), i + 1, Map(2.0)) for i in range(2)]
    >>> plan([Register((4,), FLOAT32)] * 3, steps, [0], [2]).offsets
    (0, 0, 0)
    """
    last = {r: index for index, step in enumerate(instructions) for r in step.reads}
    last.update(dict.fromkeys(stored, len(instructions)))
    offsets: dict[int, int] = {}
    alive: dict[int, None] = {}

    def allocate(register: int) -> None:
        size, start = _aligned(registers[register]), 0
        for other in sorted(alive, key=offsets.__getitem__):
            if offsets[other] - start >= size:
                break
            start = max(start, offsets[other] + _aligned(registers[other]))
        offsets[register] = start
        alive[register] = None

    for register in sorted(loaded):
        allocate(register)
    for index, step in enumerate(instructions):
        first, target = step.reads[0], step.writes
        dies = last[first] == index  # then the target may take over its memory
        if (
            step.in_place
            and dies
            and _aligned(registers[first]) == _aligned(registers[target])
            and registers[first].dtype == registers[target].dtype
        ):
            offsets[target] = offsets[first]
            alive[target] = None
        elif target not in alive:
            allocate(target)
        for register in {*step.reads, target}:
            if last.get(register, index) <= index and (register != target or register not in last):
                alive.pop(register, None)
    size = max((offsets[i] + _aligned(r) for i, r in enumerate(registers)), default=0)
    return Memory(tuple(registers), tuple(offsets[i] for i in range(len(registers))), size)


def _bytes(register: Register) -> int:
    return math.prod(register.shape) * register.dtype.itemsize


def _aligned(register: Register) -> int:
    return -(-_bytes(register) // _GRAIN) * _GRAIN
