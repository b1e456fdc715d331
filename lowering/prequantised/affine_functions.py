"""Rounded affine functions equal to step functions of integers: multiplier, addend and shift, checked at every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

__all__ = ["Corners", "Line", "line_near", "line_through", "slope_through"]

_WIDEST = 1 << 24
"""Exclusive bound of multipliers."""
_WORD = 1 << 47
"""Exclusive bound of products plus their addend."""
_MOST_PLACES = 46
_NEVER = 1 << 40
"""Level of a padding corner, which constrains no line."""
_FAR = 1 << 62
_FEW = 64
"""Up to so many corners, no hull is computed."""
_MARGIN = 1e-9
"""Margin of a line up to which a single slope is possible."""
_HALVINGS = 120
"""Bisections from the steepest slope to the precision of a float."""


class Corners(NamedTuple):
    """Steps of a non-decreasing function: it has its level at ``reached``, and does not yet have it at ``before``.

    Attributes
    ----------
    reached, levels : ndarray of int64
        The function is at least ``levels`` from ``reached`` on.
    before, below : ndarray of int64
        The function is less than ``below`` up to ``before``.
    """

    reached: np.ndarray
    levels: np.ndarray
    before: np.ndarray
    below: np.ndarray


class Line(NamedTuple):
    """``round((x * multiplier + addend) / 2**shift)`` in each channel.

    Attributes
    ----------
    multipliers, addends, shifts : tuple of int
        One a channel; shifts are equal where the multipliers stay narrow enough.
    rounding : str
        ``"down"`` or ``"half_even"``.
    """

    multipliers: tuple[int, ...]
    addends: tuple[int, ...]
    shifts: tuple[int, ...]
    rounding: str


def line_through(channels: Sequence[Corners]) -> Line | None:
    """Return a line with few fraction bits that satisfies every corner of every channel, or None.

    Every corner is checked in integers: the result is proved. A multiplier has at most 24 bits, and a product with its
    addend at most 48.

    Examples
    --------
    >>> t, k = np.array([2, 5, 9]), np.array([1, 2, 3])  # round(0.3 * x) reaches 1, 2 and 3 there
    >>> line_through([Corners(t, k, t - 1, k)])
    Line(multipliers=(5,), addends=(7,), shifts=(4,), rounding='down')
    >>> t, k = np.array([2, 3, 6, 7]), np.array([1, 2, 3, 4])  # ties, half to even
    >>> line_through([Corners(t, k, t - 1, k)])
    Line(multipliers=(1,), addends=(0,), shifts=(1,), rounding='half_even')
    """
    corners, outer = _stacked(channels), _stacked([_outer(each) for each in channels])
    best, steepest = _best(outer)
    widest = _gap(outer, best)[0]
    # A margin leaves room for a line that rounds down. Without one a single slope remains, with a tie at a corner: only
    # rounding half to even can satisfy that. Both are checked in integers: the tolerances cannot make a result wrong.
    if (widest > _MARGIN).all():
        return _rounded_down(outer, best, steepest)
    return _half_even(corners, best) if (widest > -1e-6).all() else None


def line_near(channels: Sequence[Corners], most: int) -> tuple[Line, int]:
    """Return the line of least squares through the corners of every channel, and its greatest error in levels.

    Errors are greatest at corners: the bound is proved. ``most`` is the greatest absolute operand; its product with
    the addend has at most 48 bits.

    Examples
    --------
    >>> t, k = np.array([2, 5, 9, 11]), np.array([1, 2, 3, 5])
    >>> line, bound = line_near([Corners(t, k, t - 1, k)], 11)
    >>> bound, [(x * line.multipliers[0] + line.addends[0]) >> line.shifts[0] for x in (1, 2, 5, 9, 11)]
    (1, [0, 0, 2, 3, 4])
    """
    corners = _stacked(channels)
    slopes = np.array([_slope(each) for each in channels])
    # A multiplier of 24 bits, whose greatest product leaves a bit for the addend.
    greatest = min(float(_WIDEST - 1), (_WORD >> 1) / max(most, 1))
    room = np.floor(np.log2(greatest / np.maximum(slopes, 2.0**-_MOST_PLACES))).astype(np.int64)
    shifts = np.clip(room, 0, _MOST_PLACES)
    factors = np.rint(np.ldexp(slopes, shifts)).astype(np.int64)
    low, high = _addends(corners, factors, shifts)
    addends = (low + high) >> 1
    line = Line(tuple(factors.tolist()), tuple(addends.tolist()), tuple(shifts.tolist()), "down")
    bound = 0
    # Corners that pad the matrices lie far below or above: they are no error of a line.
    for x, levels, sign in ((corners.reached, corners.levels, 1), (corners.before, corners.below - 1, -1)):
        whole = (x * factors[:, None] + addends[:, None]) >> shifts[:, None]
        bound = max(bound, int((sign * (levels - whole)).max()))
    return line, bound


def _slope(corners: Corners) -> float:
    """The slope of least squares through the reached levels of a channel."""
    if len(corners.reached) < 2:
        return 0.0
    x = corners.reached - corners.reached.mean()
    return float((x * corners.levels).sum() / max(float((x * x).sum()), 1.0))


def slope_through(corners: Corners) -> float | None:
    """Return the slope of the line with the greatest margin to a channel's corners; None if no line satisfies them.

    Examples
    --------
    >>> t, k = np.array([2, 5, 9]), np.array([1, 2, 3])
    >>> round(slope_through(Corners(t, k, t - 1, k)), 3)
    0.286
    """
    stacked = _stacked([_outer(corners)])
    best, _ = _best(stacked)
    return float(best[0]) if _gap(stacked, best)[0][0] > 0 else None


def _outer(corners: Corners) -> Corners:
    """The corners on the convex hull towards the line, which imply all others."""
    reached, levels = _hull(corners.reached, corners.levels)
    before, below = _hull(corners.before, -corners.below)
    return Corners(reached, levels, before, -below)


def _hull(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points of the upper convex hull, perhaps with a few inner ones."""
    order = np.lexsort((-y, x))
    x, y = x[order], y[order]
    while len(x) > _FEW:
        run, rise = np.diff(x), np.diff(y)
        # What lies on or below the line from its left neighbour to its right one is never the highest.
        inner = np.append(np.insert(rise[:-1] * run[1:] <= rise[1:] * run[:-1], 0, False), False)
        if not inner.any():
            break
        x, y = x[~inner], y[~inner]
    return x, y


def _best(corners: Corners) -> tuple[np.ndarray, float]:
    """The slopes with the greatest margin, and one steeper than all."""
    # Corners lie at whole numbers: a line that satisfies them is not steeper than all levels together.
    steepest = float(corners.levels.max(initial=0) - corners.below.min(initial=0) + 2)
    rows = len(corners.levels)
    return _bisect(lambda slope: _gap(corners, slope)[1] > 0, np.zeros(rows), np.full(rows, steepest)), steepest


def _stacked(channels: Sequence[Corners]) -> Corners:
    """The corners of all channels as matrices, padded with corners that constrain nothing."""

    def filled(rows: list[np.ndarray], fill: int) -> np.ndarray:
        matrix = np.full((len(rows), max(1, *map(len, rows))), fill, np.int64)
        for row, values in zip(matrix, rows, strict=True):
            row[: len(values)] = values
        return matrix

    parts = [list(each) for each in zip(*channels, strict=True)]
    return Corners(*(filled(part, fill) for part, fill in zip(parts, (0, -_NEVER, 0, _NEVER), strict=True)))


def _gap(corners: Corners, slope: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Margin of a line of a slope between the corners above and below it, and the derivative by the slope."""
    floors = corners.levels - slope[:, None] * corners.reached
    ceilings = corners.below - slope[:, None] * corners.before
    rows, top, bottom = np.arange(len(slope)), floors.argmax(axis=1), ceilings.argmin(axis=1)
    return ceilings[rows, bottom] - floors[rows, top], corners.reached[rows, top] - corners.before[rows, bottom]


def _bisect(goes_on: Callable[[np.ndarray], np.ndarray], low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Point in each channel up to which a monotone condition holds."""
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        on = goes_on(middle)
        lower, upper = np.where(on, middle, low), np.where(on, high, middle)
        if (lower == low).all() and (upper == high).all():  # no float is between them: halving goes no further
            break
        low, high = lower, upper
    return np.asarray((low + high) / 2)


def _rounded_down(corners: Corners, best: np.ndarray, steepest: float) -> Line | None:
    """The line with the fewest fraction bits in each channel, or equally many in all."""
    # Between these two slopes the margin is positive: each of them has an addend that satisfies all corners.
    least = _bisect(lambda slope: _gap(corners, slope)[0] <= 0, np.zeros_like(best), best)
    most = _bisect(lambda slope: _gap(corners, slope)[0] > 0, best, np.full_like(best, steepest))
    shifts, unknown = np.zeros(len(best), np.int64), np.ones(len(best), bool)
    # Fraction bit by fraction bit, until every channel has a multiplier and an addend that are whole numbers.
    for shift in range(_MOST_PLACES):
        low, high = _addends(corners, _factors(least, most, np.array(shift)), np.array(shift))
        shifts = np.where(unknown, shift, shifts)
        unknown &= low >= high
        if not unknown.any():
            break
    # One shift for all channels is cheaper in hardware; where it makes a multiplier too wide, each channel has its own.
    for each in (np.full_like(shifts, shifts.max()), shifts):
        factors = _factors(least, most, each)
        low, high = _addends(corners, factors, each)
        line = _line(corners, factors, _with_most_trailing_zeros(low, high - 1), each, "down")
        if line is not None:
            return line
    return None


def _factors(least: np.ndarray, most: np.ndarray, shifts: np.ndarray) -> np.ndarray:
    """Integer multipliers between two slopes, near the middle, if there are any."""
    # A whole number between them is less than half away from the middle, or there are several.
    middle = np.rint((np.ldexp(least, shifts) + np.ldexp(most, shifts)) / 2)
    return np.asarray(middle, np.int64)


def _addends(corners: Corners, factors: np.ndarray, shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds of addends that satisfy all corners; the upper one is exclusive."""
    unit = (np.int64(1) << shifts)[..., None]
    floors = np.where(corners.levels > -_NEVER, corners.levels, 0) * unit - factors[:, None] * corners.reached
    ceilings = np.where(corners.below < _NEVER, corners.below, 0) * unit - factors[:, None] * corners.before
    low = np.where(corners.levels > -_NEVER, floors, -_FAR).max(axis=1)
    high = np.where(corners.below < _NEVER, ceilings, _FAR).min(axis=1)
    # A channel that is bounded on one side only takes an addend next to that side, or zero.
    low = np.where(low == -_FAR, np.minimum(high - 1, 0), low)
    return low, np.where(high == _FAR, np.maximum(low + 1, 1), high)


def _with_most_trailing_zeros(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The integer of a range with the most trailing zero bits."""
    # Trailing zeros cost no adders: a round number is the cheapest of equally good ones.
    rounded = low.copy()
    for zeros in range(1, 48):
        step = np.int64(1) << zeros
        multiple = -(-low // step) * step
        rounded = np.where(multiple <= high, multiple, rounded)
    return rounded


def _half_even(corners: Corners, best: np.ndarray) -> Line | None:
    """A line that rounds half to even; in some channel only one slope is possible."""
    is_tight = _gap(corners, best)[0] <= _MARGIN
    # Other channels take that slope, too, where it satisfies them: their best one is no round number.
    shared = np.full_like(best, np.median(best[is_tight]))
    best = np.where(~is_tight & (_gap(corners, shared)[0] > 0), shared, best)
    for shift in range(25):
        exact = np.ldexp(best, shift)
        factors, each = np.rint(exact).astype(np.int64), np.full(len(best), shift, np.int64)
        # Ties at whole numbers need a slope that is a whole multiple of 2**-shift.
        if (np.abs(factors - exact) > 1e-6 * np.maximum(1, exact)).any():
            continue
        # The upper bound is inclusive: a tie may be rounded down.
        low, high = (bound - ((1 << shift) >> 1) for bound in _addends(corners, factors, each))
        # Between ties there is none to be decided: away from both ends every channel that has room is safe.
        inside = np.where(~is_tight & (high - low > 1), (low + high) >> 1, low)
        for addends in (_with_most_trailing_zeros(low, high), low, high, inside):
            line = _line(corners, factors, addends, each, "half_even")
            if line is not None:
                return line
    return None


def _line(corners: Corners, factors: np.ndarray, addends: np.ndarray, shifts: np.ndarray, rounding: str) -> Line | None:
    """The line, if it satisfies every corner and neither multipliers nor sums are too wide."""
    if (factors >= _WIDEST).any():
        return None
    # In integers, corner by corner: floats only proposed the line.
    shift = shifts[:, None]
    for x, levels, above in ((corners.reached, corners.levels, True), (corners.before, corners.below, False)):
        sums = x * factors[:, None] + addends[:, None]
        whole = sums >> shift
        if rounding == "half_even":
            rest, half = sums - (whole << shift), (np.int64(1) << shift) >> 1
            whole = whole + ((shift > 0) & ((rest > half) | ((rest == half) & (whole & 1 == 1))))
        if np.abs(sums).max() >= _WORD or not ((whole >= levels) if above else (whole < levels)).all():
            return None
    return Line(tuple(factors.tolist()), tuple(addends.tolist()), tuple(shifts.tolist()), rounding)
