"""Layers of Keras that compute entry by entry or along the last axis: dense layers, norms, merges, attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.activations import activated, of_unit_length
from graphrewrite.lowering.exchange.keras.layer import Layer, Row
from graphrewrite.types import element_dtype

__all__ = ["NUMBERS"]


def _dense(layer: Layer, x: Value) -> Any:
    kernel, *bias = layer.weights("kernel", *(["bias"] if layer.has("use_bias") else []))
    y = op.matmul(x, kernel)
    return activated(layer, op.add(y, bias[0]) if bias else y)


def _einsum(layer: Layer, x: Value) -> Any:
    kernel, *bias = layer.weights("kernel", *(["bias"] if layer.get("bias_axes") else []))
    y = op.einsum(x, kernel, equation=str(layer.get("equation")))
    return activated(layer, op.add(y, bias[0]) if bias else y)


def _embedding(layer: Layer, x: Value) -> Any:
    (table,) = layer.weights("embeddings")
    places = x if str(x.type.element) in ("i32", "i64") else op.cast(x, element="i32")
    return op.gather(table, places, axis=0)


def _rescaled(layer: Layer, x: Value) -> Any:
    x = x if str(x.type.element).startswith("f") else op.cast(x, element=layer.element)
    dtype = element_dtype(x.type.element)
    scale, offset = (np.asarray(layer.get(name, other), dtype) for name, other in (("scale", 1), ("offset", 0)))
    return op.add(op.mul(x, scale), offset)


# ---------------------------------------------------------------------- norms


def _channels_second(x: Value, last: bool, compute: Callable[[Value], Value]) -> Any:
    rank = len(x.type.shape)
    if not last or rank == 2:
        return compute(x)
    return op.transpose(compute(op.transpose(x, perm=(0, rank - 1, *range(1, rank - 1)))), perm=(0, *range(2, rank), 1))


def _statistics(layer: Layer, size: int, *others: str) -> list[Value | np.ndarray]:
    """Return gain, shift and others; a norm that lacks the first has ones, or zeros."""
    names = [name for name, switch in (("gamma", "scale"), ("beta", "center")) if layer.has(switch)]
    weights = layer.weights(*names, *others)
    found: dict[str, Value | np.ndarray] = dict(zip((*names, *others), weights, strict=True))
    gain, shift = (found.get(name, np.full(size, fill, np.float32)) for name, fill in (("gamma", 1), ("beta", 0)))
    return [gain, shift, *(found[name] for name in others)]


def _batch_norm(layer: Layer, x: Value) -> Any:
    last = layer.last_axis(x)
    size = x.type.shape[-1 if last else 1]
    statistics = _statistics(layer, int(size), "moving_mean", "moving_variance")
    epsilon = float(layer.get("epsilon", 1e-3))
    return _channels_second(x, last, lambda y: op.batch_norm(y, *statistics, epsilon=epsilon))


def _layer_norm(layer: Layer, x: Value) -> Any:
    axes, rank = layer.get("axis", -1), len(x.type.shape)
    places = sorted(axis % rank for axis in (axes if isinstance(axes, list | tuple) else (axes,)))
    if places != list(range(places[0], rank)):
        raise Unfit(f"axis={axes} is not supported; there are axes up to the last one")
    names = [name for name, switch in (("gamma", "scale"), ("beta", "center")) if layer.has(switch)]
    epsilon = float(layer.get("epsilon", 1e-3))
    shape = tuple(int(size) for size in x.type.shape[places[0] :])
    if layer.get("rms_scaling", False):
        (gain,) = layer.weights("gamma")
        return op.rms_norm(x, gain, axis=places[0], epsilon=epsilon)
    found: dict[str, Any] = dict(zip(names, layer.weights(*names), strict=True))
    gain = found.get("gamma", np.ones(shape, np.float32))
    return op.layer_norm(x, gain, found.get("beta"), axis=places[0], epsilon=epsilon)


def _rms_norm(layer: Layer, x: Value) -> Any:
    if layer.get("axis", -1) not in (-1, [-1], len(x.type.shape) - 1):
        raise Unfit(f"axis={layer.get('axis')} is not supported; there is the last one")
    (gain,) = layer.weights("scale")
    return op.rms_norm(x, gain, axis=-1, epsilon=float(layer.get("epsilon", 1e-6)))


def _group_norm(layer: Layer, x: Value) -> Any:
    last = layer.last_axis(x)
    size = int(x.type.shape[-1 if last else 1])
    gain, shift = _statistics(layer, size)
    groups = int(layer.get("groups", 32))
    epsilon = float(layer.get("epsilon", 1e-3))
    groups = size if groups == -1 else groups
    return _channels_second(x, last, lambda y: op.group_norm(y, gain, shift, groups=groups, epsilon=epsilon))


def _normalised(layer: Layer, x: Value) -> Any:
    """The mean and the variance of data, or those that it was given."""
    if layer.get("invert", False):
        raise Unfit("invert=True is not supported")
    if layer.get("mean") is not None:
        mean, variance = (np.asarray(layer.get(name), np.float32) for name in ("mean", "variance"))
    else:
        mean, variance = layer.archive.arrays(layer.place, ("mean", "variance"))
    axes, rank = layer.get("axis", -1), len(x.type.shape)
    kept = {axis % rank for axis in (axes if isinstance(axes, list | tuple) else (axes,))}
    shape = tuple(int(x.type.shape[axis]) if axis in kept else 1 for axis in range(rank))
    if mean.size not in (1, math.prod(shape)) or mean.shape != variance.shape:
        raise Unfit(f"its mean and variance do not fit {x.type}")
    placed = shape if mean.size > 1 else ()
    root = np.maximum(np.sqrt(variance), 1e-7).astype(np.float32)
    return op.div(op.sub(x, np.reshape(mean.astype(np.float32), placed)), np.reshape(root, placed))


# ---------------------------------------------------------------------- merges


def _folded(function: Callable[[Any, Any], Any]) -> Row:
    def merge(layer: Layer, *xs: Value) -> Any:
        total = xs[0]
        for x in xs[1:]:
            total = function(total, x)
        return total

    return merge


def _average(layer: Layer, *xs: Value) -> Any:
    return op.div(_folded(op.add)(layer, *xs), layer.number(xs[0], len(xs)))


def _dot(layer: Layer, x: Value, y: Value) -> Any:
    axes = layer.get("axes")
    first, second = (axes, axes) if isinstance(axes, int) else axes
    a, b = len(x.type.shape), len(y.type.shape)
    first, second = first % a, second % b
    if layer.get("normalize", False):
        x, y = (of_unit_length(each, (axis,)) for each, axis in ((x, first), (y, second)))
    left = "a" + "".join("s" if axis == first else chr(98 + axis) for axis in range(1, a))
    right = "a" + "".join("s" if axis == second else chr(108 + axis) for axis in range(1, b))
    rest = left.replace("s", "") + right[1:].replace("s", "")
    product = op.einsum(x, y, equation=f"{left},{right}->{rest}")
    return op.unsqueeze(product, axes=(1,)) if len(rest) == 1 else product


def _attention(layer: Layer, query: Value, value: Value | None = None, key: Value | None = None, **given: Any) -> Any:
    """Each projection is a product of several axes (keras.layers.MultiHeadAttention)."""
    if len(query.type.shape) != 3 or layer.get("attention_axes") not in (None, [1], 1) or layer.get("use_gate", False):
        raise Unfit(f"attention along axes {layer.get('attention_axes')} of {query.type} is not supported")
    value = query if value is None else value
    mask = _attended(layer, query, value, key, given)
    key = value if key is None else key
    parts, hidden = {}, "_" if layer.archive.version < 3 else ""
    for name, x in (("query", query), ("key", key), ("value", value)):
        kernel, *bias = layer.weights(*_projection(layer), of=layer.inner(f"{hidden}{name}_dense", name))
        y = op.einsum(x, kernel, equation="abc,cde->abde")
        parts[name] = op.transpose(op.add(y, bias[0]) if bias else y, perm=(0, 2, 1, 3))
    scale = 1 / math.sqrt(float(layer.get("key_dim")))
    causal = bool(given.get("use_causal_mask", False))
    if mask is None:
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
    return op.add(z, bias[0]) if bias else z


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


NUMBERS: dict[str, Row] = {
    "Add": _folded(op.add),
    "Average": _average,
    "BatchNormalization": _batch_norm,
    "Dense": _dense,
    "Dot": _dot,
    "EinsumDense": _einsum,
    "Embedding": _embedding,
    "GroupNormalization": _group_norm,
    "LayerNormalization": _layer_norm,
    "Maximum": _folded(op.maximum),
    "Minimum": _folded(op.minimum),
    "MultiHeadAttention": _attention,
    "Multiply": _folded(op.mul),
    "Normalization": _normalised,
    "RMSNormalization": _rms_norm,
    "Rescaling": _rescaled,
    "Subtract": _folded(op.sub),
}
"""What each layer means."""
