"""Lowering of float ops between mantissas and a quantiser, which are a step function of integers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import FixedPoint, decline, op, rule
from graphrewrite.lowering.composite.axes import named
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.prequantised.elementwise_chains import traced, way
from graphrewrite.lowering.prequantised.quantisers import QUANTISERS, quantised_as
from graphrewrite.lowering.prequantised.rescaling import FEW_STEPS, MOST_LEVELS, rescaled
from graphrewrite.lowering.prequantised.step_functions import steps_of, within
from graphrewrite.op.integer.fixed_point import limits
from graphrewrite.types import element_dtype

__all__ = ["LOWER_STEPS", "NOWHERE", "certain", "ends_of", "reach_of", "reading"]

NOWHERE = float(1 << 40)
"""Replacement for NaN results."""
_FEW_LEVELS = 15
"""Thresholds that cost no more than a multiplier."""


def reach_of(x: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of each channel; those of sums follow from weights and the operand's format."""
    element = x.type.element
    if x.op_name not in ("integer_linear", "integer_conv"):
        return np.array([element.minimum]), np.array([element.maximum])
    operand, *parameters = x.graph.operands(x.node)
    operand_format, (w, b) = x.graph.result_type(*operand).element, (x.graph.nodes[o.node] for o in parameters)
    if not isinstance(operand_format, FixedPoint) or "value" not in w or "value" not in b:
        return np.array([element.minimum]), np.array([element.maximum])
    rows = w["value"].astype(np.int64).reshape(len(w["value"]), -1)
    ends = rows * operand_format.minimum, rows * operand_format.maximum
    # In a border the operand of a convolution is zero.
    low, high = (np.minimum(np.minimum(*ends), 0).sum(axis=1), np.maximum(np.maximum(*ends), 0).sum(axis=1))
    return low + b["value"], high + b["value"]


def certain(values: np.ndarray) -> np.ndarray:
    """Return results as int64; NaN and infinities become numbers that no format of 16 bits holds.

    Examples
    --------
    >>> certain(np.array([3.0, np.nan])).tolist()
    [3, 1099511627776]
    """
    if values.dtype.kind != "f":
        return values.astype(np.int64)
    return np.clip(np.where(np.isnan(values), NOWHERE, values), -NOWHERE, NOWHERE).astype(np.int64)


def ends_of(x: Any) -> tuple[int, int]:
    """Return the least and the greatest possible mantissa: of the format, or of the limits of the op that gives it."""
    element, low, high = x.type.element, None, None
    if x.op_name in ("clip", "requantise", "rescale", "to_fixed"):
        low, high = (x.graph.nodes[x.node].get(name) for name in ("low", "high"))
    elif x.op_name == "relu":
        low = 0
    return limits(element, None if low is None else int(low), None if high is None else int(high))


def _lowered(x: Any, real: Any, top: Any, *, precisely: bool, links: Sequence[Any] = ()) -> Any:
    # Layers leave their sums in float64, scaled and cast: `_layer` writes them so.
    is_sum = real.element == "f64" and [link.op_name for link in links[:2]] == ["mul", "cast"]
    if precisely and not is_sum:
        return decline("its operand is not a sum of products", at=real)
    function, grid = traced(x, real, top), quantised_as(top, len(x.shape))
    if isinstance(function, str):
        return decline(function, at=top)
    if isinstance(grid, str):
        return decline(grid, at=top)
    x, chain = function
    whole, element, worth = grid
    steps = steps_of(
        lambda numbers: certain(whole(chain.function(numbers, precisely=precisely))),
        *ends_of(x),
        chain.channels,
        is_monotone=chain.is_monotone,
    )
    if isinstance(steps, str):
        return decline(steps, at=top)
    if steps.most >= NOWHERE:
        return decline("for some of its operands it has no value (NaN); op.clip keeps them where it has one", at=top)
    if not element.minimum <= steps.least <= steps.most <= element.maximum:
        return decline(f"its values from {steps.least} to {steps.most} do not fit {element}", at=top)
    if top.op_name == "trunc":
        element = FixedPoint.holding(min(0, steps.least), max(1, steps.most))
    elif worth is None and steps.most - steps.least <= FEW_STEPS:
        element = FixedPoint.holding(min(0, steps.least), max(1, steps.most))  # signs that are stored in bytes
    # Sums reach fewer numbers than their format has: corners beyond them would narrow the choice of multipliers.
    steps = within(steps, *reach_of(x))
    # Exact sums become thresholds only where these are cheap: else `approach_sums`, which may ignore the rounding of
    # the sum to float32, finds a multiplier.
    result = rescaled(x, steps, element, levels=_FEW_LEVELS if is_sum and not precisely else MOST_LEVELS)
    return decline(result, at=top) if isinstance(result, str) else reading(result, top, worth)


def reading(mantissas: Any, top: Any, worth: Any) -> Any:
    """Return a quantiser's values as read from mantissas; ``worth`` is the last result of `quantised_as`."""
    if isinstance(worth, FixedPoint):
        return named(op.from_fixed(mantissas, fraction=worth.fraction, element=top.type.element), top)
    if worth is not None:
        if worth.dtype != element_dtype(top.type.element):
            return decline(f"its scale is of {worth.dtype}, and not of {top.type.element} as its result", at=top)
        return named(op.mul(op.from_fixed(mantissas, fraction=0, element=top.type.element), worth), top)
    real = op.from_fixed(mantissas, fraction=0, element="f32")
    zero = top.graph.operands(top.node)[2:]
    if not zero:
        return named(op.quantize_linear(real, np.float32(1), element=top.type.element), top)
    point = top.graph.nodes[zero[0].node]["value"]
    return named(op.quantize_linear(real, np.ones(point.shape, np.float32), point, like=top), top)


@rule(shared="keep", kind="lowering")
def lower_steps(x: Mantissas, parameters):
    """Float ops and a quantiser on mantissas are a rescaling, a count of thresholds, or a table.

    Its steps are found with the model's own arithmetic, and proved for each number that there is.
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
