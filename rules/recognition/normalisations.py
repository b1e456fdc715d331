"""Normalisations from means, products and roots."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.types import element_dtype

__all__ = [
    "RECOGNISE_NORMALISATIONS",
    "norm_takes_factor",
    "norm_takes_term",
    "recognise_group_norm",
    "recognise_instance_norm",
    "recognise_layer_norm",
    "recognise_layer_norm_of_line",
    "recognise_rms_norm",
    "recognise_rms_norm_by_inverse",
    "recognise_rms_norm_of_factor",
    "recognise_rms_norm_of_product",
    "recognise_rms_norm_of_quotient",
]


def _square(x):
    return op.mul(x, x) | op.pow(x, 2)


def _inverse(power, root):
    """The inverse of a root, which exporters write in three ways."""
    return op.reciprocal(root) | op.div(1, root) | op.pow(power, -0.5)


def _rms_norm(x, mean, epsilon, result, gain=None):
    """The norm of a mean of squares, if it is one over the last axes."""
    if x.type != result.type or x.type.layout is not None:
        return decline("a constant broadcasts its operand, or its axes have names", at=result)
    axes = _last_axes(x, mean)
    if axes is None:
        return decline("its mean is not one over the last axes", at=mean)
    if epsilon.value.size != 1:
        return decline("what is added to the mean is not one number", at=epsilon)
    normalised = x.shape[axes:]
    if gain is None:
        if any(isinstance(size, str) for size in normalised):
            return decline("a size of its normalised axes is symbolic", at=result)
        gain = np.ones(normalised, element_dtype(x.type.element))
    elif not _broadcasts(gain.shape, normalised):
        return decline("its factor does not broadcast to the normalised axes", at=result)
    return op.rms_norm(x, gain, axis=axes - len(x.shape), epsilon=float(epsilon.value.reshape(-1)[0]))


def _last_axes(x, mean):
    """The first of the axes of a mean, if these are the last ones and stay; else None."""
    if mean.axes is None or not mean.keep_dims or 0 in x.shape:
        return None
    rank = len(x.shape)
    axes = sorted(axis % rank for axis in mean.axes)
    return axes[0] if axes == list(range(rank - len(axes), rank)) and axes else None


def _broadcasts(shape, whole):
    last = whole[len(whole) - len(shape) :]
    return len(shape) <= len(whole) and all(a in (1, b) for a, b in zip(shape, last, strict=True))


@rule(keeps="rounding")
def recognise_rms_norm(x, epsilon: Constant):
    """Entries divided by the root of the mean of their squares and a little more (Zhang and Sennrich 2019)."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    quotient = op.div(x, op.sqrt(power) | op.pow(power, 0.5))
    yield quotient
    return _rms_norm(x, mean, epsilon, quotient)


@rule(keeps="rounding")
def recognise_rms_norm_by_inverse(x, epsilon: Constant):
    """The same, as a product with the inverse of the root."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    product = op.mul(x, _inverse(power, op.sqrt(power) | op.pow(power, 0.5)))
    yield product
    return _rms_norm(x, mean, epsilon, product)


@rule(keeps="rounding")
def recognise_rms_norm_of_factor(x, epsilon: Constant, gain):
    """The same, where the gain is multiplied with the inverse before."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    product = op.mul(x, op.mul(_inverse(power, op.sqrt(power) | op.pow(power, 0.5)), gain))
    yield product
    return _rms_norm(x, mean, epsilon, product, gain)


@rule(keeps="rounding")
def recognise_rms_norm_of_product(x, epsilon: Constant, gain):
    """The same, where the gain is multiplied with the entries before."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    product = op.mul(op.mul(x, gain), _inverse(power, op.sqrt(power) | op.pow(power, 0.5)))
    yield product
    return _rms_norm(x, mean, epsilon, product, gain)


@rule(keeps="rounding")
def recognise_rms_norm_of_quotient(x, epsilon: Constant, gain):
    """The same, where the entries and the gain are multiplied before they are divided by the root."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    quotient = op.div(op.mul(x, gain), op.sqrt(power) | op.pow(power, 0.5))
    yield quotient
    return _rms_norm(x, mean, epsilon, quotient, gain)


@rule(keeps="rounding")
def recognise_layer_norm(x, gain):
    """The root-mean-square norm of deviations from a mean is a layer norm (Ba et al. 2016)."""
    mean = op.reduce_mean(x)
    centred = op.sub(x, mean)
    norm = op.rms_norm(centred, gain)
    yield norm
    if x.type != centred.type:
        return decline("its mean broadcasts it", at=centred)
    if _last_axes(x, mean) != norm.axis % len(x.shape):
        return decline("its mean is not one over the axes of the norm", at=mean)
    return op.layer_norm(x, gain, like=norm)


@rule(keeps="rounding")
def recognise_layer_norm_of_line(x, epsilon: Constant, gain, shift):
    """So is x · scale + (shift - mean · scale), as TensorFlow writes it, where the scale is gain / root."""
    mean = op.reduce_mean(x)
    centred = op.sub(x, mean) | op.sub(mean, x)
    variance = op.reduce_mean(_square(centred))
    power = op.add(variance, epsilon)
    scale = op.mul(_inverse(power, op.sqrt(power) | op.pow(power, 0.5)), gain)
    line = op.add(op.mul(x, scale), op.sub(shift, op.mul(mean, scale)))
    yield line
    axis = _last_axes(x, mean)
    if axis is None or axis != _last_axes(x, variance):
        return decline("its mean and its variance are not over the same last axes", at=variance)
    if epsilon.value.size != 1:
        return decline("what is added to the variance is not one number", at=epsilon)
    if x.type != line.type or x.type.layout is not None:
        return decline("a constant broadcasts its operand, or its axes have names", at=line)
    if not all(_broadcasts(each.shape, x.shape[axis:]) for each in (gain, shift)):
        return decline("its gain or shift does not broadcast to the normalised axes", at=line)
    return op.layer_norm(x, gain, shift, axis=axis - len(x.shape), epsilon=float(epsilon.value.reshape(-1)[0]))


def _without_ones(c, whole):
    """A constant without leading axes of size 1 beyond those of another shape."""
    more = c.value.ndim - len(whole)
    return c.value.reshape(c.value.shape[more:]) if more > 0 and set(c.value.shape[:more]) == {1} else c.value


@rule(keeps="rounding")
def norm_takes_factor(x, gain: Constant, shift: Constant | None, c: Constant):
    """A factor of the normalised entries belongs to the gain of a norm, and to its shift."""
    norm = op.layer_norm(x, gain, shift) | op.rms_norm(x, gain)
    product = op.mul(norm, c)
    yield product
