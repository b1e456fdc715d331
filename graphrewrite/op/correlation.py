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
    """Tell whether `correlate` takes operands: arrays of one dtype for which there are fast matrix products.

    Parameters
    ----------
    x, w : ndarray
        Input and weights; what only behaves like an array is none.

    Returns
    -------
    bool
    """
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
    x : ndarray, shape [N, C, …]
        The input, of float32 or float64.
    w : ndarray, shape [O, C/groups, …]
        The weights.
    b : ndarray, shape [O], optional
        The bias.
    results, strides, pads, dilations : tuple of int
        Sizes of the result, and as for `op.conv`; one entry an axis (pads: two).
    groups : int
        As for `op.conv`.

    Returns
    -------
    ndarray, shape [N, O, …]

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
    windows = _windows(w.shape[2:], results, strides, pads, dilations, x.shape[2:])
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # also of windows that nobody reads
        if windows is None:
            found = result.reshape(batch, groups, len(w) // groups, -1)
            np.matmul(weights, x.reshape(batch, groups, channels // groups, -1), out=found)
            return result if bias is None else np.add(result, bias, out=result)
        samples, rows = windows.piece(channels * x.itemsize)
        padded = _Padded(x, windows, samples)
        for first in range(0, batch, samples):
            source = padded.part(x[first : first + samples])
            for row in range(0, results[0], rows):
                part = result[first : first + samples, :, row : row + rows]
                windows.multiply(source, weights, bias, row, part)
    return result


class _Windows(NamedTuple):
    """Where windows lie in a padded input, whose axes behind the channels are seen as one.

    With strides of 1, window (i, j) begins at ``i * width + j``: the columns of all of them are runs of the input, from
    one row of windows to the next, if one puts up with windows that reach over the end of a row.
    """

    kernel: tuple[int, ...]
    results: tuple[int, ...]
    between: tuple[int, ...]
    """Entries from one window to the next, by axis."""
    taps: tuple[int, ...]
    """Entries from one tap to the next, by axis."""
    in_runs: bool
    padded: tuple[int, ...]
    inside: tuple[slice, ...] | None
    """Where the input lies in its border; None if there is no border."""

    def piece(self, size: int) -> tuple[int, int]:
        """How many samples, or else rows of windows of one, make a piece, if an entry of all channels has this size."""
        column = size * math.prod(self.kernel)
        row = column * (self.between[0] if self.in_runs else math.prod(self.results[1:]))
        rows = max(1, _CACHE // row)
        return (rows // self.results[0], self.results[0]) if rows >= self.results[0] else (1, rows)

    def multiply(
        self, source: np.ndarray, weights: np.ndarray, bias: np.ndarray | None, row: int, result: np.ndarray
    ) -> None:
        """Compute the rows of the result from one on."""
        samples, _, *sizes = result.shape
        channels, kind, item = source.shape[1], source.dtype, source.itemsize
        count, steps = tuple(sizes), self.between
        if self.in_runs:
            count, steps = (_reach(sizes, self.between),), (1,)
        columns = np.empty((samples, channels, *self.kernel, *count), kind)
        entries = tuple([item * step for step in (*self.taps, *steps)])
        start = row * self.between[0] * item
        columns[...] = np.ndarray(columns.shape, kind, source, start, (*source.strides[:2], *entries))
        found = np.matmul(weights, columns.reshape(samples, len(weights), weights.shape[-1], -1))
        if self.in_runs:
            strides = (found.strides[1] * len(weights), found.strides[2], *[item * step for step in self.between])
            found = np.ndarray(result.shape, kind, found, 0, strides)
        else:
            found = found.reshape(result.shape)
        if bias is None:
            result[...] = found
        else:
            np.add(found, bias, out=result)


class _Padded:
    """Room for some samples in their border, which is written once."""

    def __init__(self, x: np.ndarray, windows: _Windows, samples: int) -> None:
        self.inside = windows.inside
        if self.inside is not None:
            self.room = np.zeros((min(samples, len(x)), x.shape[1], *windows.padded), x.dtype)

    def part(self, x: np.ndarray) -> np.ndarray:
        """Some samples in their border, contiguous."""
        if self.inside is None:
            return np.ascontiguousarray(x)
        room = self.room[: len(x)]
        room[(slice(None), slice(None), *self.inside)] = x
        return room


@lru_cache(maxsize=1024)
def _windows(
    kernel: tuple[int, ...],
    results: tuple[int, ...],
    strides: tuple[int, ...],
    pads: tuple[int, ...],
    dilations: tuple[int, ...],
    sizes: tuple[int, ...],
) -> _Windows | None:
    """Where the windows lie; None if they are the positions, as they lie."""
    if {*kernel, *strides} == {1} and not any(pads):
        return None
    rank = len(sizes)
    padded = tuple(before + size + after for before, size, after in zip(pads, sizes, pads[rank:], strict=False))
    pitch = [math.prod(padded[axis + 1 :]) for axis in range(rank)]
    between = tuple(p * s for p, s in zip(pitch, strides, strict=True))
    taps = tuple(p * d for p, d in zip(pitch, dilations, strict=True))
    in_runs = set(strides) == {1} and _reach(results, pitch) <= _WASTE * math.prod(results)
    inside = tuple(slice(p, p + size) for p, size in zip(pads, sizes, strict=False)) if any(pads) else None
    return _Windows(kernel, results, between, taps, in_runs, padded, inside)


def _reach(sizes: Sequence[int], steps: Sequence[int]) -> int:
    """Entries from the first window of an array of them to the last."""
    return sum([(size - 1) * step for size, step in zip(sizes, steps, strict=True)]) + 1
