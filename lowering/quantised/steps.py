"""Float ops between mantissas and a quantiser are a step function of whole numbers: a line, levels, or a table."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import FixedPoint, Tensor, decline, op, rule
from graphrewrite.lowering.composite.axes import named
from graphrewrite.lowering.quantised.chains import QUANTISERS, chain_of, link, quantised_as
from graphrewrite.lowering.quantised.functions import Steps, steps_of, within
from graphrewrite.lowering.quantised.lines import line_through
from graphrewrite.replacement import Known
from graphrewrite.types import element_dtype

__all__ = ["LOWER_STEPS", "Mantissas", "approach_sums", "certain", "lower_steps", "reading", "rescaled"]

Mantissas = Annotated[
    Any, rule.where(lambda x: isinstance(x.type.element, FixedPoint), "its element type is a fixed-point format")
]
_NOWHERE = float(1 << 40)
_TABLE = 12
"""Bits of a mantissa for which a function may be a table."""
_MOST_LEVELS = 255
_FEW_LEVELS = 15
"""So many thresholds are no dearer than a multiplier."""


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
    table = found.table
    if table is not None and table.shape[1] == 1 and x.type.element.width <= _TABLE:
        return op.lookup(x, _as(element, table[:, 0], x), low=found.low)
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


def _reach(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest number of each channel: of sums, what weights and their operand's format tell."""
    element = x.type.element
    if x.op_name not in ("integer_linear", "integer_conv"):
        return np.array([element.minimum]), np.array([element.maximum])
    given, w, b = (
        x.graph.nodes[o.node] if i else x.graph.result_type(*o) for i, o in enumerate(x.graph.operands(x.node))
    )
    if not isinstance(given.element, FixedPoint) or "value" not in w or "value" not in b:
        return np.array([element.minimum]), np.array([element.maximum])
    rows = w["value"].astype(np.int64).reshape(len(w["value"]), -1)
    ends = rows * given.element.minimum, rows * given.element.maximum
    # In a border the operand of a convolution is zero.
    low, high = (np.minimum(np.minimum(*ends), 0).sum(axis=1), np.maximum(np.maximum(*ends), 0).sum(axis=1))
    return low + b["value"], high + b["value"]


def certain(values: np.ndarray) -> np.ndarray:
    """Return results as whole numbers; what is none is one that no format of 16 bits holds.

    Parameters
    ----------
    values : ndarray
        Whole numbers, infinities, NaN.

    Returns
    -------
    ndarray of int64

    Examples
    --------
    >>> certain(np.array([3.0, np.nan])).tolist()
    [3, 1099511627776]
    """
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    return np.clip(np.where(np.isnan(values), _NOWHERE, values), -_NOWHERE, _NOWHERE).astype(np.int64)


def _lowered(x: Any, real: Any, run: Any, top: Any, *, precisely: bool) -> Any:
    is_sum = real.element == "f64" and [link.op_name for link in run.links[:2]] == ["mul", "cast"]
    if precisely and not is_sum:
        return decline("its operand is no sum of products", at=real)
    chain = chain_of(real, (*run.links, top))
    grid = quantised_as(top, len(x.shape))
    if isinstance(chain, str):
        return decline(chain, at=top)
    if isinstance(grid, str):
        return decline(grid, at=top)
    whole, element, worth = grid
    given = x.type.element
    found = steps_of(
        lambda numbers: certain(whole(chain.function(numbers, precisely=precisely))),
        given.minimum,
        given.maximum,
        chain.channels,
        is_monotone=chain.is_monotone,
    )
    if isinstance(found, str):
        return decline(found, at=top)
    if not element.minimum <= found.least <= found.most <= element.maximum:
        return decline(f"its values from {found.least} to {found.most} are not those of {element}", at=top)
    found = within(found, *_reach(x))
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
        return named(op.from_fixed(made, fraction=worth.fraction, element=top.type.element), top)
    if worth is not None:
        if worth.dtype != element_dtype(top.type.element):
            return decline(f"its scale is of {worth.dtype}, and not of {top.type.element} as its result", at=top)
        return named(op.mul(op.from_fixed(made, fraction=0, element=top.type.element), worth), top)
    real = op.from_fixed(made, fraction=0, element="f32")
    zero = top.graph.operands(top.node)[2:]
    if not zero:
        return named(op.quantize_linear(real, np.float32(1), element=top.type.element), top)
    point = top.graph.nodes[zero[0].node]["value"]
    return named(op.quantize_linear(real, np.ones(point.shape, np.float32), point, like=top), top)


@rule(shared="keep", kind="lowering")
def lower_steps(x: Mantissas, parameters):
    """What float ops and a quantiser make of mantissas is rescaled, counted by thresholds, or looked up.

    Where the result changes is found with the model's own arithmetic, and proved for each number that there is.
    """
    real = op.from_fixed(x)
    run = rule.repeated(real, link)
    stored = QUANTISERS(run, *parameters)
    yield stored
    return _lowered(x, real, run, stored, precisely=False)


@rule(keeps="assumes", shared="keep", kind="lowering")
def approach_sums(x: Mantissas, parameters):
    """Sums of products that are quantised are rescaled; assumes that rounding them to float32 before changes nothing.

    Their order, and the runtime, change those last bits as well.
    """
    real = op.from_fixed(x)
    run = rule.repeated(real, link, least=2)
    stored = QUANTISERS(run, *parameters)
    yield stored
    return _lowered(x, real, run, stored, precisely=True)


LOWER_STEPS = (lower_steps, approach_sums)
"""Float ops between mantissas and a quantiser."""
