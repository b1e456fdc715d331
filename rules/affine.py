"""Affine arithmetic around convolutions and fully-connected layers, folded into their weights."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.types import SMALL_FLOATS

__all__ = [
    "by_input",
    "divide_as_multiply",
    "fold_batch_norm",
    "fold_bias",
    "fold_input_norm",
    "fold_input_offset",
    "fold_input_scale",
    "fold_scale",
    "negate_layer",
    "per_channel",
    "scale_of",
    "subtract_as_add",
    "subtract_layer",
    "with_axes",
]


@rule(keeps="rounding")
def divide_as_multiply(x, c: Constant):
    """A division by a constant is a product with its reciprocal."""
    yield op.div(x, c)
    if c.value.dtype.kind != "f":
        return decline("integers have no reciprocal", at=c)
    if _names_axes(x, c):
        return decline("only the constant has named axes", at=c)
    if c.type.element in SMALL_FLOATS:
        return decline("few reciprocals are floats of 8 or 4 bits", at=c)
    if not np.isfinite(1 / np.where(c.value == 0, np.nan, c.value)).all():
        return decline("a reciprocal is not finite", at=c)
    return op.mul(x, (1 / c.value).astype(c.value.dtype))


@rule
def subtract_as_add(x, c: Constant):
    """Subtracting a constant is adding its negative (IEEE 754-2019, 5.4.1: x - c is x + (-c))."""
    yield op.sub(x, c)
    if _names_axes(x, c):
        return decline("only the constant has named axes", at=c)
    if c.type.element in SMALL_FLOATS:
        return decline("floats of 8 or 4 bits need not have a negative", at=c)
    return op.add(x, -c.value)


def _names_axes(x, c):
    return x.type.layout is None and c.type.layout is not None


def with_axes(constant, rank):
    """Return the array of a constant with as many axes as a value, where it has fewer: as it broadcasts."""
    return constant.value.reshape((1,) * max(rank - constant.value.ndim, 0) + constant.value.shape)


def per_channel(constant, layer):
    """Return one entry of a constant for each channel of a value, or None where it is something else."""
    axis, rank = (layer.type.layout or "NC").index("C"), len(layer.shape)
    channels = layer.shape[axis]
    aligned = with_axes(constant, rank)
    if aligned.ndim != rank or any(size != 1 for i, size in enumerate(aligned.shape) if i != axis):
        return None
    return np.broadcast_to(aligned.reshape(-1), (channels,)) if aligned.size in (1, channels) else None


def _scaled(layer, w, scale):
    """The weights of a layer times one factor for each of its results."""
    if layer.op is not op.conv_transpose:
        return w.value * scale.reshape(-1, *[1] * (w.value.ndim - 1))
    inputs, results, *kernel = w.value.shape
    by_group = np.repeat(scale.reshape(layer.groups, results), inputs // layer.groups, axis=0)
    return w.value * by_group.reshape(inputs, results, *[1] * len(kernel))


@rule(keeps="rounding")
def fold_bias(x, w, b: Constant, c: Constant):
    """A constant for each channel added to a layer belongs to its bias."""
    layer = (op.linear | op.conv | op.conv_transpose)(x, w, b)
    total = op.add(layer, c)
    yield total
    offset = per_channel(c, layer)
    if offset is None or total.type != layer.type:
        return decline("the constant is not one number a channel", at=total)
    return layer.op(x, w, b.value + offset, like=layer)


@rule(keeps="rounding")
def fold_scale(x, w: Constant, b: Constant, c: Constant):
    """A constant factor for each channel of a layer belongs to its weights and bias."""
    layer = (op.linear | op.conv | op.conv_transpose)(x, w, b)
    product = op.mul(layer, c)
    yield product
    scale = per_channel(c, layer)
    if scale is None or product.type != layer.type:
        return decline("the constant is not one number a channel", at=product)
    return layer.op(x, _scaled(layer, w, scale), b.value * scale, like=layer)


@rule(keeps="rounding")
def negate_layer(x, w: Constant, b: Constant):
    """The negative of a layer is the layer with negative weights and bias."""
    layer = (op.linear | op.conv | op.conv_transpose)(x, w, b)
    yield op.neg(layer)
    return layer.op(x, -w.value, -b.value, like=layer)


@rule(keeps="rounding")
def subtract_layer(x, w: Constant, b: Constant, c: Constant):
    """A layer subtracted from a constant for each channel is one with negative weights."""
    layer = (op.linear | op.conv | op.conv_transpose)(x, w, b)
    difference = op.sub(c, layer)
    yield difference
    offset = per_channel(c, layer)
    if offset is None or difference.type != layer.type:
        return decline("the constant is not one number a channel", at=difference)
    return layer.op(x, -w.value, offset - b.value, like=layer)


def scale_of(norm, gain, var):
    """Return the factor of each channel of a norm, or None where a variance of 0 makes one infinite."""
    # In the type of the statistics, as the op computes: a Python float would widen half precision.
    with np.errstate(all="ignore"):
        scale = gain.value / np.sqrt(var.value + var.value.dtype.type(norm.epsilon))
    return scale if np.isfinite(scale).all() else None


@rule(keeps="rounding")
def fold_batch_norm(x, w: Constant, b: Constant, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """An affine map for each channel after a layer is a layer with other weights (Ioffe and Szegedy 2015)."""
    layer = (op.linear | op.conv | op.conv_transpose)(x, w, b)
    norm = op.batch_norm(layer, gain, shift, mean, var)
    yield norm
    scale = scale_of(norm, gain, var)
    if scale is None:
        return decline("its scale is not finite, for a variance is 0", at=norm)
    return layer.op(x, _scaled(layer, w, scale), (b.value - mean.value) * scale + shift.value, like=layer)


@rule(keeps="rounding")
def fold_input_scale(x, c: Constant, w: Constant, b):
    """A constant factor for each channel before a layer belongs to its weights; a border of zeros stays zero."""
    scaled = op.mul(x, c)
    layer = (op.linear | op.conv | op.conv_transpose)(scaled, w, b)
    yield layer
    scale = per_channel(c, scaled)
    if scale is None or scaled.type != x.type:
        return decline("the constant is not one number a channel", at=scaled)
    return layer.op(x, w.value * by_input(scale, w, layer), b, like=layer)


@rule(keeps="rounding")
def fold_input_offset(x, c: Constant, w: Constant, b: Constant):
    """A constant for each channel before a layer belongs to its bias, unless a border of zeros comes between."""
    shifted = op.add(x, c)
    layer = (op.linear | op.conv)(shifted, w, b)
    yield layer
    offset = per_channel(c, shifted)
    if offset is None or shifted.type != x.type:
        return decline("the constant is not one number a channel", at=shifted)
    if layer.op is op.conv and any(layer.pads):
        return decline("the border is zero before and after the sum, so it would change", at=layer)
    return layer.op(x, w, b.value + _moved_by(offset, w, layer), like=layer)


def _moved_by(offset, w, layer):
    """What a layer gives for a constant for each channel: the sum of each row."""
    moved = w.value * by_input(offset, w, layer)
    return moved.sum(axis=tuple(range(1, moved.ndim)), dtype=moved.dtype)


@rule(keeps="rounding")
def fold_input_norm(x, gain: Constant, shift: Constant, mean: Constant, var: Constant, w: Constant, b: Constant):
    """A norm before a layer belongs to its weights and its bias, unless a border of zeros comes between."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    layer = (op.linear | op.conv)(norm, w, b)
    yield layer
    if layer.op is op.conv and any(layer.pads):
        return decline("the border is zero before and after the norm, so it would change", at=layer)
    scale = scale_of(norm, gain, var)
    if scale is None:
        return decline("its scale is not finite, for a variance is 0", at=norm)
    moves = _moved_by(shift.value - mean.value * scale, w, layer)
    return layer.op(x, w.value * by_input(scale, w, layer), b.value + moves, like=layer)


def by_input(entries, w, layer):
    """Return entries an input channel, laid out to meet weights [O, C/groups, …]; or [C, O/groups, …], transposed."""
    if layer.op is op.conv_transpose:
        return entries.reshape(-1, *[1] * (w.value.ndim - 1))
    outputs, inner, *kernel = w.value.shape
    groups = layer.groups if layer.op is op.conv else 1
    by_group = np.repeat(entries.reshape(groups, inner), outputs // groups, axis=0)
    return by_group.reshape(outputs, inner, *[1] * len(kernel))
