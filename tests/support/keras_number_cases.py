"""Layers of Keras that compute entry by entry or along an axis, as numpy computes them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from tests.support.keras_files import IMAGE, Case, T, X, Y, drawn, sigmoid, softmax

__all__ = ["activations", "numbers"]


def activations() -> Iterator[Case]:
    """Functions, as activations of a layer and as layers, with each of their numbers."""
    x = 4 * drawn(5, 6)
    positive = np.maximum(x, 0)
    functions = {
        "linear": x, "relu": positive, "relu6": np.clip(x, 0, 6), "elu": np.where(x > 0, x, np.expm1(x)),
        "exponential": np.exp(x), "sigmoid": sigmoid(x), "hard_sigmoid": np.clip(x / 6 + 0.5, 0, 1),
        "hard_silu": x * np.clip(x / 6 + 0.5, 0, 1), "hard_swish": x * np.clip(x / 6 + 0.5, 0, 1),
        "hard_tanh": np.clip(x, -1, 1), "leaky_relu": np.where(x > 0, x, 0.2 * x), "silu": x * sigmoid(x),
        "swish": x * sigmoid(x), "log_sigmoid": np.log(sigmoid(x)), "log_softmax": np.log(softmax(x)),
        "softmax": softmax(x), "softplus": np.log1p(np.exp(x)), "softsign": x / (1 + abs(x)), "tanh": np.tanh(x),
        "mish": x * np.tanh(np.log1p(np.exp(x))), "celu": np.where(x > 0, x, np.expm1(x)),
        "selu": 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    }  # fmt: skip
    for name, wanted in functions.items():
        yield "Activation", (x,), {"activation": name}, wanted
    yield "Activation", (x,), {"activation": None}, x
    yield "Activation", (x,), {"activation": "hard_sigmoid", "version": "2.15.0"}, np.clip(0.2 * x + 0.5, 0, 1)
    yield "ELU", (x,), {"alpha": 0.5}, np.where(x > 0, x, 0.5 * np.expm1(x))
    yield "ELU", (x,), {}, functions["elu"]
    yield "LeakyReLU", (x,), {"negative_slope": 0.25}, np.where(x > 0, x, 0.25 * x)
    yield "LeakyReLU", (x,), {"alpha": 0.5, "version": "2.15.0"}, np.where(x > 0, x, 0.5 * x)
    yield "LeakyReLU", (x,), {}, np.where(x > 0, x, 0.3 * x)
    yield "PReLU", (x,), {"weights": [np.arange(6, dtype=np.float32)]}, np.where(x > 0, x, np.arange(6) * x)
    for slope, threshold, most in product((0.0, 0.25), (0.0, 1.5, -1.0), (None, 3.0)):
        wanted = np.where(x >= threshold, x, slope * (x - threshold))
        wanted = wanted if most is None else np.minimum(wanted, most)
        yield "ReLU", (x,), {"negative_slope": slope, "threshold": threshold, "max_value": most}, wanted
    yield "ReLU", (x,), {}, positive
    yield "Softmax", (T,), {"axis": 1}, softmax(T, 1)
    yield "Softmax", (T,), {}, softmax(T)
    yield "UnitNormalization", (T,), {}, T / np.sqrt((T**2).sum(-1, keepdims=True))
    yield "UnitNormalization", (T,), {"axis": [1, 2]}, T / np.sqrt((T**2).sum((1, 2), keepdims=True))
    yield "UnitNormalization", (0 * T,), {}, 0 * T


def normed(x: np.ndarray, axes: tuple[int, ...], epsilon: float) -> Any:
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


def numbers() -> Iterator[Case]:
    """Layers of products and sums, norms, merges, encodings."""
    kernel, bias = drawn(4, 6), drawn(6)
    yield "Dense", (T,), {"weights": [kernel, bias]}, T @ kernel + bias
    yield "Dense", (X,), {"weights": [kernel], "use_bias": False, "activation": "tanh"}, np.tanh(X @ kernel)
    said = {"equation": "abc,cd->abd", "bias_axes": "d", "weights": [kernel, bias]}
    yield "EinsumDense", (T,), said, T @ kernel + bias
    yield "EinsumDense", (T,), {**said, "bias_axes": None, "weights": [kernel]}, T @ kernel
    places = np.array([[3, 0, 1], [2, 2, 0]])
    for dtype in ("int32", "int64", "float32"):
        yield "Embedding", (places.astype(dtype),), {"weights": [kernel]}, kernel[places]
    other, scores = drawn(6, 4), drawn(2, 3, 6)
    yield "ReversibleEmbedding", (places.astype(np.int32),), {"weights": [kernel]}, kernel[places]
    said = {"call": {"reverse": True}, "weights": [kernel]}
    yield "ReversibleEmbedding", (scores,), said, scores @ kernel.T
    capped = {**said, "logit_soft_cap": 2.0}
    yield "ReversibleEmbedding", (scores,), capped, 2 * np.tanh(scores @ kernel.T / 2)
    untied = {**said, "tie_weights": False, "weights": [kernel, other]}
    yield "ReversibleEmbedding", (scores,), untied, scores @ other
    yield "Rescaling", (X,), {"scale": 0.5, "offset": -2.0}, 0.5 * X - 2
    yield "Rescaling", (X,), {"scale": [1, 2, 3, 4]}, X * [1, 2, 3, 4]
    yield "Rescaling", (places.astype(np.int32),), {"scale": 0.5}, places * 0.5
    bounds = np.float32([-1, 0.5, X[0, 0]])
    bounds.sort()
    yield "Discretization", (X,), {"bin_boundaries": bounds.tolist()}, np.digitize(X, bounds)
    eye = np.eye(4)
    for dtype in ("int32", "float32"):
        given = (places.astype(dtype),)
        yield "CategoryEncoding", given, {"num_tokens": 4}, eye[places].max(1)
        yield "CategoryEncoding", given, {"num_tokens": 4, "output_mode": "count"}, eye[places].sum(1)
        yield "CategoryEncoding", given, {"num_tokens": 4, "output_mode": "one_hot"}, eye[places]
    one = (places[:, :1].astype(np.int32),)
    yield "CategoryEncoding", one, {"num_tokens": 4, "output_mode": "one_hot"}, eye[places[:, 0]]
    gain, shift, mean, var = drawn(3), drawn(3), drawn(3), np.float32([0.5, 1, 2])
    first = IMAGE.transpose(0, 3, 1, 2)
    wanted = (IMAGE - mean) / np.sqrt(var + 0.5) * gain + shift
    said = {"epsilon": 0.5, "weights": [gain, shift, mean, var]}
    yield "BatchNormalization", (IMAGE,), said, wanted
    yield "BatchNormalization", (first,), {**said, "axis": 1}, wanted.transpose(0, 3, 1, 2)
    yield "BatchNormalization", (IMAGE[:, 0, 0],), said, wanted[:, 0, 0]
    plain = (IMAGE - mean) / np.sqrt(var + 1e-3)
    yield "BatchNormalization", (IMAGE,), {"scale": False, "weights": [shift, mean, var]}, plain + shift
    yield "BatchNormalization", (IMAGE,), {"center": False, "axis": [3], "weights": [gain, mean, var]}, plain * gain
    yield (
        "LayerNormalization",
        (IMAGE,),
        {"epsilon": 0.5, "weights": [gain, shift]},
        normed(IMAGE, (3,), 0.5) * gain + shift,
    )
    wide = drawn(6, 3)
    said = {"axis": [3, 2], "center": False, "weights": [wide]}
    yield "LayerNormalization", (IMAGE,), said, normed(IMAGE, (2, 3), 1e-3) * wide
    said = {"axis": 1, "scale": False, "weights": [drawn(5)]}
    (own,) = said["weights"]  # type: ignore[misc]
    yield "LayerNormalization", (IMAGE,), said, normed(IMAGE, (1,), 1e-3) + own[:, None, None]
    said = {"axis": [1, 3], "weights": [drawn(5, 3), drawn(5, 3)]}
    scale, offset = (each[:, None] for each in said["weights"])  # type: ignore[union-attr]
    yield "LayerNormalization", (IMAGE,), said, normed(IMAGE, (1, 3), 1e-3) * scale + offset
    squares = (IMAGE**2).mean(-1, keepdims=True)
    said = {"rms_scaling": True, "epsilon": 0.5, "weights": [gain]}
    yield "LayerNormalization", (IMAGE,), said, IMAGE / np.sqrt(squares + 0.5) * gain
    yield "RMSNormalization", (IMAGE,), {"weights": [gain]}, IMAGE / np.sqrt(squares + 1e-6) * gain
    yield (
        "RMSNormalization",
        (IMAGE,),
        {"axis": [-1], "epsilon": 0.5, "weights": [gain]},
        IMAGE / np.sqrt(squares + 0.5) * gain,
    )
    x, four, six = drawn(2, 3, 5, 4), drawn(4), drawn(4)
    parts = normed(x.reshape(2, 3, 5, 2, 2), (1, 2, 4), 0.5).reshape(x.shape)
    said = {"groups": 2, "epsilon": 0.5, "weights": [four, six]}
    yield "GroupNormalization", (x,), said, parts * four + six
    yield (
        "GroupNormalization",
        (x.transpose(0, 3, 1, 2),),
        {**said, "axis": 1},
        (parts * four + six).transpose(0, 3, 1, 2),
    )
    each = normed(x, (1, 2), 1e-3)
    yield "GroupNormalization", (x,), {"groups": -1, "weights": [four, six]}, each * four + six
    said = {"weights": [mean, var, np.int64(3)]}
    yield "Normalization", (IMAGE,), said, (IMAGE - mean) / np.sqrt(var)
    said = {"axis": 1, "mean": [1, 2, 3, 4, 5], "variance": [4, 1, 9, 1, 0]}
    roots = np.float32([2, 1, 3, 1, 1e-7])[:, None, None]
    yield "Normalization", (IMAGE,), said, (IMAGE - np.arange(1, 6)[:, None, None]) / roots
    yield "Normalization", (X,), {"axis": None, "mean": 2.0, "variance": 4.0}, (X - 2) / 2
    yield "LayerScale", (IMAGE,), {"weights": [gain]}, IMAGE * gain
    three = [X, Y, X * Y]
    merges = {
        "Add": X + Y + X * Y, "Average": (X + Y + X * Y) / 3, "Maximum": np.max(three, 0),
        "Minimum": np.min(three, 0), "Multiply": X * Y * X * Y,
    }  # fmt: skip
    for kind, wanted in merges.items():
        yield kind, (three,), {}, wanted
    yield "Subtract", ([X, Y],), {}, X - Y
    u = drawn(2, 3, 4)
    yield "Dot", ([X, Y],), {"axes": 1}, (X * Y).sum(1, keepdims=True)
    yield "Dot", ([T, u],), {"axes": 2}, T @ u.swapaxes(1, 2)
    yield "Dot", ([T, u[:, 0]],), {"axes": [2, 1]}, (T @ u[:, 0, :, None])[..., 0]
    unit = [each / np.sqrt((each**2).sum(-1, keepdims=True)) for each in (T, u)]
    yield "Dot", ([T, u],), {"axes": [-1, -1], "normalize": True}, unit[0] @ unit[1].swapaxes(1, 2)
