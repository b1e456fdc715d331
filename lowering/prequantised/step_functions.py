"""Step functions of integers: the steps of each channel, by evaluating all numbers or by bisection."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphrewrite.lowering.prequantised.affine_functions import Corners

__all__ = ["Steps", "part_of", "steps_of", "within"]

_MOST_NUMBERS = 1 << 20
"""Most numbers, over all channels, that are all evaluated."""


class Steps(NamedTuple):
    """A step function of integers from ``low`` to ``high`` in each channel.

    Attributes
    ----------
    low, high : int
        The least and the greatest operand.
    table : ndarray of int64, shape [numbers, channels], or None
        All values, where they are few.
    corners : list of Corners
        Its steps; empty if it is not monotone.
    signs : list of int
        -1 in channels where it falls: their corners are those of ``-x``.
    least, most : int
        Its least and greatest value.
    """

    low: int
    high: int
    table: np.ndarray | None
    corners: list[Corners]
    signs: list[int]
    least: int
    most: int


def steps_of(
    function: Any, low: int, high: int, channels: int, *, is_monotone: bool, most: int = _MOST_NUMBERS
) -> Steps | str:
    """Return the steps of an integer function, or the reason why they are not found.

    ``function`` maps numbers of shape [numbers, channels]. If ``is_monotone``, levels are found by bisection, at most
    ``most`` over all channels; otherwise all numbers are evaluated.

    Examples
    --------
    >>> steps = steps_of(lambda x: x // 3, -2, 4, 1, is_monotone=True)
    >>> steps.least, steps.most, steps.corners[0].reached.tolist()
    (-1, 1, [0, 3])
    """
    if (high - low + 1) * channels <= _MOST_NUMBERS:
        numbers = np.broadcast_to(np.arange(low, high + 1)[:, None], (high - low + 1, channels))
        table = function(numbers).astype(np.int64)
        return _of_table(table, low)
    if not is_monotone:
        return "it neither rises nor falls everywhere, and has too many operands to look at each"
    return _searched(function, low, high, channels, most)


def _of_table(table: np.ndarray, low: int) -> Steps:
    """The steps of a function given by all its values from ``low`` on."""
    high = low + len(table) - 1
    rises, falls = (np.diff(table, axis=0) >= 0).all(axis=0), (np.diff(table, axis=0) <= 0).all(axis=0)
    least, most = int(table.min()), int(table.max())
    if not (rises | falls).all():
        return Steps(low, high, table, [], [], least, most)
    signs = np.where(rises, 1, -1).tolist()
    corners = []
    for column, sign in zip(table.T, signs, strict=True):
        values, first = (column, low) if sign > 0 else (column[::-1], -high)
        at = np.nonzero(np.diff(values))[0]
        ends = (first, values[0]), (first + len(values) - 1, values[-1])
        corners.append(_corners(at + first + 1, values[at + 1], values[at] + 1, ends, least, most))
    return Steps(low, high, table, corners, signs, least, most)


def part_of(steps: Steps, low: int, high: int) -> Steps | None:
    """Return a step function restricted to a range; None if it has no table.

    Examples
    --------
    >>> bent = steps_of(abs, -3, 5, 1, is_monotone=False)
    >>> bent.corners, part_of(bent, -3, 0).signs, part_of(bent, 0, 5).corners[0].reached.tolist()
    ([], [-1], [1, 2, 3, 4, 5])
    """
    return None if steps.table is None else _of_table(steps.table[low - steps.low : high + 1 - steps.low], low)


def _corners(at: np.ndarray, levels: np.ndarray, below: np.ndarray, ends: Any, least: int, most: int) -> Corners:
    """Corners where a channel's values change, and at its ends where other channels have further levels.

    ``ends`` are the first and the last number, each with its value.
    """
    reached, before = at, at - 1
    (start, first), (stop, last) = ends
    if first > least:
        reached, levels = np.append(reached, start), np.append(levels, first)
    if last < most:
        before, below = np.append(before, stop), np.append(below, last + 1)
    return Corners(*(each.astype(np.int64) for each in (reached, levels, before, below)))


def _searched(function: Any, low: int, high: int, channels: int, limit: int) -> Steps | str:
    """Steps of a monotone function, found by bisection."""
    ends = function(np.array([[low] * channels, [high] * channels])).astype(np.int64)
    least, most = int(ends.min()), int(ends.max())
    signs = np.where(ends[1] >= ends[0], 1, -1)
    if (most - least) * channels > limit:
        return f"its {most - least + 1} levels in {channels} channels are too many"
    starts, stops = np.where(signs > 0, low, -high), np.where(signs > 0, high, -low)
    levels = np.arange(least + 1, most + 1)[:, None]
    # All levels of all channels are bisected at once; numbers count along the direction in which a channel rises.
    left, right = (np.broadcast_to(each, (len(levels), channels)) for each in (starts, stops))
    for _ in range(int(high - low).bit_length()):
        middle = (left + right) >> 1
        is_reached = function(middle * signs) >= levels
        left, right = np.where(is_reached, left, np.minimum(middle + 1, right)), np.where(is_reached, middle, right)
    corners = []
    first, last = ends.min(axis=0), ends.max(axis=0)
    for c in range(channels):
        inside = (levels[:, 0] > first[c]) & (levels[:, 0] <= last[c])
        reached = levels[inside, 0]
        bounds = (starts[c], first[c]), (stops[c], last[c])
        corners.append(_corners(right[inside, c], reached, reached, bounds, least, most))
    return Steps(low, high, None, corners, signs.tolist(), least, most)


def within(steps: Steps, low: np.ndarray, high: np.ndarray) -> Steps:
    """Return a step function of operands within limits, one a channel or one for all; corners outside are clipped.

    Examples
    --------
    >>> steps = steps_of(lambda x: x // 3, -2, 9, 1, is_monotone=True)
    >>> within(steps, np.array([1]), np.array([4])).corners[0]
    Corners(reached=array([1, 3]), levels=array([0, 1]), before=array([2, 4, 4]), below=array([1, 2, 3]))
    """
    if len(steps.corners) == 1:
        low, high = low.min(keepdims=True), high.max(keepdims=True)
    corners = []
    for c, (each, sign) in enumerate(zip(steps.corners, steps.signs, strict=True)):
        ends = sorted((sign * int(low[c % len(low)]), sign * int(high[c % len(high)])))
        reached, before = each.reached <= ends[1], each.before >= ends[0]
        corners.append(
            Corners(
                np.maximum(each.reached[reached], ends[0]),
                each.levels[reached],
                np.minimum(each.before[before], ends[1]),
                each.below[before],
            )
        )
    return steps._replace(corners=corners)
