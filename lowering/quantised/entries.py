"""Where quantised numbers come from: the model's inputs, and numbers that are stored with a zero point."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.quantised.chains import ONE_BY_ONE
from graphrewrite.lowering.quantised.quantisers import quantised_as
from graphrewrite.lowering.quantised.steps import Mantissas, reading
from graphrewrite.types import element_dtype, integer_limits

__all__ = [
    "ENTER_QUANTISED",
    "distances",
    "enter_bipolar",
    "enter_quantised",
    "enter_stored",
    "enter_thresholds",
    "read_stored",
    "zero_of",
]

_BEFORE = {"FLOOR": op.floor, "CEIL": op.ceil}
"""What the host does before it rounds half to even."""
_ROUNDINGS = ("ROUND", "HALF_EVEN", *_BEFORE)
_MOVED = ("transpose", "reshape", "flatten", "squeeze", "unsqueeze", "name_axes")


def _is_given(x: Any) -> bool:
    """Tell whether a value is an input, or what the host makes of one: it moves axes and computes number by number."""
    graph, above = x.graph, [x.node]
    for node in above:
        if graph.nodes[node]["type"] in (*_MOVED, *ONE_BY_ONE):
            above.extend(o.node for o in graph.operands(node) if o.node not in above)
        elif graph.nodes[node]["type"] not in ("input", "constant"):
            return False
    found = {graph.nodes[node]["type"] for node in above}
    return "input" in found and x.type.element in ("f32", "f64")


Given = Annotated[
    Any, rule.where(_is_given, "it is an input of floats, or one that is moved or computed number by number")
]


def zero_of(z: Any) -> int | None:
    """Return a zero point as a number, 0 where there is none; None where there are several.

    Parameters
    ----------
    z : constant of a match, or None
        The operand.
    """
    if z is None:
        return 0
    return int(z.value.ravel()[0]) if z.value.size and (z.value == z.value.ravel()[0]).all() else None


def distances(x: Any, real: Any, one: Any, z: Any, stored: Any, zero: Any) -> str:
    """Return why the distance of stored numbers from a zero point are not the mantissas of which they were made.

    Parameters
    ----------
    x : value of a match
        Mantissas.
    real, stored : nodes of a match
        The ``from_fixed`` that reads them, and the ``quantize_linear`` that adds a zero point.
    one, z : constants of a match
        Its scale and zero point.
    zero : constant of a match, or None
        The zero point that is taken from the stored numbers.

    Returns
    -------
    str
        Empty if they are.
    """
    given, taken = zero_of(z), zero_of(zero)
    if real.fraction != 0 or (one.value != 1).any():
        return "it is scaled before it is stored"
    if given is None or given != taken:
        return "its zero points are not one number, or not the one with which it was stored"
    low, high = integer_limits(stored.type.element) or (0, 0)
    element = x.type.element
    if element.minimum + given < low or element.maximum + given > high or element.width > 24:
        # Limits of the mantissas may be tighter than their format; those of the storage are.
        return (
            ""
            if _fits(element, given, low, high)
            else f"{stored.type.element} does not store every number of {element}"
        )
    return ""


def _fits(element: FixedPoint, zero: int, low: int, high: int) -> bool:
    """Whether a format is the narrowest one for the distances of stored numbers from their zero point."""
    return FixedPoint.holding(min(0, low - zero), high - zero) == element


@rule(keeps="assumes", kind="lowering")
def enter_stored(x: Given, s: Constant, z: Constant | None = None):
    """An input that is stored with a zero point becomes its distance from it; assumes that no input is NaN."""
    top = op.quantize_linear(x, s, z)
    yield top
    found, zero = quantised_as(top, len(x.shape)), zero_of(z)
    if isinstance(found, str):
        return decline(found, at=top)
    if zero is None or s.value.size != 1 or (s.value <= 0).any():
        return decline("its scale or zero point differs from channel to channel", at=top)
    if s.type.element != x.type.element:
        return decline(f"its scale is {s.type.element}, and what is divided by it {x.type.element}", at=s)
    low, high = integer_limits(top.type.element) or (0, 0)
    return reading(_entered(x, s.value.reshape(()), found[1], low - zero, high - zero), top, None)


def _entered(x: Any, scale: np.ndarray, element: FixedPoint, low: int, high: int) -> Any:
    return _limited(x if (scale == 1).all() else op.div(x, scale), element, low, high)


def _limited(ratio: Any, element: FixedPoint, low: int, high: int) -> Any:
    bounds = {"low": low, "high": high}
    own = {"low": element.minimum, "high": element.maximum}
    return op.to_fixed(ratio, element=element, **{k: v for k, v in bounds.items() if v != own[k]})


@rule(keeps="assumes", kind="lowering")
def enter_quantised(x: Given, s: Constant, z: Constant, bits: Constant):
    """An input of a quantised network is divided by its scale, rounded and limited; assumes that none is NaN."""
    top = op.quant(x, s, z, bits)
    yield top
    found = quantised_as(top, len(x.shape))
    if isinstance(found, str):
        return decline(found, at=top)
    rounded, zero = top.rounding_mode.upper(), zero_of(z)
    if rounded not in _ROUNDINGS or (s.value <= 0).any():
        return decline(f"its scale is not positive, or it is rounded {rounded}, not {', '.join(_ROUNDINGS)}", at=top)
    width = int(bits.value.ravel()[0])
    if s.type.element != x.type.element:
        return decline(f"its scale is {s.type.element}, and what is divided by it {x.type.element}", at=s)
    if width == 1 and top.signed:
        return decline("a number of one bit with a sign is -1 or 1; bipolar_quant says so", at=top)
    _, element, worth = found
    high = (1 << (width - bool(top.signed))) - 1 - (top.narrow and not top.signed)
    low = -high if top.narrow and top.signed else -(1 << (width - 1)) if top.signed else 0
    ratio = x if (s.value == 1).all() else op.div(x, s)
    if zero:
        ratio = op.add(ratio, np.asarray(zero, element_dtype(x.type.element)))
    if rounded in _BEFORE:
        ratio = _BEFORE[rounded](ratio)
    made = _limited(ratio, FixedPoint.holding(min(0, low), max(1, high)) if zero else element, low, high)
    return reading(op.rescale(made, multiplier=1, shift=0, addend=-zero, element=element) if zero else made, top, worth)


@rule(keeps="assumes", kind="lowering")
def enter_bipolar(x: Given, s: Constant):
    """An input of a binary network is 1 from zero on, and -1 below: twice a bit, less one; assumes that none is NaN."""
    top = op.bipolar_quant(x, s)
    yield top
    found = quantised_as(top, len(x.shape))
    if isinstance(found, str):
        return decline(found, at=top)
    one, other = (np.asarray(each, element_dtype(x.type.element)) for each in (1, 0))
    bit = op.to_fixed(op.where(op.greater_or_equal(x, 0), one, other), element=FixedPoint(False, 1))
    return reading(op.rescale(bit, multiplier=2, shift=0, addend=-1, element=found[1], low=-1), top, s.value)


@rule(keeps="assumes", kind="lowering")
def enter_thresholds(x: Given, t: Constant):
    """The host counts the thresholds that an input reaches; assumes that none is NaN."""
    top = op.multi_threshold(x, t)
    yield top
    if {top.graph.nodes[n]["type"] for n in top.graph.successors(top.node)} == {"to_fixed"}:
        return decline("the host counts already", at=top)
    found, most = quantised_as(top, len(x.shape)), int(t.shape[1])
    if isinstance(found, str):
        return decline(found, at=top)
    whole, element, worth = found
    counted = op.to_fixed(op.multi_threshold(x, t, data_layout=top.data_layout), element=FixedPoint.holding(0, most))
    ends = whole(np.asarray(top.out_bias) + np.asarray(top.out_scale) * np.arange(2))
    first, step = int(ends[0]), int(ends[1] - ends[0])
    return reading(op.rescale(counted, multiplier=step, shift=0, addend=first, element=element), top, worth)


@rule(shared="keep")
def read_stored(x: Mantissas, one: Constant, s: Constant, z: Constant | None = None, zero: Constant | None = None):
    """Stored numbers less the zero point that they were given, times a scale, are scaled mantissas."""
    whole = op.from_fixed(x)
    stored = op.quantize_linear(whole, one, z)
    real = op.dequantize_linear(stored, s, zero)
    yield real
    if reason := distances(x, whole, one, z, stored, zero):
        return decline(reason, at=stored)
    axis, rank = real.axis % max(1, len(x.shape)), len(x.shape)
    if real.block_size or (s.value.size != 1 and axis != 1) or (s.value <= 0).any():
        return decline("its scale differs along other axes than the channels, or is not positive", at=real)
    scale = s.value.reshape(() if s.value.size == 1 else (-1, *[1] * (rank - 2)))
    if s.type.element not in ("f32", "f64") or real.type.element != s.type.element:
        return decline(f"its scale is {s.type.element}", at=s)
    return op.mul(op.from_fixed(x, fraction=0, element=real.type.element), scale)


ENTER_QUANTISED = (enter_stored, enter_quantised, enter_bipolar, enter_thresholds, read_stored)
"""Where quantised numbers come from."""
