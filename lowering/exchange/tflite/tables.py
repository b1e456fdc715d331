"""The table of all supported operators of TensorFlow Lite: entries in the form of those of ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import integers, number, truth, whole
from graphrewrite.lowering.exchange.entry import Entry, same_names
from graphrewrite.lowering.exchange.onnx.tables import by_op
from graphrewrite.lowering.exchange.tflite import elementwise, hybrid, layers, movement, recurrent, resizing, sixteen
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result, are_hybrid, are_plain, are_stored, shown
from graphrewrite.lowering.exchange.tflite.windows import CONVOLUTION, POOL
from graphrewrite.types import Quantised

__all__ = ["TFLITE"]

_AXIS: dict[str, Any] = {"axis": ("axis", whole)}
_AXES: Mapping[int, Any] = {1: ("axes", integers)}
_KEPT: dict[str, Any] = {"keep_dims": ("keep_dims", truth)}
_DROPPED = {"keep_dims": False}
_CORNERS = same_names(truth, "align_corners", "half_pixel_centers")
_BIAS = ("quantized_bias_type",)
_BIASED = same_names(whole, *_BIAS)
_SIXTEEN = ("pot_scale_int16",)
_ASYMMETRIC = "asymmetric_quantize_inputs"
_AS_THEY_ARE = {_ASYMMETRIC: (False, 0, True)}
_LSTM: dict[str, Any] = {**same_names(truth, "time_major"), **same_names(number, "cell_clip", "proj_clip")}
_LAYERED = {**_AS_THEY_ARE, "diagonal_recurrent_tensors": (False, 0)}
_DENSE: dict[str, Any] = {"keep_num_dims": ("keep_num_dims", truth)}


def _one_format(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    """Tell why stored numbers do not stand for the same ones before and after."""
    formats = {k.element for k in (*kinds, *attributes["to"]) if isinstance(k.element, Quantised)}
    return f"formats {' and '.join(sorted(map(str, formats)))} differ" if len(formats) > 1 else None


def _is_quantising(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    element = attributes["to"][0].element
    fits = kinds[0].element == "f32" and isinstance(element, Quantised) and element.axis is None
    return None if fits else f"{kinds[0]} is not quantised as {element}"


def _is_requantising(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    for kind in (kinds[0], attributes["to"][0]):
        if not isinstance(kind.element, Quantised) or kind.element.storage not in ("i8", "u8", "i16", "i32"):
            return f"{shown(kind)} is not of stored numbers that it converts"
    return None


def _is_dequantising(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    return None if isinstance(kinds[0].element, Quantised) else f"{kinds[0]} has no scale"


def _is_hybrid_table(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    real = [to.element for to in attributes["to"]] == ["f32"]
    return (
        are_hybrid(attributes, (attributes["to"][0], kinds[1])) if real and len(kinds) > 1 else "its rows are not real"
    )


def _is_hybrid_transposed(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    _, w, *rest = kinds
    return are_hybrid(attributes, (*rest[:1], w, *rest[1:]))


def _is_wide_transposed(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    return sixteen.are_sixteen(attributes, kinds[2:])


_real = partial(Entry, fits=are_plain)
_of_stored = partial(Entry, fits=are_stored)
_of_both = partial(Entry, fits=are_hybrid)
_of_wide = partial(Entry, fits=sixteen.are_sixteen)


def _inverse_root(x: Operand, *, to: tuple[Result]) -> Any:
    return op.reciprocal(op.sqrt(x.value))


def _square(x: Operand, *, to: tuple[Result]) -> Any:
    return op.mul(x.value, x.value)


def _squared_difference(x: Operand, y: Operand, *, to: tuple[Result]) -> Any:
    difference = op.sub(x.value, y.value)
    return op.mul(difference, difference)


def _sum(*xs: Operand, to: tuple[Result]) -> Any:
    total = xs[0].value
    for x in xs[1:]:
        total = op.add(total, x.value)
    return total


def _floor_div(x: Operand, y: Operand, *, to: tuple[Result]) -> Any:
    if str(x.value.type.element).startswith("f"):
        return op.floor(op.div(x.value, y.value))
    return op.div(op.sub(x.value, op.mod(x.value, y.value)), y.value)


def _not_equal(x: Operand, y: Operand, *, to: tuple[Result]) -> Any:
    return op.logical_not(op.equal(x.value, y.value))


def _every(reduce: Any) -> Any:
    def reduced(x: Operand, *, to: tuple[Result], axes: tuple[int, ...], keep_dims: bool = False) -> Any:
        return op.cast(reduce(op.cast(x.value, element="i32"), axes=axes, keep_dims=keep_dims), element="bool")

    return reduced


def _activation(name: str) -> Any:
    def activate(x: Operand, *, to: tuple[Result]) -> Any:
        return elementwise.ACTIVATIONS[name](x.value)

    return activate


def _gelu(x: Operand, *, to: tuple[Result], approximate: bool = False) -> Any:
    return op.gelu(x.value, approximate="tanh" if approximate else "none")


_UNARY = {"ABS": op.abs, "NEG": op.neg, "LOG": op.log, "SQRT": op.sqrt, "SIN": op.sin, "COS": op.cos, "EXP": op.exp}
_UNARY |= {"FLOOR": op.floor, "CEIL": op.ceil, "ROUND": op.round, "LOGISTIC": op.sigmoid, "TANH": op.tanh}
_UNARY |= {"ELU": op.elu, "HARD_SWISH": op.hard_swish, "LOGICAL_NOT": op.logical_not, "SIGN": op.sign}
_BINARY = {"ADD": op.add, "SUB": op.sub, "MUL": op.mul, "DIV": op.div, "POW": op.pow, "FLOOR_MOD": op.mod}
_BINARY |= {"MAXIMUM": op.maximum, "MINIMUM": op.minimum, "LOGICAL_AND": op.logical_and, "LOGICAL_OR": op.logical_or}
_BINARY |= {"PRELU": op.prelu, "BITWISE_XOR": op.bitwise_xor}
_COMPARISONS = {"EQUAL": "equal", "GREATER": "greater", "GREATER_EQUAL": "greater_or_equal"}
_COMPARISONS |= {"LESS": "less", "LESS_EQUAL": "less_or_equal"}
_ACTIVATIONS = {"RELU": "relu", "RELU6": "relu6", "RELU_N1_TO_1": "relu_n1_to_1", "RELU_0_TO_1": "relu_0_to_1"}
_REDUCTIONS = {"SUM": op.reduce_sum, "REDUCE_PROD": op.reduce_prod, "MEAN": op.reduce_mean}
_EXTREMES = {"REDUCE_MAX": op.reduce_max, "REDUCE_MIN": op.reduce_min}

_NUMBERS: tuple[Entry, ...] = (
    *(_real(name, each, ignored=_SIXTEEN) for name, each in (_UNARY | _BINARY).items()),
    *(_real(name, getattr(op, each)) for name, each in _COMPARISONS.items()),
    *(_real(name, _activation(each)) for name, each in _ACTIVATIONS.items()),
    *(_real(name, each, _KEPT, _AXES, defaults=_DROPPED) for name, each in (_REDUCTIONS | _EXTREMES).items()),
    _real("REDUCE_ALL", _every(op.reduce_min), _KEPT, _AXES),
    _real("REDUCE_ANY", _every(op.reduce_max), _KEPT, _AXES),
    _real("ADD_N", _sum),
    _real("BATCH_MATMUL", layers.batch_matmul, same_names(truth, "adj_x", "adj_y"), required=_AS_THEY_ARE),
    _real("CONV_2D", layers.conv, CONVOLUTION, ignored=_BIAS),
    _real("DEPTHWISE_CONV_2D", layers.depthwise_conv, CONVOLUTION, ignored=("depth_multiplier",)),
    _real("TRANSPOSE_CONV", layers.transpose_conv, CONVOLUTION, ignored=_BIAS),
    _real(
        "FULLY_CONNECTED",
        layers.fully_connected,
        _DENSE,
        required={"weights_format": (0,), **_AS_THEY_ARE},
        ignored=_BIAS,
    ),
    _real("AVERAGE_POOL_2D", layers.pooled, POOL),
    _real("MAX_POOL_2D", layers.pooled_maximum, POOL),
    _real("CUMSUM", op.cum_sum, same_names(truth, "exclusive", "reverse"), {1: ("axis", whole)}),
    _real("FLOOR_DIV", _floor_div),
    _real("GELU", _gelu, same_names(truth, "approximate")),
    _real("L2_NORMALIZATION", layers.l2_normalised),
    _real("L2_POOL_2D", layers.pooled_square, POOL),
    _real("LEAKY_RELU", op.leaky_relu, same_names(number, "alpha")),
    _real(
        "LOCAL_RESPONSE_NORMALIZATION",
        layers.response_normalised,
        {**same_names(whole, "radius"), **same_names(number, "bias", "alpha", "beta")},
    ),
    _real("LOG_SOFTMAX", op.log_softmax),
    _real("NOT_EQUAL", _not_equal),
    _real("RESIZE_BILINEAR", resizing.resized_bilinear, _CORNERS),
    _real("RSQRT", _inverse_root),
    _real("SOFTMAX", layers.softmax, same_names(number, "beta")),
    _real("SVDF", recurrent.svdf, same_names(whole, "rank"), required=_AS_THEY_ARE),
    _real("UNIDIRECTIONAL_SEQUENCE_LSTM", recurrent.lstm, _LSTM, required=_LAYERED),
    _real("SQUARE", _square),
    _real("SQUARED_DIFFERENCE", _squared_difference),
)
"""Of plain numbers."""

_HYBRID: tuple[Entry, ...] = (
    _of_both("BATCH_MATMUL", hybrid.hybrid_batch_matmul, same_names(truth, "adj_x", "adj_y", _ASYMMETRIC)),
    _of_both("CONV_2D", hybrid.hybrid_conv, CONVOLUTION, ignored=_BIAS),
    Entry("EMBEDDING_LOOKUP", hybrid.hybrid_rows, fits=_is_hybrid_table),
    _of_both("DEPTHWISE_CONV_2D", hybrid.hybrid_depthwise_conv, CONVOLUTION, ignored=("depth_multiplier",)),
    Entry("TRANSPOSE_CONV", hybrid.hybrid_transpose_conv, CONVOLUTION, fits=_is_hybrid_transposed, ignored=_BIAS),
    _of_both(
        "FULLY_CONNECTED",
        hybrid.hybrid_fully_connected,
        {**_DENSE, **same_names(truth, _ASYMMETRIC)},
        required={"weights_format": (0,)},
        ignored=_BIAS,
    ),
)
"""Of real numbers and stored weights."""

_STORED: tuple[Entry, ...] = (
    *(_of_stored(name, elementwise.stored_relu(each)) for name, each in _ACTIVATIONS.items()),
    *(_of_stored(name, elementwise.tabulated(name)) for name in elementwise.TABULATED),
    _of_stored("GELU", elementwise.stored_gelu, same_names(truth, "approximate")),
    _of_stored("RSQRT", elementwise.stored_inverse_root),
    *(_of_stored(name, elementwise.compared(each)) for name, each in _COMPARISONS.items()),
    _of_stored("NOT_EQUAL", elementwise.compared("equal", inverted=True)),
    *(Entry(name, each, _KEPT, _AXES, fits=_one_format, defaults=_DROPPED) for name, each in _EXTREMES.items()),
    *(Entry(name, _BINARY[name], fits=_one_format) for name in ("MAXIMUM", "MINIMUM")),
    _of_stored("ADD", elementwise.stored_add, ignored=_SIXTEEN),
    _of_stored("SUB", elementwise.stored_sub, ignored=_SIXTEEN),
    _of_stored("SQUARED_DIFFERENCE", elementwise.stored_squared_difference),
    _of_stored("ABS", elementwise.stored_abs),
    _of_stored("MUL", elementwise.stored_mul),
    _of_stored("BATCH_MATMUL", layers.stored_batch_matmul, same_names(truth, "adj_x", "adj_y"), required=_AS_THEY_ARE),
    _of_stored("CONV_2D", layers.stored_conv, CONVOLUTION, ignored=_BIAS),
    _of_stored("DEPTHWISE_CONV_2D", layers.stored_depthwise_conv, CONVOLUTION, ignored=("depth_multiplier",)),
    Entry("TRANSPOSE_CONV", layers.stored_transpose_conv, CONVOLUTION, ignored=_BIAS),
    _of_stored(
        "FULLY_CONNECTED",
        layers.stored_fully_connected,
        _DENSE,
        required={"weights_format": (0,), **_AS_THEY_ARE},
        ignored=_BIAS,
    ),
    _of_stored("AVERAGE_POOL_2D", layers.average_pool, POOL),
    _of_stored("MAX_POOL_2D", layers.max_pool, POOL),
    _of_stored("HARD_SWISH", elementwise.stored_hard_swish),
    _of_stored("LEAKY_RELU", elementwise.stored_leaky_relu, same_names(number, "alpha")),
    _of_stored("MEAN", layers.mean, _KEPT, _AXES),
    _of_stored("SUM", layers.stored_sum, _KEPT, _AXES),
    _of_stored("PRELU", elementwise.stored_prelu),
    Entry("QUANTIZE", elementwise.requantise, fits=_is_requantising),
    Entry("QUANTIZE", elementwise.quantise, fits=_is_quantising),
    Entry("DEQUANTIZE", elementwise.dequantise, fits=_is_dequantising),
    Entry("DEQUANTIZE", movement.cast),
    _of_stored("RESIZE_BILINEAR", resizing.resized_stored, _CORNERS),
    _of_stored("UNIDIRECTIONAL_SEQUENCE_LSTM", recurrent.stored_lstm, _LSTM, required=_LAYERED),
    _of_stored("SVDF", recurrent.stored_svdf, same_names(whole, "rank"), required=_AS_THEY_ARE),
    _of_stored("SOFTMAX", layers.stored_softmax, same_names(number, "beta")),
)
"""Of stored numbers."""

_WIDE: tuple[Entry, ...] = (
    _of_wide("ADD", sixteen.wide_sum(op.add), same_names(truth, *_SIXTEEN)),
    _of_wide("SUB", sixteen.wide_sum(op.sub), same_names(truth, *_SIXTEEN)),
    _of_wide("MUL", elementwise.stored_mul),
    _of_wide("CONV_2D", sixteen.wide_conv, {**CONVOLUTION, **_BIASED}),
    _of_wide("DEPTHWISE_CONV_2D", sixteen.wide_depthwise_conv, CONVOLUTION, ignored=("depth_multiplier",)),
    _of_wide(
        "FULLY_CONNECTED",
        sixteen.wide_fully_connected,
        {**_DENSE, **_BIASED},
        required={"weights_format": (0,), **_AS_THEY_ARE},
    ),
    Entry("TRANSPOSE_CONV", sixteen.wide_transpose_conv, {**CONVOLUTION, **_BIASED}, fits=_is_wide_transposed),
    _of_wide("BATCH_MATMUL", sixteen.wide_batch_matmul, same_names(truth, "adj_x", "adj_y"), required=_AS_THEY_ARE),
    _of_wide("AVERAGE_POOL_2D", sixteen.wide_average_pool, POOL),
    _of_wide("MAX_POOL_2D", layers.max_pool, POOL),
    _of_wide("MEAN", layers.mean, _KEPT, _AXES),
    *(_of_wide(name, elementwise.stored_relu(_ACTIVATIONS[name])) for name in ("RELU", "RELU6")),
    _of_wide("LEAKY_RELU", sixteen.wide_leaky_relu, same_names(number, "alpha")),
    _of_wide("EXP", sixteen.wide_tabulated(np.exp)),
    _of_wide("LOGISTIC", sixteen.wide_logistic),
    _of_wide("TANH", sixteen.wide_tanh),
    _of_wide("SOFTMAX", sixteen.wide_softmax, same_names(number, "beta")),
)
"""Of stored numbers of 16 bits."""

_MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
_MOVED: tuple[Entry, ...] = (
    Entry("ARG_MAX", movement.arg_extreme("arg_max"), {}, {1: ("axis", whole)}, ignored=("output_type",)),
    Entry("ARG_MIN", movement.arg_extreme("arg_min"), {}, {1: ("axis", whole)}, ignored=("output_type",)),
    Entry("BATCH_TO_SPACE_ND", movement.batch_to_blocks, {}, {1: ("blocks", integers)}, fits=_one_format),
    Entry("SPACE_TO_BATCH_ND", movement.blocks_to_batch, {}, {1: ("blocks", integers)}, fits=_one_format),
    Entry("BROADCAST_TO", op.expand, {}, {1: ("shape", integers)}),
    Entry("CAST", movement.cast, ignored=("in_data_type", "out_data_type")),
    Entry("CONCATENATION", movement.concatenated, _AXIS),
    Entry("DEPTH_TO_SPACE", movement.rearranged_channels("depth_to_space"), same_names(whole, "block_size")),
    Entry("SPACE_TO_DEPTH", movement.rearranged_channels("space_to_depth"), same_names(whole, "block_size")),
    _real("EMBEDDING_LOOKUP", movement.rows_at),
    Entry("EXPAND_DIMS", op.unsqueeze, {}, _AXES),
    Entry("FILL", movement.filled),
    Entry("GATHER", movement.gathered, same_names(whole, "axis", "batch_dims")),
    Entry("GATHER_ND", op.gather_nd),
    Entry("MIRROR_PAD", movement.mirrored, same_names(whole, "mode"), required={"mode": (0, 1)}),
    _real("ONE_HOT", movement.one_hot, _AXIS),
    Entry("PACK", movement.packed, same_names(whole, "values_count", "axis")),
    Entry("PAD", movement.padded),
    Entry("PADV2", movement.padded_with, fits=_one_format),
    _real("RANGE", movement.consecutive),
    Entry("RANK", movement.rank),
    Entry("RESHAPE", movement.reshaped, same_names(integers, "new_shape")),
    Entry("RESIZE_NEAREST_NEIGHBOR", resizing.resized_nearest, _CORNERS),
    Entry(
        "REVERSE_SEQUENCE",
        op.reverse_sequence,
        {"seq_dim": ("time_axis", whole), "batch_dim": ("batch_axis", whole)},
    ),
    Entry("REVERSE_V2", movement.reversed_along, {}, _AXES),
    _real("SCATTER_ND", movement.scattered),
    Entry("SELECT", op.where, fits=_one_format),
    Entry("SELECT_V2", op.where, fits=_one_format),
    Entry("SHAPE", movement.shape, ignored=("out_type",)),
    Entry("SLICE", movement.sliced, {}, {1: ("begin", integers), 2: ("size", integers)}),
    Entry("SPLIT", movement.split_evenly, same_names(whole, "num_splits"), {0: ("axis", whole)}, outputs=1 << 16),
    Entry(
        "SPLIT_V",
        movement.split_sizes,
        same_names(whole, "num_splits"),
        {1: ("sizes", integers), 2: ("axis", whole)},
        outputs=1 << 16,
    ),
    Entry("SQUEEZE", movement.squeezed, same_names(integers, "squeeze_dims")),
    Entry(
        "STRIDED_SLICE",
        movement.strided,
        {**same_names(whole, *_MASKS), **same_names(truth, "offset")},
        {1: ("begin", integers), 2: ("end", integers), 3: ("steps", integers)},
    ),
    Entry("TILE", op.tile, {}, {1: ("repeats", integers)}),
    Entry("TOPK_V2", movement.top, {}, {1: ("k", whole)}, outputs=2),
    Entry("TRANSPOSE", op.transpose, {}, {1: ("perm", integers)}),
    Entry("UNPACK", movement.unpacked, same_names(whole, "num", "axis"), outputs=1 << 16),
    _real("ZEROS_LIKE", movement.zeros_like),
)
"""Of any numbers."""

TFLITE: Mapping[str, tuple[Entry, ...]] = by_op((*_NUMBERS, *_HYBRID, *_WIDE, *_STORED, *_MOVED))
"""Entries by operator."""
