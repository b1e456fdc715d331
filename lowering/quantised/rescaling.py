"""Integer ops that compute a step function: a line, a table, two lines that meet at zero, or levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import FixedPoint, Tensor, op
from graphrewrite.lowering.quantised.functions import Steps, part_of
from graphrewrite.lowering.quantised.lines import Line, line_through
from graphrewrite.replacement import Known

__all__ = ["MOST_LEVELS", "on_a_line", "rescaled"]

_TABLE = 12
"""Bits of a mantissa for which a function may be a table."""
MOST_LEVELS = 255
"""Thresholds that a result is counted by at most."""
_REMEDY = f"give its operand {_TABLE} bits, or lower it with approximate=True (--approximate)"


def rescaled(x: Any, found: Steps, element: FixedPoint, *, levels: int = MOST_LEVELS) -> Any:
    """Return integer ops that compute a step function of mantissas, or in words why there are none.

    A line if one passes all corners; else a table of up to 12 bits; else a line below zero and one above, as a leaky
    relu has them; else up to 255 levels.

    Parameters
    ----------
    x : value of a match
        Mantissas.
    found : Steps
        The function.
    element : FixedPoint
        The format of the result.
    levels : int
        Thresholds, at most.

    Returns
    -------
    value or str
    """
    line = line_through(found.corners) if found.corners else None
    if line is not None:
        return on_a_line(x, line, found, element)
    made = _looked_up(x, found, element)
    made = _bent(x, found, element) if made is None else made
    if made is not None:
        return made
    if not found.corners:
        return f"it neither rises nor falls everywhere, and is no table of {_TABLE} bits; {_REMEDY}"
    if found.most - found.least > levels:
        return (
            f"no multiplier of 24 bits gives its {found.most - found.least + 1} levels, and thresholds do for "
            f"{MOST_LEVELS + 1}; {_REMEDY}"
        )
    counted = op.integer_threshold(_turned(x, found.signs), _thresholds(found))
    return op.rescale(counted, multiplier=1, shift=0, offset=found.least, element=element)


def on_a_line(x: Any, line: Line, found: Steps, element: FixedPoint, bound: int | None = None) -> Any:
    """Return mantissas rescaled by a line: one multiplier, addend and shift for all numbers of a channel.

    Parameters
    ----------
    x : value of a match
        Mantissas.
    line : Line
        What rises where the function does.
    found : Steps
        The function.
    element : FixedPoint
        The format of the result.
    bound : int, optional
        How far the line is from the function, where it is not exact.

    Returns
    -------
    value
    """
    bounds = {
        "low": found.least if found.least > element.minimum else None,
        "high": found.most if found.most < element.maximum else None,
    }
    bounds = {name: bound for name, bound in bounds.items() if bound is not None}
    factors = [m * sign for m, sign in zip(line.multipliers, found.signs, strict=True)]
    if bound:
        bounds["bound"] = bound
    elif (factors, *line[1:]) == ([1], (0,), (0,), "down") and x.type.element == element and not bounds:
        return x
    elif set(factors) == {1} and not any(line.addends) and line.rounding == "half_even":
        return op.requantise(x, shift=_one(line.shifts), element=element, **bounds)
    return op.rescale(
        x,
        multiplier=_one(factors),
        addend=_one(line.addends),
        shift=_one(line.shifts),
        rounding=line.rounding,
        element=element,
        **bounds,
    )


def _looked_up(x: Any, found: Steps, element: FixedPoint) -> Any:
    """All results, or those between the ends beyond which nothing changes."""
    if found.table is None:
        return None
    table, low = found.table, found.low
    if FixedPoint.holding(low, found.high).width > _TABLE:
        changes = np.nonzero((np.diff(table, axis=0) != 0).any(axis=1))[0]
        table = table[changes[0] : changes[-1] + 2] if changes.size else table[:1]
        low += int(changes[0]) if changes.size else 0
        if FixedPoint.holding(low, low + len(table) - 1).width > _TABLE:
            return None
    entries = table[:, 0] if table.shape[1] == 1 else np.ascontiguousarray(table.T)
    return op.lookup(x, _as(element, entries, x), low=low)


def _bent(x: Any, found: Steps, element: FixedPoint) -> Any:
    """A line for the numbers from zero on, and one for what those below add to the value at zero."""
    if not found.low < 0 < found.high or found.table is None:
        return None
    middle = found.table[-found.low]
    below = found._replace(table=found.table - middle)
    sides = [part for part in (part_of(below, found.low, 0), part_of(found, 0, found.high)) if part is not None]
    found_lines = [line_through(side.corners) for side in sides if side.corners]
    lines = [line for line in found_lines if line is not None]
    if len(lines) < 2:
        return None
    halves = []
    for side, line in zip(sides, lines, strict=True):
        narrow = FixedPoint.holding(min(side.least, 0), max(side.most, 1), element.fraction)
        limited = op.clip(x, low=side.low, high=side.high)
        halves.append(on_a_line(limited, line, side, narrow))
    low, high = sum(min(side.least, 0) for side in sides), sum(max(side.most, 0) for side in sides)
    total = op.integer_add(*halves, element=FixedPoint.holding(low, max(high, 1), element.fraction))
    return total if total.type.element == element else op.requantise(total, shift=0, element=element)


def _one(values: Any) -> int | tuple[int, ...]:
    return int(values[0]) if len(set(values)) == 1 else tuple(map(int, values))


def _as(element: FixedPoint, values: np.ndarray, x: Any) -> Any:
    """A table whose entries are of a format."""
    return Known(x.replay, values.astype(element.dtype), Tensor(element, values.shape))


def _turned(x: Any, signs: list[int]) -> Any:
    """Mantissas, negated where the function falls."""
    if min(signs) > 0:
        return x
    element = x.type.element
    wide = FixedPoint.holding(min(element.minimum, -element.maximum), max(element.maximum, -element.minimum))
    return op.rescale(x, multiplier=_one(signs), shift=0, element=wide)


def _thresholds(found: Steps) -> np.ndarray:
    """From which number on each level is reached, a row a channel; a level that is not, beyond the greatest number."""
    wanted = np.arange(found.least + 1, found.most + 1)
    rows = []
    for corners in found.corners:
        order = np.argsort(corners.levels, kind="stable")
        levels, reached = corners.levels[order], corners.reached[order]
        place = np.searchsorted(levels, wanted)
        beyond = max(found.high, -found.low) + 1
        rows.append(np.append(reached, beyond)[place])
    return np.array(rows, np.int64).reshape(len(rows), len(wanted))
