"""Convolutions of floats: columns of windows in pieces that stay in the cache, and a matrix product for each piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

__all__ = ["correlate", "is_fast"]

_CACHE = 1 << 19
"""Bytes of columns at a time: half of a usual second-level cache, for they are written and then read."""

_WASTE = 1.4
"""So many times as many columns may be computed as are needed, if they can be copied in long runs."""


def is_fast(x: np.ndarray, w: np.ndarray) -> bool:
    """Tell whether `correlate` takes operands: arrays of one dtype for which there are fast matrix products."""
    return type(x) is np.ndarray and type(w) is np.ndarray and x.dtype == w.dtype and x.dtype.char in "fd"


def correlate(
    x: np.ndarray,
    w: np.ndarray,
    b: np.ndarray | None,
    *,
    results: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    groups: int,
) -> np.ndarray:
    """Return a convolution of floats.

    Parameters
    ----------
    results, strides, pads, dilations : tuple of int
        Sizes of the result, and as for `op.conv`; one entry an axis (pads: two).

    Examples
    --------
    >>> how = {"strides": (1,), "pads": (0, 0), "dilations": (1,), "groups": 1}
    >>> correlate(np.array([[[1.0, 2.0, 4.0]]]), np.array([[[1.0, 10.0]]]), None, results=(2,), **how).tolist()
    [[[21.0, 42.0]]]
    """
    batch, channels = x.shape[:2]
    result = np.empty((batch, len(w), *results), x.dtype)
    if not result.size:
        return result
    bias = None if b is None else b.reshape(-1, *[1] * len(results))
    weights = w.reshape(groups, len(w) // groups, -1)
    windows = _windows(x.shape[1:], w.shape[2:], results, strides, pads, dilations, x.itemsize)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # also of windows that nobody reads
        if windows is None:
            found = result.reshape(batch, groups, len(w) // groups, -1)
            np.matmul(weights, x.reshape(batch, groups, channels // groups, -1), out=found)
            return result if bias is None else np.add(result, bias, out=result)
        room = windows.room(min(windows.samples, batch), x.dtype)
        for first in range(0, batch, windows.samples):
            source = windows.padded(x[first : first + windows.samples], room)
            for row in range(0, results[0], windows.rows):
                part = result[first : first + windows.samples, :, row : row + windows.rows]
                windows.multiply(source, weights, bias, row, part)
    return result


class _Windows(NamedTuple):
    """Where windows lie in a padded input, whose axes behind the channels are seen as one.

    With strides of 1, window (i, j) begins at ``i * width + j``: the columns of all of them are runs of the input, from
    one row of windows to the next, if one puts up with windows that reach over the end of a row.
    """

    results: tuple[int, ...]
    between: tuple[int, ...]
    """Bytes from one window to the next, by axis."""
    columns: tuple[int, ...]
    """Channels and taps: the sizes of all columns but the last ones, the windows."""
    taps: tuple[int, ...]
    """Bytes from one channel, and from one tap, to the next, by axis."""
    in_runs: bool
    sizes: tuple[int, ...]
    """Channels and positions of the input in its border."""
    inside: tuple[slice, ...] | None
    """Where the input lies in its border; None if there is no border."""
    samples: int
    rows: int
    """How many samples, or else rows of windows of one, make a piece."""

    def room(self, samples: int, dtype: np.dtype) -> np.ndarray | None:
        """Room for some samples in their border, which is written once."""
        return None if self.inside is None else np.zeros((samples, *self.sizes), dtype)

    def padded(self, x: np.ndarray, room: np.ndarray | None) -> np.ndarray:
        """Some samples in their border, contiguous."""
        if room is None or self.inside is None:
            return np.ascontiguousarray(x)
        room = room[: len(x)]
        room[self.inside] = x
        return room

    def multiply(
        self, source: np.ndarray, weights: np.ndarray, bias: np.ndarray | None, row: int, result: np.ndarray
    ) -> None:
        """Compute the rows of the result from one on."""
        samples, kind, item = len(result), source.dtype, source.itemsize
        count, steps = result.shape[2:], self.between
        if self.in_runs:
            count, steps = (_reach(count, self.between) // item + 1,), (item,)
        strides = (source.strides[0], *self.taps, *steps)
        columns = np.empty((samples, *self.columns, *count), kind)
        columns[...] = np.ndarray(columns.shape, kind, source, row * self.between[0], strides)
        found = np.matmul(weights, columns.reshape(samples, len(weights), weights.shape[-1], -1))
        if self.in_runs:
            apart = found.strides[2]
            found = np.ndarray(result.shape, kind, found, 0, (apart * result.shape[1], apart, *self.between))
        else:
            found = found.reshape(result.shape)
        if bias is None:
            result[...] = found
        else:
            np.add(found, bias, out=result)


@lru_cache(maxsize=1024)
def _windows(
    sizes: tuple[int, ...],
    kernel: tuple[int, ...],
    results: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    item: int,
) -> _Windows | None:
    """Where the windows of an input of some channels and sizes lie; None if they are its positions, as they lie."""
    if {*kernel, *strides} == {1} and not any(pads):
        return None
    channels, *inner = sizes
    rank = len(inner)
    padded = [before + size + after for before, size, after in zip(pads, inner, pads[rank:], strict=False)]
    pitch = [item * math.prod(padded[axis + 1 :]) for axis in range(rank)]
    between = tuple(p * s for p, s in zip(pitch, strides, strict=True))
    taps = (item * math.prod(padded), *(p * d for p, d in zip(pitch, dilations, strict=True)))
    in_runs = set(strides) == {1} and _reach(results, pitch) + item <= _WASTE * math.prod(results) * item
    every = slice(None)
    inside = (every, every, *(slice(p, p + size) for p, size in zip(pads, inner, strict=False)))
    row = channels * math.prod(kernel) * (between[0] if in_runs else item * math.prod(results[1:]))
    rows = max(1, _CACHE // row)
    samples, rows = (rows // results[0], results[0]) if rows >= results[0] else (1, rows)
    columns, border = (channels, *kernel), inside if any(pads) else None
    return _Windows(results, between, columns, taps, in_runs, (channels, *padded), border, samples, rows)


def _reach(sizes: Sequence[int], steps: Sequence[int]) -> int:
    """How far the last of an array of windows is from the first."""
    return sum([(size - 1) * step for size, step in zip(sizes, steps, strict=True)])
