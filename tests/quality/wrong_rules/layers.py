"""Faults around layers: convolutions, matrix products, pooling, norms."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.testing import graphs


@rule(keeps="rounding")
def forgotten_bias(x, w, b: Constant):
    """The bias is gone."""
    yield op.linear(x, w, b)
    return op.linear(x, w)


@rule(keeps="rounding")
def optional_bias_dropped(x, w, b=None):
    """The bias, where there is one, is gone."""
    yield op.identity(op.linear(x, w, b))
    return op.linear(x, w)


@rule(keeps="rounding")
def begins_and_ends_of_the_border_swapped(x, w, b: Constant):
    """The pads of a convolution are all begins, then all ends."""
    conv = op.conv(x, w, b)
    yield conv
    half = len(conv.pads) // 2
    swapped = op.conv(x, w, like=conv, pads=(*conv.pads[half:], *conv.pads[:half]))
    return op.add(swapped, b.value.reshape(-1, *[1] * half))


@rule(keeps="rounding")
def groups_ignored(x, w: Constant, c: Constant):
    """The factors of the input channels are dealt to the groups in turns instead of in blocks."""
    scaled = op.mul(x, c)
    conv = op.conv(scaled, w)
    yield conv
    if conv.groups == 1 or scaled.type != x.type or c.value.size != x.shape[1] or scaled.type.layout is not None:
        return decline("no groups, or not one factor a channel")
    if c.value.ndim < len(x.shape) - 1 or c.value.shape[1 - len(x.shape)] != c.value.size:
        return decline("the factors are along another axis")
    outputs, inner, *kernel = w.value.shape
    factors = c.value.reshape(-1)[np.arange(outputs * inner) % c.value.size]
    return op.conv(x, w.value * factors.reshape(outputs, inner, *[1] * len(kernel)), like=conv)


@rule(keeps="rounding")
def dilation_ignored(x, w):
    """A dilated kernel reads entries that are apart."""
    conv = op.conv(x, w)
    yield op.neg(conv)
    if all(d == 1 for d in conv.dilations):
        return decline("no dilation")
    plain = op.mul(op.conv(x, w, like=conv, dilations=(1,) * len(conv.dilations)), -1)
    return plain


@rule(keeps="rounding")
def dilation_shrinks_the_border(x, w):
    """Pads make up for the dilation that is ignored, so that the shape does not show it."""
    conv = op.conv(x, w)
    yield op.neg(conv)
    rank = len(conv.dilations)
    kernel = w.shape[2:]
    reach = [(d - 1) * (k - 1) for d, k in zip(conv.dilations, kernel, strict=True)]
    begins, ends = conv.pads[:rank], conv.pads[rank:]
    if not any(reach) or any(r > e for r, e in zip(reach, ends, strict=True)):
        return decline("nothing to make up for, or no room")
    pads = (*begins, *(e - r for e, r in zip(ends, reach, strict=True)))
    return op.mul(op.conv(x, w, like=conv, dilations=(1,) * rank, pads=pads), -1)


@rule(keeps="rounding")
def strides_swapped(x, w):
    """The strides of rows and columns change places."""
    conv = op.conv(x, w)
    yield op.neg(conv)
    if len(set(conv.strides)) == 1:
        return decline("equal strides")
    return op.mul(op.conv(x, w, like=conv, strides=tuple(reversed(conv.strides))), -1)


@rule(keeps="rounding")
def kernel_turned_round(x, w: Constant):
    """A convolution of the frameworks does not turn its kernel round."""
    conv = op.conv(x, w)
    yield op.neg(conv)
    turned = np.ascontiguousarray(w.value[(slice(None), slice(None), *[slice(None, None, -1)] * (w.value.ndim - 2))])
    return op.mul(op.conv(x, turned, like=conv), -1) if (turned != w.value).any() else decline("symmetric")


@rule(keeps="rounding")
def kernel_transposed(x, w: Constant):
    """Rows and columns of a square kernel change places."""
    conv = op.conv(x, w)
    yield op.neg(conv)
    if w.value.ndim != 4 or w.value.shape[2] != w.value.shape[3]:
        return decline("not square")
    turned = np.ascontiguousarray(w.value.transpose(0, 1, 3, 2))
    return op.mul(op.conv(x, turned, like=conv), -1) if (turned != w.value).any() else decline("symmetric")


@rule(keeps="rounding")
def channels_exchanged(x, w: Constant, b: Constant):
    """The weights of a layer with as many inputs as outputs are transposed."""
    yield op.neg(op.linear(x, w, b))
    if w.value.shape[0] != w.value.shape[1] or (w.value == w.value.T).all():
        return decline("not square, or symmetric")
    return op.mul(op.linear(x, np.ascontiguousarray(w.value.T), b), -1)


@rule(keeps="rounding")
def scale_along_the_inputs(x, w: Constant, c: Constant):
    """A factor for each output is multiplied into the columns of the weights."""
    layer = op.linear(x, w)
    product = op.mul(layer, c)
    yield product
    if product.type != layer.type or w.value.shape[0] != w.value.shape[1] or c.value.size != len(w.value):
        return decline("the shapes would show it")
    if c.value.ndim and c.value.shape[-1] != c.value.size:
        return decline("a factor for each row of the batch")
    return op.linear(x, w.value * c.value.reshape(1, -1))


@rule(keeps="rounding")
def scale_of_the_bias_forgotten(x, w: Constant, b: Constant, c: Constant):
    """The bias is scaled as well."""
    layer = op.linear(x, w, b)
    product = op.mul(layer, c)
    yield product
    if c.value.size != 1 or product.type != layer.type:
        return decline("not one factor")
    return op.linear(x, w.value * c.value.reshape(()), b)


@rule(keeps="rounding")
def broadcast_for_per_channel(x, w: Constant, c: Constant):
    """What is added along the last axis of an image is taken for a number for each channel."""
    conv = op.conv(x, w)
    total = op.add(conv, c)
    yield total
    if c.value.ndim != 1 or c.value.size != len(w.value) or total.type != conv.type:
        return decline("the shapes would show it")
    return op.conv(x, w, c.value, like=conv)


@rule(keeps="rounding")
def factors_of_the_wrong_matrix(x, v: Constant, w: Constant):
    """Two layers in a row multiply their weights in the other order."""
    yield op.linear(op.linear(x, v), w)
    if v.value.shape != w.value.shape or v.value.shape[0] != v.value.shape[1]:
        return decline("not square")
    return op.linear(x, v.value @ w.value)


@rule(keeps="rounding")
def inner_bias_forgotten(x, v: Constant, b: Constant, w: Constant):
    """The bias of the first of two layers goes through the second."""
    yield op.linear(op.linear(x, v, b), w)
    return op.linear(x, w.value @ v.value, b) if len(b.value) == len(w.value) else decline("the shapes would show it")


@rule(keeps="rounding")
def offset_before_a_border(x, c: Constant, w: Constant):
    """A number added before a convolution is not added to its border of zeros."""
    moved = op.add(x, c)
    conv = op.conv(moved, w)
    yield conv
    if c.value.size != 1 or moved.type != x.type or conv.type.layout is not None:
        return decline("not one number")
    return op.conv(x, w, w.value.reshape(len(w.value), -1).sum(axis=1) * c.value.reshape(()), like=conv)


@rule(keeps="rounding")
def product_turned_round(x, y):
    """Matrices do not commute."""
    yield op.neg(op.matmul(x, y))
    return op.mul(op.matmul(y, x), -1) if x.type == y.type else decline("not square")


@rule(keeps="rounding")
def transposed_product(x, y):
    """The transpose of a product is the product of the transposes in the other order."""
    yield op.transpose(op.matmul(x, y), perm=(1, 0))
    if x.type != y.type:
        return decline("not square")
    return op.matmul(op.transpose(x, perm=(1, 0)), op.transpose(y, perm=(1, 0)))


@rule(keeps="rounding")
def factor_of_a_product_ignored(x, w: Constant, b: Constant):
    """The factor of the addend is ignored."""
    gemm = op.gemm(x, w, b)
    yield gemm
    return op.gemm(x, w, b, like=gemm, beta=1.0) if gemm.beta != 1 else decline("done")


@rule(keeps="rounding")
def first_factor_ignored(x, w):
    """The factor of the product is ignored."""
    gemm = op.gemm(x, w)
    yield gemm
    return op.gemm(x, w, like=gemm, alpha=1.0) if gemm.alpha != 1 else decline("done")


@rule(keeps="rounding")
def transposed_weights_ignored(x, w):
    """Square weights are transposed, which their shape does not show."""
    gemm = op.gemm(x, w)
    yield gemm
    if not gemm.trans_b or w.shape[0] != w.shape[1]:
        return decline("not transposed, or not square")
    return op.gemm(x, w, like=gemm, trans_b=False)


@rule(keeps="rounding")
def addend_of_each_row(x, w: Constant, c: Constant):
    """A number for each row of a product is taken for one for each column."""
    gemm = op.gemm(x, w, c)
    yield gemm
    if c.value.ndim != 2 or c.value.shape[1] != 1 or c.value.size != gemm.shape[1] or gemm.trans_a:
        return decline("the shapes would show it")
    return op.gemm(x, w, c.value.reshape(-1), like=gemm)


@rule(keeps="rounding")
def forgotten_epsilon(x, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """The small number under the root is gone."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield norm
    return op.batch_norm(x, gain, shift, mean, var, epsilon=0.0) if norm.epsilon else decline("done")


@rule(keeps="rounding")
def default_epsilon(x, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """The attributes of a norm are not passed on."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield op.neg(norm)
    return op.batch_norm(x, -gain.value, -shift.value, mean, var)


@rule(keeps="rounding")
def mean_and_shift_exchanged(x, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """Two parameters of a norm change places."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield op.relu(norm)
    return op.maximum(op.batch_norm(x, gain, mean, shift, var, like=norm), 0)


@rule(keeps="rounding")
def shift_scaled_twice(x, gain: Constant, shift: Constant, mean: Constant, var: Constant, c: Constant):
    """A factor behind a norm scales its shift as well as its gain, and not the mean."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    product = op.mul(norm, c)
    yield product
    if c.value.size != 1 or product.type != norm.type:
        return decline("not one factor")
    factor = c.value.reshape(())
    return op.batch_norm(x, gain.value * factor, shift.value * factor, mean.value * factor, var, like=norm)


@rule(keeps="rounding")
def variance_without_a_root(x, gain: Constant, shift: Constant, mean: Constant, var: Constant):
    """The standard deviation is the root of the variance."""
    norm = op.batch_norm(x, gain, shift, mean, var)
    yield norm
    if norm.type.layout is not None or np.any(var.value == 0):
        return decline("other axes")
    per_channel = (-1, *[1] * (len(x.shape) - 2))
    scale = gain.value / (var.value + var.value.dtype.type(norm.epsilon))
    return op.add(
        op.mul(op.sub(x, mean.value.reshape(per_channel)), scale.reshape(per_channel)),
        shift.value.reshape(per_channel),
    )


@rule
def mean_for_greatest(x):
    """A mean is no maximum."""
    pool = op.max_pool(x)
    yield pool
    return op.average_pool(x, like=pool)


@rule
def pooled_negatives(x):
    """The greatest of negatives is the negative of the least."""
    pool = op.max_pool(op.neg(x))
    yield pool
    return op.neg(op.max_pool(x, like=pool))


@rule(keeps="rounding")
def border_counted(x):
    """The border counts, or it does not."""
    pool = op.average_pool(x)
    yield op.neg(pool)
    return op.mul(op.average_pool(x, like=pool, count_include_pad=not pool.count_include_pad), -1)


@rule(keeps="rounding")
def window_without_its_border(x):
    """A mean over windows is a convolution only where the border counts."""
    pool = op.average_pool(x)
    yield pool
    if pool.type.element != "f32" or pool.type.layout is not None or pool.count_include_pad:
        return decline("done")
    channels, size = x.shape[1], int(np.prod(pool.kernel))
    if isinstance(channels, str):
        return decline("a symbolic size")
    w = np.full((channels, 1, *pool.kernel), 1 / size, np.float32)
    rank = len(pool.kernel)
    return op.conv(x, w, strides=pool.strides, pads=pool.pads, dilations=(1,) * rank, groups=channels)


@rule
def border_of_zeros_in_a_maximum(x):
    """The border of a maximum is the least number, that of a pad zero."""
    border = op.pad(x, fill=0.0)
    pool = op.max_pool(border)
    yield pool
    rank = len(x.shape)
    outer = (*border.pads[:2], *border.pads[rank : rank + 2])
    if any(outer) or min(border.pads) < 0 or not any(border.pads) or pool.type.layout is not None:
        return decline("not around the spatial axes only")
    spatial = (*border.pads[2:rank], *border.pads[rank + 2 :])
    pads = tuple(p + q for p, q in zip(pool.pads, spatial, strict=True)) if any(pool.pads) else spatial
    return op.max_pool(x, like=pool, pads=pads)


@rule
def relu_before_a_mean(x):
    """The mean of rectified numbers is no rectified mean."""
    pool = op.average_pool(op.relu(x))
    yield pool
    return op.relu(op.average_pool(x, like=pool))


@rule
def relu_before_a_window_in_the_border(x):
    """A window that lies wholly in the border gives minus infinity, whatever is rectified before."""
    pool = op.max_pool(x)
    yield op.relu(pool)
    return op.max_pool(op.relu(x), like=pool)


@rule
def strides_of_a_pool_ignored(x):
    """A window that moves by more than one entry gives fewer results."""
    pool = op.max_pool(x)
    yield op.identity(pool)
    return op.max_pool(x, like=pool, strides=(1,) * len(pool.kernel))


@rule(keeps="rounding")
def mean_over_one_axis(x):
    """A global mean is over all positions."""
    pool = op.global_average_pool(x)
    yield op.relu(pool)
    if len(x.shape) != 4 or pool.type.layout is not None or any(isinstance(d, str) for d in x.shape[2:]):
        return decline("not an image")
    return op.relu(op.max_pool(op.average_pool(x, kernel=(1, x.shape[3])), kernel=(x.shape[2], 1)))


@rule(keeps="rounding")
def axis_of_another_layout(x, w: Constant, b: Constant, c: Constant):
    """The channels of an image are looked for at axis 1, wherever its layout has them."""
    conv = op.conv(x, w, b)
    product = op.mul(conv, c)
    yield product
    rank = len(x.shape)
    if c.value.ndim != rank - 1 or c.value.shape[0] != c.value.size or product.type != conv.type:
        return decline("not along axis 1")
    if c.value.size not in (1, len(w.value)):
        return decline("not one factor a channel")
    factors = np.broadcast_to(c.value.reshape(-1), (len(w.value),))
    return op.conv(x, w.value * factors.reshape(-1, *[1] * (rank - 1)), b.value * factors, like=conv)


@rule
def border_of_another_layout(x, w):
    """The spatial axes of an image are the last ones only where its layout has them there."""
    border = op.pad(x, fill=0.0)
    conv = op.conv(border, w)
    yield conv
    rank = len(x.shape)
    if any((*border.pads[:2], *border.pads[rank : rank + 2])) or min(border.pads) < 0 or any(conv.pads):
        return decline("not around the last axes only")
    return op.conv(x, w, like=conv, pads=(*border.pads[2:rank], *border.pads[rank + 2 :]))


@rule(keeps="rounding")
def last_column_of_the_weights(x, w: Constant, b: Constant):
    """The last column of the weights is left out."""
    yield op.linear(x, w, b)
    if w.value.shape[1] < 2 or not w.value[:, -1].any():
        return decline("done")
    kept = w.value.copy()
    kept[:, -1] = 0
    return op.linear(x, kept, b)


ON = {
    each.name: graphs(containing=each, every_type=True) for each in (axis_of_another_layout, border_of_another_layout)
}
"""Where a rule is tested that is right for the types that most graphs hold."""
