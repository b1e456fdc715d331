"""Float ops between mantissas and a quantiser are a step function of whole numbers: a line, levels, or a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from graphrewrite import FixedPoint, decline, op, rule
from graphrewrite.lowering.composite.axes import named
from graphrewrite.lowering.quantised.chains import traced, way
from graphrewrite.lowering.quantised.functions import steps_of, within
from graphrewrite.lowering.quantised.quantisers import QUANTISERS, quantised_as
from graphrewrite.lowering.quantised.rescaling import MOST_LEVELS, rescaled
from graphrewrite.op.fixed import limits
from graphrewrite.types import element_dtype

__all__ = ["LOWER_STEPS", "NOWHERE", "Mantissas", "approach_sums", "certain", "ends_of", "lower_steps", "reading"]

Mantissas = Annotated[
    Any, rule.where(lambda x: isinstance(x.type.element, FixedPoint), "its element type is a fixed-point format")
]
NOWHERE = float(1 << 40)
"""Stands for results that are no numbers."""
_FEW_LEVELS = 15
"""So many thresholds are no dearer than a multiplier."""


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
    return np.clip(np.where(np.isnan(values), NOWHERE, values), -NOWHERE, NOWHERE).astype(np.int64)


def ends_of(x: Any) -> tuple[int, int]:
    """Return the least and the greatest mantissa that there may be: of the format, or where it was limited before.

    Parameters
    ----------
    x : value of a match
        Mantissas.

    Returns
    -------
    tuple of two int
    """
    element, low, high = x.type.element, None, None
    if x.op_name in ("clip", "requantise", "rescale", "to_fixed"):
        low, high = (x.graph.nodes[x.node].get(name) for name in ("low", "high"))
    elif x.op_name == "relu":
        low = 0
    return limits(element, None if low is None else int(low), None if high is None else int(high))


def _lowered(x: Any, real: Any, top: Any, *, precisely: bool, links: Sequence[Any] = ()) -> Any:
    is_sum = real.element == "f64" and [link.op_name for link in links[:2]] == ["mul", "cast"]
    if precisely and not is_sum:
        return decline("its operand is no sum of products", at=real)
    function, grid = traced(x, real, top), quantised_as(top, len(x.shape))
    if isinstance(function, str):
        return decline(function, at=top)
    if isinstance(grid, str):
        return decline(grid, at=top)
    x, chain = function
    whole, element, worth = grid
    found = steps_of(
        lambda numbers: certain(whole(chain.function(numbers, precisely=precisely))),
        *ends_of(x),
        chain.channels,
        is_monotone=chain.is_monotone,
    )
    if isinstance(found, str):
        return decline(found, at=top)
    if found.most >= NOWHERE:
        return decline("for some of its operands it has no value (NaN); op.clip keeps them where it has one", at=top)
    if not element.minimum <= found.least <= found.most <= element.maximum:
        return decline(f"its values from {found.least} to {found.most} are not those of {element}", at=top)
    if top.op_name == "trunc":
        element = FixedPoint.holding(min(0, found.least), max(1, found.most))
    found = within(found, *_reach(x))
    made = rescaled(x, found, element, levels=_FEW_LEVELS if is_sum and not precisely else MOST_LEVELS)
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
    run = rule.repeated(real, way)
    stored = QUANTISERS(run, *parameters)
    yield stored
    return _lowered(x, real, stored, precisely=False, links=run.links)


@rule(keeps="assumes", shared="keep", kind="lowering")
def approach_sums(x: Mantissas, parameters):
    """Sums of products that are quantised are rescaled; assumes that rounding them to float32 before changes nothing.

    Their order, and the runtime, change those last bits as well.
    """
    real = op.from_fixed(x)
    run = rule.repeated(real, way, least=2)
    stored = QUANTISERS(run, *parameters)
    yield stored
    return _lowered(x, real, stored, precisely=True, links=run.links)


LOWER_STEPS = (lower_steps, approach_sums)
"""Float ops between mantissas and a quantiser."""
