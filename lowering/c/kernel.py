"""What the C of an op is made from: its node's arrays and attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite.lowering.c.arrays import Array, row_major
from graphrewrite.op.op import Op
from graphrewrite.types import Type

__all__ = ["Kernel", "Step", "Unfit", "unsigned"]


class Unfit(Exception):
    """A node has no C; says why."""


@dataclass
class Step:
    """One node, whose axes lie as its op's function has them.

    Attributes
    ----------
    op : Op
        Its op.
    attributes : mapping
        Its attributes, with defaults.
    operands, results : tuple of Array
        What it reads and writes.
    types : tuple of Type
        Types of its results.
    tables : list of Array
        Constants that it needs besides its operands; `table` adds to them.
    """

    op: Op
    attributes: Mapping[str, Any]
    operands: tuple[Array, ...]
    results: tuple[Array, ...]
    types: tuple[Type, ...]
    name: Callable[[str], str]
    tables: list[Array] = field(default_factory=list)

    @property
    def result(self) -> Array:
        """Its only result."""
        return self.results[0]

    @property
    def is_half(self) -> bool:
        """Whether each operation rounds to an f16."""
        return any(getattr(kind, "element", None) == "f16" for kind in self.types)

    def table(self, stem: str, values: Any, dtype: Any) -> Array:
        """Return a new constant."""
        array = np.asarray(values, dtype)
        own = array.reshape(array.shape)
        found = Array(self.name(stem), own.dtype, own.shape, row_major(own.shape), value=own)
        self.tables.append(found)
        return found

    def per_channel(self, stem: str, values: Any, dtype: Any, axis: int = 1) -> Array:
        """Return a new constant of one number, or one for each index of an axis."""
        rank, numbers = len(self.result.shape), np.asarray(values)
        if numbers.size == 1:
            return self.table(stem, numbers.reshape([1] * rank), dtype)
        return self.table(stem, numbers.reshape([-1 if i == axis else 1 for i in range(rank)]), dtype)


@dataclass(frozen=True)
class Kernel:
    """How an op is written in C.

    Attributes
    ----------
    write : callable
        Returns the lines of a step; raises `Unfit` for what it does not write.
    short : bool
        Whether results may be integers of 2 or 4 bits.
    """

    write: Callable[[Step], Sequence[str]]
    short: bool = False


def unsigned(dtype: np.dtype) -> str:
    """Return the unsigned C type in which integers of a dtype are added and multiplied without overflow.

    Examples
    --------
    >>> unsigned(np.dtype("int8")), unsigned(np.dtype("int64"))
    ('uint32_t', 'uint64_t')
    """
    return "uint64_t" if dtype.itemsize == 8 else "uint32_t"
