"""Float ops between mantissas and a quantiser are a step function of whole numbers: a line, levels, or a table."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from graphrewrite import FixedPoint, Tensor, decline, op, rule
from graphrewrite.lowering.quantised.chains import ELEMENTWISE, QUANTISERS, chain_of, quantised_as
from graphrewrite.lowering.quantised.lines import Corners, line_through
from graphrewrite.replacement import Known

__all__ = ["LOWER_STEPS", "Mantissas", "Steps", "approach_sums", "lower_steps", "rescaled", "steps_of"]

Mantissas = Annotated[
    Any, rule.where(lambda x: isinstance(x.type.element, FixedPoint), "its element type is a fixed-point format")
]
_TABLE = 12
"""Bits of a mantissa for which a function may be a table."""
_MOST_NUMBERS = 1 << 20
"""So many numbers, those of each channel counted, are all looked at."""
_MOST_LEVELS = 255
_FEW_LEVELS = 15
"""So many thresholds are no dearer than a multiplier."""


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


def steps_of(function: Any, low: int, high: int, channels: int, *, is_monotone: bool) -> Steps | str:
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
    if not is_monotone:
        return "it neither rises nor falls everywhere, and has too many operands to look at each"
    return _searched(function, low, high, channels)


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


def _searched(function: Any, low: int, high: int, channels: int) -> Steps | str:
    """Steps of a monotone function, each found by halving the interval in which it must be."""
    ends = function(np.array([[low] * channels, [high] * channels])).astype(np.int64)
    least, most = int(ends.min()), int(ends.max())
    signs = np.where(ends[1] >= ends[0], 1, -1)
    if (most - least) * channels > _MOST_NUMBERS:
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


def rescaled(x: Any, found: Steps, element: FixedPoint, *, levels: int = _MOST_LEVELS) -> Any:
    """Return integer ops that compute a step function of mantissas, or in words why there are none.

    A line if one passes all corners; else a table of up to 12 bits if channels are alike; else up to 255 levels.

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
    bounds = {
        "low": found.least if found.least > element.minimum else None,
        "high": found.most if found.most < element.maximum else None,
    }
    bounds = {name: bound for name, bound in bounds.items() if bound is not None}
    if line is not None:
        factors = [m * sign for m, sign in zip(line.multipliers, found.signs, strict=True)]
        if (factors, *line[1:]) == ([1], (0,), (0,), "down") and x.type.element == element and not bounds:
            return x
        if set(factors) == {1} and not any(line.addends) and line.rounding == "half_even":
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
    alike = found.table is not None and found.table.shape[1] == 1
    if alike and x.type.element.width <= _TABLE:
        return op.lookup(x, _as(element, found.table[:, 0], x), low=found.low)
    if not found.corners:
        return "it neither rises nor falls everywhere, which a table of up to 12 bits for all channels alike could say"
    if found.most - found.least > levels:
        return (
            f"no multiplier of 24 bits gives its {found.most - found.least + 1} levels, and thresholds do for "
            f"{_MOST_LEVELS + 1}; quantise it to 8 bits"
        )
    counted = op.integer_threshold(_turned(x, found.signs), _thresholds(found))
    return op.rescale(counted, multiplier=1, shift=0, offset=found.least, element=element)


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


def _lowered(x: Any, real: Any, run: Any, top: Any, *, precisely: bool) -> Any:
    is_sum = real.element == "f64" and [link.op_name for link in run.links[:2]] == ["mul", "cast"]
    if precisely and not is_sum:
        return decline("its operand is no sum of products", at=real)
    chain = chain_of(real, (*run.links, top))
    grid = quantised_as(top, len(x.shape))
    for reason in (chain, grid):
        if isinstance(reason, str):
            return decline(reason, at=top)
    whole, element, worth = grid
    given = x.type.element
    found = steps_of(
        lambda numbers: whole(chain.function(numbers, precisely=precisely)),
        given.minimum,
        given.maximum,
        chain.channels,
        is_monotone=chain.is_monotone,
    )
    if isinstance(found, str):
        return decline(found, at=top)
    if not element.minimum <= found.least <= found.most <= element.maximum:
        return decline(f"its values from {found.least} to {found.most} are not those of {element}", at=top)
    made = rescaled(x, found, element, levels=_FEW_LEVELS if is_sum and not precisely else _MOST_LEVELS)
    return decline(made, at=top) if isinstance(made, str) else reading(made, top, worth)


def reading(made: Any, top: Any, worth: Any) -> Any:
    """Return the values of a quantiser as they are read from whole numbers.

    Parameters
    ----------
    made : value
        The whole numbers: distances from the zero point.
    top : node of a match
        The quantiser.
    worth : ndarray, FixedPoint or None
        What one of them is worth.

    Returns
    -------
    value
    """
    if isinstance(worth, FixedPoint):
        return op.from_fixed(made, fraction=worth.fraction, element=top.type.element)
    if worth is not None:
        return op.mul(op.from_fixed(made, fraction=0, element=top.type.element), worth.astype(worth.dtype))
    real = op.from_fixed(made, fraction=0, element="f32")
    zero = top.graph.operands(top.node)[2:]
    if not zero:
        return op.quantize_linear(real, np.float32(1), element=top.type.element)
    point = top.graph.nodes[zero[0].node]["value"]
    return op.quantize_linear(real, np.ones(point.shape, np.float32), point, like=top)


@rule(shared="keep", kind="lowering")
def lower_steps(x: Mantissas, parameters):
    """What float ops and a quantiser make of mantissas is rescaled, counted by thresholds, or looked up.

    Where the result changes is found with the model's own arithmetic, and proved for each number that there is.
    """
    real = op.from_fixed(x)
    run = rule.repeated(real, lambda below, others: ELEMENTWISE(below, *others))
    stored = QUANTISERS(run, *parameters)
    yield stored
    return _lowered(x, real, run, stored, precisely=False)


@rule(keeps="assumes", shared="keep", kind="lowering")
def approach_sums(x: Mantissas, parameters):
    """Sums of products that are quantised are rescaled; assumes that rounding them to float32 before changes nothing.

    Their order, and the runtime, change those last bits as well.
    """
    real = op.from_fixed(x)
    run = rule.repeated(real, lambda below, others: ELEMENTWISE(below, *others), least=2)
    stored = QUANTISERS(run, *parameters)
    yield stored
    return _lowered(x, real, run, stored, precisely=True)


LOWER_STEPS = (lower_steps, approach_sums)
"""Float ops between mantissas and a quantiser."""
