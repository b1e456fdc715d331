"""Composite ops of parts that are nearly theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import Rule, op
from graphrewrite.rules.recognition import activations, limits, movement, normalisations, reductions
from tests.rules.declines.parts import COLUMN, Case, ones, row

__all__ = ["DECLINES"]

ROW, ROWS = "f32[4]", "f32[N,4]"
ROOT, SIXTH = 2**0.5, 1 / 6


def _erf(x: Any) -> Any:
    return op.erf(op.div(x, ROOT))


def _exp(x: Any) -> Any:
    """A row in an exponential, plus a column of ones."""
    return op.add(op.exp(op.neg(x)), COLUMN)


def _limited(x: Any) -> Any:
    return op.clip(op.add(x, 3 * COLUMN), low=0.0, high=6.0)


def _is_positive(x: Any) -> Any:
    return op.greater(x, 0.0)


def _root(x: Any, **attributes: Any) -> Any:
    """The root of the mean of squares and a little more, along the last axis if none is named."""
    return op.sqrt(op.add(op.reduce_mean(op.mul(x, x), **{"axes": (-1,), **attributes}), 1e-5))


def _rms(x: Any) -> Any:
    return _root(x, axes=(0,), keep_dims=False)


def _shares(x: Any, divided: Callable[..., Any], axes: tuple[int, ...]) -> Any:
    shares = op.exp(x)
    return divided(shares, op.reduce_sum(shares, axes=axes))


def _line(x: Any, gain: np.ndarray, *, axis: int = -1, epsilon: float = 1e-5) -> Any:
    mean = op.reduce_mean(x, axes=(axis,))
    centred = op.sub(x, mean)
    variance = op.reduce_mean(op.mul(centred, centred), axes=(axis,))
    scale = op.mul(op.reciprocal(op.sqrt(op.add(variance, epsilon))), gain)
    return op.add(op.mul(x, scale), op.sub(ones(4), op.mul(mean, scale)))


def _normed(x: Any, grouped: tuple[int, ...], shape: tuple[int, ...], *, first: int = 1) -> Any:
    gain = np.ones(grouped[first:], np.float32)
    return op.reshape(op.layer_norm(op.reshape(x, shape=grouped), gain, axis=first), shape=shape)


def _squared_mean(x: Any, axis: int) -> Any:
    mean = op.reduce_mean(x, axes=(axis,))
    return op.mul(mean, mean)


def _with_maximum(x: Any, axis: int) -> Any:
    most = op.reduce_max(x, axes=(axis,))
    return op.add(op.reduce_log_sum_exp(op.sub(x, most), axes=(1,)), most)


DECLINES: dict[Rule, tuple[Case, ...]] = {
    activations.recognise_gelu: ((lambda x: op.mul(op.mul(x, 0.5), op.add(_erf(x), COLUMN)), ROW),),
    activations.recognise_gelu_halved_last: ((lambda x: op.mul(op.mul(x, op.add(_erf(x), COLUMN)), 0.5), ROW),),
    activations.recognise_gelu_halved_inside: ((lambda x: op.mul(x, op.mul(op.add(_erf(x), COLUMN), 0.5)), ROW),),
    activations.recognise_sigmoid: ((lambda x: op.div(1.0, _exp(x)), ROW),),
    activations.recognise_sigmoid_of_reciprocal: ((lambda x: op.reciprocal(_exp(x)), ROW),),
    activations.recognise_sigmoid_of_tanh: (
        (lambda x: op.add(op.mul(op.tanh(op.mul(x, 0.5)), 0.5), 0.5 * COLUMN), ROW),
    ),
    activations.recognise_scaled_silu: ((lambda x: op.mul(x, op.sigmoid(op.mul(x, row(1, 2, 3, 4)))), ROWS),),
    activations.recognise_silu_of_exp: ((lambda x: op.div(x, _exp(x)), ROW),),
    activations.recognise_softplus: ((lambda x: op.log(op.add(op.exp(x), COLUMN)), ROW),),
    activations.recognise_stable_softplus: (
        (lambda x: op.add(op.relu(x), op.log(op.add(op.exp(op.neg(op.abs(x))), COLUMN))), ROW),
    ),
    activations.recognise_softsign: ((lambda x: op.div(x, op.add(op.abs(x), COLUMN)), ROW),),
    activations.recognise_hard_sigmoid: (
        (lambda x: op.clip(op.add(op.mul(x, row(1, 2, 3, 4)), 0.5), low=0.0, high=1.0), ROWS),
    ),
    activations.recognise_hard_sigmoid_of_six: ((lambda x: op.mul(_limited(x), SIXTH), ROW),),
    activations.recognise_hard_sigmoid_divided_by_six: ((lambda x: op.div(_limited(x), 6.0), ROW),),
    activations.recognise_hard_swish_of_six: ((lambda x: op.mul(op.mul(x, _limited(x)), SIXTH), ROW),),
    activations.recognise_hard_swish_divided_by_six: ((lambda x: op.div(op.mul(x, _limited(x)), 6.0), ROW),),
    activations.recognise_hard_swish_of_sixth: ((lambda x: op.mul(op.mul(x, SIXTH), _limited(x)), ROW),),
    activations.recognise_prelu: ((lambda x: op.add(op.relu(x), op.mul(op.minimum(x, 0.0), COLUMN)), ROW),),
    activations.recognise_prelu_of_relus: ((lambda x: op.add(op.relu(x), op.mul(op.relu(op.neg(x)), COLUMN)), ROW),),
    activations.recognise_prelu_of_difference: (
        (lambda x: op.sub(op.relu(x), op.mul(op.relu(op.neg(x)), COLUMN)), ROW),
    ),
    limits.recognise_relu: ((lambda x: op.maximum(x, 0 * COLUMN), ROW),),
    limits.recognise_clip_of_extremes: ((lambda x: op.minimum(op.maximum(x, COLUMN), 2.0), ROW),),
    limits.recognise_clip: (
        (lambda x: op.minimum(op.relu(x), COLUMN), ROW),
        (lambda x: op.minimum(op.clip(x, low=float("nan")), 2.0), ROWS),
    ),
    limits.recognise_clip_of_extreme: (
        (lambda x: op.relu(op.minimum(x, COLUMN)), ROW),
        (lambda x: op.clip(op.minimum(x, 2.0), low=float("nan")), ROWS),
    ),
    limits.recognise_chosen_relu: ((lambda x: op.where(_is_positive(x), x, 0 * COLUMN), ROW),),
    limits.recognise_other_relu: ((lambda x: op.where(op.less(x, 0.0), 0 * COLUMN, x), ROW),),
    limits.recognise_slope: (
        (lambda x: op.maximum(x, op.mul(x, 2.0)), ROWS),
        (lambda x, s: op.maximum(x, op.mul(x, s)), ROWS, ROW),
    ),
    limits.recognise_chosen_slope: ((lambda x, s: op.where(_is_positive(x), x, op.mul(x, s)), ROWS, ROW),),
    limits.recognise_other_slope: ((lambda x, s: op.where(op.less(x, 0.0), op.mul(x, s), x), ROWS, ROW),),
    movement.recognise_channel_shuffle: (
        (
            lambda x: op.reshape(
                op.transpose(op.reshape(x, shape=("N", 4, 3, 2)), perm=(0, 2, 1, 3)), shape=("N", 4, 6)
            ),
            "f32[N,4,6]",
        ),
        (
            lambda x: op.reshape(op.transpose(op.reshape(x, shape=("N", 2, 3, 2)), perm=(0, 2, 1, 3)), shape=("N", 12)),
            "f32[N,6,2]",
        ),
    ),
    movement.recognise_channel_shuffle_behind_transpose: (
        (
            lambda x: op.reshape(
                op.transpose(op.reshape(op.transpose(x, perm=(0, 2, 1)), shape=("N", 2, 3, 5)), perm=(0, 2, 1, 3)),
                shape=("N", 6, 5),
            ),
            "f32[N,5,6]",
        ),
    ),
    movement.recognise_pixel_shuffle: (
        (
            lambda x: op.reshape(
                op.transpose(op.reshape(x, shape=("N", 2, 2, 1, 1, 1)), perm=(0, 3, 4, 1, 5, 2)), shape=("N", 1, 2, 2)
            ),
            "f32[N,4,1,1]",
        ),
        (
            lambda x: op.reshape(
                op.transpose(op.reshape(x, shape=("N", 2, 2, 2, 3, 3)), perm=(0, 1, 5, 2, 4, 3)), shape=("N", 2, 6, 6)
            ),
            "f32[N,8,3,3]",
        ),
        (
            lambda x: op.reshape(
                op.transpose(op.reshape(x, shape=("N", 4, 2, 9)), perm=(0, 2, 1, 3)), shape=("N", 2, 4, 9)
            ),
            "f32[N,8,3,3]",
        ),
        (
            lambda x: op.reshape(
                op.transpose(op.reshape(x, shape=("N", 2, 4, 3, 3)), perm=(0, 1, 3, 4, 2)), shape=("N", 72)
            ),
            "f32[N,8,3,3]",
        ),
    ),
    reductions.recognise_softmax: ((lambda x: _shares(x, op.div, (0, 1)), ROWS),),
    reductions.recognise_softmax_by_reciprocal: (
        (lambda x: _shares(x, lambda e, total: op.mul(e, op.reciprocal(total)), (0, 1)), ROWS),
    ),
    reductions.recognise_reduce_mean: (
        (lambda x: op.div(op.reduce_sum(x, axes=(1,)), np.int32(3)), "i32[N,3]"),
        (lambda x: op.div(op.reduce_sum(x, axes=(0,)), 3.0), "f32[N,3]"),
        (lambda x: op.div(op.reduce_sum(x, axes=(1,)), 4.0), "f32[N,3]"),
    ),
    reductions.recognise_lp_norm: (
        (lambda x: op.div(x, op.clip(op.reduce_l1(x, axes=(0, 1)), low=1e-9)), "f32[3,4]"),
        (lambda x: op.div(x, op.clip(op.reduce_l1(x, axes=(1,)), low=1.0)), "f32[3,4]"),
    ),
    reductions.drop_subtracted_maximum: (
        (lambda x: op.softmax(op.sub(x, op.reduce_max(x, axes=(0,))), axis=1), "f32[3,4]"),
    ),
    reductions.drop_added_maximum: ((lambda x: _with_maximum(x, 0), "f32[4,4]"),),
    reductions.recognise_log_softmax: ((lambda x: op.sub(x, op.reduce_log_sum_exp(x, axes=(0, 1))), "f32[3,4]"),),
    reductions.recognise_reduce_sum_square: ((lambda x: op.reduce_sum(op.pow(x, 2 * COLUMN), axes=(0,)), ROW),),
    normalisations.recognise_rms_norm: ((lambda x: op.div(x, _rms(x)), "f32[3,4]"),),
    normalisations.recognise_rms_norm_by_inverse: ((lambda x: op.mul(x, op.reciprocal(_rms(x))), "f32[3,4]"),),
    normalisations.recognise_rms_norm_of_factor: (
        (lambda x: op.mul(x, op.mul(op.reciprocal(_rms(x)), ones(4))), "f32[3,4]"),
    ),
    normalisations.recognise_rms_norm_of_product: (
        (lambda x: op.mul(op.mul(x, ones(4)), op.reciprocal(_rms(x))), "f32[3,4]"),
    ),
    normalisations.recognise_rms_norm_of_quotient: ((lambda x: op.div(op.mul(x, ones(4)), _rms(x)), "f32[3,4]"),),
    normalisations.recognise_layer_norm: (
        (lambda x: op.rms_norm(op.sub(x, op.reduce_mean(x, axes=(0,))), ones(4)), "f32[3,4]"),
        (lambda x: op.rms_norm(op.sub(x, op.reduce_mean(x, axes=(1,), keep_dims=False)), ones(3)), "f32[3,1]"),
    ),
    normalisations.recognise_layer_norm_of_line: (
        (lambda x: _line(x, ones(4), axis=0), "f32[3,4]"),
        (lambda x: _line(x, ones(4), epsilon=0.0), "f32[3,4]"),
        (lambda x: _line(x, ones(4)), "f32[3,4] NC"),
        (lambda x: _line(x, ones(3, 1)), "f32[3,4]"),
    ),
    normalisations.recognise_variance: (
        (lambda x: op.sub(op.reduce_mean(op.mul(x, x), axes=(0, 1)), _squared_mean(x, 1)), "f32[1,4]"),
        (lambda x: op.sub(op.reduce_mean(op.mul(x, x), axes=(1,)), _squared_mean(x, 0)), "f32[4,4]"),
        (lambda x: op.sub(op.reduce_mean(op.mul(x, x), axes=(1,)), _squared_mean(x, 1)), "i32[4,4]"),
    ),
    normalisations.recognise_norm_of_narrow: (
        (lambda x: op.cast(op.layer_norm(op.cast(x, element="f64"), np.ones(4)), element="f32"), "f32[N,4]"),
    ),
    normalisations.recognise_gain: ((lambda x: op.mul(op.layer_norm(x, 1.0), ones(3, 1)), "f32[3,4]"),),
    normalisations.recognise_shift: ((lambda x: op.add(op.layer_norm(x, ones(4)), ones(3, 1)), "f32[3,4]"),),
    normalisations.recognise_instance_norm: (
        (lambda x: op.mul(op.layer_norm(x, 1.0), ones(4, 1)), "f32[2,3,4,5]"),
        (lambda x: op.mul(op.layer_norm(x, 1.0, axis=2), ones(5)), "f32[2,3,4,5]"),
        (lambda x: op.mul(op.layer_norm(x, 1.0, axis=2), ones(3, 1)), "f32[0,3,4]"),
    ),
    normalisations.recognise_group_norm_of_rows: (
        (lambda x: _normed(x, (2, 3, 10), (2, 6, 5)), "f32[2,6,5]"),
        (lambda x: _normed(x, (4, 3, 5), (2, 6, 5), first=2), "f32[2,6,5]"),
    ),
    normalisations.recognise_batch_norm: (
        (lambda x: op.add(op.mul(op.conv(x, ones(2, 3, 1)), 2.0), 1.0), "f32[N,3,4]"),
        (lambda x, w: op.add(op.mul(op.conv(x, w), ones(4)), 1.0), "f32[N,3,4]", "f32[2,3,1]"),
        (lambda x, w: op.add(op.mul(op.conv(x, w), 2), 1), "i32[N,3,4]", "i32[2,3,1]"),
        (lambda x, w: op.add(op.mul(op.conv(x, w), 2.0), 1.0), "f32[N,3,4]", "f32[M,3,1]"),
    ),
    normalisations.recognise_group_norm: (
        (
            lambda x: op.reshape(op.instance_norm(op.reshape(x, shape=(4, 3, 5)), ones(3), ones(3)), shape=(2, 6, 5)),
            "f32[2,6,5]",
        ),
        (
            lambda x: op.reshape(op.instance_norm(op.reshape(x, shape=(2, 3, 10)), ones(3), ones(3)), shape=(2, 30)),
            "f32[2,6,5]",
        ),
    ),
}
