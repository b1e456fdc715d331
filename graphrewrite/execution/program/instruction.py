"""The instructions of a kernel: each reads registers and writes one, for one chunk of the batch at a time.

A register holds an array of shape [positions…, channels, frames]. The frames are the last, contiguous axis, so that
every copy moves long runs, and a matrix product with the weights on the left has its result in the same layout.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from graphrewrite.execution.program.workspace import Scratch

__all__ = ["Action", "Cast", "Copy", "Index", "Instruction", "Join", "Product", "Register", "Slide", "Sum"]

Action = Callable[[], object]

_TURNED = 1 << 12
"""Bytes of weights of which a copy takes little; larger ones are multiplied as they lie, which is about as fast."""
_FEW = 16
"""Positions up to which weights that are multiplied as they lie are read faster on the left, row by row."""
_COPIED = 1 << 18
"""Bytes of windows that are copied at a time: a part of a typical second-level cache."""


class Register(NamedTuple):
    """A register: memory for one value.

    Attributes
    ----------
    shape : tuple of int
        Positions, then channels, without the frames.
    dtype : numpy.dtype
        The carrier.
    """

    shape: tuple[int, ...]
    dtype: np.dtype


@dataclass(frozen=True)
class Instruction(ABC):
    """Interface of instructions.

    Attributes
    ----------
    reads : tuple of int
        The registers that it reads.
    writes : int
        The register that it writes.
    """

    reads: tuple[int, ...]
    writes: int
    in_place: ClassVar[bool] = False
    """Whether it may write to the memory of its first operand."""
    needs_scratch: ClassVar[bool] = False
    """Whether its actions need memory beside the registers, `scratch`."""

    def bind(self, registers: Sequence[np.ndarray], scratch: Scratch) -> list[Action]:
        """Return the actions that compute it on arrays, bound once for all chunks."""
        more = {"scratch": scratch} if self.needs_scratch else {}
        return self.actions(*map(registers.__getitem__, self.reads), registers[self.writes], **more)

    @abstractmethod
    def actions(self, *arrays: Any, **more: Any) -> list[Action]:
        """Return the actions that compute it on the arrays that it reads and the one that it writes."""


@dataclass(frozen=True)
class Cast(Instruction):
    """Change the carrier."""

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one action."""
        return [partial(np.copyto, target, source, casting="same_kind")]


@dataclass(frozen=True)
class Copy(Instruction):
    """Copy entries into another order: source and target are reshaped, and their axes permuted to match.

    Attributes
    ----------
    source_shape, target_shape : tuple of int
        Shapes, without the frames, to which source and target are reshaped.
    source_axes, target_axes : tuple of int
        Permutations of their axes after which entries correspond.
    """

    source_shape: tuple[int, ...]
    target_shape: tuple[int, ...]
    source_axes: tuple[int, ...]
    target_axes: tuple[int, ...]

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one action."""
        frames, last = source.shape[-1], len(self.source_shape)
        return [
            partial(
                np.copyto,
                target.reshape(*self.target_shape, frames).transpose(*self.target_axes, last),
                source.reshape(*self.source_shape, frames).transpose(*self.source_axes, last),
            )
        ]


@dataclass(frozen=True)
class Product(Instruction):
    """Multiply weights with every position's column of entries.

    Attributes
    ----------
    weights : ndarray, shape [O, K], or [G, 1…, O/G, K] with groups
        In the carrier.
    windows : tuple of int, optional
        Number and stride of the windows along the last axis of positions; the K entries of a window are contiguous, and
        windows may overlap. Without it, the operand's last axis before the frames is the column.
    """

    weights: np.ndarray
    windows: tuple[int, int] | None = None
    needs_scratch: ClassVar[bool] = True

    def actions(self, columns: np.ndarray, target: np.ndarray, *, scratch: Scratch) -> list[Action]:
        """Return one batched matrix product over all positions."""
        frames = target.shape[-1]
        if self.windows is not None:
            count, step = self.windows
            # Axes: groups (if any), rows of windows, positions along a row, entries of a position, frames.
            *outer, along, entry, frame = columns.strides
            shape = (*columns.shape[: len(outer)], count, self.weights.shape[-1], frames)
            columns = as_strided(columns, shape, (*outer, along * step, entry, frame), writeable=False)
        if self.weights.ndim == 2:
            target = target.reshape(*columns.shape[:-2], -1, frames)
        else:
            groups, each = self.weights.shape[0], self.weights.shape[-2]
            target = np.moveaxis(target.reshape(*columns.shape[1:-2], groups, each, frames), -3, 0)
        if frames > 1 or columns.ndim == 2:
            return [partial(np.matmul, self.weights, columns, out=target)]
        if self.weights.ndim == 2:
            return _of_one(self._turned, columns[..., 0], target[..., 0], scratch)
        matrices = self._turned.reshape(len(columns), *self._turned.shape[-2:])
        return _of_groups(matrices, columns[..., 0], target[..., 0], scratch)

    @cached_property
    def _turned(self) -> np.ndarray:
        turned = np.swapaxes(self.weights, -1, -2)
        return np.ascontiguousarray(turned) if turned.ndim > 2 or turned.nbytes <= _TURNED else turned


@dataclass(frozen=True)
class Slide(Instruction):
    """Take the maximum, or the sum, over windows along one axis of positions.

    Attributes
    ----------
    axis, kernel, stride, before : int
        The axis, and its attributes of `op.max_pool`; the border is ignored.
    fold : ufunc
        ``np.maximum`` or ``np.add``.
    """

    axis: int
    kernel: int
    stride: int
    before: int
    fold: np.ufunc = np.maximum

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one action per tap."""
        size, count = source.shape[self.axis], target.shape[self.axis]
        taps = []
        for tap in range(self.kernel):
            # The windows whose entry at this tap is inside the operand.
            first = max(0, -((tap - self.before) // self.stride))
            last = min(count - 1, (size - 1 + self.before - tap) // self.stride)
            if first <= last:
                start = first * self.stride + tap - self.before
                picked = slice(start, start + (last - first) * self.stride + 1, self.stride)
                taps.append((self._along(target, slice(first, last + 1)), self._along(source, picked)))
        taps.sort(key=lambda pair: -pair[0].shape[self.axis])
        whole = [pair for pair in taps if pair[0].shape == target.shape]
        if not whole:
            start_with: list[Action] = [partial(target.fill, 0 if self.fold is np.add else -math.inf)]
        elif len(whole) == 1:
            start_with = [partial(np.copyto, target, whole[0][1])]
        else:
            start_with = [partial(self.fold, whole[0][1], whole[1][1], out=target)]
        return [
            *start_with,
            *(partial(self.fold, into, entry, out=into) for into, entry in taps[min(len(whole), 2) :]),
        ]

    def _along(self, array: np.ndarray, piece: slice) -> np.ndarray:
        return array[(slice(None),) * self.axis + (piece,)]


@dataclass(frozen=True)
class Sum(Instruction):
    """Add two registers of one shape."""

    in_place: ClassVar[bool] = True

    def actions(self, x: np.ndarray, y: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one action."""
        return [partial(np.add, x, y, out=target, dtype=target.dtype, casting="same_kind")]


@dataclass(frozen=True)
class Join(Instruction):
    """Copy registers one behind the other along an axis.

    Attributes
    ----------
    axis : int
        Of the registers' axes.
    """

    axis: int

    def actions(self, *arrays: Any) -> list[Action]:
        """Return one copy for each register that it reads."""
        *sources, target = arrays
        ends = list(itertools.accumulate((source.shape[self.axis] for source in sources), initial=0))
        lead = (slice(None),) * self.axis
        return [
            partial(np.copyto, target[(*lead, slice(first, last))], source)
            for source, (first, last) in zip(sources, itertools.pairwise(ends), strict=True)
        ]


@dataclass(frozen=True)
class Index(Instruction):
    """Find the first greatest entry along an axis."""

    axis: int

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one action; the index becomes an integer of the carrier."""

        def find() -> None:
            target[...] = np.argmax(source, axis=self.axis).reshape(target.shape)

        return [find]


def _of_one(matrix: np.ndarray, columns: np.ndarray, target: np.ndarray, scratch: Scratch) -> list[Action]:
    """Return products of all positions of a single frame, some rows at a time where windows must be copied."""
    *outer, count, entries = columns.shape
    if columns.flags.c_contiguous and target.flags.c_contiguous:
        columns, target = columns.reshape(-1, entries), target.reshape(-1, matrix.shape[-1])
        if len(columns) > _FEW or matrix.flags.c_contiguous:
            return [partial(np.matmul, columns, matrix, out=target)]
        result = scratch.array(target.size, target.dtype).reshape(target.shape[::-1])
        return [partial(np.matmul, matrix.T, columns.T, out=result), partial(np.copyto, target, result.T)]
    if len(outer) > 1:
        return [action for part in zip(columns, target, strict=True) for action in _of_one(matrix, *part, scratch)]
    rows = columns.reshape(-1, count, entries)
    result = target.reshape(len(rows), count, -1)
    step = min(len(rows), max(1, _COPIED // (count * entries * columns.itemsize)))
    buffer = scratch.array(step * count * entries, columns.dtype).reshape(step, count, entries)
    actions: list[Action] = []
    for first in range(0, len(rows), step):
        part, into = rows[first : first + step], result[first : first + step]
        copy = buffer[: len(part)]
        actions.append(partial(np.copyto, copy, part))
        actions.append(partial(np.matmul, copy.reshape(-1, entries), matrix, out=into.reshape(-1, into.shape[-1])))
    return actions


def _of_groups(matrices: np.ndarray, columns: np.ndarray, target: np.ndarray, scratch: Scratch) -> list[Action]:
    """Return products of all positions of a single frame in groups of channels, which the target has side by side."""
    groups, *outer, count, entries = columns.shape
    if len(outer) > 1 and not columns.flags.c_contiguous:
        parts = zip(np.moveaxis(columns, 1, 0), np.moveaxis(target, 1, 0), strict=True)
        return [action for part in parts for action in _of_groups(matrices, *part, scratch)]
    positions = math.prod(target.shape[1:-1])
    if columns.flags.c_contiguous:
        result = scratch.array(groups * positions * target.shape[-1], target.dtype)
        result = result.reshape(groups, positions, target.shape[-1])
        of_all = partial(np.matmul, columns.reshape(groups, positions, entries), matrices, out=result)
        return [of_all, partial(np.copyto, target, result.reshape(target.shape))]
    columns, target = (a.reshape(groups, -1, count, a.shape[-1]) if not outer else a for a in (columns, target))
    rows = columns.shape[1]
    step = min(rows, max(1, _COPIED // (groups * count * entries * columns.itemsize)))
    most = groups * step * count
    buffer = scratch.array(most * (entries + target.shape[-1]), columns.dtype)
    actions: list[Action] = []
    for first in range(0, rows, step):
        part, into = columns[:, first : first + step], target[:, first : first + step]
        copy, product = (
            block[: groups * part.shape[1] * count * last].reshape(groups, part.shape[1], count, last)
            for block, last in ((buffer, entries), (buffer[most * entries :], target.shape[-1]))
        )
        actions.append(partial(np.copyto, copy, part))
        of_part = [each.reshape(groups, -1, each.shape[-1]) for each in (copy, product)]
        actions.append(partial(np.matmul, of_part[0], matrices, out=of_part[1]))
        actions.append(partial(np.copyto, into, product))
    return actions
