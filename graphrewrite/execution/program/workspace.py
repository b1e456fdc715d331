"""Workspaces: memory that the kernels of a program use one after the other, kept from one run to the next."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["Scratch", "Workspace", "Workspaces"]

_LINE = 64
"""Size in bytes of a cache line, at which arrays begin."""


class Scratch:
    """Memory that each instruction may fill anew: what it holds is read before the next instruction fills it.

    Examples
    --------
    >>> scratch = Scratch()
    >>> one, other = scratch.array(2, np.float64), scratch.array(3, np.float32)
    >>> one.size, other.size, np.shares_memory(one, other)
    (2, 3, True)
    >>> scratch.take_from(room := np.empty(128, np.uint8))
    >>> np.shares_memory(scratch.array(4, np.float32), room), np.shares_memory(scratch.array(40, np.float32), room)
    (True, False)
    >>> np.shares_memory(scratch.filled(6, 8, np.float32), scratch.filled(6, 3, np.float32))
    True
    """

    def __init__(self) -> None:
        self._room = self._block = np.empty(0, np.uint8)
        self._filled: dict[tuple[bytes, str], np.ndarray] = {}

    def take_from(self, room: np.ndarray) -> None:
        """Let arrays from now on lie in a room of bytes that nobody else uses meanwhile, if it is large enough."""
        self._room = room

    def array(self, count: int, dtype: DTypeLike) -> np.ndarray:
        """Return so many entries; of larger and larger blocks each takes twice the room of the one before, or more."""
        size = count * np.dtype(dtype).itemsize
        block = self._room
        if block.size < size + _LINE:
            if self._block.size < size + _LINE:
                self._block = np.empty(max(size + _LINE, 2 * self._block.size), np.uint8)
            block = self._block
        start = -block.ctypes.data % _LINE
        return block[start : start + size].view(dtype)

    def filled(self, number: float, count: int, dtype: DTypeLike) -> np.ndarray:
        """Return so many entries of one number, which all instructions share and none writes to."""
        one = np.array(number, dtype)
        key = one.tobytes(), one.dtype.char  # two zeros are two numbers
        found = self._filled.get(key)
        if found is None or found.size < count:
            found = self._filled[key] = np.full(count, number, dtype)
        return found[:count]


class Workspace:
    """A block of memory, and what is bound to it.

    Attributes
    ----------
    bound : dict
        What refers to the block, by what it is for.
    scratch : Scratch
        Memory for the time of an instruction.

    Examples
    --------
    >>> workspace = Workspace()
    >>> workspace.bound["a"] = workspace.block(8)
    >>> workspace.block(4) is workspace.bound["a"], workspace.block(16).size, workspace.bound
    (True, 16, {})
    """

    def __init__(self) -> None:
        self.bound: dict[Hashable, Any] = {}
        self.scratch = Scratch()
        self._block = np.empty(0, np.uint8)

    def block(self, size: int) -> np.ndarray:
        """Return the block, of at least so many bytes; if it has to be a larger one, nothing is bound to it."""
        if self._block.size < size:
            self.bound.clear()
            self._block = np.empty(size, np.uint8)
        return self._block


class Workspaces:
    """The workspaces of a program: as many as threads run it at a time."""

    def __init__(self) -> None:
        self._free: list[Workspace] = []

    @contextmanager
    def taken(self) -> Iterator[Workspace]:
        """Return a workspace that nobody else uses in the meantime.

        Examples
        --------
        >>> workspaces = Workspaces()
        >>> with workspaces.taken() as one, workspaces.taken() as other:
        ...     one is other
        False
        """
        try:
            workspace = self._free.pop()
        except IndexError:
            workspace = Workspace()
        try:
            yield workspace
        finally:
            self._free.append(workspace)
