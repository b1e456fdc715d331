"""Right rules about layers."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule


@rule(keeps="rounding")
def scale_of_a_layer(x, w: Constant, b: Constant, c: Constant):
    """One factor of a layer belongs to its weights and bias."""
    layer = op.linear(x, w, b)
    product = op.mul(layer, c)
    yield product
    if c.value.size != 1 or product.type != layer.type:
        return decline("not one factor")
    factor = c.value.reshape(())
    return op.linear(x, w.value * factor, b.value * factor)


@rule(keeps="rounding")
def two_layers_as_one(x, v: Constant, b: Constant, w: Constant):
    """Two layers in a row multiply their weights, and the first bias goes through the second layer."""
    yield op.linear(op.linear(x, v, b), w)
    return op.linear(x, w.value @ v.value, w.value @ b.value)


@rule
def negative_weights(x, w: Constant):
    """Negating a layer without a bias is negating its weights, but for the sign of zero."""
    yield op.abs(op.neg(op.linear(x, w)))
    return op.abs(op.linear(x, -w.value))


@rule(keeps="rounding")
def layer_as_a_product(x, w: Constant, b: Constant):
    """A layer is a product with the transposed weights, and a sum."""
    yield op.linear(x, w, b)
    return op.add(op.matmul(x, np.ascontiguousarray(w.value.T)), b)


@rule(keeps="rounding")
def product_as_a_layer(x, w: Constant):
    """The reverse, for matrices."""
    yield op.matmul(x, w)
    return op.linear(x, np.ascontiguousarray(w.value.T)) if len(x.shape) == len(w.shape) == 2 else decline("no matrix")


@rule(keeps="rounding")
def transposed_product(x, y):
    """The transpose of a product is the product of the transposes in the other order."""
    yield op.transpose(op.matmul(x, y), perm=(1, 0))
    if len(x.shape) != 2 or len(y.shape) != 2:
        return decline("no matrices")
    return op.matmul(op.transpose(y, perm=(1, 0)), op.transpose(x, perm=(1, 0)))


@rule
def weights_as_they_are(x, w: Constant):
    """Constant weights can be transposed beforehand."""
    gemm = op.gemm(x, w)
    yield gemm
    if not gemm.trans_b:
        return decline("as they are")
    return op.gemm(x, np.ascontiguousarray(w.value.T), like=gemm, trans_b=False)


@rule
def greatest_of_rectified(x):
    """Rectifying comes before or after a maximum over windows, where each has an entry."""
    pool = op.max_pool(x)
    yield op.relu(pool)
    if any(pool.pads):
        return decline("a window may lie in the border")
    return op.max_pool(op.maximum(x, 0), like=pool) if str(x.type.element)[0] == "f" else decline("no float")


@rule
def no_window(x):
    """A window of one entry is that entry."""
    pool = op.max_pool(x)
    yield pool
    if any(k != 1 for k in pool.kernel) or any(s != 1 for s in pool.strides) or any(pool.pads):
        return decline("a window of several")
    return x


@rule
def border_counts_where_there_is_none(x):
    """Whether a border counts does not matter where there is none."""
    pool = op.average_pool(x)
    yield op.neg(pool)
    if any(pool.pads):
        return decline("there is a border")
    return op.mul(op.average_pool(x, like=pool, count_include_pad=not pool.count_include_pad), -1)


@rule(keeps="rounding")
def mean_of_a_sum(x, y):
    """A mean over all positions of a sum is a sum of means, in floats."""
    yield op.global_average_pool(op.add(x, y))
    if x.type != y.type or str(x.type.element)[0] != "f":
        return decline("one broadcasts, or integers have no exact mean")
    return op.add(op.global_average_pool(x), op.global_average_pool(y))


@rule(keeps="rounding")
def norm_as_arithmetic(x, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """A norm is a product and a sum, channel by channel."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield norm
    if norm.type.layout is not None and norm.type.layout[1] != "C":
        return decline("other axes")
    if np.any(var.value < 0.01):
        return decline("its scale may be great")
    per_channel = (-1, *[1] * (len(x.shape) - 2))
    scale = gain.value / np.sqrt(var.value + var.value.dtype.type(norm.epsilon))
    offset = shift.value - mean.value * scale
    return op.add(op.mul(x, scale.reshape(per_channel)), offset.reshape(per_channel))


@rule(keeps="rounding")
def scaled_norm(x, gain: Constant, shift: Constant, mean: Constant, var: Constant, c: Constant):
    """One factor behind a norm scales its gain and its shift."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    product = op.mul(norm, c)
    yield product
    if c.value.size != 1 or product.type != norm.type:
        return decline("not one factor")
    factor = c.value.reshape(())
    return op.batch_norm(x, gain.value * factor, shift.value * factor, mean, var, like=norm)


@rule(keeps="rounding")
def bias_as_a_sum(x, w: Constant, b: Constant):
    """The bias of a convolution is a sum, channel by channel."""
    conv = op.conv(x, w, b)
    yield conv
    if conv.type.layout is not None and conv.type.layout[1] != "C":
        return decline("other axes")
    return op.add(op.conv(x, w, like=conv), b.value.reshape(-1, *[1] * (len(x.shape) - 2)))


@rule(keeps="rounding")
def grouped_as_dense(x, w: Constant):
    """A convolution in groups is one whose other weights are zero."""
    conv = op.conv(x, w)
    yield conv
    if conv.groups == 1:
        return decline("no groups")
    outputs, inner, *kernel = w.value.shape
    dense = np.zeros((outputs, inner * conv.groups, *kernel), w.value.dtype)
    for g in range(conv.groups):
        rows = slice(g * outputs // conv.groups, (g + 1) * outputs // conv.groups)
        dense[rows, g * inner : (g + 1) * inner] = w.value[rows]
    return op.conv(x, dense, like=conv, groups=1)


@rule(keeps="rounding")
def dilated_as_dense(x, w: Constant):
    """A dilated kernel is a larger one with zeros between."""
    conv = op.conv(x, w)
    yield conv
    if all(d == 1 for d in conv.dilations):
        return decline("no dilation")
    outputs, inner, *kernel = w.value.shape
    dense = np.zeros(
        (outputs, inner, *(d * (k - 1) + 1 for d, k in zip(conv.dilations, kernel, strict=True))), w.value.dtype
    )
    dense[(slice(None), slice(None), *(slice(None, None, d) for d in conv.dilations))] = w.value
    return op.conv(x, dense, like=conv, dilations=(1,) * len(kernel))
