"""For each rule of some lowerings graphs in which its pattern is there, and that it must leave as they are.

A case is an expression and the types of its inputs, in the text form. What a rule asks for is nearly there in each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import FixedPoint, Rule, op
from graphrewrite.lowering.composite.activations import write_clip_by_extremes
from graphrewrite.lowering.composite.movement import (
    write_channel_shuffle_by_transpose,
    write_constant_where_by_expand,
    write_depth_to_space_by_transpose,
    write_space_to_depth_by_transpose,
)
from graphrewrite.lowering.composite.normalisations import (
    write_batch_norm_training_by_means,
    write_group_norm_by_means,
    write_lrn_by_average_pool,
)
from graphrewrite.lowering.composite.pools import (
    write_global_average_pool_by_reduce,
    write_lp_pool_by_average_pool,
)
from graphrewrite.lowering.composite.products import (
    write_conv_transpose_by_conv,
    write_linear_by_matmul,
    write_pointwise_conv_by_matmul,
)
from graphrewrite.lowering.composite.quantised import (
    write_dequantize_linear_by_products,
    write_quantize_linear_by_round,
)
from graphrewrite.lowering.composite.reductions import write_hardmax_by_arg_max, write_reduce_mean_by_sum
from graphrewrite.lowering.gradients.attention import differentiate_attention
from graphrewrite.lowering.gradients.convolutions import (
    differentiate_conv,
    differentiate_conv_transpose,
    differentiate_fold,
)
from graphrewrite.lowering.gradients.indexing import (
    differentiate_nll_loss,
)
from graphrewrite.lowering.gradients.movement import (
    differentiate_pad,
    differentiate_reshape,
    differentiate_slice,
    differentiate_split,
    differentiate_tile,
)
from graphrewrite.lowering.gradients.pools import (
    differentiate_average_pool,
    differentiate_lp_pool,
    differentiate_max_pool,
)
from graphrewrite.lowering.gradients.products import differentiate_det, differentiate_einsum
from graphrewrite.lowering.gradients.reductions import differentiate_cum_prod
from graphrewrite.lowering.gradients.resizing import differentiate_affine_grid, differentiate_resize
from graphrewrite.lowering.gradients.spectra import differentiate_dft, differentiate_stft
from graphrewrite.lowering.preparation.broadcasting import spread_operand
from graphrewrite.lowering.preparation.position_means import (
    write_average_pool_by_counts,
    write_conv_transpose_by_blocks,
    write_global_max_pool_as_max_pool,
    write_reduction_as_pool,
    write_resize_by_conv,
    write_sum_as_mean,
)
from graphrewrite.lowering.preparation.signs import scale_rows_before_sign
from graphrewrite.lowering.prequantised.signs import count_before_rescaling
from graphrewrite.lowering.prequantised.transposes import (
    concat_before_transpose,
    merge_into_shuffle,
    multiply_positions,
    multiply_stored_positions,
    pad_before_transpose,
    place_before_transpose,
    reduce_before_transpose,
    resize_before_transpose,
    transpose_after,
)
from tests.rules.declines.parts import Case, constant, ones, whole

__all__ = ["DECLINES"]

Body = Callable[..., Any]


def on(body: Body, *types: str) -> tuple[Case, ...]:
    """One case for each type of a single operand."""
    return tuple((body, kind) for kind in types)


# ---------------------------------------------------------------------- transposes


def deep(x: Any) -> Any:
    """What no host computes."""
    return op.softmax(x, axis=-1)


def turned(x: Any, *perm: int) -> Any:
    return op.transpose(deep(x), perm=perm)


def last(x: Any) -> Any:
    return turned(x, 0, 2, 1)


def of_rows(x: Any, w: Any, scale: np.ndarray, zero: np.ndarray, made: np.ndarray, of_w: np.ndarray) -> Any:
    _one, none = np.float32(0.5), np.int8(0)
    zeros = np.zeros(of_w.shape, np.int8)
    return op.qlinear_matmul(x, scale, zero, w, of_w, zeros, made, np.zeros(made.shape, np.int8) if made.ndim else none)


HALF, NONE = np.array(0.5, np.float32), np.array(0, np.int8)
HALVES, NONES = np.full(4, 0.5, np.float32), np.zeros(4, np.int8)
STORED_WEIGHTS = np.ones((5, 3), np.int8)

TRANSPOSES: dict[Rule, tuple[Case, ...]] = {
    transpose_after: (
        (lambda x: op.relu(op.transpose(deep(x), perm=(0,))), "f32[4]"),
        (lambda x: op.relu(last(x)), "f32[N,4,5] NCL"),
        (lambda x: op.batch_norm(last(x), ones(5), ones(5), ones(5), ones(5)), "f32[N,4,5]"),
        (lambda x, y: op.add(last(x), y), "f32[N,4,5]", "f32[2,N,5,4]"),
        (lambda x: op.relu(op.transpose(x, perm=(0, 2, 1))), "f32[N,4,5]"),
        (lambda x: op.relu(op.transpose(op.exp(x), perm=(0, 2, 1))), "f32[N,4,5]"),
        (lambda x: op.mul(last(x), ones(5, 1)), "f32[N,4,5]"),
        (lambda x: op.quantize_linear(last(x), ones(1, 5, 2), block_size=2, axis=2), "f32[1,4,5]"),
        (lambda x, y: op.add(last(x), y), "f32[N,4,5]", "f32[4]"),
        (lambda x, y: op.add(last(x), deep(y)), "f32[N,4,5]", "f32[N,5,4]"),
        (lambda x, y: op.add(last(x), turned(y, 1, 0, 2)), "f32[N,4,5]", "f32[5,N,4]"),
        (lambda x, y: op.add(last(x), op.reshape(deep(y), shape=("N", 5, 4))), "f32[N,4,5]", "f32[N,4,5]"),
    ),
    reduce_before_transpose: (
        (lambda x: op.reduce_sum(last(x), axes=(1,)), "f32[N,4,5]"),
        (lambda x: op.reduce_max(last(x), axes=(1,)), "f32[N,4,5] NCL"),
        (lambda x: op.reduce_mean(last(x)), "f32[N,4,5]"),
    ),
    place_before_transpose: ((lambda x: op.arg_max(last(x), axis=1), "f32[N,4,5] NCL"),),
    concat_before_transpose: (
        (
            lambda x, y: op.concat(*(op.transpose(v, perm=(0, 2, 1)) for v in (x, y)), axis=1),
            "f32[N,4,5]",
            "f32[N,4,5]",
        ),
        (lambda x, y: op.concat(last(x), deep(y), axis=1), "f32[N,4,5]", "f32[N,5,4]"),
        (lambda x, y: op.concat(deep(y), last(x), axis=1), "f32[N,4,5]", "f32[N,5,4]"),
        (lambda x, y: op.concat(last(x), last(y), axis=1), "f32[N,4,5] NCL", "f32[N,4,5] NCL"),
    ),
    pad_before_transpose: (
        (lambda x: op.pad(last(x), pads=(0, 1, 0, 0, 0, 2)), "f32[N,4,5] NCL"),
        (lambda x: op.pad(op.transpose(x, perm=(0, 2, 1)), pads=(0, 1, 0, 0, 0, 2)), "f32[N,4,5]"),
    ),
    resize_before_transpose: (
        (lambda x: op.resize(last(x), scales=(1, 2, 1)), "f32[N,4,5] NCL"),
        (lambda x: op.resize(op.transpose(x, perm=(0, 2, 1)), scales=(1, 2, 1)), "f32[N,4,5]"),
        (
            lambda x: op.resize(
                last(x), sizes=(1, 3, 4), coordinate_transformation_mode="tf_crop_and_resize", roi=(0, 0, 0, 1, 1, 0.5)
            ),
            "f32[1,4,5]",
        ),
        (lambda x: op.resize(last(x), scales=(1, 2, 2), mode="linear"), "f32[1,4,5]"),
        (
            lambda x: op.resize(
                last(x), sizes=(10, 8), axes=(1, 2), mode="linear", keep_aspect_ratio_policy="not_larger"
            ),
            "f32[1,4,5]",
        ),
    ),
    multiply_positions: (
        (lambda x: op.matmul(x, ones(5, 3)), "f32[N,5]"),
        (lambda x: op.matmul(x, ones(5, 3)), "f32[N,2,2,4,5]"),
        (lambda x: op.matmul(x, ones(1, 5, 3)), "f32[N,4,5]"),
        (lambda x: op.matmul(x, ones(5, 3)), "f32[N,L,5]"),
        (lambda x: op.matmul(x, ones(5, 3)), "f32[N,0,5]"),
    ),
    multiply_stored_positions: (
        (lambda x: of_rows(x, STORED_WEIGHTS, HALF, NONE, HALF, HALF), "i8[N,5]"),
        (lambda x: of_rows(x, STORED_WEIGHTS, HALF, NONE, HALF, HALF), "i8[N,L,5]"),
        (lambda x: of_rows(x, STORED_WEIGHTS, HALF, NONE, HALF, HALF), "i8[N,0,5]"),
        (lambda x: of_rows(x, STORED_WEIGHTS, HALVES[None, :, None], NONES[None, :, None], HALF, HALF), "i8[1,4,5]"),
        (lambda x: of_rows(x, STORED_WEIGHTS, HALF, NONE, HALVES[None, :, None], HALF), "i8[1,4,5]"),
        (lambda x: of_rows(x, STORED_WEIGHTS, HALF, NONE, HALF, HALVES[None, :3]), "i8[N,4,5]"),
    ),
    merge_into_shuffle: (
        (lambda x: again(x, (2, 3, 5), (0, 2, 1), (2, 5, 3)), "f32[2,15]"),
        (lambda x: again(x, (1, 2, 6), (0, 2, 1), (2, 6)), "f32[2,6]"),
        (lambda x: again(x, (2, 3, 4, 5), (0, 2, 1, 3), (2, 3, 20)), "f32[2,3,20]"),
        (lambda x: again(x, (2, 3, 5), (0, 2, 1), (30,)), "f32[30]"),
        (lambda x: again(x, (2, 1, 1), (0, 2, 1), (2,)), "f32[2]"),
    ),
}


def again(x: Any, table: tuple[int, ...], perm: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    return op.reshape(op.transpose(op.reshape(x, shape=table), perm=perm), shape=shape)


# ---------------------------------------------------------------------- before quantisation


def upwards(x: Any, outputs: int = 2, size: int = 2, **attributes: Any) -> Any:
    weights = ones(x.shape[1] // attributes.get("groups", 1) * attributes.get("groups", 1), outputs, size, size)
    given = {"strides": (2, 2), "pads": (0,) * 4, "dilations": (1, 1), "output_padding": (0, 0), **attributes}
    return op.conv_transpose(x, constant(x, weights), **given)


def signs_of(x: Any, weights: np.ndarray, bias: np.ndarray) -> Any:
    return op.sign(op.linear(x, weights, bias))


S8F3 = FixedPoint(True, 8, 3)


def counted(x: Any) -> Any:
    return op.integer_threshold(x, np.int64([[0]]))


PREPARATION: dict[Rule, tuple[Case, ...]] = {
    write_global_max_pool_as_max_pool: on(op.global_max_pool, "f32[N,2,L]", "f32[N,2,3,L]"),
    write_reduction_as_pool: (
        *on(lambda x: op.reduce_mean(x, axes=(1,)), "f32[N,2,3]"),
        *on(lambda x: op.reduce_mean(x, axes=(1, 2)), "f32[N,2,3]"),
        *on(op.reduce_max, "f32[N,2,3]"),
        *on(lambda x: op.reduce_mean(x, axes=()), "f32[N,2,3]"),
        *on(lambda x: op.reduce_mean(x, axes=(2,)), "f32[N,2,3] NCL", "f32[N,2,L]", "f32[N,2,3,L]"),
        *on(lambda x: op.reduce_max(x, axes=(2,)), "i32[N,2,3]"),
        *on(lambda x: op.reduce_mean(x, axes=(3,)), "f32[N,2,0,3]"),
    ),
    write_average_pool_by_counts: (
        *on(lambda x: op.average_pool(x, kernel=(2,), pads=(1, 0)), "f32[N,2,3] NCL", "f32[N,2,L]", "f32[N,C,3]"),
        *on(lambda x: op.average_pool(x, kernel=(2,), count_include_pad=True), "f32[N,2,3]"),
        *on(lambda x: op.average_pool(x, kernel=(2,), pads=(1, 0)), "f32[N,0,3]"),
        *on(
            lambda x: op.average_pool(x, kernel=(1,), pads=(0, 1), ceil_mode=True, count_include_pad=True),
            "f32[N,2,3]",
        ),
    ),
    write_sum_as_mean: (
        *on(lambda x: op.reduce_sum(x, axes=(1,)), "f32[N,2,3]"),
        *on(lambda x: op.reduce_sum(x, axes=(1, 2)), "f32[N,2,3]"),
        *on(op.reduce_sum, "f32[N,2,3]"),
        *on(lambda x: op.reduce_sum(x, axes=()), "f32[N,2,3]"),
        *on(lambda x: op.reduce_sum(x, axes=(2,)), "f32[N,2,3] NCL", "i32[N,2,3]", "f32[N,2,L]", "f32[N,2,0]"),
    ),
    write_resize_by_conv: (
        *on(lambda x: op.resize(x, scales=(1, 1, 2), mode="nearest"), "f32[N,2,3]"),
        *on(lambda x: op.resize(x, scales=(1, 1, 0.5), mode="nearest"), "f32[N,2,4]"),
        *on(lambda x: op.resize(x, sizes=(1, 3, 2), mode="linear"), "f32[1,2,4]"),
        *on(lambda x: op.resize(x, scales=(1, 1, 0.5), mode="linear"), "f32[N,2,4] NCL", "i32[N,2,4]", "f32[N,2,L]"),
        *on(lambda x: op.resize(x, scales=(0.5,), axes=(2,), mode="linear"), "f32[N,0,4]"),
        *on(lambda x: op.resize(x, scales=(1, 0.5, 1), mode="linear"), "f32[N,2,4]"),
        *on(lambda x: op.resize(x, scales=(1, 1.2, 0.5), mode="linear"), "f32[N,2,4]"),
        *on(lambda x: op.resize(x, scales=(1, 0.5), mode="linear"), "f32[N,4]"),
        *on(lambda x: op.resize(x, scales=(1, 1, 1, 1, 0.5), mode="linear"), "f32[N,2,1,1,4]"),
        *on(lambda x: op.resize(x, scales=(1, 1, 2), mode="linear"), "f32[N,2,4]"),
        *on(lambda x: op.resize(x, scales=(1, 1, 2, 1), mode="linear"), "f32[N,2,4,4]"),
        *on(lambda x: op.resize(x, sizes=(1, 2, 3), mode="linear"), "f32[1,2,4]"),
        *on(
            lambda x: op.resize(x, sizes=(2, 2), axes=(2, 3), mode="linear", keep_aspect_ratio_policy="not_larger"),
            "f32[N,2,4,4]",
        ),
        *on(
            lambda x: op.resize(
                x,
                sizes=("N", 2, 2),
                mode="linear",
                coordinate_transformation_mode="tf_crop_and_resize",
                roi=(0.0, 0.0, 0.0, 1.0, 1.0, 0.5),
            ),
            "f32[N,2,4]",
        ),
    ),
    write_conv_transpose_by_blocks: (
        *on(lambda x: upwards(x, size=3), "f32[N,3,4,4]"),
        *on(lambda x: upwards(x, strides=(2, 1)), "f32[N,3,4,4]"),
        *on(lambda x: upwards(x, strides=(1, 1)), "f32[N,3,4,4]"),
        *on(upwards, "f32[N,3,4,4] NCHW"),
        *on(lambda x: upwards(x, groups=2), "f32[N,4,4,4]"),
        *on(lambda x: upwards(x, pads=(0, 1, 0, 0)), "f32[N,3,4,4]"),
        *on(lambda x: upwards(x, output_padding=(0, 1)), "f32[N,3,4,4]"),
        *on(lambda x: upwards(x, dilations=(2, 1)), "f32[N,3,4,4]"),
        *on(lambda x: op.conv_transpose(x, ones(3, 2, 2), strides=(2,)), "f32[N,3,4]"),
        *on(lambda x: op.conv_transpose(x, ones(3, 2, 2, 3), strides=(2, 3)), "f32[N,3,4,4]"),
    ),
    spread_operand: (
        *on(lambda x: op.add(x, ones(4, 1)), "f32[N,4,5]"),
        (op.add, "f32[N,4,5]", "f32[N,4,5]"),
        (op.add, "f32[N,4,5]", "f32[4,1]"),
        (op.add, "f32[N,4,5]", "f32[1,4,1]"),
        (op.add, "f32[3,4,5]", "f32[1,4,1]"),
        (op.add, "f32[N,C,5]", "f32[N,1,5]"),
        (op.mul, "f32[N,4,L]", "f32[N,4,1]"),
    ),
    scale_rows_before_sign: (
        *on(lambda x: signs_of(x, np.float32([[1, -1], [0, 1]]), ones(2)), "f32[N,2]"),
        *on(lambda x: signs_of(x, np.float32([[2, np.inf], [0, 2]]), ones(2)), "f32[N,2]"),
        *on(lambda x: signs_of(x, np.int32([[2, -2], [0, 1]]), whole(1, 1)), "i32[N,2]"),
    ),
    count_before_rescaling: (
        *on(lambda x: counted(op.requantise(x, shift=1, element=S8F3)), "s8f4[N,0,2]"),
        *on(lambda x: counted(op.rescale(x, multiplier=1, shift=1, element=S8F3, saturate=False)), "s8f4[N,2]"),
        *on(lambda x: counted(op.rescale(x, multiplier=-1, shift=1, element=S8F3)), "s8f4[N,2]"),
    ),
}

# ---------------------------------------------------------------------- ops by simpler ones


def blocks(x: Any, scales: Any, **attributes: Any) -> Any:
    return op.quantize_linear(x, scales, axis=0, block_size=2, **attributes)


def unblocked(x: Any, scales: Any) -> Any:
    return op.dequantize_linear(x, scales, axis=0, block_size=2)


COMPOSITE: dict[Rule, tuple[Case, ...]] = {
    write_linear_by_matmul: on(lambda x: op.linear(x, ones(3, 4), ones(3)), "f32[4,N] CN"),
    write_pointwise_conv_by_matmul: (
        *on(lambda x: op.conv(x, ones(3, 2, 2)), "f32[N,2,5]"),
        *on(lambda x: op.conv(x, ones(3, 2, 1, 2)), "f32[N,2,5,5]"),
        *on(lambda x: op.conv(x, ones(3, 2, 1)), "f32[N,5,2] NLC", "f32[N,2,L]"),
        (lambda x, w: op.conv(x, w, groups=2), "f32[N,2,5]", "f32[O,1,1]"),
    ),
    write_conv_transpose_by_conv: (
        *on(lambda x: op.conv_transpose(x, ones(3, 2, 2, 2)), "f32[N,4,4,3] NHWC"),
        *on(upwards, "f32[N,3,4,L]", "f32[0,3,4,4]"),
        *on(lambda x: upwards(x, size=1, pads=(1, 0, 0, 0), output_padding=(1, 0)), "f32[N,3,1,1]"),
    ),
    write_batch_norm_training_by_means: on(
        lambda x: op.batch_norm_training(x, ones(2), ones(2), ones(2), ones(2))[0], "f32[0,2,3]", "f32[N,2,0]"
    ),
    write_group_norm_by_means: (
        (lambda x, gain: op.group_norm(x, gain, gain, groups=2), "f32[N,C,3]", "f32[C]"),
        *on(lambda x: op.group_norm(x, ones(4), ones(4), groups=2), "f32[N,4,L]"),
        *on(lambda x: op.group_norm(x, ones(4), ones(4), groups=2), "f32[N,3,4] NLC"),
    ),
    write_lrn_by_average_pool: on(
        lambda x: op.lrn(x, size=3), "f32[N,C,3]", "f32[N,4,L]", "f32[N,4,0]", "f32[0,4,3]", "f32[N,3,4] NLC"
    ),
    write_depth_to_space_by_transpose: on(
        lambda x: op.depth_to_space(x, block_size=2), "f32[N,4,3,W]", "f32[N,2,2,8] NHWC"
    ),
    write_space_to_depth_by_transpose: on(
        lambda x: op.space_to_depth(x, block_size=2), "f32[N,C,4,4]", "f32[N,2,2,8] NHWC"
    ),
    write_channel_shuffle_by_transpose: on(
        lambda x: op.channel_shuffle(x, groups=2), "f32[N,4,3,W]", "f32[N,2,2,4] NHWC"
    ),
    write_constant_where_by_expand: (
        (lambda x, y: op.where(constant(x, np.array([True, False])), x, y), "f32[N,2]", "f32[N,2]"),
        (lambda x, y: op.where(constant(x, np.ones((0,), bool)), x, y), "f32[N,0]", "f32[N,0]"),
        (lambda x, y: op.where(constant(x, np.array(True)), x, y), "f32[N,1]", "f32[N,2]"),
        (lambda x, y: op.where(constant(x, np.array(False)), x, y), "f32[N,2]", "f32[N,1]"),
        (lambda x, y: op.where(constant(x, np.array(False)), x, y), "f32[3,2] NC", "f32[3,1]"),
    ),
    write_global_average_pool_by_reduce: on(op.global_average_pool, "i32[N,2,3]"),
    write_lp_pool_by_average_pool: on(lambda x: op.lp_pool(x, kernel=(2,), ceil_mode=True), "f32[N,2,3]"),
    write_quantize_linear_by_round: (
        (blocks, "f32[N,3]", "f32[(N + 1)//2,3]"),
        (blocks, "f32[4,M]", "f32[2,M]"),
        (blocks, "f32[0,3]", "f32[0,3]"),
    ),
    write_dequantize_linear_by_products: (
        (unblocked, "i8[N,3]", "f32[(N + 1)//2,3]"),
        (unblocked, "i8[4,M]", "f32[2,M]"),
        (unblocked, "i8[0,3]", "f32[0,3]"),
    ),
    write_reduce_mean_by_sum: (
        *on(op.reduce_mean, "f32[N,2]"),
        *on(lambda x: op.reduce_mean(x, axes=(0,)), "f32[N,2]"),
    ),
    write_hardmax_by_arg_max: on(lambda x: op.hardmax(x, axis=1), "f32[N,C]", "f32[N,0]"),
    write_clip_by_extremes: (
        (lambda x: op.clip(x, low=np.nan), "i32[N]"),
        *on(lambda x: op.clip(x, low=-1, high=3), "u4[N]"),
        *on(lambda x: op.clip(x, low=1, high=300), "u4[N]"),
    ),
}

# ---------------------------------------------------------------------- gradients


def conv(wrt: int, **attributes: Any) -> Body:
    return lambda g, x, w: op.conv.vjp(g, x, w, wrt=wrt, **attributes)


def unfolded(g: Any, x: Any) -> Any:
    return op.fold.vjp(g, x, size=g.type.shape[2:], kernel=(2,))


def upwards_conv(wrt: int) -> Body:
    return lambda g, x, w: op.conv_transpose.vjp(g, x, w, wrt=wrt)


def mean_pool(g: Any, x: Any) -> Any:
    return op.average_pool.vjp(g, x, kernel=(2,))


def norm_pool(g: Any, x: Any) -> Any:
    return op.lp_pool.vjp(g, x, kernel=(2,))


def cut(**attributes: Any) -> Body:
    return lambda g, x: op.slice.vjp(g, x, **attributes)


def attended(g: Any, q: Any, k: Any, v: Any) -> Any:
    return op.attention.vjp(g, q, k, v, wrt=0)


GRADIENTS: dict[Rule, tuple[Case, ...]] = {
    differentiate_reshape: ((lambda g, x: op.reshape.vjp(g, x, shape=(-1,)), "f32[M*N]", "f32[N,M]"),),
    differentiate_tile: ((lambda g, x: op.tile.vjp(g, x, repeats=(2, 3)), "f32[2*N,3*M]", "f32[N,M]"),),
    differentiate_split: (
        (lambda g, x: op.split.vjp(g, x, sizes=("N", 2), axis=0, of_result=1), "f32[2,3]", "f32[N+2,3]"),
    ),
    differentiate_slice: (
        (cut(starts=(0,), ends=("N",), steps=(2,), axes=(0,)), "f32[(N+1)//2,2]", "f32[N,2]"),
        (cut(starts=(-2,), ends=(-1,), axes=(0,)), "f32[min(2, max(1, N)) - 1,2]", "f32[N,2]"),
    ),
    differentiate_pad: (
        (lambda g, x: op.pad.vjp(g, x, pads=("N", 0)), "f32[N+3]", "f32[3]"),
        (lambda g, x: op.pad.vjp(g, x, pads=(1, 0), mode="reflect"), "f32[N+1]", "f32[N]"),
        (lambda g, x: op.pad.vjp(g, x, pads=(0, 1), mode="edge"), "f32[N+1]", "f32[N]"),
    ),
    differentiate_max_pool: (
        (lambda g, x: op.max_pool.vjp(g, x, kernel=(1,), pads=(1, 0)), "f32[N,2,4]", "f32[N,2,3]"),
        (lambda g, x: op.max_pool.vjp(g, x, kernel=(1,)), "f32[N,C,3]", "f32[N,C,3]"),
    ),
    differentiate_average_pool: (
        (mean_pool, "f32[N,2,L-1]", "f32[N,2,L]"),
        (mean_pool, "f32[N,C,2]", "f32[N,C,3]"),
        (mean_pool, "f32[N,0,2]", "f32[N,0,3]"),
        (mean_pool, "f32[0,2,2]", "f32[0,2,3]"),
    ),
    differentiate_lp_pool: (
        (norm_pool, "f32[N,2,L-1]", "f32[N,2,L]"),
        (norm_pool, "f32[N,0,2]", "f32[N,0,3]"),
    ),
    differentiate_conv: (
        (conv(0), "f32[N,2,L-1]", "f32[N,3,L]", "f32[2,3,2]"),
        (conv(1), "f32[N,2,3]", "f32[N,C,4]", "f32[2,C,2]"),
        (conv(1), "f32[0,2,3]", "f32[0,3,4]", "f32[2,3,2]"),
        (conv(1), "f32[N,0,3]", "f32[N,3,4]", "f32[0,3,2]"),
    ),
    differentiate_conv_transpose: (
        (upwards_conv(0), "f32[N,2,L+1]", "f32[N,3,L]", "f32[3,2,2]"),
        (upwards_conv(1), "f32[N,2,5]", "f32[N,C,4]", "f32[C,2,2]"),
        (upwards_conv(1), "f32[0,2,5]", "f32[0,3,4]", "f32[3,2,2]"),
        (upwards_conv(0), "f32[N,0,5]", "f32[N,3,4]", "f32[3,0,2]"),
    ),
    differentiate_fold: (
        (unfolded, "f32[0,2,4]", "f32[0,4,3]"),
        (unfolded, "f32[N,2,L]", "f32[N,4,L-1]"),
    ),
    differentiate_cum_prod: ((lambda g, x: op.cum_prod.vjp(g, x, axis=0), "f32[N,2]", "f32[N,2]"),),
    differentiate_einsum: (
        (lambda g, x: op.einsum.vjp(g, x, equation="ii->i", wrt=0), "f32[3]", "f32[3,3]"),
        (lambda g, x, y: op.einsum.vjp(g, x, y, equation="ii,j->ij", wrt=1), "f32[3,2]", "f32[3,3]", "f32[2]"),
    ),
    differentiate_resize: (
        (lambda g, x: op.resize.vjp(g, x, scales=(2.0,), mode="linear"), "f32[2*N]", "f32[N]"),
        (lambda g, x: op.resize.vjp(g, x, scales=(2.0,), axes=(1,), mode="linear"), "f32[0,6]", "f32[0,3]"),
    ),
    differentiate_affine_grid: (
        (lambda g, x: op.affine_grid.vjp(g, x, size=("N", 1, "H", 2)), "f32[N,H,2,2]", "f32[N,2,3]"),
    ),
    differentiate_det: ((op.det.vjp, "f32[]", "f32[M,M]"),),
    differentiate_dft: (
        (op.dft.vjp, "f32[N,2]", "f32[N,1]"),
        (lambda g, x: op.dft.vjp(g, x, length="L"), "f32[L,2]", "f32[3,1]"),
    ),
    differentiate_stft: (
        (lambda g, x: op.stft.vjp(g, x, step=1, length="L", wrt=0), "f32[N,9-L,L//2+1,2]", "f32[N,8,1]"),
        (lambda g, x: op.stft.vjp(g, x, step=1, length=3, wrt=0), "f32[N,T-2,2,2]", "f32[N,T,1]"),
    ),
    differentiate_attention: (
        (attended, "f32[N,2,3,D]", "f32[N,2,3,D]", "f32[N,2,3,D]", "f32[N,2,3,D]"),
        (attended, "f32[N,H,3,4]", "f32[N,H,3,4]", "f32[N,H,3,4]", "f32[N,H,3,4]"),
    ),
    differentiate_nll_loss: (
        (lambda g, x, t, w: op.nll_loss.vjp(g, x, t, w, wrt=2), "f32[]", "f32[N,3]", "i64[N]", "f32[3]"),
    ),
}

DECLINES: dict[Rule, tuple[Case, ...]] = {**TRANSPOSES, **PREPARATION, **COMPOSITE, **GRADIENTS}
