"""Rearrangements of positions: entries of a sliding window, or channels spread over positions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from graphrewrite.hdl.components.concat import concat
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.hdl.components.select_lanes import select
from graphrewrite.hdl.components.split import split
from graphrewrite.hdl.components.window import window

__all__ = ["interleaved", "of_windows"]

_MOST_TAPS = 16
"""Most taps of a window of which some are selected."""
_MOST_PARTS = 64
"""Most streams that are concatenated position by position."""


def of_windows(x: Any, sources: np.ndarray) -> Any:
    """Return a rearrangement as selected taps of a sliding window (strides, crops, space to depth), or None.

    ``sources`` gives the index in a frame of ``x``, in row-major order, of each entry of the result.
    """
    if sources.ndim != len(x.shape) or sources.ndim not in (2, 3):
        return None
    channel, *at = np.unravel_index(sources, x.shape)
    first = (slice(None), *(slice(1),) * len(at))
    source, lanes = channel[first], np.zeros(len(sources), np.int64)
    if (channel != source).any():
        return None
    kernel, strides = [], []
    for axis, (coordinates, size) in enumerate(zip(at, x.shape[1:], strict=True), start=1):
        count, offset = sources.shape[axis], coordinates[first]
        step = int(np.take(coordinates, 1, axis).flat[0] - offset.flat[0]) if count > 1 else 1
        along = np.arange(count).reshape([-1 if a == axis else 1 for a in range(sources.ndim)])
        if step < 1 or (coordinates != offset + step * along).any():
            return None
        kernel.append(max(int(offset.max()) + 1, size - count * step + 1))
        strides.append(step)
        lanes = lanes * kernel[-1] + offset.ravel()
    if math.prod(kernel) > _MOST_TAPS:
        return None
    windows = x if {*kernel, *strides} == {1} else window(x, kernel=tuple(kernel), strides=tuple(strides))
    order = tuple((lanes * x.shape[0] + source.ravel()).tolist())
    return windows if order == tuple(range(windows.shape[0])) else select(windows, order=order)


def interleaved(x: Any, sources: np.ndarray) -> Any:
    """Return a rearrangement that spreads channels over neighbouring positions (depth to space), or None.

    ``sources`` are those of `of_windows`.
    """
    sizes = x.shape[1:]
    if sources.ndim != len(x.shape) or not sizes or any(n % m for n, m in zip(sources.shape[1:], sizes, strict=True)):
        return None
    factors = tuple(n // m for n, m in zip(sources.shape[1:], sizes, strict=True))
    if not 1 < math.prod(factors) <= _MOST_PARTS:
        return None
    everywhere, orders = np.arange(math.prod(sizes)).reshape(sizes), []
    offsets = list(itertools.product(*map(range, factors)))
    for offset in offsets:
        part = sources[(slice(None), *(slice(k, None, f) for k, f in zip(offset, factors, strict=True)))]
        orders.append(part.reshape(len(part), -1)[:, 0] // everywhere.size)
        if (part != orders[-1].reshape(-1, *[1] * len(sizes)) * everywhere.size + everywhere).any():
            return None
    # A selection has all its channels in one beat, so the reshape changes no order. It appends an axis of one entry to
    # each axis of positions, along which the parts are concatenated.
    selected = select(x, order=tuple(np.concatenate(orders).tolist()))
    rest = reshape(selected, shape=(selected.shape[0], *itertools.chain.from_iterable((size, 1) for size in sizes)))
    parts: dict[tuple[int, ...], Any] = {}
    for offset in offsets[:-1]:
        parts[offset], rest = split(rest, at=len(sources))
    parts[offsets[-1]] = rest
    for axis in range(len(sizes), 0, -1):
        concatenated: dict[tuple[int, ...], Any] = {}
        for offset, part in parts.items():
            before = concatenated.get(offset[: axis - 1])
            concatenated[offset[: axis - 1]] = part if before is None else concat(before, part, axis=2 * axis + 1)
        parts = concatenated
    return reshape(parts[()], shape=sources.shape)
