"""Other layers written as convolutions and fully-connected layers."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.tensor.linear_algebra import scaled
from graphrewrite.rules.affine import scale_of
from graphrewrite.types import element_dtype, element_kind

__all__ = [
    "add_bias",
    "average_pool_as_conv",
    "batch_norm_as_layer",
    "gemm_as_linear",
    "global_average_pool_as_conv",
    "matmul_as_linear",
    "matmul_of_weights_as_linear",
]


@rule(keeps="rounding")
def gemm_as_linear(x, w: Constant, b: Constant | None = None):
    """A general matrix product with constant weights is a fully-connected layer."""
    gemm = op.gemm(x, w, b)
    yield gemm
    if gemm.trans_a:
        return decline("it transposes its input", at=gemm)
    if x.type.layout is not None or w.type.layout is not None:
        return decline("the axes of its operands have names, which a layer reads in another way", at=gemm)
    if b is None:
        return op.linear(x, _rows(gemm, w))
    outputs = gemm.shape[1]
    if b.value.size not in (1, outputs) or b.value.ndim > 2 or (b.value.ndim == 2 and b.shape[0] != 1):
        return decline("its addend is not a vector over the outputs", at=gemm)
    bias = scaled(np.broadcast_to(b.value.reshape(-1), (outputs,)), gemm.beta)
    return op.linear(x, _rows(gemm, w), bias)


def _rows(gemm, w):
    weights = w.value if gemm.trans_b else w.value.T
    return scaled(np.ascontiguousarray(weights), gemm.alpha)


@rule(keeps="rounding")
def matmul_as_linear(x, w: Constant):
    """A product of a batch of vectors with constant weights is a fully-connected layer."""
    product = op.matmul(x, w)
    yield product
    if len(x.shape) != 2 or w.value.ndim != 2:
        return decline("an operand is not a matrix", at=product)
    if x.type.layout is not None or w.type.layout is not None:
        return decline("the axes of its operands have names, which a layer reads in another way", at=product)
    return op.linear(x, op.transpose(w, perm=(1, 0)))


@rule(keeps="rounding")
def matmul_of_weights_as_linear(w: Constant, x):
    """A product of constant weights with a batch of columns is a fully-connected layer of its transpose."""
    columns = op.transpose(x)
    product = op.matmul(w, columns)
    yield product
    if len(x.shape) != 2 or w.value.ndim != 2 or tuple(columns.perm) != (1, 0):
        return decline("an operand is not a matrix, or not transposed", at=product)
    if x.type.layout is not None or w.type.layout is not None:
        return decline("the axes of its operands have names, which a layer reads in another way", at=product)
    return op.transpose(op.linear(x, w), perm=(1, 0))


@rule
def add_bias(x, w):
    """A layer without a bias has the bias -0, which changes no bit (IEEE 754-2019, 6.3)."""
    layer = (op.linear | op.conv | op.conv_transpose)(x, w)
    yield layer
    results = layer.shape[(layer.type.layout or "NC").index("C")]
    if isinstance(results, str):
        return decline("the number of its results is symbolic", at=layer)
    # x + -0.0 is x for every x; 0.0 would make +0 of -0.
    return layer.op(x, w, np.full(results, -0.0, _dtype(w)), like=layer)


def _channels_first(layer, x):
    """The operand's sizes in the order in which the layer computes."""
    (kind,) = layer.op.axes.in_order((x.type,))
    return kind.shape


def _dtype(x):
    return element_dtype(x.type.element)


@rule(keeps="rounding")
def batch_norm_as_layer(x, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """A norm that no layer before it can take up is a layer of its own, or a scaler that the layer behind takes up."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield norm
    if any(isinstance(size, str) for size in _channels_first(norm, x)[1:]):
        return decline("a size besides the batch is symbolic", at=norm)
    if 0 in x.shape:
        return decline("it has no entries", at=norm)
    scale = scale_of(norm, gain, var)
    if scale is None:
        return decline("its scale is not finite, for a variance is 0", at=norm)
    offset = shift.value - mean.value * scale
    if _is_taken_up(norm, x):
        by_channel = (-1, *[1] * (len(x.shape) - 2))
        return op.add(op.mul(x, scale.reshape(by_channel)), offset.reshape(by_channel))
    if len(x.shape) == 2:
        return op.linear(x, np.diag(scale), offset)
    return _channelwise(x, scale.reshape(-1, 1, *[1] * (len(x.shape) - 2)), offset)


def _is_taken_up(norm, x):
    """Whether the only reader is a layer that can take up scale and offset, or the host applies them to an input."""
    readers = [reader.node for reader in norm.graph.readers(norm.node)]
    if len(readers) != 1 or x.type.layout is not None:
        return False
    (reader,) = readers
    kind, attributes = norm.graph.nodes[reader]["type"], norm.graph.nodes[reader]
    if kind not in ("linear", "conv", "gemm", "matmul") or norm.graph.operands(reader)[0].node != norm.node:
        return False
    return x.op_name == "input" or not any(attributes.get("pads", ()))


def _channelwise(x, w, b, **attributes):
    rank = len(x.shape) - 2
    plain = {"strides": (1,) * rank, "pads": (0,) * (2 * rank), "dilations": (1,) * rank, **attributes}
    return op.conv(x, w, b, groups=len(w), **plain)


@rule(keeps="rounding")
def average_pool_as_conv(x):
    """A mean over windows is a convolution of each channel with equal weights, where its border counts."""
    pool = op.average_pool(x)
    yield pool
    if any(pool.pads) and not pool.count_include_pad:
        return decline("the border does not count, so weights differ from position to position", at=pool)
    if element_kind(x.type.element) != "float":
        return decline("integers have no exact mean", at=pool)
    if pool.ceil_mode:
        return decline("its last window may reach beyond the border, where nothing counts", at=pool)
    channels, size = _channels_first(pool, x)[1], int(np.prod(pool.kernel))
    if isinstance(channels, str):
        return decline("its number of channels is symbolic", at=pool)
    if 0 in x.shape:
        return decline("it has no entries", at=pool)
    w = np.full((channels, 1, *pool.kernel), 1 / size, _dtype(x))
    steps = per_axis(pool.dilations, len(pool.kernel), 1)
    return _channelwise(x, w, np.full(channels, -0.0, _dtype(x)), strides=pool.strides, pads=pool.pads, dilations=steps)


@rule(keeps="rounding")
def global_average_pool_as_conv(x):
    """A mean over all positions is a convolution of each channel with one window of equal weights."""
    pool = op.global_average_pool(x)
    yield pool
    if element_kind(x.type.element) != "float":
        return decline("integers have no exact mean", at=pool)
    channels, *sizes = _channels_first(pool, x)[1:]
    if any(isinstance(size, str) for size in (channels, *sizes)):
        return decline("a size besides the batch is symbolic", at=pool)
    if 0 in x.shape:
        return decline("it has no entries", at=pool)
    w = np.full((channels, 1, *sizes), 1 / int(np.prod(sizes)), _dtype(x))
    return _channelwise(x, w, np.full(channels, -0.0, _dtype(x)))
