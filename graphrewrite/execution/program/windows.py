"""Gathering of a convolution's operand, so that each window is one column of a matrix."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphrewrite.execution.program.instruction import Action, Instruction
from graphrewrite.op.nn.convolution import per_axis, spatial_sizes

__all__ = ["Gather", "Geometry"]

_COPIED = 1 << 16
"""Bytes of weights of which a copy takes little; products of many frames are faster by what lies row by row."""


@dataclass(frozen=True)
class Geometry:
    """The windows of a convolution in a gathered register.

    A gathered register has the axes [groups], rows of windows…, positions along the last axis, and entries of a
    position: taps of the other axes times channels of a group. A window is then a run of ``kernel[-1]`` positions, so
    that nothing is copied twice along the last axis.

    Attributes
    ----------
    sizes : tuple of int
        Sizes of the operand.
    kernel, strides, pads, dilations : tuple of int
        As for `op.conv`, one entry per axis (pads: two). The last axis is not dilated.
    groups : int
        Groups of the convolution.
    results : tuple of int
        Sizes of the result.
    """

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]
    groups: int
    results: tuple[int, ...]

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        kernel: Sequence[int],
        strides: Sequence[int],
        pads: Sequence[int],
        dilations: Sequence[int],
        groups: int,
    ) -> Geometry:
        """Return the geometry of a convolution; for a dilated last axis, an axis of size 1 is appended.

        Examples
        --------
        >>> Geometry.of((4, 5), (3, 3), (1, 1), (1, 1, 1, 1), (1, 1), 1).gathered(2)
        (4, 7, 6)
        """
        rank = len(sizes)
        strides, dilations = per_axis(strides, rank, 1), per_axis(dilations, rank, 1)
        pads = per_axis(pads, 2 * rank, 0)
        results = spatial_sizes(sizes, kernel, strides, pads, dilations)
        if dilations[-1] == 1 or kernel[-1] == 1:
            return cls(tuple(sizes), tuple(kernel), tuple(strides), tuple(pads), tuple(dilations), groups, results)
        return cls(
            (*sizes, 1),
            (*kernel, 1),
            (*strides, 1),
            (*pads[:rank], 0, *pads[rank:], 0),
            (*dilations, 1),
            groups,
            (*results, 1),
        )

    @property
    def padded(self) -> bool:
        """Whether there is a border of zeros."""
        return any(self.pads)

    @property
    def plain(self) -> bool:
        """Whether the operand itself has that layout already."""
        return (
            not self.padded
            and self.groups == 1
            and self.kernel[:-1] == (1,) * (len(self.kernel) - 1)
            and self.strides[:-1] == self.kernel[:-1]
        )

    def gathered(self, channels: int) -> tuple[int, ...]:
        """Return the shape of the gathered register."""
        rank = len(self.sizes)
        along = self.sizes[-1] + self.pads[rank - 1] + self.pads[-1]
        shape = (*self.results[:-1], along, math.prod(self.kernel[:-1]) * channels // self.groups)
        return shape if self.groups == 1 else (self.groups, *shape)

    def columns(self, weights: np.ndarray) -> np.ndarray:
        """Return weights [O, C/groups, kernel…] as matrices whose columns are in the order of a window's entries.

        Those of one column lie side by side, as products of a single frame need them, unless a copy takes little. The
        weights of single entries are such matrices as they are.
        """
        if self.groups == 1 and math.prod(self.kernel) == 1:
            return weights.reshape(weights.shape[:2])
        outer, inner = weights.shape[0], weights.shape[1]
        rank = len(self.kernel)
        axes = (0, 1 + rank, *range(2, 1 + rank), 1)
        matrix = weights.reshape(outer, inner, *self.kernel).transpose(axes).reshape(outer, -1)
        is_small = matrix.nbytes <= _COPIED and not matrix.flags.f_contiguous
        if self.groups == 1:
            return np.ascontiguousarray(matrix) if is_small else np.asfortranarray(matrix)
        grouped = np.ascontiguousarray(matrix).reshape(self.groups, *[1] * rank, outer // self.groups, -1)
        return grouped if is_small else np.ascontiguousarray(grouped.swapaxes(-1, -2)).swapaxes(-1, -2)


@dataclass(frozen=True)
class Gather(Instruction):
    """Copy an operand into the layout of its windows."""

    geometry: Geometry

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one copy per tap, and what fills the border around it."""
        g = self.geometry
        rank, frames = len(g.sizes), source.shape[-1]
        target = target.reshape(*target.shape[:-2], math.prod(g.kernel[:-1]), -1, frames)
        if g.groups == 1:
            source = source.reshape(*g.sizes, -1, frames)
        else:
            source = np.moveaxis(source.reshape(*g.sizes, g.groups, -1, frames), rank, 0)
        lead: tuple[Any, ...] = (slice(None),) * (g.groups > 1)
        before = g.pads[rank - 1]
        along = slice(before, before + g.sizes[-1])
        actions: list[Action] = [
            partial(side.fill, 0) for side in around(target, (*[slice(None)] * (target.ndim - 4), along))
        ]
        for index, tap in enumerate(itertools.product(*map(range, g.kernel[:-1]))):
            into, pick = [], []
            for axis, t in enumerate(tap):
                reach, stride = t * g.dilations[axis] - g.pads[axis], g.strides[axis]
                first = max(0, -(reach // stride))
                last = min(g.results[axis] - 1, (g.sizes[axis] - 1 - reach) // stride)
                start = first * stride + reach
                into.append(slice(first, max(last + 1, first)))
                pick.append(slice(start, start + max(last + 1 - first, 0) * stride, stride))
            if any(s.stop <= s.start for s in into):
                into = [slice(0, 0)] * len(into)
            here = target[(*lead, *[slice(None)] * len(into), along, index)]
            inside = (*lead, *into)
            actions += [partial(side.fill, 0) for side in around(here, inside)]
            if here[inside].size:
                actions.append(partial(np.copyto, here[inside], source[(*lead, *pick)], casting="same_kind"))
        return actions


def around(array: np.ndarray, inside: Sequence[slice]) -> list[np.ndarray]:
    """Return the parts of an array outside of a box, which is stated for the first axes.

    Examples
    --------
    >>> [part.tolist() for part in around(np.arange(6).reshape(2, 3), (slice(0, 1), slice(1, 3)))]
    [[[3, 4, 5]], [[0]]]
    """
    sides = []
    for axis, part in enumerate(inside):
        start, stop, _ = part.indices(array.shape[axis])
        sides += [array[(*inside[:axis], slice(0, start))], array[(*inside[:axis], slice(stop, None))]]
    return [side for side in sides if side.size]
