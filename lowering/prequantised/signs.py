"""Signs of sums are comparisons of plain sums; layers of signs count."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.prequantised.layers import accumulated
from graphrewrite.lowering.prequantised.quantised_inputs import HostValue
from graphrewrite.lowering.prequantised.quantisers import quantised_as
from graphrewrite.lowering.prequantised.rescaling import FEW_STEPS, counted
from graphrewrite.lowering.prequantised.step_lowering import reading
from graphrewrite.op.integer.fixed_point import limits
from graphrewrite.rules.operands import first_operand
from graphrewrite.types import element_kind

__all__ = ["COMPARE_SUMS", "COMPARISONS_AS_SIGNS", "COUNT_SIGNS"]

_GAIN = 1 << 28
"""Exclusive bound of a factor of counts."""
_CARRYING = frozenset({"reshape", "transpose", "max_pool", "slice", "tile", "channel_shuffle"})
"""Ops whose results are entries of their operand."""


@rule(keeps="assumes")
def write_comparison_as_sign(x, zero: Constant, one: Constant, other: Constant):
    """A number or its negative, as another one is above zero or not, is a sign that is never 0; assumes no NaN."""
    above = (op.greater_or_equal | op.greater)(x, zero)
    choice = op.where(above, one, other)
    yield choice
    return _sign(x, zero, choice, one, other, is_zero_high=above.op_name == "greater_or_equal")


@rule(keeps="assumes")
def write_inverse_comparison_as_sign(x, zero: Constant, one: Constant, other: Constant):
    """So is its negative or itself, as another one is below zero or not; assumes no NaN."""
    below = (op.less_or_equal | op.less)(x, zero)
    choice = op.where(below, one, other)
    yield choice
    return _sign(x, zero, choice, other, one, is_zero_high=below.op_name == "less")


def _sign(x: Any, zero: Any, choice: Any, high: Any, low: Any, *, is_zero_high: bool) -> Any:
    """A choice between a number and its negative: the sign of a sign that is moved off zero."""
    if element_kind(x.type.element) != "float" or x.type != choice.type or zero.value.any():
        return decline("it compares no floats of its own type and shape with 0", at=choice)
    sizes = {c.value.size for c in (high, low)}
    if sizes != {1} or not np.isfinite(high.value).all() or (high.value.ravel() != -low.value.ravel()).any():
        return decline("it chooses between other numbers than one and its negative", at=choice)
    if not high.value.all():
        return decline("it chooses between zeros", at=choice)
    half = high.value.dtype.type(0.5 if is_zero_high else -0.5)
    sign = op.sign(op.add(op.sign(x), half))
    return sign if (high.value == 1).all() else op.mul(sign, high.value.reshape(()))


COMPARISONS_AS_SIGNS = (write_comparison_as_sign, write_inverse_comparison_as_sign)
"""Choices by a comparison with 0, before anything is lowered."""


@rule(keeps="assumes", kind="lowering")
def enter_sign(x: HostValue):
    """The host takes the signs of an input; assumes that none is NaN."""
    sign = op.sign(x)
    yield sign
    grid = quantised_as(sign, len(x.shape))
    if isinstance(grid, str):
        return decline(grid, at=sign)
    if {sign.graph.nodes[n]["type"] for n in sign.graph.successors(sign.node)} == {"to_fixed"}:
        return decline("the host takes them already", at=sign)
    # Two bits may be -2 as well: hardware that relies on signs limits what comes in.
    given = op.to_fixed(op.sign(x), element=grid[1])
    return reading(op.requantise(given, shift=0, element=grid[1], low=-1), sign, grid[2])


def _is_odd(x: Any) -> bool:
    """Tell whether mantissas are certainly -1 or 1, and never 0."""
    while x.op_name in _CARRYING and not (x.op_name == "max_pool" and any(x.pads or ())):
        x = first_operand(x)
    if x.op_name != "rescale" or np.any(x.shift) or np.any(np.asarray(x.multiplier) != 2):
        return False
    bit = first_operand(x).type.element
    # Twice a bit, less one.
    return bool(bit == FixedPoint(False, 1) and np.all(np.asarray(x.addend) + x.offset == -1) and x.low in (None, -1))


def _reached(function: Callable[[np.ndarray], np.ndarray], level: int, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The number in each channel from which on a rising function has a level; one more than the greatest if none."""
    left, right = low, high + 1
    for _ in range(int((right - left).max()).bit_length()):
        middle = (left + right) >> 1
        is_reached = function(np.minimum(middle, high)) >= level
        left, right = np.where(is_reached | (left == right), left, middle + 1), np.where(is_reached, middle, right)
    return right


def _ends(rows: np.ndarray, element: FixedPoint) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest sum of each row; in a border of zeros some of its terms are missing."""
    ends = rows * element.minimum, rows * element.maximum
    return np.minimum(np.minimum(*ends), 0).sum(axis=1), np.maximum(np.maximum(*ends), 0).sum(axis=1)


def _compared(x: Any, w: Any, b: Any, layer: Any, function: Callable[[np.ndarray], np.ndarray], top: Any) -> Any:
    """Few steps of sums, as thresholds of sums without common factors and without a bias."""
    low, high = limits(top.element, top.low, top.high)
    if not 1 <= high - low <= FEW_STEPS:
        return decline(f"it has {high - low + 1} levels; up to {FEW_STEPS + 1} are cheap", at=top)
    if (layer.type.layout or "NC")[:2] != "NC" or not top.graph.attributes(top.node).get("saturate", True):
        return decline("its channels are not the second axis, or it wraps around", at=top)
    rows, element = w.value.astype(np.int64).reshape(len(w.value), -1), x.type.element
    common = np.maximum(np.gcd.reduce(rows, axis=1), 1)

    def at(sums: np.ndarray) -> np.ndarray:
        numbers = (sums * common + b.value).reshape(1, -1, *[1] * (len(layer.shape) - 2))
        return np.asarray(function(numbers), np.int64).reshape(-1)

    plain = rows // common[:, None]
    turned = np.where(at(_ends(plain, element)[1]) < at(_ends(plain, element)[0]), -1, 1)
    plain = plain * turned[:, None]
    ends = _ends(plain, element)
    levels = np.stack([_reached(lambda t: at(t * turned), level, *ends) for level in range(low + 1, high + 1)], 1)
    if _is_odd(x) and not (layer.op_name == "integer_conv" and any(layer.pads or ())):
        # Sums and differences of so many odd numbers are odd, or even: a threshold between them is the next of these.
        levels += (levels - plain.sum(axis=1, keepdims=True)) % 2
    return plain.reshape(w.shape), levels


def _replaced(x: Any, plain: np.ndarray, levels: np.ndarray, layer: Any, top: Any) -> Any:
    nothing = np.zeros(len(plain), np.int64)
    element = accumulated(plain, nothing, x.type.element)
    if isinstance(element, str):
        return decline(element, at=layer)
    low, _ = limits(top.element, top.low, top.high)
    return counted(layer.op(x, plain, nothing, like=layer, element=element), levels, low, top.element)


@rule
def compare_sums(x: Mantissas, w: Constant, b: Constant):
    """Sums of which two or three steps are left are compared, without the factors that their weights share."""
    layer = (op.integer_linear | op.integer_conv)(x, w, b)
    top = (op.requantise | op.rescale)(layer)
    yield top
    attributes = top.graph.attributes(top.node)
    found = _compared(x, w, b, layer, lambda sums: top.op(sums, **attributes), top)
    if not isinstance(found, tuple):
        return found
    plain, levels = found
    is_limited = top.op_name == "requantise" or (np.all(np.asarray(top.multiplier) == 1) and not np.any(top.addend))
    if is_limited and np.array_equal(plain, w.value) and (levels[:, :1] != levels).any():
        return decline("its limits compare already", at=top)
    return _replaced(x, plain, levels, layer, top)


@rule
def compare_counted_sums(x: Mantissas, w: Constant, b: Constant, t: Constant):
    """Sums whose thresholds are counted need no factors that their weights share, and no bias."""
    layer = (op.integer_linear | op.integer_conv)(x, w, b)
    count = op.integer_threshold(layer, t)
    top = op.rescale(count)
    yield top
    attributes = top.graph.attributes(top.node)
    found = _compared(x, w, b, layer, lambda sums: top.op(count.op(sums, t.value), **attributes), top)
    if not isinstance(found, tuple):
        return found
    plain, levels = found
    has_fewer = levels.shape[1] < t.shape[1] or ((levels[:, :1] == levels).all() and t.shape[1] > 1)
    if np.array_equal(plain, w.value) and not b.value.any() and not has_fewer:
        return decline("its sums have no common factor and no bias", at=layer)
    return _replaced(x, plain, levels, layer, top)


@rule
def count_before_rescaling(x: Mantissas, t: Constant):
    """Thresholds that rescaled numbers reach are thresholds of the numbers."""
    narrow = (op.requantise | op.rescale)(x)
    count = op.integer_threshold(narrow, t)
    yield count
    channels, attributes = x.shape[1] if len(x.shape) > 1 else "no", narrow.graph.attributes(narrow.node)
    if isinstance(channels, str) or channels == 0 or (x.type.layout or "NC")[:2] != "NC":
        return decline("its channels are symbolic, none, or not the second axis", at=x)
    if t.value.shape[1] > FEW_STEPS or np.any(np.asarray(attributes.get("multiplier", 1)) <= 0):
        return decline("it has many thresholds, or a multiplier turns the order round", at=narrow)
    if not attributes.get("saturate", True):
        return decline("it wraps around", at=narrow)
    ends = x.type.element.minimum, x.type.element.maximum
    low, high = (np.full(channels, end, np.int64) for end in ends)

    def reached(numbers: np.ndarray, column: int) -> np.ndarray:
        whole = narrow.op(numbers.reshape(1, -1, *[1] * (len(x.shape) - 2)), **attributes)
        return np.asarray(whole.reshape(-1).astype(np.int64) >= t.value[:, column], np.int64)

    levels = [_reached(partial(reached, column=k), 1, low, high) for k in range(t.value.shape[1])]
    rows = np.stack(levels, axis=1)
    return op.integer_threshold(x, rows[:1] if (rows == rows[:1]).all() else rows)


COMPARE_SUMS = (enter_sign, compare_sums, compare_counted_sums, count_before_rescaling)
"""Signs, as comparisons."""


@rule
def count_then_scale(x: Mantissas, w: Constant, b: Constant):
    """Sums of signs with weights that are alike are a count, scaled once."""
    layer = (op.integer_linear | op.integer_conv)(x, w, b)
    yield layer
    factor = int(np.abs(w.value).max(initial=0))
    if x.type.element.width > 2 or not 1 < factor < _GAIN or not np.isin(w.value, (-factor, 0, factor)).all():
        return decline("its operand has more than 2 bits, or its weights are not one number and its negative", at=layer)
    plain, nothing = w.value.astype(np.int64) // factor, np.zeros(len(w.value), np.int64)
    element = accumulated(plain, nothing, x.type.element)
    if isinstance(element, str) or (layer.type.layout or "NC")[:2] != "NC":
        return decline("its channels are not the second axis, or its sums are too wide", at=layer)
    count = layer.op(x, plain, nothing, like=layer, element=element)
    addends = tuple(b.value.tolist()) if b.value.any() else 0
    return op.rescale(count, multiplier=factor, addend=addends, shift=0, element=layer.element)


COUNT_SIGNS = (count_then_scale,)
"""Layers of signs, as counts."""
