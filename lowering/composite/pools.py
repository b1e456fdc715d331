"""Pools over all positions written as reductions, and pools of norms as those of means."""

from __future__ import annotations

import math

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.axes import positions
from graphrewrite.lowering.composite.precision import converted, widened
from graphrewrite.types import element_kind

__all__ = ["LOWER_POOLS"]


@rule(keeps="rounding")
def write_global_average_pool_by_reduce(x):
    """A mean over all positions (ONNX specification, GlobalAveragePool)."""
    pool = op.global_average_pool(x)
    yield pool
    if element_kind(x.type.element) != "float":
        return decline("integers wrap around here, and not in a mean along axes", at=pool)
    return op.reduce_mean(x, axes=positions(x))


@rule(keeps="rounding")
def write_global_max_pool_by_reduce(x):
    """The greatest entry of all positions; of zeros, the sign is left open (ONNX specification, GlobalMaxPool)."""
    pool = op.global_max_pool(x)
    yield pool
    if element_kind(x.type.element) not in ("float", "integer"):
        return decline("a greatest entry along axes is one of floats or integers", at=pool)
    return op.reduce_max(x, axes=positions(x))


@rule(keeps="rounding")
def write_global_lp_pool_by_reduce(x):
    """A root of a sum of powers over all positions (ONNX specification, GlobalLpPool)."""
    pool = op.global_lp_pool(x)
    yield pool
    axes, p = positions(x), pool.p
    if p <= 2:
        return op.reduce_l1(x, axes=axes) if p == 1 else op.reduce_l2(x, axes=axes)
    total = op.reduce_sum(op.pow(op.abs(widened(x)), float(p)), axes=axes)
    return converted(op.pow(total, 1 / p), x.type.element)


@rule(keeps="rounding")
def write_lp_pool_by_average_pool(x):
    """A root of a sum of powers over windows, which is so many times their mean (ONNX specification, LpPool)."""
    pool = op.lp_pool(x)
    yield pool
    if pool.ceil_mode:
        return decline("its last window may reach beyond the border, where nothing counts", at=pool)
    wide, p = op.abs(widened(x)), float(pool.p)
    mean = op.average_pool(wide if p == 1 else op.pow(wide, p), like=pool, count_include_pad=True)
    total = mean * float(math.prod(pool.kernel))
    root = total if p == 1 else op.sqrt(total) if p == 2 else op.pow(total, 1 / p)
    return converted(root, x.type.element)


LOWER_POOLS = (
    write_global_average_pool_by_reduce,
    write_global_max_pool_by_reduce,
    write_global_lp_pool_by_reduce,
    write_lp_pool_by_average_pool,
)
"""Pools by reductions and means over windows."""
