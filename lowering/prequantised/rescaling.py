"""Integer ops that compute a step function: a line, a table, two lines that meet at zero, or thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import FixedPoint, Tensor, op
from graphrewrite.lowering.prequantised.affine_functions import Line, line_through
from graphrewrite.lowering.prequantised.step_functions import Steps, part_of
from graphrewrite.rewriting.rule.replacement import Known

__all__ = ["FEW_STEPS", "MOST_LEVELS", "counted", "limits_within", "on_a_line", "rescaled"]

_TABLE = 12
"""Most bits of the operand of a table."""
MOST_LEVELS = 255
"""Most thresholds of a function."""
_PRODUCT = 1 << 62
"""Exclusive bound of what `op.rescale` computes before it shifts."""
FEW_STEPS = 2
"""Thresholds that cost less than a multiplier or a table."""
_REMEDY = f"give its operand {_TABLE} bits, or lower it with approximate=True (--approximate)"


def rescaled(x: Any, steps: Steps, element: FixedPoint, *, levels: int = MOST_LEVELS) -> Any:
    """Return integer ops that compute a step function of mantissas, or the reason why there are none.

    A line if one satisfies all corners; else a table of up to 12 bits; else a line on each side of zero, as for a leaky
    relu; else up to 255 thresholds.
    """
    # From cheap to dear in hardware: a multiplier, a table, two multipliers, comparators.
    line = line_through(steps.corners) if steps.corners else None
    if line is not None and _is_too_wide(x.type.element, line):
        line = None
    is_few = bool(steps.corners) and 1 <= steps.most - steps.least <= FEW_STEPS
    is_plain = line is not None and {*line.multipliers} == {1} and not any(line.addends)
    if line is not None and (is_plain or not is_few):
        return on_a_line(x, line, steps, element)
    if is_few:
        return counted(_rising(x, steps.signs), _thresholds(steps), steps.least, element)
    result = _looked_up(x, steps, element)
    result = _two_lines(x, steps, element) if result is None else result
    if result is not None:
        return result
    if not steps.corners:
        return f"it is not monotone, and its operand is too wide for a table of {_TABLE} bits; {_REMEDY}"
    if steps.most - steps.least > levels:
        return (
            f"no multiplier of 24 bits gives its {steps.most - steps.least + 1} levels, and thresholds do for "
            f"{MOST_LEVELS + 1}; {_REMEDY}"
        )
    return counted(_rising(x, steps.signs), _thresholds(steps), steps.least, element)


def _is_too_wide(element: FixedPoint, line: Line) -> bool:
    """Tell whether some number of a format, even if none of these is ever met, has a product that no op computes."""
    reach = max(-element.minimum, element.maximum)
    return reach * max(line.multipliers) + max(map(abs, line.addends)) >= _PRODUCT


def counted(x: Any, levels: np.ndarray, least: int, element: FixedPoint) -> Any:
    """Return mantissas that are more than the least number by as many thresholds as they reach; these one a column."""
    most, times = least + levels.shape[1], 1
    if (levels == levels[:1]).all():
        levels = levels[:1]
    if (levels == levels[:, :1]).all():
        levels, times = levels[:, :1], levels.shape[1]
    count = op.integer_threshold(x, levels)
    bounds = limits_within(element, least, most)
    return op.rescale(count, multiplier=times, shift=0, offset=least, element=element, **bounds)


def limits_within(element: FixedPoint, low: int, high: int) -> dict[str, Any]:
    """Return limits as attributes of an op, without those that are the format's own."""
    limits = ("low", low, element.minimum), ("high", high, element.maximum)
    return {name: limit for name, limit, own in limits if limit != own}


def on_a_line(x: Any, line: Line, steps: Steps, element: FixedPoint, bound: int | None = None) -> Any:
    """Return mantissas rescaled by a line: multiplier, addend and shift of each channel, and ``bound`` if not exact."""
    bounds = limits_within(element, steps.least, steps.most)
    factors = [m * sign for m, sign in zip(line.multipliers, steps.signs, strict=True)]
    # Neither the identity nor a shift that rounds half to even needs a multiplier.
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


def _looked_up(x: Any, steps: Steps, element: FixedPoint) -> Any:
    """A table of all results, or of those between the ends beyond which they are constant."""
    if steps.table is None:
        return None
    table, low = steps.table, steps.low
    # A wide operand still has a table if the function changes over a narrow range only.
    if FixedPoint.holding(low, steps.high).width > _TABLE:
        changes = np.nonzero((np.diff(table, axis=0) != 0).any(axis=1))[0]
        table = table[changes[0] : changes[-1] + 2] if changes.size else table[:1]
        low += int(changes[0]) if changes.size else 0
        if FixedPoint.holding(low, low + len(table) - 1).width > _TABLE:
            return None
    entries = table[:, 0] if table.shape[1] == 1 else np.ascontiguousarray(table.T)
    # The entries are of the result's format, which an array of integers does not tell.
    return op.lookup(x, Known(x.replay, entries.astype(element.dtype), Tensor(element, entries.shape)), low=low)


def _two_lines(x: Any, steps: Steps, element: FixedPoint) -> Any:
    """A line for numbers from zero on, plus one for the differences of numbers below zero from the value at zero."""
    if not steps.low < 0 < steps.high or steps.table is None:
        return None
    # The sum of two functions, each of which is constant on the side of the other.
    middle = steps.table[-steps.low]
    below = steps._replace(table=steps.table - middle)
    sides = [part for part in (part_of(below, steps.low, 0), part_of(steps, 0, steps.high)) if part is not None]
    candidates = [line_through(side.corners) for side in sides if side.corners]
    lines = [line for line in candidates if line is not None]
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


def _rising(x: Any, signs: list[int]) -> Any:
    """Mantissas, negated in channels where the function falls."""
    if min(signs) > 0:
        return x
    element = x.type.element
    wide = FixedPoint.holding(min(element.minimum, -element.maximum), max(element.maximum, -element.minimum))
    return op.rescale(x, multiplier=_one(signs), shift=0, element=wide)


def _thresholds(steps: Steps) -> np.ndarray:
    """The number from which on each level is reached, a row a channel; beyond the greatest number if it is not."""
    levels_counted = np.arange(steps.least + 1, steps.most + 1)
    rows = []
    for corners in steps.corners:
        order = np.argsort(corners.levels, kind="stable")
        levels, reached = corners.levels[order], corners.reached[order]
        slots = np.searchsorted(levels, levels_counted)
        beyond = max(steps.high, -steps.low) + 1
        rows.append(np.append(reached, beyond)[slots])
    return np.array(rows, np.int64).reshape(len(rows), len(levels_counted))
