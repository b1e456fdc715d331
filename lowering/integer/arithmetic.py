"""Lower differences, products, borders and means of values with binary points. Sums are among the layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, Tensor, decline, op, rule
from graphrewrite.lowering.integer.binary_points import requantised
from graphrewrite.lowering.integer.mantissas import format_of, infinite, least_fractions
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.quantisation.fixed_point_formats import combined
from graphrewrite.rewriting.rule.replacement import Known
from graphrewrite.types import hold

__all__ = ["LOWER_ARITHMETIC", "scale_sums"]

_WIDEST = 48
"""Most bits of a lane."""
_MULTIPLIER = 32
"""Most bits of a multiplier of `rescale`."""
_MOST_SHIFT = 62
"""Most bits by which `rescale` shifts."""
_FACTOR_BITS = 29
"""Most bits of a constant without its sign, as of gains."""


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_difference(x: Mantissas, y: Mantissas):
    """A difference of two values on grids is one of integers on the finer grid; assumes that the float one is exact."""
    one, other = op.from_fixed(x), op.from_fixed(y)
    difference = op.sub(one, other)
    rounded = op.quantise(difference)
    yield rounded
    if reason := infinite(x, one) or infinite(y, other):
        return decline(reason, at=difference)
    a, b = format_of(x, one), format_of(y, other)
    if rounded.fractions is not None:
        return decline("its result has a format for each channel", at=difference)
    fraction = max(a.fraction, b.fraction)
    shifts = (fraction - a.fraction, fraction - b.fraction)
    if max(a.width + shifts[0], b.width + shifts[1]) >= _WIDEST:
        return decline(f"its differences may need more than {_WIDEST} bits", at=difference)
    exact = op.integer_sub(x, y, shifts=shifts, element=combined("sub", a, b), like=difference)
    return requantised(exact, [fraction], rounded)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_product(x: Mantissas, y: Mantissas):
    """A product of two values on grids is one of integers; assumes that the float product is exact."""
    one, other = op.from_fixed(x), op.from_fixed(y)
    product = op.mul(one, other)
    rounded = op.quantise(product)
    yield rounded
    if rounded.fractions is not None:
        return decline("its result has a format for each channel", at=product)
    if reason := infinite(x, one) or infinite(y, other):
        return decline(reason, at=product)
    a, b = format_of(x, one), format_of(y, other)
    if a.width + b.width > _WIDEST:
        return decline(f"its products may need more than {_WIDEST} bits", at=product)
    element = combined("mul", a, b)
    return requantised(op.integer_mul(x, y, element=element, like=product), [element.fraction], rounded)


def _mantissas(c: Any) -> Any:
    """A constant in fixed point, or the reason why no narrow enough format exists."""
    values = np.asarray(c.value, np.float64)
    if not np.isfinite(values).all():
        return "its constant is not finite"
    fraction = int(least_fractions(values.reshape(1, -1))[0])
    ends = np.ldexp(np.array([values.min(initial=0), values.max(initial=0)]), fraction)
    if np.abs(ends).max() >= 2.0**_FACTOR_BITS:
        return f"its constant needs more than {_FACTOR_BITS} bits and is not quantised; quantise the graph first"
    element = FixedPoint.holding(int(ends[0]), int(ends[1]), fraction)
    whole = np.ldexp(values, fraction).astype(element.dtype)
    return Known(c.replay, whole, Tensor(element, whole.shape, c.type.layout))


def _by_constant(kind: str, x: Any, y: Any, a: FixedPoint, b: FixedPoint, real: Any, rounded: Any) -> Any:
    """A sum, difference or product of mantissas and a constant, like the real one, in the format of a quantiser."""
    if rounded.fractions is not None:
        return decline("its result has a format for each channel", at=rounded)
    # Left shifts bring both to the finer binary point, and lose nothing.
    shifts = (max(b.fraction - a.fraction, 0), max(a.fraction - b.fraction, 0))
    bits = a.width + b.width if kind == "mul" else max(a.width + shifts[0], b.width + shifts[1]) + 1
    if bits > _WIDEST:
        return decline(f"its results may need more than {_WIDEST} bits", at=rounded)
    element = combined(kind, a, b)
    if kind == "mul":
        exact = op.integer_mul(x, y, element=element, like=real)
    else:
        exact = (op.integer_add if kind == "add" else op.integer_sub)(x, y, shifts=shifts, element=element, like=real)
    return requantised(exact, [element.fraction], rounded)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_with_constant(x: Mantissas, c: Constant):
    """A value on a grid and a constant are added, subtracted or multiplied as integers; assumes exact floats."""
    real = op.from_fixed(x)
    result = (op.add | op.sub | op.mul)(real, c)
    rounded = op.quantise(result)
    yield rounded
    whole = infinite(x, real) or _mantissas(c)
    if isinstance(whole, str):
        return decline(whole, at=c)
    return _by_constant(result.op_name, x, whole, format_of(x, real), whole.type.element, result, rounded)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_from_constant(x: Mantissas, c: Constant):
    """A value on a grid is subtracted from a constant as integers are; assumes that the float difference is exact."""
    real = op.from_fixed(x)
    result = op.sub(c, real)
    rounded = op.quantise(result)
    yield rounded
    whole = infinite(x, real) or _mantissas(c)
    if isinstance(whole, str):
        return decline(whole, at=c)
    return _by_constant("sub", whole, x, whole.type.element, format_of(x, real), result, rounded)


@rule
def quantise_border(x):
    """Numbers with a border may be quantised before, if the border is quantised as well."""
    padded = op.pad(x)
    quantised = op.quantise(padded)
    yield quantised
    if quantised.fractions is not None:
        return decline("its parameters differ along an axis", at=quantised)
    # By the op itself, so that the border is what it would have become.
    (fill,) = quantised.op.compute([hold(x.type.element, padded.fill)], quantised.graph.attributes(quantised.node))
    return op.pad(op.quantise(x, like=quantised), like=padded, fill=float(fill))


@rule(kind="lowering")
def scale_sums(x: Mantissas, w: Constant, b: Constant):
    """A convolution of each channel whose weights are equal is a sum times that weight: one product a window."""
    conv = op.integer_conv(x, w, b)
    narrow = op.requantise(conv)
    yield narrow
    if conv.groups != len(w.value) or w.shape[1] != 1 or x.shape[1] != conv.groups:
        return decline("it is not a depthwise convolution", at=conv)
    if (x.type.layout or "NC")[:2] != "NC" or np.min(narrow.shift) < 0 or np.max(narrow.shift) > _MOST_SHIFT:
        return decline("its channels are not the second axis, or its sums are shifted left or by too much", at=conv)
    rows = w.value.reshape(len(w.value), -1)
    count = rows.shape[1]
    if count == 1 or (rows != rows[:, :1]).any() or ((rows == 1).all() and not b.value.any()):
        return decline("the weights of a window differ, or it is a plain sum", at=w)
    element, gains = x.type.element, rows[:, 0]
    sums = FixedPoint.holding(min(0, count * element.minimum), max(0, count * element.maximum))
    factors = FixedPoint.holding(int(gains.min()), int(gains.max()))
    if sums.width + factors.width >= _WIDEST or factors.width > _MULTIPLIER:
        return decline(f"its products may need more than {_WIDEST} bits", at=conv)
    total = op.integer_conv(x, np.ones_like(w.value), np.zeros_like(b.value), like=conv, element=sums)
    is_uniform = len(set(gains.tolist())) == len(set(b.value.tolist())) == 1
    return op.rescale(
        total,
        multiplier=int(gains[0]) if is_uniform else tuple(gains.tolist()),
        addend=int(b.value[0]) if is_uniform else tuple(b.value.tolist()),
        shift=narrow.shift,
        element=narrow.element,
        low=narrow.low,
        high=narrow.high,
    )


LOWER_ARITHMETIC = (lower_difference, lower_product, lower_with_constant, lower_from_constant, quantise_border)
"""Differences, products and borders of values with binary points, also with constants."""
