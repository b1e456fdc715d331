"""Where quantised numbers come from: the model's inputs, and numbers that are stored with a zero point."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.quantised.chains import quantised_as
from graphrewrite.lowering.quantised.steps import is_stored, reading

__all__ = ["ENTER_QUANTISED", "enter_bipolar", "enter_quantised", "enter_stored", "read_stored"]

Mantissas = Annotated[
    Any, rule.where(lambda x: isinstance(x.type.element, FixedPoint), "its element type is a fixed-point format")
]
_GIVEN = ("input", "transpose", "reshape", "flatten", "cast", "name_axes")
Given = Annotated[Any, rule.where(lambda x: x.op_name in _GIVEN, "it is an input of the model")]


def _entered(x: Any, s: Any, top: Any) -> Any:
    """What comes in is divided by its scale, rounded, and limited to the distances from the zero point."""
    grid = quantised_as(top, len(x.shape))
    if isinstance(grid, str):
        return decline(grid, at=top)
    _, element, worth = grid
    low, high = element.minimum, element.maximum
    return reading(op.to_fixed(op.div(x, s.value), element=element, low=low, high=high), top, worth)


def _single(*constants: Any) -> bool:
    return all(c is None or c.value.size == 1 for c in constants)


@rule(keeps="assumes", kind="lowering")
def enter_stored(x: Given, s: Constant, z: Constant | None = None):
    """An input that is stored with a zero point becomes its distance from it; assumes that no input is NaN."""
    top = op.quantize_linear(x, s, z)
    yield top
    if not _single(s, z) or (s.value <= 0).any():
        return decline("its scale or zero point differs from channel to channel", at=top)
    found = quantised_as(top, len(x.shape))
    if isinstance(found, str):
        return decline(found, at=top)
    limits = _limits(top, 0 if z is None else int(z.value.ravel()[0]))
    ratio = op.div(x, s.value.reshape(()))
    return reading(op.to_fixed(ratio, element=found[1], **limits), top, None)


def _limits(top: Any, zero: int) -> dict[str, int]:
    from graphrewrite.types import integer_limits

    low, high = integer_limits(top.type.element) or (0, 0)
    element = FixedPoint.holding(min(0, low - zero), high - zero)
    found = {"low": low - zero, "high": high - zero}
    return {k: v for k, v in found.items() if v != (element.minimum if k == "low" else element.maximum)}


@rule(keeps="assumes", kind="lowering")
def enter_quantised(x: Given, s: Constant, z: Constant, bits: Constant):
    """An input of a quantised network is divided by its scale, rounded and limited; assumes that none is NaN."""
    top = op.quant(x, s, z, bits)
    yield top
    found = quantised_as(top, len(x.shape))
    if isinstance(found, str):
        return decline(found, at=top)
    if (z.value != 0).any() or top.rounding_mode.upper() not in ("ROUND", "HALF_EVEN") or (s.value <= 0).any():
        return decline("its zero point is not 0, or it is not rounded half to even", at=top)
    width = int(bits.value.ravel()[0])
    if width == 1 and top.signed:
        return decline("of one bit with a sign, which has no zero", at=top)
    _, element, worth = found
    most = (1 << (width - bool(top.signed))) - 1 - (top.narrow and not top.signed)
    least = -most if top.narrow and top.signed else element.minimum
    bounds = {"low": least} if least != element.minimum else {}
    bounds |= {"high": most} if most != element.maximum else {}
    return reading(op.to_fixed(op.div(x, s.value), element=element, **bounds), top, worth)


@rule(keeps="assumes", kind="lowering")
def enter_bipolar(x: Given, s: Constant):
    """An input of a binary network is 1 from zero on, and -1 below; assumes that none is NaN."""
    top = op.bipolar_quant(x, s)
    yield top
    found = quantised_as(top, len(x.shape))
    if isinstance(found, str):
        return decline(found, at=top)
    sign = op.where(op.greater_or_equal(x, 0), np.ones((), x_dtype(x)), -np.ones((), x_dtype(x)))
    return reading(op.to_fixed(sign, element=FixedPoint(True, 2)), top, s.value)


def x_dtype(x: Any) -> Any:
    """Return the dtype of a value's numbers."""
    from graphrewrite.types import element_dtype

    return element_dtype(x.type.element)


@rule(shared="keep")
def read_stored(
    x: Mantissas, one: Constant, z: Constant | None = None, s: Constant = None, zero: Constant | None = None
):
    """Stored numbers less the zero point that they were given, times a scale, are scaled mantissas."""
    stored = op.quantize_linear(op.from_fixed(x), one, z)
    real = op.dequantize_linear(stored, s, zero)
    yield real
    return decline("todo")


ENTER_QUANTISED = (enter_stored, enter_quantised, enter_bipolar, read_stored)
"""Where quantised numbers come from."""
