"""Other positions from where each number is taken: some of neighbouring ones, or the channels of one side by side."""

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
"""Places of a window of which some are chosen."""
_MOST_PARTS = 64
"""Streams that are put together position by position."""


def of_windows(x: Any, taken: np.ndarray) -> Any:
    """Return numbers each of which has its place in a sliding window: strided, cropped, or depth made of space.

    Parameters
    ----------
    x : value of a rule
        A stream.
    taken : ndarray of int
        For each number of the result which one of a frame of ``x`` it is, in row-major order.

    Returns
    -------
    value of a rule, or None
        None where a window does not do, or has more than 16 places.
    """
    if taken.ndim != len(x.shape) or taken.ndim not in (2, 3):
        return None
    channel, *at = np.unravel_index(taken, x.shape)
    first = (slice(None), *(slice(1),) * len(at))
    source, lanes = channel[first], np.zeros(len(taken), np.int64)
    if (channel != source).any():
        return None
    kernel, strides = [], []
    for axis, (places, size) in enumerate(zip(at, x.shape[1:], strict=True), start=1):
        count, offset = taken.shape[axis], places[first]
        step = int(np.take(places, 1, axis).flat[0] - offset.flat[0]) if count > 1 else 1
        along = np.arange(count).reshape([-1 if a == axis else 1 for a in range(taken.ndim)])
        if step < 1 or (places != offset + step * along).any():
            return None
        kernel.append(max(int(offset.max()) + 1, size - count * step + 1))
        strides.append(step)
        lanes = lanes * kernel[-1] + offset.ravel()
    if math.prod(kernel) > _MOST_TAPS:
        return None
    windows = x if {*kernel, *strides} == {1} else window(x, kernel=tuple(kernel), strides=tuple(strides))
    order = tuple((lanes * x.shape[0] + source.ravel()).tolist())
    return windows if order == tuple(range(windows.shape[0])) else select(windows, order=order)


def interleaved(x: Any, taken: np.ndarray) -> Any:
    """Return numbers of which each position becomes several, every one with its own channels: space made of depth.

    Parameters
    ----------
    x : value of a rule
        A stream.
    taken : ndarray of int
        For each number of the result which one of a frame of ``x`` it is, in row-major order.

    Returns
    -------
    value of a rule, or None
        None where it is not so.
    """
    sizes = x.shape[1:]
    if taken.ndim != len(x.shape) or not sizes or any(n % m for n, m in zip(taken.shape[1:], sizes, strict=True)):
        return None
    factors = tuple(n // m for n, m in zip(taken.shape[1:], sizes, strict=True))
    if not 1 < math.prod(factors) <= _MOST_PARTS:
        return None
    everywhere, orders = np.arange(math.prod(sizes)).reshape(sizes), []
    places = list(itertools.product(*map(range, factors)))
    for place in places:
        part = taken[(slice(None), *(slice(k, None, f) for k, f in zip(place, factors, strict=True)))]
        orders.append(part.reshape(len(part), -1)[:, 0] // everywhere.size)
        if (part != orders[-1].reshape(-1, *[1] * len(sizes)) * everywhere.size + everywhere).any():
            return None
    # One that is chosen from has all its channels in a beat, so that other axes change no order. An axis of one entry
    # behind each axis of positions: parts are joined along these.
    chosen = select(x, order=tuple(np.concatenate(orders).tolist()))
    rest = reshape(chosen, shape=(chosen.shape[0], *itertools.chain.from_iterable((size, 1) for size in sizes)))
    parts: dict[tuple[int, ...], Any] = {}
    for place in places[:-1]:
        parts[place], rest = split(rest, at=len(taken))
    parts[places[-1]] = rest
    for axis in range(len(sizes), 0, -1):
        joined: dict[tuple[int, ...], Any] = {}
        for place, part in parts.items():
            before = joined.get(place[: axis - 1])
            joined[place[: axis - 1]] = part if before is None else concat(before, part, axis=2 * axis + 1)
        parts = joined
    return reshape(parts[()], shape=taken.shape)
