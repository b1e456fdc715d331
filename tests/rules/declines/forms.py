"""Layers in the form of others, and what moves entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Rule, op
from graphrewrite.rules import (
    borders,
    concats,
    layer_forms,
    layer_pairs,
    layers,
    quantised,
    rows,
    shapes,
    sinking,
    slices,
    transfers,
)
from tests.rules.declines.parts import Case, constant, cut, layer, normed, ones
from tests.rules.declines.parts import rows as rows_of

__all__ = ["DECLINES"]

FOUR, ZEROS = np.linspace(0.5, 1, 4, dtype=np.float32), np.zeros(4, np.int8)
"""A scale of each channel."""


def _of_channels(x: Any, y: Any) -> Any:
    scale = constant(x, FOUR)
    return op.concat(*(op.dequantize_linear(each, scale, axis=1) for each in (x, y)), axis=1)


def _of_two_types(x: Any, y: Any) -> Any:
    scale = constant(x, np.array(0.5, np.float32))
    return op.concat(*(op.dequantize_linear(each, scale) for each in (x, y)), axis=0)


def _halves(*values: Any) -> list[Any]:
    return [op.reshape(value, shape=("N", 2, 2)) for value in values]


def _stored(x: Any, y: Any, *, scale: Any = 0.5, apart: tuple[Any, ...] = (), **attributes: Any) -> Any:
    same, zero = constant(x, np.float32(scale)), constant(x, np.zeros_like(scale, np.int8))
    return op.concat(*(op.quantize_linear(each, same, zero, **attributes) for each in (x, y)), *apart, axis=0)


def _stored_by_another(x: Any, y: Any, z: Any) -> Any:
    return _stored(x, y, apart=(op.quantize_linear(z, constant(x, np.float32(0.25)), constant(x, np.int8(0))),))


def _moved_between(x: Any, s: Any, t: Any, **attributes: Any) -> Any:
    first = constant(x, np.asarray(s))
    moved = op.tile(op.quantize_linear(x, first, **attributes), repeats=(2, 1))
    return op.quantize_linear(op.dequantize_linear(moved, first, **attributes), constant(x, np.asarray(t)))


def _joined_rows(x: Any, *places: int) -> Any:
    return op.concat(*(rows_of(x, place, place + 1) for place in places), axis=1)


def _rounded_twice(x: Any, first: Any, second: Any) -> Any:
    scale = constant(x, first)
    stored = op.dequantize_linear(op.quantize_linear(x, scale), scale)
    return op.quantize_linear(stored, constant(x, second))


def _turned_again(x: Any, scale: np.ndarray, **attributes: Any) -> Any:
    same = constant(x, np.asarray(scale))
    turned = op.transpose(op.dequantize_linear(x, same, **attributes), perm=(1, 0))
    return op.quantize_linear(turned, same, element=x.type.element, **attributes)


def _greater(x: Any, y: Any, scale: Any, **attributes: Any) -> Any:
    """The greater of two stored numbers of one scale."""
    same = constant(x, np.array(scale, np.float32))
    first, second = (op.dequantize_linear(each, same, axis=0, **attributes) for each in (x, y))
    return op.maximum(first, second)


def _limited_again(x: Any, scale: np.ndarray) -> Any:
    same = constant(x, np.asarray(scale))
    return op.quantize_linear(op.relu(op.dequantize_linear(x, same)), same, element=x.type.element)


def _greatest_again(x: Any, scale: np.ndarray) -> Any:
    same = constant(x, np.asarray(scale))
    return op.quantize_linear(op.max_pool(op.dequantize_linear(x, same), kernel=(2, 2)), same, element=x.type.element)


def _stored_between(x: Any, between: Any) -> Any:
    scale = constant(x, between)
    return op.dequantize_linear(op.quantize_linear(op.dequantize_linear(x, np.float32(0.5)), scale), scale)


DECLINES: dict[Rule, tuple[Case, ...]] = {
    layers.gemm_as_linear: (
        (lambda x: op.gemm(x, ones(4, 3), trans_a=True), "f32[4,2]"),
        (lambda x: op.gemm(x, ones(4, 3)), "f32[N,4] NC"),
        (lambda x: op.gemm(x, ones(4, 3), ones(2, 1)), "f32[2,4]"),
    ),
    layers.matmul_as_linear: (
        (lambda x: op.matmul(x, ones(4, 3)), "f32[N,2,4]"),
        (lambda x: op.matmul(x, ones(4, 3)), "f32[N,4] NC"),
    ),
    layers.matmul_of_weights_as_linear: (
        (lambda x: op.matmul(ones(3, 4), op.transpose(x, perm=(0, 2, 1))), "f32[N,2,4]"),
        (lambda x: op.matmul(ones(3, 4), op.transpose(x, perm=(1, 0))), "f32[N,4] NC"),
    ),
    layers.add_bias: ((op.linear, "f32[N,4]", "f32[M,4]"),),
    layers.batch_norm_as_layer: (
        (normed, "f32[N,2,H]"),
        (normed, "f32[N,2,0]"),
        (lambda x: normed(x, epsilon=0.0), "f32[N,2,3]"),
    ),
    layers.average_pool_as_conv: (
        (lambda x: op.average_pool(x, kernel=(2, 2), pads=(1, 1, 1, 1)), "f32[N,2,3,3]"),
        (lambda x: op.average_pool(x, kernel=(2, 2)), "f32[N,C,3,3]"),
        (lambda x: op.average_pool(x, kernel=(2, 2)), "i32[N,2,3,3]"),
        (lambda x: op.average_pool(x, kernel=(2, 2), ceil_mode=True), "f32[N,2,3,3]"),
        (lambda x: op.average_pool(x, kernel=(2, 2)), "f32[0,2,3,3]"),
    ),
    layers.global_average_pool_as_conv: (
        (op.global_average_pool, "f32[N,2,H,3]"),
        (op.global_average_pool, "i32[N,2,3,3]"),
        (op.global_average_pool, "f32[0,2,3]"),
    ),
    layer_pairs.merge_layers: (
        (lambda x: layer(layer(x, 2), 8), "f32[N,8]"),  # more weights
        (
            lambda x: op.conv(op.conv(x, ones(2, 2, 2, 2), ones(2)), ones(2, 2, 2, 2), ones(2)),
            "f32[N,2,4,4]",
        ),
        (
            lambda x: op.conv(op.conv(x, ones(2, 2, 1, 1), ones(2)), ones(2, 2, 3, 3), ones(2), pads=(1, 1, 1, 1)),
            "f32[N,2,3,3]",
        ),
        (lambda x: layer(layer(x, 0)), "f32[N,4]"),
    ),
    layer_forms.linear_as_conv: (
        (op.linear, "f32[N,M]", "f32[3,M]"),
        (layer, "f32[N,4] NC"),
        (layer, "f32[0,4]"),
    ),
    layer_forms.conv_as_linear: (
        (lambda x: op.conv(x, ones(2, 2, 2, 2)), "f32[N,2,3,3]"),
        (lambda x: op.conv(x, ones(2, 2, 3, 3), strides=(2, 2)), "f32[N,2,3,3]"),
        (lambda x: op.conv(x, ones(2, 2, 3, 3)), "f32[0,2,3,3]"),
    ),
    layer_forms.pointwise_conv_as_matmul: (
        (lambda x: op.conv(x, ones(2, 2, 2, 2)), "f32[N,2,3,3]"),
        (op.conv, "f32[N,2,3,3]", "f32[K,2,1,1]"),
    ),
    layer_forms.average_pool_as_global: ((lambda x: op.average_pool(x, kernel=(2, 2)), "f32[N,2,3,3]"),),
    layer_forms.mean_as_pool: (
        (lambda x: op.reduce_mean(x, axes=(2,)), "f32[N,2,3,3]"),
        (lambda x: op.reduce_mean(x, axes=(2,)), "i32[N,2,3]"),
    ),
    layer_forms.pool_as_mean: (
        (lambda x: op.reshape(op.global_average_pool(x), shape=("N", 2, 1)), "f32[N,2,3,3]"),
        (lambda x: op.reshape(op.global_average_pool(x), shape=("N", 2)), "i32[N,2,3]"),
    ),
    # What moves entries.
    borders.tile_as_expand: ((lambda x: op.tile(x, repeats=(1, 2)), "f32[N,4]"),),
    borders.resize_as_expand: (
        (lambda x: op.resize(x, sizes=(2, 4)), "f32[2,2]"),
        (lambda x: op.resize(x, scales=(1.5, 2.0)), "f32[2,1]"),
        (lambda x: op.resize(x, scales=(2.0, 1.25), axes=(1, 0)), "f32[2,1]"),
        (
            lambda x: op.resize(
                x, sizes=(2, 4), coordinate_transformation_mode="tf_crop_and_resize", roi=(0.0, 0.0, 2.0, 1.0)
            ),
            "f32[1,1]",
        ),
    ),
    borders.drop_repetition: ((lambda x, y: op.add(op.expand(x, shape=(2, 4)), y), "f32[1,4]", "f32[1,4]"),),
    borders.drop_repetition_in_order: ((lambda x, y: op.sub(op.expand(x, shape=(2, 4)), y), "f32[1,4]", "f32[1,4]"),),
    borders.expand_after: (
        (lambda x: op.add(op.expand(x, shape=(2, 4)), ones(4)), "f32[2,1]"),
        (lambda x: op.relu(op.expand(x, shape=(2, 4))), "f32[2,1] NC"),
    ),
    borders.expand_after_in_order: (
        (lambda x: op.sub(op.expand(x, shape=(2, 4)), ones(4)), "f32[2,1]"),
        (lambda x: op.sub(op.expand(x, shape=(2, 4)), 1.0), "f32[2,1] NC"),
    ),
    concats.concat_before_reshape: (
        (lambda x, y, z: op.concat(*_halves(x, y), z, axis=1), "f32[N,4]", "f32[N,4]", "f32[N,2,2]"),
        (lambda x, y: op.concat(*_halves(x, y), axis=1), "f32[N,4] NC", "f32[N,4]"),
        (lambda x, y: op.concat(*_halves(x, y), axis=1), "f32[N,4]", "f32[N,4,1]"),
        (lambda x, y: op.concat(*_halves(x, y), axis=2), "f32[N,4]", "f32[N,4]"),
    ),
    concats.concat_before_layer: (
        (lambda x, y, w: op.concat(op.matmul(x, w), op.matmul(y, w), axis=1), "f32[N,4]", "f32[N,4]", "f32[4,3]"),
        (lambda x, y, w: op.concat(op.linear(x, w), op.linear(y, w), axis=1), "f32[N,4]", "f32[N,4]", "f32[3,4]"),
        (lambda x, y, w: op.concat(op.linear(x, w), op.matmul(y, w), axis=0), "f32[3,4]", "f32[2,4]", "f32[4,4]"),
        (lambda x, y, w: op.concat(op.matmul(x, w), op.matmul(y, w), axis=0), "f32[3,4] NC", "f32[2,4] CN", "f32[4,4]"),
    ),
    concats.concat_before_step: (
        (lambda x, y: op.concat(op.relu(x), op.tanh(y), axis=1), "f32[N,4]", "f32[N,4]"),
        (lambda x: op.concat(op.relu(x), axis=1), "f32[N,4]"),
        (lambda x, y: op.concat(op.is_nan(x), op.is_nan(y), axis=1), "f16[N,2]", "f32[N,2]"),
        (lambda x, y: cut(op.concat(op.relu(x), op.relu(y), axis=1), 0, 4), "f32[N,4]", "f32[N,4]"),
    ),
    concats.slice_after_step: (
        (lambda x: op.add(op.relu(cut(x, 0, 1)), op.relu(cut(x, 1, 2))), "f32[N,4]"),  # the whole is more
        (lambda x: op.add(op.relu(cut(x, 0, 2)), op.tanh(cut(x, 2, 4))), "f32[N,4]"),
    ),
    concats.slice_after_pair: (
        (lambda x, y: op.add(op.mul(cut(x, 0, 2), y), op.mul(cut(x, 2, 4), y)), "f32[N,4]", "f32[N,2]"),
        (lambda x, y: op.add(op.mul(cut(x, 0, 2), y), op.add(cut(x, 2, 4), y)), "f32[N,4]", "f32[N,1]"),
        # Of two zeros the last is the extreme.
        (lambda x, y: op.add(op.maximum(cut(x, 0, 2), y), op.maximum(y, cut(x, 2, 4))), "f32[N,4]", "f32[N,1]"),
        (lambda x, y: op.add(op.mul(cut(x, 0, 1), y), op.mul(cut(x, 2, 3), y)), "f32[N,4]", "f32[N,1]"),
    ),
    concats.slice_after_second: (
        (lambda x, y: op.add(op.sub(y, cut(x, 0, 2)), op.sub(y, cut(x, 2, 4))), "f32[N,4]", "f32[N,2]"),
        (lambda x, y: op.add(op.sub(y, cut(x, 0, 2)), op.sub(cut(x, 2, 4), y)), "f32[N,4]", "f32[N,1]"),
        (lambda x, y: op.add(op.sub(y, cut(x, 0, 1)), op.sub(y, cut(x, 2, 3))), "f32[N,4]", "f32[N,1]"),
    ),
    slices.concat_of_rows: (
        (lambda x: op.concat(cut(x, 0, 2), cut(x, 2, 4), axis=0), "f32[N,4]"),
        (lambda x, y: op.concat(rows_of(x, 0, 1), rows_of(y, 1, 2), axis=1), "f32[3,4]", "f32[3,4]"),
        (lambda x: op.concat(rows_of(x, 0, 1), rows_of(x, 1, 2), axis=0), "f32[3,4]"),
        (lambda x: _joined_rows(x, 0, 2, 1), "f32[3,4]"),
        (lambda x: _joined_rows(x, 0, 1, 2), "f32[3,4] NC"),
        (lambda x: _joined_rows(x, 0, 1, 2), "i8<0.5:0, 0.25:1 @1>[3,2]"),
    ),
    shapes.permute_linear_weights: (
        (lambda x: layer(op.reshape(op.transpose(x, perm=(1, 0, 2)), shape=(3, 8))), "f32[2,3,4]"),
        (lambda x: layer(op.reshape(op.transpose(x, perm=(0, 2, 1)), shape=(6, 4))), "f32[2,3,4]"),
        (lambda x: layer(op.reshape(op.transpose(x, perm=(0, 2, 1)), shape=("N*M", 4))), "f32[N,M,4]"),
    ),
    sinking.greatest_without_transpose: (
        (lambda x: op.reduce_max(op.transpose(x, perm=(0, 2, 1)), axes=(0,), keep_dims=False), "f32[2,3,4]"),
    ),
    sinking.sum_without_transpose: (
        (lambda x: op.reduce_sum(op.transpose(x, perm=(0, 2, 1)), axes=(0,), keep_dims=False), "f32[2,3,4]"),
    ),
    sinking.transpose_after_sum: (
        (lambda x: op.reduce_sum(op.transpose(x, perm=(1, 0)), axes=(0,), keep_dims=False), "f32[3,4]"),
    ),
    sinking.reshape_after: ((lambda x, y: op.add(op.reshape(x, shape=("N", 4)), y), "f32[N,2,2]", "f32[N,4]"),),
    sinking.reshape_after_in_order: (
        (lambda x, y: op.sub(op.reshape(x, shape=("N", 4)), y), "f32[N,2,2]", "f32[N,4]"),
    ),
    sinking.transpose_after: ((lambda x, y: op.add(op.transpose(x, perm=(1, 0)), y), "f32[4,3]", "f32[3,4]"),),
    sinking.transpose_after_in_order: (
        (lambda x, y: op.sub(op.transpose(x, perm=(1, 0)), y), "f32[4,3]", "f32[3,4]"),
        (lambda x, s, z: op.quantize_linear(x, s, op.transpose(z, perm=()), element="i8"), "f32[]", "f32[]", "i8[]"),
    ),
    rows.rows_as_layer: (
        (lambda x: op.matmul(x, ones(4, 3)), "f32[N,4]"),
        (lambda x: op.matmul(x, ones(4, 3)), "f32[N,2,4] NWC"),
        (lambda x: op.matmul(op.dequantize_linear(x, np.float32(0.5)), ones(4, 3)), "i8[N,2,4]"),
        (lambda x: op.matmul(x, ones(4, 3)), "f32[N*M,2,4]"),
    ),
    rows.sink_rows_below_norm: (
        (lambda x: op.layer_norm(op.reshape(x, shape=(3, 2, 4)), ones(2, 4), axis=1), "f32[6,4]"),
    ),
    rows.sink_rows_below_rms_norm: (
        (lambda x: op.rms_norm(op.reshape(x, shape=(3, 2, 4)), ones(2, 4), axis=1), "f32[6,4]"),
    ),
    rows.sink_rows_below_pair: ((lambda x, y: op.add(op.reshape(x, shape=(3, 2, 4)), y), "f32[6,4]", "f32[4]"),),
    transfers.drop_transfer: ((lambda x: op.transfer(x, backend="b"), "f32[N,4]"),),
    # Quantised numbers.
    quantised.move_before_dequantising: (
        (lambda x: op.tile(op.dequantize_linear(x, FOUR, ZEROS, axis=1), repeats=(1, 2)), "i8[N,4]"),
    ),
    quantised.compare_stored: (
        (lambda x, y: _greater(x, y, FOUR), "i8[4,4]", "i8[4,4]"),
        (lambda x, y: _greater(x, y, np.float32(0.5)), "i16[4,4]", "i16[4,4]"),
        (lambda x, y: _greater(x, y, [0.5], block_size=1), "i8[1]", "i8[1]"),
        (lambda x, y: _greater(x, y, np.float32(1e-45), element="f16"), "i8[4,4]", "i8[4,4]"),
    ),
    quantised.limit_stored: (
        (lambda x: _limited_again(x, FOUR), "i8[4,4]"),
        (lambda x: _limited_again(x, np.float32(1e38)), "i8[4,4]"),
        (lambda x: _limited_again(x, np.float32(0.5)), "i16[4,4]"),
    ),
    quantised.pick_stored: (
        (lambda x: _turned_again(x, FOUR, axis=0), "i8[4,4]"),
        (lambda x: _turned_again(x, np.float32(-0.5)), "i8[4,4]"),
        (lambda x: _turned_again(x, np.float32(1e38)), "i8[4,4]"),
        (lambda x: _greatest_again(x, np.float32(0.5)), "i16[1,1,4,4]"),
    ),
    quantised.quantise_before_moving: ((lambda x: op.quantize_linear(cut(x, 0, 4), FOUR, ZEROS, axis=1), "f32[N,6]"),),
    quantised.concat_before_dequantising: (
        (_of_channels, "i8[N,4]", "i8[N,4]"),
        (_of_two_types, "i8[2,4]", "u8[2,4]"),
    ),
    quantised.quantise_before_concat: (
        (
            lambda x, y: op.quantize_linear(
                op.concat(op.dequantize_linear(x, np.float32(0.5)), y, axis=0), FOUR, ZEROS, axis=1
            ),
            "i8[2,4]",
            "f32[2,4]",
        ),
    ),
    quantised.concat_before_quantising: (
        (lambda x, y: _stored(x, y, scale=FOUR, axis=0), "f32[4,N]", "f32[4,N]"),
        (lambda x, y, z: _stored(x, y, apart=(z,)), "f32[N,4]", "f32[N,4]", "i8[N,4]"),
        (_stored_by_another, "f32[N,4]", "f32[N,4]", "f32[N,4]"),
        (_stored, "f32[N,4]", "f16[N,4]"),
        (lambda x, y: _stored(x, op.dequantize_linear(y, np.float32(0.25))), "f32[N,4]", "i8[N,4]"),
    ),
    quantised.skip_rounding_before_moving: (
        (lambda x: _moved_between(x, FOUR, np.float32(0.25), axis=1), "f32[N,4]"),
        (lambda x: _moved_between(x, np.float32(0.5), 0.25), "f32[N,4]"),
    ),
    quantised.skip_rounding: (
        (lambda x: _rounded_twice(x, np.float32(0.5), np.float64(0.25)), "f32[N,4]"),
        (lambda x: _rounded_twice(x, np.array([0.5, 0.25, 0.5, 0.5], np.float32), np.float32(8)), "f32[N,4]"),
        (lambda x: _rounded_twice(x, np.float32(-0.5), np.float32(0.25)), "f32[N,4]"),
    ),
    quantised.skip_rounding_of_stored: (
        (lambda x: _stored_between(x, np.float64(0.25)), "u8[N,4]"),
        (lambda x: _stored_between(x, np.array([0.25, 0.5, 0.5, 0.5], np.float32)), "i32[N,4]"),
    ),
    quantised.skip_narrow_type: ((lambda x: op.cast(op.cast(x, element="f16"), element="f64"), "f32[N,4]"),),
    quantised.store_without_cast: (
        (lambda x: op.quantize_linear(op.cast(x, element="f16"), np.float16(0.5)), "bf16[N,4]"),
    ),
}
