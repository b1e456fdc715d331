"""Means and interpolation of scaled mantissas: sums of whole numbers over windows, scaled afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, Tensor, decline, op, rule
from graphrewrite.execution.constant_grids import grid_of
from graphrewrite.lowering.composite.axes import named
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.preparation.pooling_windows import windows_of
from graphrewrite.lowering.preparation.resizes import interpolation_of
from graphrewrite.lowering.prequantised.layers import (
    WIDEST,
    accumulated,
    axes_are_disordered,
    per_channel,
    scaled_layer,
)
from graphrewrite.rewriting.rule.replacement import Known

__all__ = ["LOWER_SCALED_WINDOWS"]


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_average_pool(x: Mantissas, s: Constant):
    """A mean of scaled mantissas over windows scales their sum; assumes that the float sums are exact."""
    real = op.mul(op.from_fixed(x, fraction=0), s)
    pool = op.average_pool(real)
    yield pool
    if axes_are_disordered(x, pool) or tuple(real.shape) != tuple(x.shape):
        return decline("its axes are named, or its scale broadcasts the operand", at=pool)
    windows = windows_of(pool, x.shape)
    if isinstance(windows, str):
        return decline(windows, at=pool)
    if windows.is_even:
        return _mean(x, s.value, pool, windows.kernel, **windows.moving)
    channels = x.shape[1]
    ones = np.ones((channels, 1, *windows.kernel), np.int64)
    return _divided(x, s.value, pool, ones, windows.counts, 1, windows.moving)


def _divided(x: Any, s: np.ndarray, root: Any, rows: np.ndarray, counts: np.ndarray, block: int, moving: Any) -> Any:
    """Sums of windows, each divided by a number of its own: times factors that give them a common denominator.

    Of several rows a channel, those are the positions of a block.
    """
    scale, channels, common = (
        per_channel(s, len(x.shape)),
        x.shape[1],
        int(np.lcm.reduce(counts.ravel().astype(object))),
    )
    if scale is None:
        return decline("the scale of its operand differs along other axes than the channels", at=root)
    nothing = np.zeros(len(rows), np.int64)
    sums = accumulated(rows, nothing, x.type.element)
    if isinstance(sums, str):
        return decline(sums, at=root)
    if sums.width + common.bit_length() > WIDEST:
        return decline(
            f"its windows count numbers whose least common multiple is {common}: with sums of {sums.width} bits, that "
            f"needs more than {WIDEST}; take smaller windows, or let the border count",
            at=root,
        )
    # Windows that count n numbers are multiplied by common / n: one scale, 1 / common, is then left for all.
    total = op.integer_conv(x, rows, nothing, groups=channels, element=sums, **moving)
    if block > 1:
        total = op.depth_to_space(total, block_size=block, mode="CRD")
    shares = common // counts[None, None]
    if (shares != 1).any():
        factors = FixedPoint.holding(0, int(shares.max()))
        total = op.integer_mul(total, Known(x.replay, shares.astype(factors.dtype), Tensor(factors, shares.shape)))
    unit = scale.reshape((-1, *[1] * counts.ndim) if len(scale) > 1 else ()) / common
    means = op.mul(op.from_fixed(total, fraction=0, element="f64"), unit)
    return named(op.cast(means, element=root.type.element), root)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_resize(x: Mantissas, s: Constant):
    """Interpolated mantissas are whole-numbered sums over windows, scaled; assumes that the float sums are exact."""
    real = op.mul(op.from_fixed(x, fraction=0), s)
    resized = op.resize(real)
    yield resized
    if resized.mode == "nearest" or resized.keep_aspect_ratio_policy != "stretch":
        return decline("it repeats numbers, or keeps the ratio of its sizes", at=resized)
    if axes_are_disordered(x, resized) or tuple(real.shape) != tuple(x.shape) or len(x.shape) not in (3, 4):
        return decline("its axes are named, or it has other than one or two axes of positions", at=resized)
    if any(isinstance(size, str) for size in x.shape[1:]) or tuple(resized.shape[:2]) != tuple(x.shape[:2]):
        return decline("its sizes are symbolic, or it resizes channels", at=resized)
    attributes = resized.graph.attributes(resized.node)
    found = [interpolation_of(attributes, x.shape, axis) for axis in range(2, len(x.shape))]
    along = [one for one in found if not isinstance(one, str)]
    times = {one.times for one in along}
    if len(along) < len(found) or len(times) > 1 or (times != {1} and len(x.shape) == 3):
        reasons = [one for one in found if isinstance(one, str)]
        return decline(reasons[0] if reasons else "both axes become longer by one whole number, or none", at=resized)
    rows, counts = np.ones((1,), np.int64), np.ones((), np.int64)
    for one in along:
        grid = grid_of(one.weights.astype(np.float32))
        if grid is None or len(grid.scales) > 1:
            return decline("its weights are no fractions of few bits", at=resized)
        # Inside, weights add up to 1: to so many steps of their grid. At the ends, some of them are missing.
        rows = np.einsum("p...,qk->pq...k", rows, grid.whole).reshape(-1, *rows.shape[1:], grid.whole.shape[1])
        counts = counts[..., None] * np.rint(1 / (grid.scales[0] * one.factors)).astype(np.int64)
    moving = {
        "strides": tuple(one.stride for one in along),
        "pads": (*(one.before for one in along), *(one.after for one in along)),
        "dilations": (1,) * len(along),
    }
    (block,) = times
    whole = np.tile(rows[:, None], (x.shape[1], *[1] * rows.ndim))
    return _divided(x, s.value, resized, whole, counts, block, moving)


@rule(keeps="assumes", shared="keep", kind="lowering")
def lower_scaled_global_average_pool(x: Mantissas, s: Constant):
    """A mean of scaled mantissas over all positions scales their sum; assumes that the float sums are exact."""
    pool = op.global_average_pool(op.mul(op.from_fixed(x, fraction=0), s))
    yield pool
    sizes = x.shape[2:]
    if not sizes or any(isinstance(size, str) for size in sizes) or axes_are_disordered(x, pool):
        return decline("its positions are symbolic, or there are none", at=pool)
    rank = len(sizes)
    return _mean(x, s.value, pool, sizes, strides=(1,) * rank, pads=(0,) * 2 * rank, dilations=(1,) * rank)


def _mean(x: Any, scale: np.ndarray, pool: Any, kernel: Any, **attributes: Any) -> Any:
    if per_channel(scale, len(x.shape)) is None or len(kernel) != len(x.shape) - 2:
        return decline("the scale of its operand differs along other axes than the channels, or broadcasts", at=pool)
    channels, size = x.shape[1], int(np.prod(kernel))
    if isinstance(channels, str) or not size:
        return decline("its number of channels is symbolic, or it has no positions", at=pool)

    def product(whole: np.ndarray, bias: np.ndarray, element: FixedPoint) -> Any:
        return op.integer_conv(x, whole, bias, groups=channels, element=element, **attributes)

    return scaled_layer(x, scale, np.full((channels, 1, *kernel), 1.0 / size), None, pool, product, groups=channels)


LOWER_SCALED_WINDOWS = (lower_scaled_average_pool, lower_scaled_global_average_pool, lower_scaled_resize)
"""Means and interpolation of scaled mantissas."""
