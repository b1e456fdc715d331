"""Affine arithmetic around convolutions and fully-connected layers, folded into their weights."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule

__all__ = [
    "conv_without_bias",
    "fold_batch_norm",
    "fold_bias",
    "fold_conv_bias",
    "fold_conv_scale",
    "fold_linear_batch_norm",
    "fold_scale",
    "gemm_as_linear",
    "linear_without_bias",
    "matmul_as_linear",
]


@rule(keeps="rounding")
def gemm_as_linear(x, w: Constant, b: Constant):
    """A general matrix product with constant weights is a fully-connected layer."""
    gemm = op.gemm(x, w, b)
    yield gemm
    if gemm.trans_a:
        return decline("it transposes its input", at=gemm)
    outputs = gemm.shape[1]
    if b.value.size not in (1, outputs) or b.value.ndim > 2 or (b.value.ndim == 2 and b.shape[0] != 1):
        return decline("its addend is no vector over the outputs", at=gemm)
    weights = w.value if gemm.trans_b else w.value.T
    bias = np.broadcast_to(b.value.reshape(-1), (outputs,)) * b.value.dtype.type(gemm.beta)
    return op.linear(x, np.ascontiguousarray(weights) * weights.dtype.type(gemm.alpha), bias)


@rule(keeps="rounding")
def matmul_as_linear(x, w: Constant):
    """A product of a batch of vectors with constant weights is a fully-connected layer."""
    product = op.matmul(x, w)
    yield product
    if len(x.shape) != 2 or w.value.ndim != 2:
        return decline("an operand has more than two axes", at=product)
    return op.linear(x, np.ascontiguousarray(w.value.T))


@rule
def linear_without_bias(x, w):
    """A fully-connected layer without a bias has the bias -0, which changes no bit (IEEE 754-2019, 6.3)."""
    yield op.linear(x, w)
    return op.linear(x, w, _nothing(w.shape[0], w.type))


@rule
def conv_without_bias(x, w):
    """A convolution without a bias has the bias -0, which changes no bit (IEEE 754-2019, 6.3)."""
    conv = op.conv(x, w)
    yield conv
    return op.conv(x, w, _nothing(w.shape[0], w.type), like=conv)


def _nothing(size, type):
    return np.full(size, -0.0, {"f16": np.float16, "f64": np.float64}.get(str(type.element), np.float32))


def _per_channel(constant, layer):
    """One entry an output channel, or None where the constant is something else."""
    axis, rank, channels = 1, len(layer.shape), layer.shape[1]
    aligned = constant.value.reshape((1,) * max(rank - constant.value.ndim, 0) + constant.value.shape)
    if aligned.ndim != rank or any(size != 1 for i, size in enumerate(aligned.shape) if i != axis):
        return None
    return np.broadcast_to(aligned.reshape(-1), (channels,)) if aligned.size in (1, channels) else None


def _scaled(w, scale):
    return w.value * scale.reshape(-1, *[1] * (w.value.ndim - 1))


@rule(keeps="rounding")
def fold_bias(x, w, b: Constant, c: Constant):
    """A constant for each output added to a fully-connected layer belongs to its bias."""
    layer = op.linear(x, w, b)
    total = op.add(layer, c)
    yield total
    offset = _per_channel(c, layer)
    if offset is None or total.type != layer.type:
        return decline("the constant is not one number an output", at=total)
    return op.linear(x, w, b.value + offset)


@rule(keeps="rounding")
def fold_conv_bias(x, w, b: Constant, c: Constant):
    """A constant for each channel added to a convolution belongs to its bias."""
    layer = op.conv(x, w, b)
    total = op.add(layer, c)
    yield total
    offset = _per_channel(c, layer)
    if offset is None or total.type != layer.type:
        return decline("the constant is not one number a channel", at=total)
    return op.conv(x, w, b.value + offset, like=layer)


@rule(keeps="rounding")
def fold_scale(x, w: Constant, b: Constant, c: Constant):
    """A constant factor for each output of a fully-connected layer belongs to its weights and bias."""
    layer = op.linear(x, w, b)
    product = op.mul(layer, c)
    yield product
    scale = _per_channel(c, layer)
    if scale is None or product.type != layer.type:
        return decline("the constant is not one number an output", at=product)
    return op.linear(x, _scaled(w, scale), b.value * scale)


@rule(keeps="rounding")
def fold_conv_scale(x, w: Constant, b: Constant, c: Constant):
    """A constant factor for each channel of a convolution belongs to its weights and bias."""
    layer = op.conv(x, w, b)
    product = op.mul(layer, c)
    yield product
    scale = _per_channel(c, layer)
    if scale is None or product.type != layer.type:
        return decline("the constant is not one number a channel", at=product)
    return op.conv(x, _scaled(w, scale), b.value * scale, like=layer)


@rule(keeps="rounding")
def fold_batch_norm(x, w: Constant, b: Constant, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """An affine map for each channel after a convolution is a convolution with other weights (Ioffe and Szegedy 2015)."""
    conv = op.conv(x, w, b)
    norm = op.batch_norm(conv, gain, shift, mean, var)
    yield norm
    scale = gain.value / np.sqrt(var.value + var.value.dtype.type(norm.epsilon))
    return op.conv(x, _scaled(w, scale), (b.value - mean.value) * scale + shift.value, like=conv)


@rule(keeps="rounding")
def fold_linear_batch_norm(x, w: Constant, b: Constant, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """An affine map for each output after a fully-connected layer is a layer with other weights."""
    norm = op.batch_norm(op.linear(x, w, b), gain, shift, mean, var)
    yield norm
    scale = gain.value / np.sqrt(var.value + var.value.dtype.type(norm.epsilon))
    return op.linear(x, _scaled(w, scale), (b.value - mean.value) * scale + shift.value)
