"""Normalisations written as means, products and roots."""

from __future__ import annotations

import math

from graphrewrite import decline, op, rule
from graphrewrite.lowering.composite.axes import bare, disordered, named, per_channel, positions, reshaped, unsaid
from graphrewrite.lowering.composite.precision import converted, exact_floats, like, widened
from graphrewrite.rules import drop_dropout

__all__ = ["LOWER_NORMALISATIONS"]


def _from_mean(x, axes):
    """Deviations from the mean, and the variance."""
    centred = x - op.reduce_mean(x, axes=axes)
    return centred, op.reduce_mean(centred * centred, axes=axes)


def _standardised(x, axes, epsilon):
    """Entries with mean 0 and variance 1 along some axes."""
    centred, variance = _from_mean(x, axes)
    return centred / op.sqrt(variance + epsilon)


@rule
def write_batch_norm_by_products(x, gain, shift, mean, var):
    """With fixed statistics a difference, a product and a sum a channel (Ioffe and Szegedy 2015)."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield norm
    wide, gain, shift, mean, var = (exact_floats(each) for each in (x, gain, shift, mean, var))
    scale = bare(gain) / op.sqrt(bare(var) + norm.epsilon)
    normalised = (wide - per_channel(mean, x)) * per_channel(scale, x) + per_channel(shift, x)
    return converted(normalised, x.type.element)


@rule(keeps="rounding")
def write_batch_norm_training_by_means(x, gain, shift, mean, var):
    """With the statistics of the batch, which the running ones take up a share of (Ioffe and Szegedy 2015)."""
    norm = op.batch_norm_training(x, gain, shift, mean, var)
    y, new_mean, new_var = norm
    yield y, new_mean, new_var
    if 0 in x.shape:
        return decline("there are no entries to take statistics of", at=norm)
    wide, axes, element = widened(bare(x)), (0, *positions(x)), x.type.element
    standardised = _standardised(wide, axes, norm.epsilon)
    normalised = standardised * widened(per_channel(gain, x)) + widened(per_channel(shift, x))
    of_batch = [op.squeeze(each, axes=axes) for each in (op.reduce_mean(wide, axes=axes), _from_mean(wide, axes)[1])]
    share = norm.momentum
    running = [widened(bare(old)) * share + new * (1 - share) for old, new in zip((mean, var), of_batch, strict=True)]
    return named(converted(normalised, element), y), *(converted(each, element) for each in running)


@rule(keeps="rounding")
def write_layer_norm_by_means(x, gain, shift=None):
    """Entries less their mean, divided by the root of their variance (Ba et al. 2016)."""
    norm = op.layer_norm(x, gain, shift)
    yield norm
    axes = tuple(range(norm.axis % len(x.shape), len(x.shape)))
    scaled = _standardised(widened(x), axes, norm.epsilon) * widened(bare(gain))
    return converted(scaled if shift is None else scaled + widened(bare(shift)), x.type.element)


@rule(keeps="rounding")
def write_rms_norm_by_means(x, gain):
    """Entries divided by the root of the mean of their squares (Zhang and Sennrich 2019)."""
    norm = op.rms_norm(x, gain)
    yield norm
    wide, axes = widened(x), tuple(range(norm.axis % len(x.shape), len(x.shape)))
    root = op.sqrt(op.reduce_mean(wide * wide, axes=axes) + norm.epsilon)
    return converted(wide / root * widened(bare(gain)), x.type.element)


@rule(keeps="rounding")
def write_instance_norm_by_means(x, gain, shift):
    """Each channel of each sample less its mean, divided by the root of its variance (Ulyanov et al. 2016)."""
    norm = op.instance_norm(x, gain, shift)
    yield norm
    alone = _standardised(widened(x), positions(x), norm.epsilon)
    return converted(alone * widened(per_channel(gain, x)) + widened(per_channel(shift, x)), x.type.element)


@rule(keeps="rounding")
def write_group_norm_by_means(x, gain, shift):
    """Groups of channels less their means, divided by the roots of their variances (Wu and He 2018)."""
    norm = op.group_norm(x, gain, shift)
    yield norm
    batch, channels, *sizes = x.shape
    if isinstance(channels, str):
        return decline("its number of channels is symbolic", at=norm)
    shape = (batch, norm.groups, channels // norm.groups, *sizes)
    if reason := disordered(norm, x) or unsaid(shape):
        return decline(reason, at=norm)
    alone = _standardised(reshaped(widened(x), shape), tuple(range(2, len(shape))), norm.epsilon)
    normalised = reshaped(alone, x.shape) * widened(per_channel(gain, x)) + widened(per_channel(shift, x))
    return named(converted(normalised, x.type.element), norm)


@rule(keeps="rounding")
def write_lp_norm_by_reduce(x):
    """Entries divided by their norm, where it is not zero (ONNX specification, LpNormalization)."""
    norm = op.lp_norm(x)
    yield norm
    wide, axes = widened(x), (norm.axis,)
    size = op.reduce_l1(wide, axes=axes) if norm.p == 1 else op.reduce_l2(wide, axes=axes)
    return converted(wide / op.where(op.equal(size, 0.0), like(1.0, wide), size), x.type.element)


@rule(keeps="rounding")
def write_mean_variance_norm_by_means(x):
    """Entries less their mean, divided by the root of their variance and a little more (ONNX specification)."""
    norm = op.mean_variance_norm(x)
    yield norm
    centred, variance = _from_mean(widened(x), norm.axes)
    return converted(centred / (op.sqrt(variance) + 1e-9), x.type.element)


@rule(keeps="rounding")
def write_lrn_by_average_pool(x):
    """The squares of neighbouring channels are those in a window of an image whose rows are the channels."""
    norm = op.lrn(x)
    yield norm
    batch, channels, *sizes = x.shape
    if any(isinstance(size, str) for size in (channels, *sizes)) or 0 in x.shape:
        return decline("a size besides the batch is symbolic, or there are no entries", at=norm)
    if reason := disordered(norm, x):
        return decline(reason, at=norm)
    wide = widened(x)
    # The channels as rows, the positions as columns: a window of neighbouring channels is one of neighbouring rows.
    rows = op.reshape(wide * wide, shape=(batch, 1, channels, math.prod(sizes)))
    border = ((norm.size - 1) // 2, 0, norm.size // 2, 0)
    mean = op.average_pool(rows, kernel=(norm.size, 1), pads=border, count_include_pad=True)
    spread = op.pow(bare(op.reshape(mean, shape=x.shape)) * norm.alpha + norm.bias, norm.beta)
    return converted(wide / spread, x.type.element)


LOWER_NORMALISATIONS = (
    drop_dropout,
    write_batch_norm_by_products,
    write_batch_norm_training_by_means,
    write_layer_norm_by_means,
    write_rms_norm_by_means,
    write_instance_norm_by_means,
    write_group_norm_by_means,
    write_lp_norm_by_reduce,
    write_mean_variance_norm_by_means,
    write_lrn_by_average_pool,
)
"""Normalisations by means, products and roots."""
