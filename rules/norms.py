"""Normalisations that do nothing, and affine arithmetic behind normalisations, folded into their own."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.affine import per_channel, scale_of, with_axes

__all__ = [
    "add_to_layer_norm",
    "add_to_norm",
    "drop_norm",
    "merge_norms",
    "scale_layer_norm",
    "scale_norm",
    "subtract_norm",
]

_ROUNDINGS = 4
"""So many roundings are in the scale of a norm, and in the offset: a root, a sum, a quotient and a product."""


@rule(keeps="rounding")
def drop_norm(x, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """A norm whose gain is its standard deviation, and whose shift is its mean, does nothing."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield norm
    error = _ROUNDINGS * np.spacing(np.result_type(gain.value, var.value).type(1))
    with np.errstate(invalid="ignore"):
        moved = np.abs(shift.value - mean.value)
    if not (moved <= error * np.abs(mean.value)).all():  # as that of most networks
        return decline("it moves a channel", at=norm)
    scale = scale_of(norm, gain, var)
    if scale is None:
        return decline("its scale is not finite, for a variance is 0", at=norm)
    if not (np.abs(scale - 1) <= error).all():
        return decline("it scales a channel", at=norm)
    return x


@rule(keeps="rounding")
def merge_norms(
    x, gain: Constant, shift: Constant, statistics, gain2: Constant, shift2: Constant, mean2: Constant, var2: Constant
):
    """A norm by stored statistics behind another norm belongs to the gain and the shift of that."""
    first = (op.batch_norm | op.instance_norm | op.group_norm)(x, gain, shift, *statistics)
    second = op.batch_norm(first, gain2, shift2, mean2, var2)
    yield second
    scale = scale_of(second, gain2, var2)
    if scale is None:
        return decline("its scale is not finite, for a variance is 0", at=second)
    offset = (shift.value - mean2.value) * scale + shift2.value
    return first.op(x, gain.value * scale, offset, *statistics, like=first)


@rule(keeps="rounding")
def scale_norm(x, gain: Constant, shift: Constant, statistics, c: Constant):
    """A constant factor for each channel of a norm belongs to its gain and shift."""
    norm = (op.batch_norm | op.instance_norm | op.group_norm)(x, gain, shift, *statistics)
    product = op.mul(norm, c)
    yield product
    scale = per_channel(c, norm)
    if scale is None or product.type != norm.type:
        return decline("the constant is not one number a channel", at=product)
    return norm.op(x, gain.value * scale, shift.value * scale, *statistics, like=norm)


@rule(keeps="rounding")
def add_to_norm(x, gain, shift: Constant, statistics, c: Constant):
    """A constant for each channel added to a norm belongs to its shift."""
    norm = (op.batch_norm | op.instance_norm | op.group_norm)(x, gain, shift, *statistics)
    total = op.add(norm, c)
    yield total
    offset = per_channel(c, norm)
    if offset is None or total.type != norm.type:
        return decline("the constant is not one number a channel", at=total)
    return norm.op(x, gain, shift.value + offset, *statistics, like=norm)


@rule(keeps="rounding")
def subtract_norm(x, gain: Constant, shift: Constant, statistics, c: Constant):
    """A norm subtracted from a constant for each channel is one with a negative gain."""
    norm = (op.batch_norm | op.instance_norm | op.group_norm)(x, gain, shift, *statistics)
    difference = op.sub(c, norm)
    yield difference
    offset = per_channel(c, norm)
    if offset is None or difference.type != norm.type:
        return decline("the constant is not one number a channel", at=difference)
    return norm.op(x, -gain.value, offset - shift.value, *statistics, like=norm)


def _over_normalised(constant, norm):
    """The entries of a constant over the normalised axes, or None where it differs along others."""
    rank = len(norm.shape)
    aligned = with_axes(constant, rank)
    first = norm.axis % rank
    if aligned.ndim != rank or set(aligned.shape[:first]) - {1}:
        return None
    return aligned.reshape(aligned.shape[first:])


@rule(keeps="rounding")
def scale_layer_norm(x, gain: Constant, shifts: Constant, c: Constant):
    """A constant factor for each feature behind a layer normalisation belongs to its gain and shift."""
    norm = (op.layer_norm | op.rms_norm)(x, gain, *shifts)
    product = op.mul(norm, c)
    yield product
    scale = _over_normalised(c, norm)
    if scale is None or product.type != norm.type:
        return decline("the constant differs along axes that are not normalised", at=product)
    return norm.op(x, *(parameter.value * scale for parameter in (gain, *shifts)), like=norm)


@rule(keeps="rounding")
def add_to_layer_norm(x, gain, c: Constant, shift: Constant | None = None):
    """A constant for each feature added to a layer normalisation belongs to its shift."""
    norm = op.layer_norm(x, gain, shift)
    total = op.add(norm, c)
    yield total
    offset = _over_normalised(c, norm)
    if offset is None or total.type != norm.type:
        return decline("the constant differs along axes that are not normalised", at=total)
    return op.layer_norm(x, gain, offset if shift is None else shift.value + offset, like=norm)
