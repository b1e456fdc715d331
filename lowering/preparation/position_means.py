"""Reductions over positions and poolings, written as those that the lowerings support."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.lowering.preparation.pooling_windows import windows_of
from graphrewrite.lowering.preparation.resizes import interpolation_of
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.types import element_dtype, element_kind

__all__ = ["BY_WINDOWS", "POOL_POSITIONS", "write_conv_transpose_by_blocks"]


@rule(keeps="rounding")
def write_global_max_pool_as_max_pool(x):
    """The greatest entry of all positions is that of one window over them (ONNX specification, GlobalMaxPool).

    Where zeros of both signs are the greatest, it may be the other one.
    """
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
        return decline("its axes are named, or its entries are not floats", at=reduced)
    if any(isinstance(size, str) or size == 0 for size in x.shape[2:]):
        return decline("its positions are symbolic, or there are none", at=reduced)
    pool = op.average_pool if reduced.op_name == "reduce_mean" else op.max_pool
    kernel = [x.shape[axis] if axis in axes else 1 for axis in range(2, rank)]
    pooled = pool(x, **_whole(kernel))
    return pooled if reduced.keep_dims else op.squeeze(pooled, axes=tuple(sorted(axes)))


@rule(keeps="rounding")
def write_average_pool_by_counts(x):
    """A mean over windows that read more here and less there is a sum, divided by a number for each position."""
    pool = op.average_pool(x)
    yield pool
    if x.type.layout is not None or element_kind(x.type.element) != "float":
        return decline("its axes are named, or its entries are not floats", at=pool)
    windows = windows_of(pool, x.shape)
    if isinstance(windows, str):
        return decline(windows, at=pool)
    if windows.is_even:
        if pool.count_include_pad and not pool.ceil_mode:
            return decline("all its windows count as many numbers already", at=pool)
        mean = op.average_pool(x, like=pool, ceil_mode=False, count_include_pad=True)
        return mean if mean.type == pool.type else decline("a window of the border alone is left out", at=pool)
    channels, dtype = x.shape[1], element_dtype(x.type.element)
    if not channels:
        return decline("it has no channels", at=pool)
    # -0.0 changes no bit of a sum; 0.0 would make +0 of -0 (IEEE 754-2019, 6.3).
    ones, nothing = np.ones((channels, 1, *windows.kernel), dtype), np.full(channels, -0.0, dtype)
    total = op.conv(x, ones, nothing, groups=channels, **windows.moving)
    return op.mul(total, (1 / windows.counts)[None, None].astype(dtype))


@rule(keeps="rounding")
def write_sum_as_mean(x):
    """A sum over axes of positions is their mean, times how many there are."""
    total = op.reduce_sum(x)
    yield total
    rank = len(x.shape)
    axes = tuple(sorted({axis % rank for axis in total.axes})) if total.axes is not None else ()
    sizes = [x.shape[axis] for axis in axes]
    if not axes or axes[0] < 2 or x.type.layout is not None or element_kind(x.type.element) != "float":
        return decline("it reduces the batch or the channels, its axes are named, or it adds no floats", at=total)
    if any(isinstance(size, str) or size == 0 for size in sizes):
        return decline("its positions are symbolic, or there are none", at=total)
    mean = op.reduce_mean(x, axes=axes, keep_dims=total.keep_dims)
    return op.mul(mean, np.asarray(np.prod(sizes), element_dtype(x.type.element)))


POOL_POSITIONS = (write_global_max_pool_as_max_pool, write_reduction_as_pool, write_sum_as_mean)
"""Global poolings and reductions by poolings."""


@rule(keeps="rounding")
def write_resize_by_conv(x):
    """Entries between others are sums over windows, whose channels become positions; at the ends they lack some."""
    resized = op.resize(x)
    yield resized
    if resized.mode == "nearest" or x.type.layout is not None or element_kind(x.type.element) != "float":
        return decline("it repeats numbers, its axes are named, or its entries are not floats", at=resized)
    if resized.keep_aspect_ratio_policy != "stretch" or resized.coordinate_transformation_mode == "tf_crop_and_resize":
        return decline("its sizes are chosen by their ratio, or it resizes a part", at=resized)
    if any(isinstance(size, str) for size in x.shape[1:]) or 0 in x.shape:
        return decline("a size besides the batch is symbolic, or there are no entries", at=resized)
    rank = len(x.shape)
    if rank not in (3, 4) or tuple(resized.shape[:2]) != tuple(x.shape[:2]) or _scales_first_axes(resized, rank):
        return decline("it resizes other axes than one or two of positions", at=resized)
    channels = x.shape[1]
    attributes = resized.graph.attributes(resized.node)
    interpolations = [interpolation_of(attributes, x.shape, axis) for axis in range(2, rank)]
    if reasons := [one for one in interpolations if isinstance(one, str)]:
        return decline(reasons[0], at=resized)
    along = [one for one in interpolations if not isinstance(one, str)]
    times = {one.times for one in along}
    if len(times) > 1 or (times != {1} and rank == 3):
        return decline("both axes of an image become longer by one whole number, or none", at=resized)
    dtype, weights, factors = element_dtype(x.type.element), np.ones((1, 1)), np.ones(())
    for one in along:
        weights = np.einsum("pk,ql->pqkl", weights, one.weights).reshape(len(weights) * len(one.weights), -1)
        factors = factors[..., None] * one.factors
    kernel = [one.weights.shape[1] for one in along]
    rows = np.tile(weights.reshape(-1, 1, *kernel), (channels, *[1] * (rank - 1)))
    result = op.conv(
        x,
        rows.astype(dtype),
        np.full(len(rows), -0.0, dtype),
        groups=channels,
        strides=tuple(one.stride for one in along),
        pads=(*(one.before for one in along), *(one.after for one in along)),
    )
    (block,) = times
    result = result if block == 1 else op.depth_to_space(result, block_size=block, mode="CRD")
    return result if np.allclose(factors, 1) else op.mul(result, factors[None, None].astype(dtype))


def _scales_first_axes(resized: Any, rank: int) -> bool:
    """Tell whether batch or channels have a scale, which may mix them in an axis that stays as long as it is."""
    axes = range(rank) if resized.axes is None else (axis % rank for axis in resized.axes)
    return any(axis < 2 and scale != 1 for axis, scale in zip(axes, resized.scales or (), strict=False))


@rule(keeps="rounding")
def write_conv_transpose_by_blocks(x, w: Constant, b: Constant | None = None):
    """A transposed convolution whose windows meet without overlap gives a block for each position (Shi et al. 2016)."""
    upwards = op.conv_transpose(x, w, b)
    yield upwards
    kernel = tuple(w.shape[2:])
    block = kernel[0] if kernel else 0
    if len(x.shape) != 4 or set(kernel) != {block} or per_axis(upwards.strides, 2, 1) != kernel:
        return decline("its windows overlap, or it has other than two axes of equal strides", at=upwards)
    if x.type.layout is not None or upwards.groups != 1 or element_kind(x.type.element) != "float":
        return decline("its axes are named, or its channels are in groups", at=upwards)
    if any((*upwards.pads, *upwards.output_padding)) or set(upwards.dilations) != {1}:
        return decline("it has a border, or dilated windows", at=upwards)
    inputs, outputs = w.shape[:2]
    weights = np.ascontiguousarray(w.value.transpose(1, 2, 3, 0)).reshape(outputs * block * block, inputs, 1, 1)
    bias = np.repeat(b.value, block * block) if b is not None else np.full(len(weights), -0.0, weights.dtype)
    return op.depth_to_space(op.conv(x, weights, bias), block_size=block, mode="CRD")


BY_WINDOWS = (write_average_pool_by_counts, write_resize_by_conv)
"""Means over windows that differ, and interpolation, before quantising."""
