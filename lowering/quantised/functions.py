"""Step functions of whole numbers: where they change, channel by channel, every number looked at or searched for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphrewrite.lowering.quantised.lines import Corners

__all__ = ["Steps", "part_of", "steps_of", "within"]

_MOST_NUMBERS = 1 << 20
"""So many numbers, those of each channel counted, are all looked at."""


class Steps(NamedTuple):
    """A step function of whole numbers from ``low`` to ``high``, in each channel.

    Attributes
    ----------
    low, high : int
        The least and the greatest number.
    table : ndarray of int64, shape [numbers, channels], or None
        Every value, where they are few.
    corners : list of Corners
        Where it rises; empty where it does not rise everywhere, or fall.
    signs : list of int
        -1 where it falls: then the corners are those of ``-x``.
    least, most : int
        Its values lie between.
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
    """Return where a function of whole numbers steps, or in words why that is not found.

    Parameters
    ----------
    function : callable
        From numbers of the shape ``[numbers, channels]`` to whole numbers of that shape.
    low, high : int
        Its least and its greatest operand.
    channels : int
        How many there are.
    is_monotone : bool
        Whether it is certain to rise or to fall in each channel; otherwise all numbers are looked at.
    most : int
        So many levels, those of each channel counted, are searched for.

    Returns
    -------
    Steps or str

    Examples
    --------
    >>> found = steps_of(lambda x: x // 3, -2, 4, 1, is_monotone=True)
    >>> found.least, found.most, found.corners[0].reached.tolist()
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
    """The steps of a function of which every value is known, from a number on."""
    high = low + len(table) - 1
    rises, falls = (np.diff(table, axis=0) >= 0).all(axis=0), (np.diff(table, axis=0) <= 0).all(axis=0)
    least, most = int(table.min()), int(table.max())
    if not (rises | falls).all():
        return Steps(low, high, table, [], [], least, most)
    signs = np.where(rises, 1, -1).tolist()
    found = []
    for column, sign in zip(table.T, signs, strict=True):
        values, first = (column, low) if sign > 0 else (column[::-1], -high)
        at = np.nonzero(np.diff(values))[0]
        found.append(_corners(at + first + 1, values[at], values[at + 1], values, first, least, most))
    return Steps(low, high, table, found, signs, least, most)


def part_of(found: Steps, low: int, high: int) -> Steps | None:
    """Return a step function between two of its numbers; None where not every value is known.

    Parameters
    ----------
    found : Steps
        The function.
    low, high : int
        Where the part begins and ends.

    Returns
    -------
    Steps or None

    Examples
    --------
    >>> bent = steps_of(abs, -3, 5, 1, is_monotone=False)
    >>> bent.corners, part_of(bent, -3, 0).signs, part_of(bent, 0, 5).corners[0].reached.tolist()
    ([], [-1], [1, 2, 3, 4, 5])
    """
    return None if found.table is None else _of_table(found.table[low - found.low : high + 1 - found.low], low)


def _corners(
    at: np.ndarray, under: np.ndarray, over: np.ndarray, values: np.ndarray, first: int, least: int, most: int
) -> Corners:
    """Corners where a channel's values change, and at its ends where other channels go on."""
    reached, levels, before, below = at, over, at - 1, under + 1
    if values[0] > least:
        reached, levels = np.append(reached, first), np.append(levels, values[0])
    if values[-1] < most:
        before, below = np.append(before, first + len(values) - 1), np.append(below, values[-1] + 1)
    return Corners(*(each.astype(np.int64) for each in (reached, levels, before, below)))


def _searched(function: Any, low: int, high: int, channels: int, limit: int) -> Steps | str:
    """Steps of a monotone function, each found by halving the interval in which it must be."""
    ends = function(np.array([[low] * channels, [high] * channels])).astype(np.int64)
    least, most = int(ends.min()), int(ends.max())
    signs = np.where(ends[1] >= ends[0], 1, -1)
    if (most - least) * channels > limit:
        return f"its {most - least + 1} levels in {channels} channels are too many"
    starts, stops = np.where(signs > 0, low, -high), np.where(signs > 0, high, -low)
    wanted = np.arange(least + 1, most + 1)[:, None]
    left, right = np.broadcast_to(starts, (len(wanted), channels)), np.broadcast_to(stops, (len(wanted), channels))
    for _ in range(int(high - low).bit_length()):
        middle = (left + right) >> 1
        there = function(middle * signs) >= wanted
        left, right = np.where(there, left, np.minimum(middle + 1, right)), np.where(there, middle, right)
    found = []
    first, last = ends.min(axis=0), ends.max(axis=0)
    for c in range(channels):
        inside = (wanted[:, 0] > first[c]) & (wanted[:, 0] <= last[c])
        at, levels = right[inside, c], wanted[inside, 0]
        reached, risen, before, below = at, levels, at - 1, levels
        if first[c] > least:
            reached, risen = np.append(reached, starts[c]), np.append(risen, first[c])
        if last[c] < most:
            before, below = np.append(before, stops[c]), np.append(below, last[c] + 1)
        found.append(Corners(*(each.astype(np.int64) for each in (reached, risen, before, below))))
    return Steps(low, high, None, found, signs.tolist(), least, most)


def within(found: Steps, low: np.ndarray, high: np.ndarray) -> Steps:
    """Return a step function of numbers that do not go beyond some limits: corners out there say nothing.

    Parameters
    ----------
    found : Steps
        The function.
    low, high : ndarray of int64
        The least and the greatest number that there is, one a channel or one for all.

    Returns
    -------
    Steps

    Examples
    --------
    >>> found = steps_of(lambda x: x // 3, -2, 9, 1, is_monotone=True)
    >>> within(found, np.array([1]), np.array([4])).corners[0]
    Corners(reached=array([1, 3]), levels=array([0, 1]), before=array([2, 4, 4]), below=array([1, 2, 3]))
    """
    corners = []
    for c, (each, sign) in enumerate(zip(found.corners, found.signs, strict=True)):
        if len(found.corners) == 1:
            ends = sorted((sign * int(low.min()), sign * int(high.max())))
        else:
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
    return found._replace(corners=corners)
