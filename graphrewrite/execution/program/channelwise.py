"""Instructions on separate channels: a border, depthwise convolution, sums over all positions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.lib.stride_tricks import as_strided

from graphrewrite.execution.program.carrier import Map
from graphrewrite.execution.program.chain import Chain, applied
from graphrewrite.execution.program.instruction import Action, Instruction
from graphrewrite.execution.program.windows import around

__all__ = ["Border", "Channelwise", "Total"]


_RUN = 512
"""Entries along which numpy's inner loop is long enough."""
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

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one action for each side of the border, and those of the copy."""
        inside = tuple(slice(p, p + size) for p, size in zip(self.before, source.shape, strict=False))
        sides = [partial(side.fill, 0) for side in around(target, inside)]
        run = math.prod(source.shape[len(self.before) - 1 :])
        if self.by is not None and self.overwrites and run < _LONG:
            return [*sides, *applied(self.by, source, source), partial(np.copyto, target[inside], source)]
        return [*sides, *applied(self.by or Map(), source, target[inside])]


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

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return one sum of products, in which channels and frames are one axis: numpy runs along the last."""
        *kernel, channels = self.weights.shape
        rank, entries = len(kernel), channels * source.shape[-1]
        weights = np.repeat(self.weights, source.shape[-1], axis=-1)
        *steps, _, item = source.strides
        if entries < _RUN and self.strides[-1] == 1:
            return [self._along_rows(source, target, weights)]
        windows = as_strided(
            source,
            (*target.shape[:rank], *kernel, entries),
            (
                *(step * s for step, s in zip(steps, self.strides, strict=True)),
                *(step * d for step, d in zip(steps, self.dilations, strict=True)),
                item,
            ),
            writeable=False,
        )
        positions, taps, last = list(range(rank)), list(range(rank, 2 * rank)), 2 * rank
        result = target.reshape(*target.shape[:rank], entries)
        return [
            partial(
                np.einsum, windows, [*positions, *taps, last], weights, [*taps, last], [*positions, last], out=result
            )
        ]

    def _along_rows(self, source: np.ndarray, target: np.ndarray, weights: np.ndarray) -> Action:
        """Return the sum of products in which the last axis of positions, too, is a part of the runs."""
        *kernel, entries = weights.shape
        rank, run = len(kernel), entries * target.shape[len(kernel) - 1]
        *steps, _, item = source.strides
        outer = target.shape[: rank - 1]
        windows = as_strided(
            source,
            (*outer, *kernel, run),
            (
                *(step * s for step, s in zip(steps, self.strides[:-1], strict=False)),
                *(step * d for step, d in zip(steps, self.dilations, strict=True)),
                item,
            ),
            writeable=False,
        )
        positions, taps, last = list(range(rank - 1)), list(range(rank, 2 * rank)), 2 * rank
        weights = np.tile(weights, target.shape[rank - 1])
        result = target.reshape(*outer, run)
        return partial(
            np.einsum, windows, [*positions, *taps, last], weights, [*taps, last], [*positions, last], out=result
        )


@dataclass(frozen=True)
class Total(Instruction):
    """Add up all positions."""

    def actions(self, source: np.ndarray, target: np.ndarray) -> list[Action]:
        """Return the one sum."""
        positions = source.reshape(math.prod(source.shape[:-2]), *source.shape[-2:])
        return [partial(np.add.reduce, positions, axis=0, out=target.reshape(source.shape[-2:]))]
