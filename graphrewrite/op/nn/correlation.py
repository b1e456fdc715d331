"""Convolutions of floats: columns of windows in pieces that stay in the cache, and a matrix product for each piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graphrewrite.op.precision import matrix_product

__all__ = ["Correlation", "correlate", "is_fast"]

_CACHE = 1 << 19
"""Bytes of columns at a time: half of a typical second-level cache, since they are written and then read."""

_FEW_POSITIONS, _MANY_CHANNELS, _TOGETHER = 64, 32, 4
"""Up to so many positions, and from so many channels on, channels as the last axis pay for the transposes."""

_PADDED = 1 << 19
"""Bytes of a padded input at a time, if a piece needs no more: columns are then read from the cache."""

_WASTE = 1.4
"""Maximum ratio of computed to needed columns: superfluous ones pay off because all are copied in long runs."""


def is_fast(x: np.ndarray, w: np.ndarray) -> bool:
    """Tell whether `correlate` takes operands: arrays of one dtype that BLAS multiplies."""
    return type(x) is np.ndarray and type(w) is np.ndarray and x.dtype == w.dtype and x.dtype.char in "fd"


class Correlation(NamedTuple):
    """The layout of a convolution, which follows from shapes and attributes.

    Attributes
    ----------
    results : tuple of int
        Sizes of the result, one per axis.
    groups : int
        Groups of channels.
    windows : _Windows, optional
        How windows become columns; None if each window is one position of the input itself.
    channelwise : _Channelwise, optional
        How each channel is convolved by itself, where that is faster.
    """

    results: tuple[int, ...]
    groups: int
    windows: _Windows | None
    channelwise: _Channelwise | None

    @classmethod
    def of(
        cls,
        sizes: tuple[int, ...],
        weights: tuple[int, ...],
        results: tuple[int, ...],
        strides: tuple[int, ...],
        pads: tuple[int, ...],
        dilations: tuple[int, ...],
        groups: int,
        item: int,
    ) -> Correlation:
        """Return the layout for shapes of a sample and of the weights; attributes have one entry per axis, pads two.

        Examples
        --------
        >>> Correlation.of((1, 3), (1, 1, 2), (2,), (1,), (0, 0), (1,), 1, 8).results
        (2,)
        """
        windows = _windows(sizes, weights[2:], results, strides, pads, dilations, item)
        is_channelwise = groups == sizes[0] == weights[0] and windows is not None
        if is_channelwise and math.prod(results) <= _FEW_POSITIONS and groups >= _MANY_CHANNELS:
            return cls(results, groups, windows, _Channelwise(sizes, weights[2:], results, strides, pads, dilations))
        return cls(results, groups, windows, None)


def correlate(x: np.ndarray, w: np.ndarray, b: np.ndarray | None, how: Correlation) -> np.ndarray:
    """Return a convolution of floats.

    Examples
    --------
    >>> how = Correlation.of((1, 3), (1, 1, 2), (2,), (1,), (0, 0), (1,), 1, 8)
    >>> correlate(np.array([[[1.0, 2.0, 4.0]]]), np.array([[[1.0, 10.0]]]), None, how).tolist()
    [[[21.0, 42.0]]]
    """
    results, groups, windows, channelwise = how
    batch, channels, outer = x.shape[0], x.shape[1], w.shape[0]
    result = np.empty((batch, outer, *results), x.dtype)
    if not result.size:
        return result
    bias = None if b is None else b.reshape(-1, *[1] * len(results))
    if not w.size:  # sums of nothing
        result[...] = 0 if bias is None else bias
        return result
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # also of superfluous windows
        if channelwise is not None:
            channelwise.convolve(x, w, bias, result)
            return result
        weights = w.reshape(groups, outer // groups, -1)
        if windows is None:
            grouped = result.reshape(batch, groups, outer // groups, -1)
            matrix_product(weights, x.reshape(batch, groups, channels // groups, -1), out=grouped)
            return result if bias is None else np.add(result, bias, out=result)
        buffer = windows.buffer(min(windows.samples, batch), x.dtype)
        for first in range(0, batch, windows.samples):
            for top in range(0, results[0], windows.band):
                source = windows.padded(x[first : first + windows.samples], buffer, top, results[0])
                for row in range(top, min(top + windows.band, results[0]), windows.rows):
                    end = min(row + windows.rows, top + windows.band)
                    part = result[first : first + windows.samples, :, row:end]
                    windows.multiply(source, weights, bias, row - top, part)
    return result


class _Channelwise(NamedTuple):
    """A convolution of each channel by itself on few positions: channels are the last axis, in long runs."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    results: tuple[int, ...]
    strides: tuple[int, ...]
    pads: tuple[int, ...]
    dilations: tuple[int, ...]

    def convolve(self, x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, result: np.ndarray) -> None:
        """Compute a result for some samples at a time, whose channels lie side by side."""
        rank, channels, together = len(self.results), len(w), min(len(x), _TOGETHER)
        sizes = [p + size + q for p, size, q in zip(self.pads, self.sizes[1:], self.pads[rank:], strict=False)]
        buffer = np.zeros((*sizes, together, channels), x.dtype)
        inside = buffer[tuple(slice(p, p + size) for p, size in zip(self.pads, self.sizes[1:], strict=False))]
        weights = np.ascontiguousarray(w[:, 0].transpose(*range(1, 1 + rank), 0))
        if together > 1:
            weights = np.tile(weights, together)
        sums = np.empty((*self.results, together * channels), x.dtype)
        *steps, _, item = buffer.strides
        between = [step * stride for step, stride in zip(steps, self.strides, strict=True)]
        taps = [step * dilation for step, dilation in zip(steps, self.dilations, strict=True)]
        shape = (*self.results, *self.kernel, together * channels)
        windows = np.ndarray(shape, x.dtype, buffer, 0, (*between, *taps, item))
        at, by, last = list(range(rank)), list(range(rank, 2 * rank)), 2 * rank
        first_last, last_first = (*range(2, 2 + rank), 0, 1), (rank, rank + 1, *range(rank))
        for first in range(0, len(x), together):
            samples = x[first : first + together].transpose(first_last)
            inside[..., : samples.shape[-2], :] = samples
            np.einsum(windows, [*at, *by, last], weights, [*by, last], [*at, last], out=sums)
            found = sums.reshape(*self.results, together, channels)[..., : samples.shape[-2], :].transpose(last_first)
            part = result[first : first + together]
            if bias is None:
                part[...] = found
            else:
                np.add(found, bias, out=part)


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
    """Channels and positions of the padded input, or of as much of it as is padded at a time."""
    inside: tuple[slice, ...] | None
    """Part of the positions that is not padding, but for that of the first axis; None if there is no padding."""
    samples: int
    rows: int
    """Numbers of samples, or else of rows of windows of one sample, per piece."""
    band: int
    """Number of rows of windows for which the input is padded at a time."""
    first: tuple[int, int, int]
    """Of the first axis: the size of the input, the padding before it, and the stride."""

    def buffer(self, samples: int, dtype: np.dtype) -> np.ndarray | None:
        """Return zeros for padded samples; the padding beside rows is written only once."""
        return None if self.inside is None else np.zeros((samples, *self.sizes), dtype)

    def padded(self, x: np.ndarray, buffer: np.ndarray | None, top: int, results: int) -> np.ndarray:
        """Return padded samples, contiguous, from a row of windows on; there are so many in all."""
        if buffer is None or self.inside is None:
            return np.ascontiguousarray(x)
        buffer = buffer[: len(x)]
        size, before, stride = self.first
        begin = top * stride - before
        low = max(begin, 0)
        high = max(low, min(begin + buffer.shape[2], size))
        if self.band < results:  # there may be numbers of other rows
            buffer[:, :, : low - begin] = 0
            buffer[:, :, high - begin :] = 0
        buffer[(slice(None), slice(None), slice(low - begin, high - begin), *self.inside)] = x[:, :, low:high]
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
    in_runs = set(strides) == {1} and _reach(results, pitch) + item <= _WASTE * math.prod(results) * item
    row = channels * math.prod(kernel) * (between[0] if in_runs else item * math.prod(results[1:]))
    rows = max(1, _CACHE // max(row, 1))
    samples, rows = (rows // results[0], results[0]) if rows >= results[0] else (1, rows)
    band = results[0]
    if any(pads) and rows < band:
        reach = dilations[0] * (kernel[0] - 1) + 1
        fits = (_PADDED // max(channels * pitch[0], 1) - reach) // strides[0] + 1
        band = min(band, max(1, fits // rows) * rows)
        if band < results[0]:
            padded[0] = (band - 1) * strides[0] + reach
    taps = (item * math.prod(padded), *(p * d for p, d in zip(pitch, dilations, strict=True)))
    beside = tuple(slice(p, p + size) for p, size in zip(pads[1:rank], inner[1:], strict=True))
    return _Windows(
        between,
        (channels, *kernel),
        taps,
        in_runs,
        (channels, *padded),
        beside if any(pads) else None,
        samples,
        rows,
        band,
        (inner[0], pads[0], strides[0]),
    )


def _reach(sizes: Sequence[int], steps: Sequence[int]) -> int:
    """Return the distance from the first to the last of an array of windows."""
    return sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
