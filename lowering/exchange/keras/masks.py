"""Masks of Keras: which steps of a sequence count, and which layers make, pass on, merge and drop that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.layer import Layer
from graphrewrite.types import element_dtype

__all__ = ["MASKING", "compacted", "count_of", "masked_mean", "result_masks", "spread"]

_PASSED = (
    "Activation ActivityRegularization AlphaDropout BatchNormalization Dense Dropout ELU GaussianDropout "
    "GaussianNoise GroupNormalization Identity LayerNormalization LeakyReLU MultiHeadAttention Normalization "
    "PReLU ReLU Rescaling SpatialDropout1D SpatialDropout2D SpatialDropout3D TimeDistributed UnitNormalization"
)
_PASSES = frozenset(_PASSED.split())
"""Layers whose result has the mask of the first operand."""
_MERGES = ("Add", "Average", "Maximum", "Minimum", "Multiply", "Subtract")
_SEQUENCES = ("Bidirectional", "GRU", "LSTM", "SimpleRNN")


def result_masks(layer: Layer, inputs: Sequence[Value], results: Sequence[Value]) -> list[Value | None]:
    """Return the mask of each result of a layer, None where it has none."""
    masks = [layer.mask(x) for x in inputs]
    none: list[Value | None] = [None] * len(results)
    if layer.kind == "Embedding":
        return [_differs(layer, inputs[0], 0) if layer.get("mask_zero", False) else None]
    if layer.kind == "Masking":
        return [_any_differs(layer, inputs[0])]
    if not any(mask is not None for mask in masks):
        return none
    if layer.kind == "Softmax":
        raise Unfit("its mask is not supported; export the model with model.export(…)")
    if layer.kind in _PASSES:
        return [masks[0], *none[1:]]
    if layer.kind in _SEQUENCES:
        inner = layer.get("layer") or {"config": layer.config}
        if not inner["config"].get("return_sequences", False):
            return none
        several = layer.kind == "Bidirectional" and layer.config.get("merge_mode", "concat") is None
        return [masks[0], masks[0], *none[2:]] if several else [masks[0], *none[1:]]
    if layer.kind in _MERGES:
        return [_merged(layer, masks)]
    if layer.kind == "Concatenate":
        return [_concatenated(layer, inputs, masks)]
    return none


def _differs(layer: Layer, x: Value, number: float) -> Any:
    return op.logical_not(op.equal(x, layer.number(x, number)))


def _any_differs(layer: Layer, x: Value, *, keep: bool = False) -> Any:
    """Tell of each step whether any entry differs from the value that is masked."""
    value = layer.get("mask_value", 0.0)
    if not isinstance(value, int | float):
        raise Unfit(f"mask_value={value!r} is not supported; there are numbers")
    found = op.cast(_differs(layer, x, value), element="i32")
    return op.greater(op.reduce_max(found, axes=(-1,), keep_dims=keep), np.int32(0))


def _masking(layer: Layer, x: Value) -> Any:
    return op.where(_any_differs(layer, x, keep=True), x, layer.number(x, 0.0))


MASKING = {"Masking": _masking}
"""The layer that makes a mask of floats."""


def _merged(layer: Layer, masks: Sequence[Value | None]) -> Any:
    """Keras 3 takes a step that counts in any operand; Keras 2 one that counts in all that have a mask."""
    found = [mask for mask in masks if mask is not None]
    if layer.archive.version >= 3 and len(found) < len(masks):
        return None
    total = found[0]
    for mask in found[1:]:
        total = (op.logical_or if layer.archive.version >= 3 else op.logical_and)(total, mask)
    return total


def _concatenated(layer: Layer, inputs: Sequence[Value], masks: Sequence[Value | None]) -> Any:
    rank = len(inputs[0].type.shape)
    axis = int(layer.get("axis", -1)) % rank
    if axis == rank - 1:
        return _merged(layer, masks)  # where one has no mask, all steps count in Keras 3
    if axis != 1:
        raise Unfit(f"masks of operands that are joined along axis {axis} are not supported; export the model")
    parts = [
        layer.filled(x.type.shape[:2], True, "bool") if mask is None else mask
        for x, mask in zip(inputs, masks, strict=True)
    ]
    return op.concat(*parts, axis=1)


# ---------------------------------------------------------------------- what reads a mask


def count_of(mask: Value) -> Any:
    """Return how many steps of each sequence count."""
    return op.reduce_sum(op.cast(mask, element="i32"), axes=(1,), keep_dims=False)


def compacted(x: Value, mask: Value) -> Any:
    """Return sequences whose steps that count come first, in their order."""
    _, order = op.top_k(op.cast(mask, element="i32"), k=x.type.shape[1], axis=1)
    return op.gather_nd(x, op.unsqueeze(order, axes=(2,)), batch_dims=1)


def spread(outputs: Value, mask: Value, *, backwards: bool, zero: bool) -> Any:
    """Return the outputs of compacted sequences in the places of the steps.

    A step that does not count has the output of the one that was computed before it, zeros where there is none, or
    always.
    """
    number = op.cast(mask, element="i64")
    if backwards:
        at = op.cum_sum(number, axis=1, exclusive=True)
        total = op.reduce_sum(number, axes=(1,), keep_dims=True)
        inside = op.less(at, total)
        place = op.minimum(at, op.maximum(op.sub(total, np.int64(1)), np.int64(0)))
    else:
        at = op.cum_sum(number, axis=1)
        inside = op.greater(at, np.int64(0))
        place = op.maximum(op.sub(at, np.int64(1)), np.int64(0))
    taken = op.gather_nd(outputs, op.unsqueeze(place, axes=(2,)), batch_dims=1)
    return op.where(op.unsqueeze(mask if zero else inside, axes=(2,)), taken, np.zeros((), _dtype(outputs)))


def masked_mean(x: Value, mask: Value, axis: int, *, keep_dims: bool) -> Any:
    """Return the mean of the steps that count (keras.layers.GlobalAveragePooling1D)."""
    wide = op.unsqueeze(mask, axes=(3 - axis,))
    kept = op.where(wide, x, np.zeros((), _dtype(x)))
    number = op.cast(wide, element=x.type.element)
    sums = [op.reduce_sum(each, axes=(axis,), keep_dims=keep_dims) for each in (kept, number)]
    return op.div(*sums)


def _dtype(x: Value) -> np.dtype:
    return element_dtype(x.type.element)
