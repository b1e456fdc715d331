"""Workspaces: memory that the kernels of a program use one after the other, kept from one run to the next."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["Workspace", "Workspaces"]


class Workspace:
    """A block of memory, and what is bound to it.

    Attributes
    ----------
    bound : dict
        What refers to the block, by what it is for.

    Examples
    --------
    >>> workspace = Workspace()
    >>> workspace.bound["a"] = workspace.block(8)
    >>> workspace.block(4) is workspace.bound["a"], workspace.block(16).size, workspace.bound
    (True, 16, {})
    """

    def __init__(self) -> None:
        self.bound: dict[Hashable, Any] = {}
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
