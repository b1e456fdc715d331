"""Means and maxima of stored integers over windows, rounded as TensorFlow Lite's kernels do."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, Tensor, decline, op, rule
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.preparation.pooling_windows import windows_of
from graphrewrite.lowering.prequantised.layers import WIDEST, accumulated
from graphrewrite.lowering.prequantised.step_functions import steps_of
from graphrewrite.lowering.prequantised.stored_readings import stored_as, zero_of_stored
from graphrewrite.lowering.prequantised.stored_rescaling import STORAGE, format_of_stored, holds_zero_point, written
from graphrewrite.op.quantised.multipliers import round_half_away
from graphrewrite.rewriting.rule.replacement import Known
from graphrewrite.types import integer_limits

__all__ = ["POOL_STORED"]


_EXACT = {"f32": 1 << 24, "f64": 1 << 53}
"""Sums below are exact; quotients of half of them are halves only where they are."""
_NOT_PLAIN = "its channels are not the second axis, or it has no numbers"


def _is_plain(x: Any) -> bool:
    return (x.type.layout or "NC")[:2] == "NC" and 0 not in x.shape


def _sums(x: Any, kernel: Any, **moving: Any) -> Any:
    """Return sums over windows of each channel, or the reason why there are none."""
    channels = x.shape[1]
    if isinstance(channels, str):
        return "its number of channels is symbolic"
    if not _is_plain(x):
        return _NOT_PLAIN
    ones, nothing = np.ones((channels, 1, *kernel), np.int64), np.zeros(channels, np.int64)
    element = accumulated(ones, nothing, x.type.element)
    if isinstance(element, str):
        return element
    return op.integer_conv(x, ones, nothing, groups=channels, element=element, **moving)


def _averaged(x: Any, zero: int | str, pool: Any, top: Any) -> Any:
    """Return the rounded mean over windows of numbers that are so far from their zero point."""
    if isinstance(zero, str):
        return decline(zero, at=pool)
    if not _is_plain(x):
        return decline(_NOT_PLAIN, at=pool)
    windows = windows_of(pool, x.shape)
    if isinstance(windows, str):
        return decline(windows, at=pool)
    if zero and pool.count_include_pad and any(windows.pads):
        return decline("its border counts as stored zeros, and not as the zero point", at=pool)
    most = 2 * prod(windows.kernel) * max(abs(zero + end) for end in (x.type.element.minimum, x.type.element.maximum))
    if most >= _EXACT.get(pool.type.element, 0):
        return decline(f"{pool.type.element} does not tell its means from halves", at=pool)
    if top.zero_point or str(top.type.element) not in STORAGE:
        return decline("its result has another zero point, or is stored otherwise", at=pool)
    if not holds_zero_point(top, zero):
        return decline(f"{top.type.element} does not hold the zero point {zero}", at=pool)
    sums = _sums(x, windows.kernel, **windows.moving)
    if isinstance(sums, str):
        return decline(sums, at=pool)
    # Windows at the border count fewer numbers: times factors, their sums have a denominator in common.
    counts = windows.counts
    common = int(np.lcm.reduce(counts.ravel().astype(object)))
    low, high = sums.type.element.minimum * common, sums.type.element.maximum * common
    if max(-low, high) >= 1 << WIDEST:
        return decline(f"its windows count numbers whose least common multiple is {common}", at=pool)
    shares = common // counts[None, None]
    if (shares != 1).any():
        factors = FixedPoint.holding(0, int(shares.max()))
        sums = op.integer_mul(sums, Known(x.replay, shares.astype(factors.dtype), Tensor(factors, shares.shape)))
    given = {name: top.graph.nodes[top.node].get(name) for name in ("low", "high")}
    limits = {name: limit for name, limit in given.items() if limit is not None}

    def function(numbers: np.ndarray) -> np.ndarray:
        means = (numbers + common * zero) / common
        return np.asarray(round_half_away(means, element=top.type.element, **limits), np.int64) - zero

    # Distances from the zero point of the operand: the result has the same one.
    steps = steps_of(function, sums.type.element.minimum, sums.type.element.maximum, 1, is_monotone=True)
    return (
        decline(steps, at=top)
        if isinstance(steps, str)
        else written(sums, steps, format_of_stored(top, zero), zero, top)
    )


@rule(shared="keep", kind="lowering")
def lower_average_of_stored(x: Mantissas, z: Constant | None = None):
    """A mean of stored numbers over windows, rounded, is a sum of their distances, divided and rounded alike."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    pool = op.average_pool(op.cast(stored))
    top = op.round_half_away(pool)
    yield top
    return _averaged(x, zero_of_stored(x, z, stored), pool, top)


@rule(shared="keep", kind="lowering")
def lower_average_of_transposed(x: Mantissas, z: Constant | None = None):
    """So is one of stored numbers that are transposed."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    transposed = op.transpose(op.cast(stored))
    pool = op.average_pool(transposed)
    top = op.round_half_away(pool)
    yield top
    return _averaged(op.transpose(x, like=transposed), zero_of_stored(x, z, stored), pool, top)


def _channels_second(x: Any, axes: Any) -> Any:
    """Return a value with the reduced axes last, after one that is kept; or the reason why it has others."""
    rank = len(x.shape)
    reduced = sorted({axis % rank for axis in (range(rank) if axes is None else axes)})
    kept = [axis for axis in range(1, rank) if axis not in reduced]
    if not reduced or 0 in reduced or len(kept) != 1 or any(isinstance(x.shape[axis], str) for axis in reduced):
        return "it reduces other axes than those of all positions, or open ones"
    perm = (0, *kept, *reduced)
    return x if list(perm) == list(range(rank)) else op.transpose(x, perm=perm)


def _whole_window(x: Any) -> dict[str, Any]:
    rank = len(x.shape) - 2
    return {"kernel": tuple(x.shape[2:]), "strides": (1,) * rank, "pads": (0,) * 2 * rank, "dilations": (1,) * rank}


@rule(shared="keep", kind="lowering")
def lower_mean_of_stored(x: Mantissas, multiplier: Constant, exponent: Constant, z: Constant | None = None):
    """A sum of stored numbers over all positions that is rescaled is one of their distances."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    total = op.reduce_sum(op.cast(stored))
    top = op.multiply_fixed_point(total, multiplier, exponent)
    yield top
    zero, moved = zero_of_stored(x, z, stored), _channels_second(x, total.axes)
    for reason in (zero, moved):
        if isinstance(reason, str):
            return decline(reason, at=total)
    window = _whole_window(moved)
    limits, ends = integer_limits(total.type.element), integer_limits(stored.type.element)
    count = prod(window["kernel"])
    if limits is None or ends is None or not limits[0] <= ends[0] * count <= ends[1] * count <= limits[1]:
        return decline(f"sums of {count} numbers of {stored.type.element} may leave {total.type.element}", at=total)
    sums = _sums(moved, **window)
    if isinstance(sums, str):
        return decline(sums, at=total)
    shaped = op.reshape(sums, shape=tuple(total.shape))
    real = op.from_fixed(shaped, fraction=0, element="i32")
    left = top.input_zero_point - zero * count
    return op.multiply_fixed_point(real, multiplier, exponent, like=top, input_zero_point=left)


@rule(shared="keep", kind="lowering")
def pool_maximum_of_stored(x: Mantissas, z: Constant | None = None):
    """The greatest stored number of all positions is that of one window over them."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    reduced = op.reduce_max(stored)
    yield reduced
    zero, moved = zero_of_stored(x, z, stored), _channels_second(x, reduced.axes)
    for reason in (zero, moved):
        if isinstance(reason, str):
            return decline(reason, at=reduced)
    assert isinstance(zero, int)  # see above
    pooled = op.max_pool(stored_as(moved, zero, stored.type.element), **_whole_window(moved))
    return op.reshape(pooled, shape=tuple(reduced.shape))


POOL_STORED = (
    lower_average_of_stored,
    lower_average_of_transposed,
    lower_mean_of_stored,
    pool_maximum_of_stored,
)
"""Means and maxima of stored integers over windows."""
