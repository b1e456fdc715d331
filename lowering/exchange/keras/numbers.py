"""Layers of Keras that compute entry by entry or along the last axis: dense layers, norms, merges."""

from __future__ import annotations

import math
from collections.abc import Callable
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


def _reversible_embedding(layer: Layer, x: Value, reverse: bool = False) -> Any:
    """An embedding whose table also turns features into scores of entries."""
    if layer.get("mask_zero", False) or layer.get("reverse_dtype") is not None:
        raise Unfit("mask_zero and reverse_dtype are not supported; export the model with model.export(…)")
    if not reverse:
        return _embedding(layer, x)
    if layer.has("tie_weights"):
        (table,) = layer.weights("embeddings")
        y = op.matmul(x, op.transpose(table, perm=(1, 0)))
    else:
        y = op.matmul(x, layer.weights("embeddings", "reverse_embeddings")[1])
    cap = layer.get("logit_soft_cap")
    return y if cap is None else op.mul(op.tanh(op.div(y, layer.number(y, cap))), layer.number(y, cap))


def _rescaled(layer: Layer, x: Value) -> Any:
    x = x if str(x.type.element).startswith("f") else op.cast(x, element=layer.element)
    dtype = element_dtype(x.type.element)
    scale, offset = (np.asarray(layer.get(name, other), dtype) for name, other in (("scale", 1), ("offset", 0)))
    return op.add(op.mul(x, scale), offset)


def _placed(layer: Layer, x: Value) -> Any:
    """Return between which boundaries numbers lie, counted from 0."""
    bounds = np.asarray(layer.get("bin_boundaries") or (), np.float32)
    if layer.get("output_mode", "int") != "int" or not bounds.size:
        raise Unfit(f"output_mode={layer.get('output_mode')!r} is not supported, or it has no boundaries")
    wide = op.unsqueeze(op.cast(x, element="f32"), axes=(len(x.type.shape),))
    above = op.cast(op.greater_or_equal(wide, bounds), element="i32")
    return op.reduce_sum(above, axes=(-1,), keep_dims=False)


def _encoded(layer: Layer, x: Value) -> Any:
    """Return ones, or numbers, at the categories that occur."""
    count, mode = int(layer.get("num_tokens")), layer.get("output_mode", "multi_hot")
    places = x if str(x.type.element) in ("i32", "i64") else op.cast(x, element="i32")
    if mode == "one_hot" and x.type.shape[-1] == 1:
        places = op.squeeze(places, axes=(-1,))
    found = op.one_hot(places, np.array([0, 1], np.float32), depth=count)
    if mode == "one_hot":
        return found
    if len(x.type.shape) != 2 or mode not in ("multi_hot", "count"):
        raise Unfit(f"output_mode={mode!r} of {x.type} is not supported")
    return (op.reduce_max if mode == "multi_hot" else op.reduce_sum)(found, axes=(1,), keep_dims=False)


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
        if layer.get("rms_scaling", False):
            raise Unfit(f"axis={axes} is not supported; there are axes up to the last one")
        perm = [*(axis for axis in range(rank) if axis not in places), *places]
        y = _normed(layer, op.transpose(x, perm=tuple(perm)), rank - len(places))
        return op.transpose(y, perm=tuple(perm.index(axis) for axis in range(rank)))
    return _normed(layer, x, places[0])


def _normed(layer: Layer, x: Value, first: int) -> Any:
    """Return the norm along the axes from one on."""
    names = [name for name, switch in (("gamma", "scale"), ("beta", "center")) if layer.has(switch)]
    epsilon = float(layer.get("epsilon", 1e-3))
    shape = tuple(int(size) for size in x.type.shape[first:])
    if layer.get("rms_scaling", False):
        (gain,) = layer.weights("gamma")
        return op.rms_norm(x, gain, axis=first, epsilon=epsilon)
    found: dict[str, Any] = dict(zip(names, layer.weights(*names), strict=True))
    gain = found.get("gamma", np.ones(shape, np.float32))
    return op.layer_norm(x, gain, found.get("beta"), axis=first, epsilon=epsilon)


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


NUMBERS: dict[str, Row] = {
    "Add": _folded(op.add),
    "Average": _average,
    "BatchNormalization": _batch_norm,
    "CategoryEncoding": _encoded,
    "Dense": _dense,
    "Discretization": _placed,
    "Dot": _dot,
    "EinsumDense": _einsum,
    "Embedding": _embedding,
    "GroupNormalization": _group_norm,
    "LayerNormalization": _layer_norm,
    "LayerScale": lambda layer, x: op.mul(x, layer.weights("gamma")[0]),
    "Maximum": _folded(op.maximum),
    "Minimum": _folded(op.minimum),
    "Multiply": _folded(op.mul),
    "Normalization": _normalised,
    "ReversibleEmbedding": _reversible_embedding,
    "RMSNormalization": _rms_norm,
    "Rescaling": _rescaled,
    "Subtract": _folded(op.sub),
}
"""What each layer means."""
