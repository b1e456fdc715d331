"""Convolutions of floats: columns of windows in pieces that stay in the cache, and a matrix product for each piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

__all__ = ["correlate", "is_fast"]

_CACHE = 1 << 19
"""Bytes of columns at a time: half of a typical second-level cache, since they are written and then read."""

_WASTE = 1.4
"""Maximum ratio of computed to needed columns: superfluous ones pay off because all are copied in long runs."""


def is_fast(x: np.ndarray, w: np.ndarray) -> bool:
    """Tell whether `correlate` takes operands: arrays of one dtype that BLAS multiplies."""
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
        Sizes of the result, and attributes of `op.conv`; one entry per axis (pads: two).

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
    if not w.size:  # sums of nothing
        result[...] = 0 if bias is None else bias
        return result
    weights = w.reshape(groups, len(w) // groups, -1)
    windows = _windows(x.shape[1:], w.shape[2:], results, strides, pads, dilations, x.itemsize)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # also of superfluous windows
        if windows is None:
            grouped = result.reshape(batch, groups, len(w) // groups, -1)
            np.matmul(weights, x.reshape(batch, groups, channels // groups, -1), out=grouped)
            return result if bias is None else np.add(result, bias, out=result)
        buffer = windows.buffer(min(windows.samples, batch), x.dtype)
        for first in range(0, batch, windows.samples):
            source = windows.padded(x[first : first + windows.samples], buffer)
            for row in range(0, results[0], windows.rows):
                part = result[first : first + windows.samples, :, row : row + windows.rows]
                windows.multiply(source, weights, bias, row, part)
    return result


class _Windows(NamedTuple):
    """The layout of windows in a padded input, whose axes after the channels are one.

    With strides of 1, window (i, j) begins at ``i * width + j``: the columns of all windows, also of superfluous ones
    that reach over the end of a row, are contiguous runs of the input.
    """

    between: tuple[int, ...]
    """Bytes from one window to the next, by axis."""
    columns: tuple[int, ...]
    """Channels and taps: the sizes of all columns but the last ones, the windows."""
    taps: tuple[int, ...]
    """Bytes from one channel, and from one tap, to the next, by axis."""
    in_runs: bool
    sizes: tuple[int, ...]
    """Channels and positions of the padded input."""
    inside: tuple[slice, ...] | None
    """Part of the padded input that is not padding; None if there is no padding."""
    samples: int
    rows: int
    """Numbers of samples, or else of rows of windows of one sample, per piece."""

    def buffer(self, samples: int, dtype: np.dtype) -> np.ndarray | None:
        """Return zeros for padded samples; the padding is written only once."""
        return None if self.inside is None else np.zeros((samples, *self.sizes), dtype)

    def padded(self, x: np.ndarray, buffer: np.ndarray | None) -> np.ndarray:
        """Return padded samples, contiguous."""
        if buffer is None or self.inside is None:
            return np.ascontiguousarray(x)
        buffer = buffer[: len(x)]
        buffer[self.inside] = x
        return buffer

    def multiply(
        self, source: np.ndarray, weights: np.ndarray, bias: np.ndarray | None, row: int, result: np.ndarray
    ) -> None:
        """Compute rows of the result, the first of which is `row`."""
        samples, kind, item = len(result), source.dtype, source.itemsize
        count, steps = result.shape[2:], self.between
        if self.in_runs:
            count, steps = (_reach(count, self.between) // item + 1,), (item,)
        strides = (source.strides[0], *self.taps, *steps)
        columns = np.empty((samples, *self.columns, *count), kind)
        columns[...] = np.ndarray(columns.shape, kind, source, row * self.between[0], strides)
        products = np.matmul(weights, columns.reshape(samples, len(weights), weights.shape[-1], -1))
        if self.in_runs:  # a view without the superfluous windows
            channel = products.strides[2]
            products = np.ndarray(result.shape, kind, products, 0, (channel * result.shape[1], channel, *self.between))
        else:
            products = products.reshape(result.shape)
        if bias is None:
            result[...] = products
        else:
            np.add(products, bias, out=result)


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
    """Return the layout of the windows; None if each window is one position of the input itself."""
    if {*kernel, *strides} == {1} and not any(pads):
        return None
    channels, *inner = sizes
    rank = len(inner)
    padded = [before + size + after for before, size, after in zip(pads, inner, pads[rank:], strict=False)]
    pitch = [item * math.prod(padded[axis + 1 :]) for axis in range(rank)]
    between = tuple(p * s for p, s in zip(pitch, strides, strict=True))
    taps = (item * math.prod(padded), *(p * d for p, d in zip(pitch, dilations, strict=True)))
    in_runs = set(strides) == {1} and _reach(results, pitch) + item <= _WASTE * math.prod(results) * item
    inside = (slice(None), slice(None), *(slice(p, p + size) for p, size in zip(pads, inner, strict=False)))
    row = channels * math.prod(kernel) * (between[0] if in_runs else item * math.prod(results[1:]))
    rows = max(1, _CACHE // row)
    samples, rows = (rows // results[0], results[0]) if rows >= results[0] else (1, rows)
    columns, border = (channels, *kernel), inside if any(pads) else None
    return _Windows(between, columns, taps, in_runs, (channels, *padded), border, samples, rows)


def _reach(sizes: Sequence[int], steps: Sequence[int]) -> int:
    """Return the distance from the first to the last of an array of windows."""
    return sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
