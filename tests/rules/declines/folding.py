"""Arithmetic folded into weights, and what is right for most numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Rule, op
from graphrewrite.rules import (
    affine,
    affine_before_moves,
    approximations,
    arithmetic,
    grids,
    norms,
    reductions,
    windows,
)
from tests.rules.declines.parts import COLUMN, SMALL, Case, constant, cut, layer, named, normed, ones, row, whole

__all__ = ["DECLINES"]

KERNEL = ones(2, 2, 3, 3)


def _dilated(x: Any, apart: int, together: int, perm: tuple[int, ...] = (1, 0, 2, 3)) -> Any:
    """A convolution of every so many positions, as TensorFlow writes it."""
    blocks = op.transpose(op.space_to_depth(x, block_size=apart), perm=perm)
    return op.depth_to_space(op.transpose(op.conv(blocks, ones(3, 2, 1, 1)), perm=(1, 0, 2, 3)), block_size=together)


def _regained(x: Any, scale: np.ndarray) -> Any:
    """Numbers put on a grid, and read from it."""
    params = [constant(x, each) for each in (np.asarray(scale), np.zeros(np.shape(scale), np.int8))]
    return op.dequantize_linear(op.quantize_linear(x, *params), *params)


DECLINES: dict[Rule, tuple[Case, ...]] = {
    affine.divide_as_multiply: (
        (lambda x: op.div(x, row(0, 1, 2, 4)), "f32[N,4]"),
        (lambda x: op.div(x, whole(2)), "i32[N,4]"),
        (lambda x: op.div(x, named(x, ones(1, 4))), "f32[N,4]"),
        (lambda x: op.div(x, 2.0), SMALL),
    ),
    affine.subtract_as_add: (
        (lambda x: op.sub(x, 1.0), SMALL),
        (lambda x: op.sub(x, named(x, ones(1, 4))), "f32[N,4]"),
    ),
    affine.fold_bias: ((lambda x: op.add(layer(x), COLUMN), "f32[2,4]"),),
    affine.fold_scale: ((lambda x: op.mul(layer(x), COLUMN), "f32[2,4]"),),
    affine.subtract_layer: ((lambda x: op.sub(COLUMN, layer(x)), "f32[2,4]"),),
    affine.negate_layer: ((lambda x, w: op.neg(op.linear(x, w, ones(3))), "f32[N,4]", "f32[3,4]"),),
    affine.fold_batch_norm: ((lambda x: normed(layer(x), epsilon=0.0), "f32[N,4]"),),
    affine.fold_input_scale: ((lambda x: layer(op.mul(x, COLUMN)), "f32[2,4]"),),
    affine.fold_input_offset: (
        (lambda x: layer(op.add(x, COLUMN)), "f32[2,4]"),
        (lambda x: op.conv(op.add(x, ones(2, 1, 1)), KERNEL, ones(2), pads=(1, 1, 1, 1)), "f32[N,2,3,3]"),
    ),
    affine.fold_input_norm: (
        (lambda x: op.conv(normed(x), KERNEL, ones(2), pads=(1, 1, 1, 1)), "f32[N,2,3,3]"),
        (lambda x: op.conv(normed(x, epsilon=0.0), KERNEL, ones(2)), "f32[N,2,3,3]"),
    ),
    affine_before_moves.norm_before_reshape: ((lambda x: normed(op.reshape(x, shape=("N", 4))), "f32[N,2,2]"),),
    affine_before_moves.norm_before_names: (
        (lambda x: normed(op.transpose(op.reshape(x, shape=("N", 2, 3)), perm=(0, 2, 1))), "f32[N,6]"),
        (lambda x: normed(op.name_axes(op.reshape(x, shape=(2, 2)), layout="NC")), "f32[4]"),
    ),
    affine_before_moves.norm_before_transpose: ((lambda x: normed(op.transpose(x, perm=(0, 2, 1))), "f32[N,3,2]"),),
    affine_before_moves.constant_before_reshape: (
        (lambda x: op.add(op.reshape(x, shape=("N", 2, 2)), COLUMN * row(1, 2)), "f32[N,4]"),
        (lambda x: op.add(op.reshape(x, shape=("N", 1, 4)), ones(2, 1)), "f32[N,4]"),
    ),
    affine_before_moves.constant_before_transpose: (
        (
            lambda x: op.add(op.transpose(op.conv(x, KERNEL, ones(2)), perm=(0, 2, 3, 1)), row(1, 2).reshape(2, 1)),
            "f32[N,2,4,4]",
        ),
        (lambda x: op.add(op.transpose(layer(x), perm=(1, 0)), ones(2, 1, 1)), "f32[2,4]"),
    ),
    affine_before_moves.slice_before_norm: (
        (lambda x: cut(normed(x), 0, 2), "f32[N,4]"),
        (lambda x: op.slice(normed(layer(x)), starts=(1,), ends=(2,), axes=(0,)), "f32[N,4]"),
    ),
    affine_before_moves.norm_before_slice: ((lambda x: normed(cut(layer(x), 0, 2)), "f32[N,4]"),),
    affine_before_moves.norm_before_concat: ((lambda x: normed(op.concat(layer(x), x, axis=1)), "f32[N,4]"),),
    windows.crop_window: (
        (lambda x: op.conv(x, KERNEL, ones(2)), "f32[N,2,3,3]"),  # all weights count
        (lambda x: op.conv(x, KERNEL, ones(2), pads=(1, 1, 1, 1)), "f32[N,2,2,2]"),
        (lambda x: op.conv(x, ones(2, 2, 2, 2), ones(2), pads=(1, 1, 0, 0), dilations=(2, 2)), "f32[N,2,2,2]"),
        (lambda x: op.conv(x, np.inf * ones(2, 2, 2, 2), ones(2), pads=(0, 0, 1, 1), dilations=(2, 2)), "f32[N,2,2,2]"),
    ),
    windows.dilate_conv: (
        (
            lambda x: op.depth_to_space(
                op.transpose(
                    op.conv(
                        op.transpose(op.space_to_depth(x, block_size=2), perm=(1, 0, 2, 3)),
                        ones(3, 2, 1, 1),
                        strides=(2, 2),
                    ),
                    perm=(1, 0, 2, 3),
                ),
                block_size=2,
            ),
            "f32[2,1,8,8]",
        ),
        (lambda x: _dilated(x, 2, 1), "f32[2,1,8,8]"),
        (lambda x: _dilated(x, 2, 2, perm=(1, 0, 3, 2)), "f32[2,1,8,8]"),
        (lambda x: _dilated(x, 2, 2), "f32[2,1,H,8]"),
    ),
    grids.limit_by_grid: (
        (lambda x: op.relu(_regained(x, row(0.5, 0.25, 0.5, 0.25))), "f32[N,4]"),
        (lambda x: op.clip(_regained(x, np.float32(0.5)), low=1.0), "f32[N,4]"),
    ),
    grids.limit_by_grid_before: (
        (lambda x: _regained(op.relu(x), row(0.5, 0.25, 0.5, 0.25)), "f32[N,4]"),
        (lambda x: _regained(op.clip(x, low=1.0), np.float32(0.5)), "f32[N,4]"),
    ),
    grids.read_tiny_as_zero: (
        (lambda x: op.dequantize_linear(x, np.float32(0.5)), "i8[N,4]"),
        (lambda x: op.dequantize_linear(x, np.float32(1e-9)), "i32[N,4]"),
    ),
    windows.fold_pad: ((lambda x: op.conv(op.pad(x, pads=(0, 1, 0, 0, 0, 0, 0, 0)), KERNEL), "f32[N,1,3,3]"),),
    windows.fold_pad_into_average_pool: (
        (lambda x: op.average_pool(op.pad(x, pads=(0, 0, 2, 0, 0, 0, 0, 0)), kernel=(2, 2)), "f32[N,1,3,3]"),
        (
            lambda x: op.average_pool(op.pad(x, pads=(0, 0, 1, 1, 0, 0, 1, 1)), kernel=(3, 3), pads=(1, 1, 1, 1)),
            "f32[N,1,4,4]",
        ),
    ),
    windows.fold_pad_into_max_pool: (
        (lambda x: op.max_pool(op.pad(x, pads=(0, 0, 1, 1, 0, 0, 1, 1)), kernel=(2, 2)), "f32[N,1,3,3]"),
        (
            lambda x: op.max_pool(op.pad(op.relu(x), pads=(0, 0, 1, 0, 0, 0, 1, 0)), kernel=(2, 1), dilations=(4, 1)),
            "f32[N,1,3,3]",
        ),
        (lambda x: op.max_pool(op.pad(x, pads=(0, 0, 1, 1, 0, 0, 1, 1)), kernel=(2, 2)), "s8f4[N,1,3,3]"),
    ),
    windows.pool_before_relu: (
        (lambda x: op.max_pool(op.relu(x), kernel=(2,), dilations=(3,), strides=(1,), pads=(1, 1)), "f32[N,1,2]"),
    ),
    # Norms.
    norms.drop_norm: (
        (lambda x: normed(x, 2.0, epsilon=1.0), "f32[N,4]"),
        (lambda x: op.batch_norm(x, ones(4), ones(4), 0 * ones(4), ones(4), epsilon=0.0), "f32[N,4]"),
        (lambda x: normed(x, epsilon=0.0), "f32[N,4]"),
    ),
    norms.merge_norms: ((lambda x: normed(op.instance_norm(x, ones(4), ones(4)), 0.0, epsilon=0.0), "f32[N,4,3]"),),
    norms.scale_norm: ((lambda x: op.mul(op.instance_norm(x, ones(2), ones(2)), ones(3)), "f32[N,2,3]"),),
    norms.add_to_norm: ((lambda x: op.add(op.instance_norm(x, ones(2), ones(2)), ones(3)), "f32[N,2,3]"),),
    norms.subtract_norm: ((lambda x: op.sub(ones(3), op.instance_norm(x, ones(2), ones(2))), "f32[N,2,3]"),),
    norms.scale_layer_norm: ((lambda x: op.mul(op.layer_norm(x, ones(4)), ones(3, 1)), "f32[N,3,4]"),),
    norms.add_to_layer_norm: ((lambda x: op.add(op.layer_norm(x, ones(4)), ones(3, 1)), "f32[N,3,4]"),),
    # What is right for most numbers.
    approximations.drop_zero_addend: ((lambda x: op.add(x, 0 * COLUMN), "f32[4]"),),
    approximations.multiply_by_zero: ((lambda x: op.mul(x, 0.0), "f32[N,4] NC"),),
    approximations.divide_zero: ((lambda x: op.div(0.0, x), "f32[N,4] NC"),),
    approximations.subtract_itself: ((lambda x: op.sub(x, x), "f32[N,4] NC"),),
    approximations.negate_from_zero: ((lambda x: op.sub(0 * COLUMN, x), "f32[4]"),),
    approximations.negate_difference: ((lambda x, y: op.neg(op.sub(x, y)), SMALL, SMALL),),
    approximations.abs_of_square: ((lambda x: op.sqrt(op.mul(x, x)), SMALL),),
    approximations.drop_exp_and_log: ((lambda x: op.log(op.exp(x)), SMALL),),
    approximations.drop_reciprocal_twice: ((lambda x: op.reciprocal(op.reciprocal(x)), SMALL),),
    approximations.drop_order_kept: ((lambda x: op.arg_max(op.softmax(x, axis=1), axis=0), "f32[3,4]"),),
    approximations.drop_sign_of_positive: ((lambda x: op.abs(op.clip(x, low=-1.0)), "f32[N,4]"),),
    reductions.merge_sums: (
        (lambda x: op.reduce_mean(op.reduce_mean(x, axes=(1,)), axes=(2,)), "i32[N,4,3]"),
        (lambda x: op.reduce_sum(op.reduce_mean(x, axes=(1,)), axes=(2,)), "f32[N,4,3]"),
        (lambda x: op.reduce_sum(op.reduce_sum(x, axes=(1,)), axes=(2,), keep_dims=False), "f32[N,4,3]"),
    ),
    approximations.power_as_square: ((lambda x: op.pow(x, 2 * COLUMN), "f32[4]"),),
    approximations.power_as_root: ((lambda x: op.pow(x, 0.5 * COLUMN), "f32[4]"),),
    approximations.power_as_reciprocal: ((lambda x: op.pow(x, -COLUMN), "f32[4]"),),
    approximations.multiply_by_reciprocal: ((lambda x, y: op.mul(x, op.div(COLUMN, y)), "f32[4]", "f32[4]"),),
    approximations.divide_by_reciprocal: ((lambda x, y: op.div(x, op.div(COLUMN, y)), "f32[4]", "f32[4]"),),
    arithmetic.merge_offsets: ((lambda x: op.add(op.add(x, 3e38), 3e38), "f32[N,4]"),),
    arithmetic.merge_differences: ((lambda x: op.sub(np.float32(-3e38), op.add(x, 3e38)), "f32[N,4]"),),
    arithmetic.merge_scale_of_line: (
        (lambda x: op.mul(op.add(op.mul(x, ones(4)), ones(4)), COLUMN), "f32[2,4]"),
        (lambda x: op.mul(op.add(op.mul(x, 1e30), 1.0), 1e30), "f32[N,4]"),
    ),
    arithmetic.merge_factors: ((lambda x: op.mul(op.mul(x, 1e30), 1e30), "f32[N,4]"),),
    arithmetic.merge_quotients: ((lambda x: op.div(np.float32(1e-30), op.mul(x, 1e30)), "f32[N,4]"),),
}
