"""Sums and products of two scaled values, on a grid so fine that every pair gives the model's result."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.composite.axes import named
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.prequantised.affine_functions import Corners, slope_through
from graphrewrite.lowering.prequantised.elementwise_chains import chain_of, link
from graphrewrite.lowering.prequantised.layers import is_single
from graphrewrite.lowering.prequantised.quantisers import QUANTISERS, quantised_as
from graphrewrite.lowering.prequantised.rescaling import limits_within
from graphrewrite.lowering.prequantised.step_lowering import certain, reading

__all__ = ["LOWER_PAIRS", "Sum", "add_multiples", "common_grid", "exact_sum", "widened"]

_MOST_PAIRS = 18
"""Most bits of both operands together, since all pairs are evaluated."""
_WIDEST = 40
"""Most bits of operands on a common grid."""
_ALIKE = 1e-6
"""Relative difference up to which scales are equal."""
_FINEST = 28
"""Bits of the greater factor to a common grid, before it is made as coarse as may be."""
_MULTIPLIER = 32
"""Most bits of a multiplier of `rescale`."""


class Sum(NamedTuple):
    """``(x * factors[0] + y * factors[1] + addend) >> shift``."""

    factors: tuple[int, int]
    addend: int
    shift: int


def common_grid(scales: tuple[float, float], x: np.ndarray, y: np.ndarray, levels: np.ndarray) -> Sum | None:
    """Return a sum of multiples with few fraction bits whose upper bits are the result of every pair, or None.

    ``scales`` are negative for a subtracted operand. The least and the greatest level are limits, beyond which sums may
    go.

    Examples
    --------
    >>> x, y = (each.ravel() for each in np.mgrid[-4:4, -4:4])
    >>> common_grid((0.5, 0.25), x, y, np.floor(0.5 * x + 0.25 * y).astype(int))
    Sum(factors=(2, 1), addend=0, shift=2)
    """
    fine = [round(math.ldexp(scale / max(map(abs, scales)), _FINEST)) for scale in scales]
    corners = _corners(x * fine[0] + y * fine[1], levels)
    if corners is None:
        return None
    if not corners.levels.size:
        return Sum((0, 0), int(levels[0]), 0)
    # The fine sums fix the ratio of the two factors; the slope scales both, with as few fraction bits as corners allow.
    slope = slope_through(corners)
    for shift in range(_FINEST if slope else 0):
        one, other = (round(math.ldexp(each * (slope or 0.0), shift)) for each in fine)
        if max(abs(one), abs(other)).bit_length() > _MULTIPLIER:
            break
        scaled_corners = _corners(x * one + y * other, levels)
        if scaled_corners is None:
            continue
        low = ((scaled_corners.levels << shift) - scaled_corners.reached).max()
        high = ((scaled_corners.below << shift) - scaled_corners.before).min()
        if low < high:
            even = -(-low // 2) * 2
            return Sum((one, other), int(even if even < high else low), shift)
    return None


def _corners(sums: np.ndarray, levels: np.ndarray) -> Corners | None:
    """Corners of results along sums; None if results are not monotone in the sums."""
    order = np.argsort(sums)  # equal sums need equal results: in which order they stand is all the same
    sorted_sums, results = sums[order], levels[order]
    steps = np.diff(results)
    if (steps < 0).any() or ((np.diff(sorted_sums) == 0) & (steps != 0)).any():
        return None
    at = np.nonzero(steps)[0]
    return Corners(sorted_sums[at + 1], results[at + 1], sorted_sums[at], results[at] + 1)


def _summed(x: Any, y: Any, s: Any, t: Any, total: Any, top: Any, *, precisely: bool = False) -> Any:
    """A sum of scaled mantissas and the ops up to a quantiser, proved for every pair."""
    one, other = x.type.element, y.type.element
    if one.width + other.width > _MOST_PAIRS:
        return decline(f"its operands have {one.width} and {other.width} bits, too many for all pairs", at=total)
    if x.shape != y.shape or not is_single(s, x) or not is_single(t, y):
        return decline("one operand broadcasts, or has a scale for each channel", at=total)
    chain, grid = chain_of(total, top), quantised_as(top, len(x.shape))
    if isinstance(chain, str):
        return decline(chain, at=top)
    if isinstance(grid, str):
        return decline(grid, at=top)
    if chain.channels != 1:
        return decline("the ops that follow differ from channel to channel", at=top)
    whole, element, worth = grid
    # Every pair of mantissas: at most 2**18 of them, by the check of the widths above.
    a, b = (each.ravel() for each in np.mgrid[one.minimum : one.maximum + 1, other.minimum : other.maximum + 1])
    kind = np.float64 if precisely else s.value.dtype
    units = [each.value.reshape(()).astype(kind) for each in (s, t)]
    (real,) = total.op.compute([a.astype(kind) * units[0], b.astype(kind) * units[1]], {})
    levels = certain(whole(chain.function(real[:, None], precisely=precisely)))[:, 0]
    if levels.min() < element.minimum or levels.max() > element.maximum:
        return decline(f"its values from {levels.min()} to {levels.max()} do not fit {element}", at=top)
    sign = -1 if total.op_name == "sub" else 1
    grid_sum = common_grid((float(s.value.reshape(())), sign * float(t.value.reshape(()))), a, b, levels)
    if grid_sum is None:
        return decline("no factors of 32 bits bring its operands on one grid", at=total)
    first, second = widened(x, grid_sum.factors[0]), widened(y, grid_sum.factors[1])
    multiples = a * grid_sum.factors[0] + b * grid_sum.factors[1]
    ends = int(multiples.min()), int(multiples.max())
    sums = op.integer_add(first, second, element=FixedPoint.holding(min(0, *ends), max(1, *ends)))
    bounds = limits_within(element, int(levels.min()), int(levels.max()))
    result = op.rescale(
        sums, multiplier=1, addend=grid_sum.addend, shift=grid_sum.shift, rounding="down", element=element, **bounds
    )
    return reading(result, top, worth)


def widened(x: Any, factor: int) -> Any:
    """Return mantissas times a factor, exactly."""
    if factor == 1:
        return x
    ends = [x.type.element.minimum * factor, x.type.element.maximum * factor]
    element = FixedPoint.holding(min(0, *ends), max(1, *ends))
    return op.rescale(x, multiplier=factor, shift=0, element=element)


def exact_sum(x: Any, y: Any) -> Any:
    """Return the sum of two values of mantissas in the narrowest format that holds all sums."""
    low, high = (sum(getattr(v.type.element, end) for v in (x, y)) for end in ("minimum", "maximum"))
    return op.integer_add(x, y, element=FixedPoint.holding(min(0, low), max(1, high)))


@rule(shared="keep", kind="lowering")
def lower_sum(x: Mantissas, y: Mantissas, s: Constant, t: Constant, parameters):
    """A sum of scaled mantissas, quantised, is one on a common grid, rescaled: proved for every pair."""
    total = (op.add | op.sub)(op.mul(op.from_fixed(x, fraction=0), s), op.mul(op.from_fixed(y, fraction=0), t))
    stored = QUANTISERS(total, *parameters)
    yield stored
    return _summed(x, y, s, t, total, stored)


@rule(shared="keep", kind="lowering")
def lower_sum_steps(x: Mantissas, y: Mantissas, s: Constant, t: Constant, parameters):
    """A sum of scaled mantissas followed by float ops, quantised, is one on a common grid: proved for every pair."""
    total = (op.add | op.sub)(op.mul(op.from_fixed(x, fraction=0), s), op.mul(op.from_fixed(y, fraction=0), t))
    run = rule.repeated(total, link)
    stored = QUANTISERS(run, *parameters)
    yield stored
    return _summed(x, y, s, t, total, stored)


@rule(keeps="assumes", shared="keep", kind="lowering")
def approach_sum(x: Mantissas, y: Mantissas, s: Constant, t: Constant, parameters):
    """A sum of scaled mantissas, quantised; assumes that rounding it to float32 before changes nothing."""
    total = (op.add | op.sub)(op.mul(op.from_fixed(x, fraction=0), s), op.mul(op.from_fixed(y, fraction=0), t))
    stored = QUANTISERS(total, *parameters)
    yield stored
    return _summed(x, y, s, t, total, stored, precisely=True)


@rule(keeps="assumes", shared="keep", kind="lowering")
def approach_sum_steps(x: Mantissas, y: Mantissas, s: Constant, t: Constant, parameters):
    """A sum of scaled mantissas, float ops, a quantiser; assumes that roundings to float32 between change nothing."""
    total = (op.add | op.sub)(op.mul(op.from_fixed(x, fraction=0), s), op.mul(op.from_fixed(y, fraction=0), t))
    run = rule.repeated(total, link)
    stored = QUANTISERS(run, *parameters)
    yield stored
    return _summed(x, y, s, t, total, stored, precisely=True)


def _product(x: Any, y: Any, unit: np.ndarray, product: Any) -> Any:
    sums = op.mul(op.from_fixed(op.integer_mul(x, y), fraction=0, element="f64"), unit)
    return named(op.cast(sums, element=product.type.element), product)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_product(x: Mantissas, y: Mantissas, s: Constant, t: Constant):
    """A product of scaled mantissas is one of whole numbers, scaled; assumes that the float products are exact."""
    product = op.mul(op.mul(op.from_fixed(x, fraction=0), s), op.mul(op.from_fixed(y, fraction=0), t))
    yield product
    if not (is_single(s, x) and is_single(t, y)) or x.type.element.width + y.type.element.width > 48:
        return decline("an operand has a scale for each channel, or their product more than 48 bits", at=product)
    unit = s.value.reshape(()).astype(np.float64) * t.value.reshape(()).astype(np.float64)
    return _product(x, y, unit, product)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_square(x: Mantissas, s: Constant):
    """The square of scaled mantissas is one of whole numbers, scaled; assumes that the float products are exact."""
    real = op.mul(op.from_fixed(x, fraction=0), s)
    square = op.mul(real, real)
    yield square
    if not is_single(s, x) or x.type.element.width > 24:
        return decline("its operand has a scale for each channel, or its square more than 48 bits", at=square)
    return _product(x, x, s.value.reshape(()).astype(np.float64) ** 2, square)


@rule(keeps="assumes", shared="keep", kind="lowering")
def add_multiples(x: Mantissas, y: Mantissas, s: Constant, t: Constant):
    """A sum of mantissas of one scale, or of a multiple of it, is scaled; assumes that the float sums are exact."""
    total = (op.add | op.sub)(op.mul(op.from_fixed(x, fraction=0), s), op.mul(op.from_fixed(y, fraction=0), t))
    yield total
    if x.shape != y.shape or not is_single(s, x) or not is_single(t, y):
        return decline("one operand broadcasts, or has a scale for each channel", at=total)
    scales = [float(each.value.reshape(())) for each in (s, t)]
    unit = min(scales)
    factors = [round(scale / unit) for scale in scales]
    if any(abs(f * unit - scale) > _ALIKE * scale for f, scale in zip(factors, scales, strict=True)):
        return decline("none of its scales is a multiple of the other; quantise its operands alike", at=total)
    sign = -1 if total.op_name == "sub" else 1
    widths = [v.type.element.width + f.bit_length() for v, f in zip((x, y), factors, strict=True)]
    if max(widths) > _WIDEST:
        return decline(f"its operands need {max(widths)} bits on one grid", at=total)
    first, second = widened(x, factors[0]), widened(y, sign * factors[1])
    real = op.mul(op.from_fixed(exact_sum(first, second), fraction=0, element="f64"), np.asarray(unit))
    return named(op.cast(real, element=total.type.element), total)


LOWER_PAIRS = (lower_sum, lower_sum_steps, approach_sum, approach_sum_steps, lower_scaled_product, lower_scaled_square)
"""Sums and products of two scaled values."""
