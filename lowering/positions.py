"""Reductions over positions written as poolings, which the lowerings know."""

from __future__ import annotations

from graphrewrite import decline, op, rule
from graphrewrite.types import element_kind

__all__ = ["POOL_POSITIONS", "write_global_max_pool_as_max_pool", "write_reduction_as_pool"]


@rule
def write_global_max_pool_as_max_pool(x):
    """The greatest entry of all positions is that of one window over them (ONNX specification, GlobalMaxPool)."""
    pool = op.global_max_pool(x)
    yield pool
    (image,) = pool.op.axes.in_order((x.type,))
    if any(isinstance(size, str) for size in image.shape[2:]):
        return decline("its positions are symbolic", at=pool)
    return op.max_pool(x, **_whole(image.shape[2:]))


def _whole(kernel):
    """One window over all of some axes."""
    ones = (1,) * len(kernel)
    return {"kernel": tuple(kernel), "strides": ones, "pads": (0,) * 2 * len(kernel), "dilations": ones}


@rule(keeps="rounding")
def write_reduction_as_pool(x):
    """A mean or the greatest entry along axes of positions is that of windows as long as these axes."""
    reduced = (op.reduce_mean | op.reduce_max)(x)
    yield reduced
    rank = len(x.shape)
    axes = {axis % rank for axis in (range(rank) if reduced.axes is None else reduced.axes)} if rank else set()
    if not axes or min(axes) < 2:
        return decline("it reduces the batch or the channels, or nothing", at=reduced)
    if x.type.layout is not None or element_kind(x.type.element) != "float":
        return decline("its axes have names, or its entries are no floats", at=reduced)
    if any(isinstance(size, str) or size == 0 for size in x.shape[2:]):
        return decline("its positions are symbolic, or there are none", at=reduced)
    pool = op.average_pool if reduced.op_name == "reduce_mean" else op.max_pool
    kernel = [x.shape[axis] if axis in axes else 1 for axis in range(2, rank)]
    made = pool(x, **_whole(kernel))
    return made if reduced.keep_dims else op.squeeze(made, axes=tuple(sorted(axes)))


POOL_POSITIONS = (write_global_max_pool_as_max_pool, write_reduction_as_pool)
"""Global poolings and reductions by poolings."""
