"""Sources of quantised numbers: the model's inputs, and integers stored with a zero point."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.matched_operands import REARRANGING, Mantissas, computed_from_inputs
from graphrewrite.lowering.prequantised.elementwise_chains import ONE_BY_ONE
from graphrewrite.lowering.prequantised.quantisers import quantised_as
from graphrewrite.lowering.prequantised.rescaling import limits_within
from graphrewrite.lowering.prequantised.step_lowering import reading
from graphrewrite.rules.operands import first_operand
from graphrewrite.types import element_dtype, integer_limits

__all__ = ["DIGITS", "ENTER_QUANTISED", "distances", "zero_of"]

_BEFORE = {"FLOOR": op.floor, "CEIL": op.ceil}
"""Ops of the host before it rounds half to even."""
_ROUNDINGS = ("ROUND", "HALF_EVEN", *_BEFORE)


def _is_computed_by_host(x: Any) -> bool:
    """Tell whether a value is computed from float inputs by data movement and elementwise ops, which the host does."""
    return x.type.element in ("f32", "f64") and computed_from_inputs(x, (*REARRANGING, *ONE_BY_ONE, "round_half_away"))


HostValue = Annotated[
    Any, rule.where(_is_computed_by_host, "it is an input of floats, or one that is moved or computed number by number")
]


def zero_of(z: Any) -> int | None:
    """Return a zero point as an integer, 0 if missing; None if it is not one number."""
    if z is None:
        return 0
    return int(z.value.ravel()[0]) if z.value.size and (z.value == z.value.ravel()[0]).all() else None


DIGITS = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}
"""Bits of the whole numbers that floats hold."""


def distances(x: Any, z: Any, stored: Any, zero: Any) -> str:
    """Return why stored integers less ``zero`` are not the mantissas ``x`` that they were made of, or an empty text."""
    zero_point = zero_of(z)
    if zero_point is None or zero_point != zero_of(zero):
        return "its zero points are not one number, or not the one with which it was stored"
    low, high = integer_limits(stored.type.element) or (0, 0)
    element, real = x.type.element, first_operand(stored).type.element
    if element.width > DIGITS.get(real, 0):
        return f"{real} does not hold every number of {element}"
    known = x.fact()
    if low <= known.low + zero_point and known.high + zero_point <= high:
        return ""
    return f"{stored.type.element} does not store every number of {element}; known is: {known}"


@rule(keeps="assumes", kind="lowering")
def enter_stored(x: HostValue, s: Constant, z: Constant | None = None):
    """An input that is stored with a zero point becomes its distance from it; assumes that no input is NaN."""
    top = op.quantize_linear(x, s, z)
    yield top
    grid, zero = quantised_as(top, len(x.shape)), zero_of(z)
    if isinstance(grid, str):
        return decline(grid, at=top)
    if zero is None or s.value.size != 1 or (s.value <= 0).any():
        return decline("its scale or zero point differs from channel to channel", at=top)
    if s.type.element != x.type.element:
        return decline(f"its scale is {s.type.element}, and its operand {x.type.element}", at=s)
    low, high = integer_limits(top.type.element) or (0, 0)
    ratio = x if (s.value == 1).all() else op.div(x, s.value.reshape(()))
    return reading(_limited(ratio, grid[1], low - zero, high - zero), top, None)


def _limited(ratio: Any, element: FixedPoint, low: int, high: int) -> Any:
    return op.to_fixed(ratio, element=element, **limits_within(element, low, high))


@rule(keeps="assumes", kind="lowering")
def enter_quantised(x: HostValue, s: Constant, z: Constant, bits: Constant):
    """An input of a quantised network is divided by its scale, rounded and limited; assumes that none is NaN."""
    top = op.quant(x, s, z, bits)
    yield top
    grid = quantised_as(top, len(x.shape))
    if isinstance(grid, str):
        return decline(grid, at=top)
    rounded, zero = top.rounding_mode.upper(), zero_of(z)
    if rounded not in _ROUNDINGS or (s.value <= 0).any():
        return decline(f"its scale is not positive, or it is rounded {rounded}, not {', '.join(_ROUNDINGS)}", at=top)
    width = int(bits.value.ravel()[0])
    if s.type.element != x.type.element:
        return decline(f"its scale is {s.type.element}, and its operand {x.type.element}", at=s)
    if width == 1 and top.signed:
        return decline("signed numbers of one bit are -1 and 1; use bipolar_quant", at=top)
    _, element, worth = grid
    high = (1 << (width - bool(top.signed))) - 1 - (top.narrow and not top.signed)
    low = -high if top.narrow and top.signed else -(1 << (width - 1)) if top.signed else 0
    ratio = x if (s.value == 1).all() else op.div(x, s)
    if zero:
        # The zero point comes before rounding, as in the model: ties then fall to the same side.
        ratio = op.add(ratio, np.asarray(zero, element_dtype(x.type.element)))
    if rounded in _BEFORE:
        ratio = _BEFORE[rounded](ratio)
    limited = _limited(ratio, FixedPoint.holding(min(0, low), max(1, high)) if zero else element, low, high)
    whole = op.rescale(limited, multiplier=1, shift=0, addend=-zero, element=element) if zero else limited
    return reading(whole, top, worth)


@rule(keeps="assumes", kind="lowering")
def enter_bipolar(x: HostValue, s: Constant):
    """An input of a binary network is 1 from zero on, and -1 below: twice a bit, less one; assumes that none is NaN."""
    top = op.bipolar_quant(x, s)
    yield top
    grid = quantised_as(top, len(x.shape))
    if isinstance(grid, str):
        return decline(grid, at=top)
    one, other = (np.asarray(each, element_dtype(x.type.element)) for each in (1, 0))
    bit = op.to_fixed(op.where(op.greater_or_equal(x, 0), one, other), element=FixedPoint(False, 1))
    return reading(op.rescale(bit, multiplier=2, shift=0, addend=-1, element=grid[1], low=-1), top, s.value)


@rule(keeps="assumes", kind="lowering")
def enter_thresholds(x: HostValue, t: Constant):
    """The host counts the thresholds that an input reaches; assumes that none is NaN."""
    top = op.multi_threshold(x, t)
    yield top
    if {top.graph.nodes[n]["type"] for n in top.graph.successors(top.node)} == {"to_fixed"}:
        return decline("the host counts already", at=top)
    grid, most = quantised_as(top, len(x.shape)), int(t.shape[1])
    if isinstance(grid, str):
        return decline(grid, at=top)
    whole, element, worth = grid
    counted = op.to_fixed(op.multi_threshold(x, t, data_layout=top.data_layout), element=FixedPoint.holding(0, most))
    ends = whole(np.asarray(top.out_bias) + np.asarray(top.out_scale) * np.arange(2))
    first, step = int(ends[0]), int(ends[1] - ends[0])
    return reading(op.rescale(counted, multiplier=step, shift=0, addend=first, element=element), top, worth)


@rule(shared="keep")
def read_stored(x: Mantissas, s: Constant, z: Constant | None = None, zero: Constant | None = None):
    """Stored numbers less the zero point that they were given, times a scale, are scaled mantissas."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    real = op.dequantize_linear(stored, s, zero)
    yield real
    if reason := distances(x, z, stored, zero):
        return decline(reason, at=stored)
    axis, rank = real.axis % max(1, len(x.shape)), len(x.shape)
    if real.block_size or (s.value.size != 1 and axis != 1) or (s.value <= 0).any():
        return decline("its scale differs along other axes than the channels, or is not positive", at=real)
    scale = s.value.reshape(() if s.value.size == 1 else (-1, *[1] * (rank - 2)))
    if s.type.element not in ("f32", "f64") or real.type.element != s.type.element:
        return decline(f"its scale is {s.type.element}", at=s)
    return op.mul(op.from_fixed(x, fraction=0, element=real.type.element), scale)


ENTER_QUANTISED = (enter_stored, enter_quantised, enter_bipolar, enter_thresholds, read_stored)
"""Sources of quantised numbers."""
