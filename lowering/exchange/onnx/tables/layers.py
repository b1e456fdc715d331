"""Layers: convolutions, pools, products and normalisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import integers, number, scalar, truth, whole, word
from graphrewrite.lowering.exchange.entry import Entry, same_names
from graphrewrite.lowering.exchange.onnx.window_attributes import (
    CONVOLUTION,
    complete_conv,
    complete_pool,
    complete_transposed,
    shown,
    shown_pool,
)

__all__ = ["LAYERS", "POOL"]

_EPSILON = {"epsilon": ("epsilon", number)}
_GROUPS = {**_EPSILON, "num_groups": ("groups", whole)}
_AXIS = {"axis": ("axis", whole)}
_WINDOW = {
    "kernel_shape": ("kernel", integers),
    **same_names(integers, "strides", "pads"),
    **same_names(word, "auto_pad"),
}
POOL = {**_WINDOW, "dilations": ("dilations", integers), "ceil_mode": ("ceil_mode", truth)}
_GEMM = {**same_names(number, "alpha", "beta"), "transA": ("trans_a", truth), "transB": ("trans_b", truth)}


def _by_channel(attributes: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    return None if types[1].shape == types[0].shape[1:2] else "its scales are not one a channel"


def _group_norm_by_group(x: Any, gain: Any, shift: Any, *, groups: int, epsilon: float = 1e-5) -> Any:
    """Opset 18: a scale for each group (ONNX specification, GroupNormalization)."""
    times = int(x.type.shape[1]) // groups
    each = [
        op.reshape(op.tile(op.reshape(p, shape=(groups, 1)), repeats=(1, times)), shape=(groups * times,))
        for p in (gain, shift)
    ]
    return op.group_norm(x, *each, groups=groups, epsilon=epsilon)


def _with_statistics(x: Any, gain: Any, shift: Any = None, *, axis: int = -1, epsilon: float = 1e-5) -> Any:
    """Layer normalisation with the means and inverse deviations (ONNX specification, LayerNormalization)."""
    rank = len(x.type.shape)
    axes = tuple(range(axis % rank, rank))
    mean = op.reduce_mean(x, axes=axes)
    away = op.sub(x, mean)
    deviation = op.sqrt(op.add(op.reduce_mean(op.mul(away, away), axes=axes), epsilon))
    return op.layer_norm(x, gain, shift, axis=axis, epsilon=epsilon), mean, op.reciprocal(deviation)


def _masked(x: Any, *, ratio: float = 0.5) -> tuple[Any, Any]:
    """In inference dropout keeps all: its mask is true everywhere."""
    some = op.is_nan(x)
    return op.dropout(x, ratio=ratio), op.logical_or(some, op.logical_not(some))


_UNTRAINED: dict[int, Any] = {1: ("ratio", scalar), 2: ("training", truth)}


def _not_trained(attributes: Mapping[str, Any], _: Sequence[Tensor]) -> str | None:
    return "it is in training mode" if attributes.get("training") else None


def _inference(attributes: dict[str, Any], _: list[Tensor]) -> dict[str, Any]:
    return {k: v for k, v in attributes.items() if k != "training" or v}


LAYERS: tuple[Entry, ...] = (
    Entry(
        "AveragePool",
        op.average_pool,
        {**POOL, "count_include_pad": ("count_include_pad", truth)},
        complete=complete_pool,
        shown=shown_pool,
    ),
    Entry(
        "BatchNormalization",
        op.batch_norm,
        _EPSILON,
        required={"training_mode": (0,)},
        ignored=("momentum",),  # which training alone reads
    ),
    Entry(
        "BatchNormalization",
        op.batch_norm_training,
        {**_EPSILON, "momentum": ("momentum", number)},
        required={"training_mode": (1,)},
    ),
    Entry("Conv", op.conv, CONVOLUTION, complete=complete_conv, ignored=("kernel_shape",), shown=shown),
    Entry(
        "ConvTranspose",
        op.conv_transpose,
        {**CONVOLUTION, **same_names(integers, "output_padding", "output_shape")},
        complete=complete_transposed,
        ignored=("kernel_shape",),
        shown=shown,
    ),
    Entry("Det", op.det),
    Entry(
        "Dropout",
        op.dropout,
        constants=_UNTRAINED,
        complete=_inference,
        fits=_not_trained,
        ignored=("seed",),
        outputs=1,
    ),
    Entry(
        "Dropout", _masked, constants=_UNTRAINED, complete=_inference, fits=_not_trained, ignored=("seed",), outputs=2
    ),
    Entry(
        "Dropout",
        op.random_dropout,
        {"seed": ("seed", whole)},
        _UNTRAINED,
        complete=lambda attributes, _: {k: v for k, v in attributes.items() if k != "training"},
        shown=lambda attributes, _: {**attributes, "training": True},
    ),
    Entry("Einsum", op.einsum, {"equation": ("equation", word)}),
    Entry("Gemm", op.gemm, _GEMM),
    Entry("GlobalAveragePool", op.global_average_pool),
    Entry("GlobalLpPool", op.global_lp_pool, {"p": ("p", whole)}),
    Entry("GlobalMaxPool", op.global_max_pool),
    Entry("GroupNormalization", op.group_norm, _GROUPS, fits=_by_channel, ignored=("stash_type",)),
    Entry("GroupNormalization", _group_norm_by_group, _GROUPS, ignored=("stash_type",)),
    Entry("InstanceNormalization", op.instance_norm, _EPSILON),
    Entry("LRN", op.lrn, {**same_names(whole, "size"), **same_names(number, "alpha", "beta", "bias")}),
    Entry("LayerNormalization", op.layer_norm, {**_AXIS, **_EPSILON}, ignored=("stash_type",)),
    Entry("LayerNormalization", _with_statistics, {**_AXIS, **_EPSILON}, ignored=("stash_type",), outputs=3),
    Entry("LpNormalization", op.lp_norm, {**_AXIS, "p": ("p", whole)}),
    Entry("LpPool", op.lp_pool, {**POOL, "p": ("p", whole)}, complete=complete_pool, shown=shown_pool),
    Entry("MatMul", op.matmul),
    Entry("MaxPool", op.max_pool, POOL, ignored=("storage_order",), complete=complete_pool, shown=shown_pool),
    Entry(
        "MaxPool",
        op.max_pool_with_indices,
        {**POOL, "storage_order": ("storage_order", whole)},
        complete=complete_pool,
        shown=shown_pool,
    ),
    Entry("MeanVarianceNormalization", op.mean_variance_norm, {"axes": ("axes", integers)}),
    Entry("RMSNormalization", op.rms_norm, {**_AXIS, **_EPSILON}, ignored=("stash_type",)),
    Entry("graphrewrite.linear", op.linear),
    Entry("graphrewrite.fma", op.fma),
)
