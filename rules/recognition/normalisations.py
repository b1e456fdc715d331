"""Normalisations from means, products and roots."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.rules.affine import per_channel, with_axes
from graphrewrite.rules.norms import add_to_layer_norm, add_to_norm, scale_layer_norm, scale_norm
from graphrewrite.types import element_dtype, element_kind

__all__ = [
    "RECOGNISE_NORMALISATIONS",
    "recognise_batch_norm",
    "recognise_gain",
    "recognise_group_norm",
    "recognise_group_norm_of_rows",
    "recognise_instance_norm",
    "recognise_layer_norm",
    "recognise_layer_norm_of_line",
    "recognise_norm_of_narrow",
    "recognise_rms_norm",
    "recognise_rms_norm_by_inverse",
    "recognise_rms_norm_of_factor",
    "recognise_rms_norm_of_product",
    "recognise_rms_norm_of_quotient",
    "recognise_shift",
    "recognise_variance",
]


def _square(x):
    return op.mul(x, x) | op.pow(x, 2)


def _root(power):
    return op.sqrt(power) | op.pow(power, 0.5)


def _inverse(power):
    """The inverse of a root, which exporters write in three ways."""
    root = _root(power)
    return op.reciprocal(root) | op.div(1, root) | op.pow(power, -0.5)


def _scale(power, gain):
    """A gain times the inverse of a root."""
    return op.mul(_inverse(power), gain) | op.div(gain, _root(power))


def _rms_norm(x, mean, epsilon, result, gain=None):
    """The norm of a mean of squares; of other axes than the last ones, which come last for it, between transposes."""
    if x.type != result.type or x.type.layout is not None:
        return decline("a constant broadcasts its operand, or its axes have names", at=result)
    axes = _reduced_axes(x, mean)
    if not axes or element_kind(x.type.element) != "float":
        return decline("its mean is one over no axes, or does not keep them, or is of no floats", at=mean)
    if epsilon.value.size != 1 or not epsilon.value.item() > 0:
        return decline("what is added to the mean is not one number above 0", at=epsilon)
    normalised = tuple(x.shape[axis] for axis in axes)
    perm = (*(axis for axis in range(len(x.shape)) if axis not in axes), *axes)
    if gain is None:
        if any(isinstance(size, str) for size in normalised):
            return decline("a size of its normalised axes is symbolic", at=result)
        gain = np.ones(normalised, element_dtype(x.type.element))
    elif (gain := _parameter(gain, normalised, np.argsort(perm))) is None:
        return decline("its factor does not broadcast to the normalised axes", at=result)
    attributes = {"axis": -len(axes), "epsilon": epsilon.value.item()}
    if perm == tuple(sorted(perm)):
        return op.rms_norm(x, gain, **attributes)
    norm = op.rms_norm(op.transpose(x, perm=perm), gain, **attributes)
    return op.transpose(norm, perm=tuple(int(axis) for axis in np.argsort(perm)))


def _reduced_axes(x, mean):
    """The axes of a mean, in order, if they stay; else none."""
    if mean.axes is None or not mean.keep_dims or 0 in x.shape:
        return ()
    return tuple(sorted(axis % len(x.shape) for axis in mean.axes))


def _last_axes(x, mean):
    """The first of the axes of a mean, if these are the last ones and stay; else None."""
    axes, rank = _reduced_axes(x, mean), len(x.shape)
    return axes[0] if axes and axes == tuple(range(rank - len(axes), rank)) else None


def _broadcasts(shape, whole):
    last = whole[len(whole) - len(shape) :]
    return len(shape) <= len(whole) and all(a in (1, b) for a, b in zip(shape, last, strict=True))


def _parameter(c, whole, back=None):
    """A factor or addend of normalised entries as a parameter of a norm; None where it does not broadcast to them.

    Parameters
    ----------
    back : sequence of int, optional
        Where each axis of the norm is in what is multiplied or added, if that is transposed.
    """
    is_moved = back is not None and list(back) != sorted(back)
    if not c.is_constant:
        return c if _broadcasts(c.shape, whole) and not is_moved else None
    if is_moved and len(c.shape) > len(back):
        return None  # so has the product or sum
    value = with_axes(c, len(back)).transpose(np.argsort(back)) if is_moved else c.value
    more = max(value.ndim - len(whole), 0)
    entries = value.reshape(value.shape[more:]) if set(value.shape[:more]) <= {1} else value
    if not _broadcasts(entries.shape, whole):
        return None
    return entries if any(isinstance(size, str) for size in whole) else np.broadcast_to(entries, whole)


@rule(keeps="assumes", shared="keep")
def recognise_variance(x):
    """The mean of squares less the square of the mean is that of squared deviations; assumes that it is no rounding."""
    mean, squares = op.reduce_mean(x), op.reduce_mean(_square(x))
    variance = op.sub(squares, _square(mean))
    yield variance
    if not variance.type == squares.type == mean.type or element_kind(x.type.element) != "float":
        return decline("an exponent broadcasts it, or it is of no floats", at=variance)
    axes = _reduced_axes(x, mean)
    if not axes or axes != _reduced_axes(x, squares):
        return decline("its means are not over the same axes", at=squares)
    centred = op.sub(x, mean)
    return op.reduce_mean(op.mul(centred, centred), like=squares)


@rule(keeps="rounding")
def recognise_rms_norm(x, epsilon: Constant):
    """Entries divided by the root of the mean of their squares and a little more (Zhang and Sennrich 2019)."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    quotient = op.div(x, _root(power))
    yield quotient
    return _rms_norm(x, mean, epsilon, quotient)


@rule(keeps="rounding")
def recognise_rms_norm_by_inverse(x, epsilon: Constant):
    """The same, as a product with the inverse of the root."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    product = op.mul(x, _inverse(power))
    yield product
    return _rms_norm(x, mean, epsilon, product)


@rule(keeps="rounding")
def recognise_rms_norm_of_factor(x, epsilon: Constant, gain):
    """The same, where the gain is multiplied with the inverse before."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    product = op.mul(x, _scale(power, gain))
    yield product
    return _rms_norm(x, mean, epsilon, product, gain)


@rule(keeps="rounding")
def recognise_rms_norm_of_product(x, epsilon: Constant, gain):
    """The same, where the gain is multiplied with the entries before."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    product = op.mul(op.mul(x, gain), _inverse(power))
    yield product
    return _rms_norm(x, mean, epsilon, product, gain)


@rule(keeps="rounding")
def recognise_rms_norm_of_quotient(x, epsilon: Constant, gain):
    """The same, where the entries and the gain are multiplied before they are divided by the root."""
    mean = op.reduce_mean(_square(x))
    power = op.add(mean, epsilon)
    quotient = op.div(op.mul(x, gain), _root(power))
    yield quotient
    return _rms_norm(x, mean, epsilon, quotient, gain)


@rule(keeps="rounding")
def recognise_layer_norm(x, gain):
    """The root-mean-square norm of deviations from a mean is a layer norm (Ba et al. 2016)."""
    mean = op.reduce_mean(x)
    centred = op.sub(x, mean)
    moved = op.transpose(centred)
    norm = op.rms_norm(centred | moved, gain)
    yield norm
    if x.type != centred.type:
        return decline("its mean broadcasts it", at=centred)
    perm = moved.perm if moved else range(len(x.shape))
    if _reduced_axes(x, mean) != tuple(sorted(perm[norm.axis % len(perm) :])):
        return decline("its mean is not one over the axes of the norm", at=mean)
    return op.layer_norm(op.transpose(x, perm=perm) if moved else x, gain, like=norm)


@rule(keeps="rounding")
def recognise_layer_norm_of_line(x, epsilon: Constant, gain, shift):
    """So is x · scale + (shift - mean · scale), as TensorFlow and Keras write it, for a scale of gain / root."""
    mean = op.reduce_mean(x)
    centred = op.sub(x, mean) | op.sub(mean, x)
    variance = op.reduce_mean(_square(centred))
    power = op.add(variance, epsilon)
    scale = _scale(power, gain)
    offset = op.sub(shift, op.mul(mean, scale)) | op.add(op.mul(op.neg(mean), scale), shift)
    line = op.add(op.mul(x, scale), offset)
    yield line
    axis = _last_axes(x, mean)
    if axis is None or element_kind(x.type.element) != "float" or axis != _last_axes(x, variance):
        return decline("its mean and its variance are not over the same last axes, or of no floats", at=variance)
    if epsilon.value.size != 1 or not epsilon.value.item() > 0:
        return decline("what is added to the variance is not one number above 0", at=epsilon)
    if x.type != line.type or x.type.layout is not None:
        return decline("a constant broadcasts its operand, or its axes have names", at=line)
    parameters = [_parameter(each, x.shape[axis:]) for each in (gain, shift)]
    if any(each is None for each in parameters):
        return decline("its gain or shift does not broadcast to the normalised axes", at=line)
    return op.layer_norm(x, *parameters, axis=axis - len(x.shape), epsilon=epsilon.value.item())


@rule(keeps="rounding")
def recognise_norm_of_narrow(x, gain: Constant, shift: Constant | None = None):
    """A norm of narrow floats is computed in wide ones anyway: they need not be widened before it."""
    norm = op.layer_norm(op.cast(x), gain, shift) | op.rms_norm(op.cast(x), gain)
    narrow = op.cast(norm)
    yield narrow
    if x.type != narrow.type or x.type.element not in ("f16", "bf16"):
        return decline("its operand is not of narrow floats, or it is not rounded to them", at=narrow)
    parameters = [op.cast(each, element=x.type.element) for each in (gain, shift) if each is not None]
    return norm.op(x, *parameters, like=norm)


@rule(keeps="rounding")
def recognise_gain(x, c):
    """A factor of normalised entries is the gain of a norm that has none, also where it is no constant."""
    norm = (op.layer_norm | op.rms_norm)(x, 1)
    moved = op.transpose(norm)
    product = op.mul(norm | moved, c)
    yield product
    factor = _parameter(c, x.shape[norm.axis % len(x.shape) :], moved.perm if moved else None)
    if (moved or norm).type != product.type or factor is None:
        return decline("the factor does not broadcast to the normalised axes", at=c)
    scaled = norm.op(x, factor, like=norm)
    return op.transpose(scaled, perm=moved.perm) if moved else scaled


@rule(keeps="rounding")
def recognise_shift(x, gain, c):
    """So is an addend the shift of a norm that has none."""
    norm = op.layer_norm(x, gain)
    moved = op.transpose(norm)
    total = op.add(norm | moved, c)
    yield total
    term = _parameter(c, x.shape[norm.axis % len(x.shape) :], moved.perm if moved else None)
    if (moved or norm).type != total.type or term is None:
        return decline("the addend does not broadcast to the normalised axes", at=c)
    shifted = op.layer_norm(x, gain, term, like=norm)
    return op.transpose(shifted, perm=moved.perm) if moved else shifted


@rule(keeps="rounding")
def recognise_instance_norm(x, c: Constant):
    """A layer norm over all positions, with a factor or addend for each channel (Ulyanov et al. 2016)."""
    norm = op.layer_norm(x, 1)
    result = (op.mul | op.add)(norm, c)
    yield result
    if x.type != result.type or len(x.shape) < 3 or norm.axis % len(x.shape) != 2 or x.type.layout is not None:
        return decline("its normalised axes are not all positions", at=norm)
    if 0 in x.shape or any(isinstance(size, str) for size in x.shape[1:]):
        return decline("it may have no entries", at=norm)
    entries = per_channel(c, norm)
    if entries is None:
        return decline("the constant is not one number a channel", at=c)
    if result.op is op.mul:
        return op.instance_norm(x, entries, np.zeros_like(entries), epsilon=norm.epsilon)
    return op.instance_norm(x, np.ones_like(entries), entries, epsilon=norm.epsilon)


@rule(keeps="rounding")
def recognise_group_norm(x, gain: Constant, shift: Constant):
    """A norm of the groups of channels as if each were one (Wu and He 2018), as PyTorch exports it."""
    grouped = op.reshape(x)
    norm = op.instance_norm(grouped, gain, shift)
    result = op.reshape(norm)
    yield result
    return _of_groups(x, grouped, norm, result, gain.value, shift.value)


@rule(keeps="rounding")
def recognise_group_norm_of_rows(x):
    """The same, where the entries of each group are one or more axes behind that of the groups, as people write it."""
    grouped = op.reshape(x)
    norm = op.layer_norm(grouped, 1)
    result = op.reshape(norm)
    yield result
    if len(grouped.shape) < 3 or norm.axis % len(grouped.shape) != 2 or isinstance(grouped.shape[1], str):
        return decline("its normalised axes are not those behind groups, whose number is known", at=norm)
    ones = np.ones(grouped.shape[1:2], element_dtype(x.type.element))
    return _of_groups(x, grouped, norm, result, ones, np.zeros_like(ones))


def _of_groups(x, grouped, norm, result, gain, shift):
    """The norm of groups, each with a gain and a shift, if all are of channels of one sample."""
    if x.type != result.type or x.type.layout is not None or len(x.shape) < 3 or 0 in x.shape:
        return decline("its shape is another one afterwards, or its axes have names", at=result)
    (batch, channels, *_), (same, groups, *_) = x.shape, grouped.shape
    if batch != same or isinstance(channels, str) or isinstance(groups, str) or channels % groups:
        return decline("it does not make groups of the channels of each sample", at=grouped)
    gains, shifts = (np.repeat(each, channels // groups) for each in (gain, shift))
    return op.group_norm(x, gains, shifts, groups=groups, epsilon=norm.epsilon)


@rule(keeps="rounding")
def recognise_batch_norm(x, w, bias, c: Constant, d: Constant):
    """A constant factor and addend for each channel of a layer whose weights are computed are a norm of it."""
    layer = (op.conv | op.conv_transpose)(x, w, *bias)
    total = op.add(op.mul(layer, c), d)
    yield total
    if w.is_constant:
        return decline("they belong to its weights", at=w)
    if element_kind(layer.type.element) != "float":
        return decline("a norm is of floats", at=layer)
    if isinstance(layer.shape[1], str):
        return decline("nobody knows how many channels there are", at=layer)
    gain, shift = per_channel(c, layer), per_channel(d, layer)
    if gain is None or shift is None or total.type != layer.type:
        return decline("a constant is not one number a channel", at=total)
    return op.batch_norm(layer, gain, shift, np.zeros_like(gain), np.ones_like(gain), epsilon=0.0)


RECOGNISE_NORMALISATIONS = (
    recognise_variance,
    recognise_rms_norm,
    recognise_rms_norm_by_inverse,
    recognise_rms_norm_of_factor,
    recognise_rms_norm_of_product,
    recognise_rms_norm_of_quotient,
    recognise_layer_norm,
    recognise_layer_norm_of_line,
    recognise_norm_of_narrow,
    recognise_gain,
    recognise_shift,
    recognise_instance_norm,
    recognise_group_norm,
    recognise_group_norm_of_rows,
    scale_layer_norm,
    add_to_layer_norm,
    scale_norm,
    add_to_norm,
    recognise_batch_norm,
)
"""Normalisations from means, products and roots, and their gains and shifts."""
