"""Instructions on separate channels: a border, depthwise convolution, sums over all positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.lib.stride_tricks import as_strided

from graphrewrite.execution.program.carrier import Map
from graphrewrite.execution.program.chain import Chain, applied, least_divisor
from graphrewrite.execution.program.instruction import Action, Instruction
from graphrewrite.execution.program.windows import around
from graphrewrite.execution.program.workspace import Scratch

__all__ = ["Border", "Channelwise", "Total"]


_RUN, _ENOUGH = 512, 1024
"""Entries along which numpy's inner loop is long enough, and at least so many where positions are put together."""
_LONG = 1 << 12
"""Entries side by side up to which actions are faster on the whole operand, with a copy, than inside of a border."""


@dataclass(frozen=True)
class Border(Instruction):
    """Copy an operand, or a map or a chain of it, into a border of zeros.

    Attributes
    ----------
    by : Map or Chain, optional
        What is applied on the way.
    before : tuple of int
        Width of the border before the first entry, by axis of positions.
    overwrites : bool
        Whether it may write to the operand, which nobody reads afterwards.
    """

    by: Map | Chain | None
    before: tuple[int, ...]
    overwrites: bool = False
    needs_scratch: ClassVar[bool] = True

    def actions(self, source: np.ndarray, target: np.ndarray, *, scratch: Scratch) -> list[Action]:
        """Return one action for each side of the border, and those of the copy."""
        inside = tuple(slice(p, p + size) for p, size in zip(self.before, source.shape, strict=False))
        sides = [partial(side.fill, 0) for side in around(target, inside)]
        run = math.prod(source.shape[len(self.before) - 1 :])
        if self.by is not None and self.overwrites and run < _LONG:
            return [*sides, *applied(self.by, source, source, scratch), partial(np.copyto, target[inside], source)]
        return [*sides, *applied(self.by or Map(), source, target[inside], scratch)]


@dataclass(frozen=True)
class Channelwise(Instruction):
    """Convolve each channel with weights of its own.

    Attributes
    ----------
    weights : ndarray, shape [kernel…, C]
        In the carrier.
    strides, dilations : tuple of int
        As for `op.conv`.
    """

    weights: np.ndarray
    strides: tuple[int, ...]
    dilations: tuple[int, ...]

    needs_scratch: ClassVar[bool] = True

    def actions(self, source: np.ndarray, target: np.ndarray, *, scratch: Scratch) -> list[Action]:
        """Return one sum of products, in which channels and frames are one axis: numpy runs along the last.

        Where that is short, several positions of a row lie in it, too. Where the weights are repeated along it, that is
        done each time anew: for all layers together they would take more than the weights themselves.
        """
        *kernel, channels = self.weights.shape
        *steps, _, item = source.strides
        *outer, along, _, frames = target.shape
        rank, entries = len(kernel), channels * frames
        several = least_divisor(along, -(-_ENOUGH // entries)) if entries < _RUN and self.strides[-1] == 1 else 1
        strides = (*self.strides[:-1], self.strides[-1] * several)
        windows = as_strided(
            source,
            (*outer, along // several, *kernel, several * entries),
            (
                *(step * s for step, s in zip(steps, strides, strict=True)),
                *(step * d for step, d in zip(steps, self.dilations, strict=True)),
                item,
            ),
            writeable=False,
        )
        weights, fill = self.weights, []
        if several * frames > 1:
            weights = scratch.array(math.prod(kernel) * several * entries, self.weights.dtype)
            repeated = weights.reshape(*kernel, several, channels, frames)
            fill = [partial(np.copyto, repeated, self.weights.reshape(*kernel, 1, channels, 1))]
            weights = weights.reshape(*kernel, several * entries)
        positions, taps, last = list(range(rank)), list(range(rank, 2 * rank)), 2 * rank
        result = target.reshape(*outer, along // several, several * entries)
        multiply = partial(
            np.einsum, windows, [*positions, *taps, last], weights, [*taps, last], [*positions, last], out=result
        )
        return [*fill, multiply]


@dataclass(frozen=True)
class Total(Instruction):
    """Add up all positions."""

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return the one sum."""
        positions = source.reshape(math.prod(source.shape[:-2]), *source.shape[-2:])
        return [partial(np.add.reduce, positions, axis=0, out=target.reshape(source.shape[-2:]))]
