"""Attention layers of Keras."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.layer import Layer, Row
from graphrewrite.lowering.exchange.keras.movement import repeated
from graphrewrite.types import element_dtype

__all__ = ["ATTENTION"]


def _attention(layer: Layer, query: Value, value: Value | None = None, key: Value | None = None, **given: Any) -> Any:
    """Each projection is a product of several axes (keras.layers.MultiHeadAttention, GroupedQueryAttention)."""
    if len(query.type.shape) != 3 or layer.get("attention_axes") not in (None, [1], 1):
        raise Unfit(f"attention along axes {layer.get('attention_axes')} of {query.type} is not supported")
    for name in ("use_gate", "sliding_window"):
        if layer.get(name):
            raise Unfit(f"{name}={layer.get(name)} is not supported")
    value = query if value is None else value
    mask = _attended(layer, query, value, key, given)
    key = value if key is None else key
    parts, hidden = {}, "_" if layer.archive.version < 3 or layer.kind != "MultiHeadAttention" else ""
    for name, x in (("query", query), ("key", key), ("value", value)):
        kernel, *bias = layer.weights(*_projection(layer), of=layer.inner(f"{hidden}{name}_dense", name))
        y = op.einsum(x, kernel, equation="abc,cde->abde")
        parts[name] = op.transpose(op.add(y, bias[0]) if bias else y, perm=(0, 2, 1, 3))
    scale = 1 / math.sqrt(float(layer.get("key_dim", layer.get("head_dim"))))
    causal = bool(given.get("use_causal_mask", False))
    scored = bool(given.get("return_attention_scores", False))
    if scored and (causal or mask is not None):
        raise Unfit(
            "return_attention_scores=True beside a mask is not supported; export the model with model.export(…)"
        )
    if scored:
        heads = parts["query"].type.shape[1] // parts["key"].type.shape[1]
        keys, values = (repeated(parts[name], 1, heads) if heads > 1 else parts[name] for name in ("key", "value"))
        products = op.matmul(parts["query"], op.transpose(keys, perm=(0, 1, 3, 2)))
        weights = op.softmax(op.mul(products, layer.number(products, scale)), axis=-1)
        y = op.matmul(weights, values)
    elif mask is None:
        y = op.attention(parts["query"], parts["key"], parts["value"], scale=scale, is_causal=causal)
    else:
        if causal or mask.type.shape[1:] != (query.type.shape[1], value.type.shape[1]):
            square = layer.filled((query.type.shape[1], value.type.shape[1]), True, "bool")
            mask = op.logical_and(mask, op.trilu(square, upper=False) if causal else square)
        wide = op.unsqueeze(mask, axes=(1,))
        # Where nothing is left to attend to, all steps weigh the same; where weights drop out in training, none.
        query = parts["query"]
        least = layer.number(query, -0.7 * float(np.finfo(element_dtype(query.type.element)).max))
        seen = op.where(wide, layer.number(query, 0.0), least)
        y = op.attention(query, parts["key"], parts["value"], seen, scale=scale)
        if layer.archive.version >= 3 and layer.get("dropout", 0.0) > 0:
            left = op.reduce_max(op.cast(wide, element="i32"), axes=(-1,), keep_dims=True)
            y = op.where(op.greater(left, np.int32(0)), y, layer.number(y, 0.0))
    kernel, *bias = layer.weights(*_projection(layer), of=layer.inner(f"{hidden}output_dense", "attention_output"))
    z = op.einsum(op.transpose(y, perm=(0, 2, 1, 3)), kernel, equation="abcd,cde->abe")
    z = op.add(z, bias[0]) if bias else z
    return (z, weights) if scored else z


def _attended(layer: Layer, query: Value, value: Value, key: Value | None, given: Mapping[str, Any]) -> Value | None:
    """Return which steps each step attends to [N, T, S], None where that is all of them."""
    total = given.get("attention_mask")
    if total is not None and str(total.type.element) != "bool":
        total = op.logical_not(op.equal(total, np.zeros((), element_dtype(total.type.element))))
    for name, x, axis in (("query", query, 2), ("value", value, 1), ("key", key, 1)):
        mask = given.get(f"{name}_mask")
        mask = layer.mask(x) if mask is None and x is not None else mask
        if mask is not None:
            wide = op.unsqueeze(mask, axes=(axis,))
            total = wide if total is None else op.logical_and(total, wide)
    return total


def _projection(layer: Layer) -> list[str]:
    return ["kernel", "bias"] if layer.has("use_bias") else ["kernel"]


def _plain_attention(layer: Layer, query: Value, value: Value, key: Value | None = None, **given: Any) -> Any:
    """Luong's attention, by products, and Bahdanau's, by sums (keras.layers.Attention, AdditiveAttention)."""
    key = value if key is None else key
    if layer.get("score_mode", "dot") != "dot" or any(layer.mask(x) is not None for x in (query, value)):
        raise Unfit("masks and score_mode='concat' are not supported; export the model with model.export(…)")
    if layer.kind == "Attention":
        scores = op.matmul(query, op.transpose(key, perm=(0, 2, 1)))
        scores = op.mul(scores, layer.weights("scale")[0]) if layer.get("use_scale", False) else scores
    else:
        sums = op.tanh(op.add(op.unsqueeze(query, axes=(2,)), op.unsqueeze(key, axes=(1,))))
        sums = op.mul(sums, layer.weights("scale")[0]) if layer.has("use_scale") else sums
        scores = op.reduce_sum(sums, axes=(-1,), keep_dims=False)
    if given.get("use_causal_mask"):
        square = layer.filled(scores.type.shape[1:], True, "bool")
        least = layer.number(scores, -float(np.finfo(element_dtype(scores.type.element)).max))
        scores = op.where(op.trilu(square, upper=False), scores, least)
    weights = op.softmax(scores, axis=-1)
    found = op.matmul(weights, value)
    return (found, weights) if given.get("return_attention_scores") else found


ATTENTION: dict[str, Row] = {
    **dict.fromkeys(("AdditiveAttention", "Attention"), _plain_attention),
    **dict.fromkeys(("GroupQueryAttention", "GroupedQueryAttention", "MultiHeadAttention"), _attention),
}
"""What each layer means."""
