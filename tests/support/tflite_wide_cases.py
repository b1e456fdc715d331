"""Models of one operator of TensorFlow Lite on numbers of 16 bits with weights of 8, made at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.tflite_cases import window
from tests.support.tflite_files import Node, T
from tests.support.tflite_tensors import Case, Rng, activation, case, ints, scale, sizes

__all__ = ["WIDE"]


def _wide(rng: Rng, name: str, shape: Sequence[int], **more: Any) -> T:
    return T(name, tuple(map(int, shape)), "i16", **{"scale": scale(rng, -9, -4), "zero": 0, **more})


def _weights(
    rng: Rng, shape: Sequence[int], axis: int, channels: int, x: T, y: T, *, short: bool
) -> tuple[T, T, dict[str, int]]:
    """Weights, a bias, and what says its type; the scale of the result fits their sums."""
    scales = np.float32(np.exp(rng.uniform(-7, -4, channels if rng.random() < 0.7 else 1)))
    weights = rng.integers(-127, 128, shape).astype(np.int8)
    per_sum = np.sqrt(weights.size / channels) * 64 * 16000
    y.scale = float(
        np.float32(per_sum * float(scales.max()) * float(x.scale or 1) / 20000 * np.exp(rng.uniform(-1, 1)))
    )
    bias = rng.integers(-(10**6), 10**6, channels)
    is_short = short and rng.random() < 0.3
    b = T.of("b", bias.astype(np.int32 if is_short else np.int64), scale=scales * np.float32(x.scale))
    return T.of("w", weights, scale=scales, axis=axis), b, {"quantized_bias_type": 2} if is_short else {}


def conv(rng: Rng, kind: str = "CONV_2D") -> Case:
    options, image, kernel, out = window(rng)
    channels, more = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    if kind == "CONV_2D":
        groups = int(rng.integers(1, 3))
        outputs, per_group, channels = more * groups, channels, channels * groups
        shape, axis = (outputs, *kernel, per_group), 0
    else:
        outputs = channels * more
        shape, axis = (1, *kernel, outputs), 3
        options["depth_multiplier"] = more
    x, y = _wide(rng, "x", (1, *image, channels)), _wide(rng, "y", (1, *out, outputs))
    w, b, stated = _weights(rng, shape, axis, outputs, x, y, short=kind == "CONV_2D")
    options |= {**stated, **activation(rng)}
    return case(rng, [x, w, b, y], [Node(kind, ["x", "w", "b"], ["y"], options)])


def transpose_conv(rng: Rng) -> Case:
    options, image, kernel, out = window(rng, dilated=False)
    channels, outputs = map(int, rng.integers(1, 4, 2))
    x, y = _wide(rng, "x", (1, *out, channels)), _wide(rng, "y", (1, *image, outputs))
    w, b, stated = _weights(rng, (outputs, *kernel, channels), 0, outputs, x, y, short=True)
    options |= stated
    names = ["size", "w", "x", *(["b"] if rng.random() < 0.7 else [])]
    tensors = [x, w, b, T.of("size", ints(1, *image, outputs)), y]
    return case(rng, tensors, [Node("TRANSPOSE_CONV", names, ["y"], options, version=3)])


def fully_connected(rng: Rng) -> Case:
    inputs, outputs = map(int, rng.integers(1, 40, 2))
    lead = sizes(rng, int(rng.integers(1, 4)))
    keep = bool(rng.integers(0, 2))
    x = _wide(rng, "x", (*lead, inputs))
    y = _wide(rng, "y", (*(lead if keep else (int(np.prod(lead)),)), outputs))
    w, b, stated = _weights(rng, (outputs, inputs), 0, outputs, x, y, short=True)
    names = ["x", "w", "b"] if rng.random() < 0.8 else ["x", "w", None]
    options = {"keep_num_dims": keep, **stated, **activation(rng)}
    return case(rng, [x, w, b, y], [Node("FULLY_CONNECTED", names, ["y"], options)])


def batch_matmul(rng: Rng) -> Case:
    lead, (m, k, n) = sizes(rng, int(rng.integers(1, 4))), map(int, rng.integers(1, 40, 3))
    adj = rng.integers(0, 2, 2).astype(bool).tolist()
    other = tuple(size if rng.random() < 0.7 else 1 for size in lead)
    x = _wide(rng, "x", (*lead, *((k, m) if adj[0] else (m, k))))
    z = _wide(rng, "z", (*other, *((n, k) if adj[1] else (k, n))))
    y = _wide(rng, "y", (*lead, m, n))
    y.scale = float(np.float32(float(x.scale) * float(z.scale) * 20000 * np.sqrt(k) * np.exp(rng.uniform(-1, 1))))
    options = {"adj_x": adj[0], "adj_y": adj[1]}
    return case(rng, [x, z, y], [Node("BATCH_MATMUL", ["x", "z"], ["y"], options)], inputs=2)


def pool(rng: Rng, kind: str) -> Case:
    options, image, kernel, out = window(rng, dilated=False)
    channels = int(rng.integers(1, 5))
    x = _wide(rng, "x", (1, *image, channels))
    y = _wide(rng, "y", (1, *out, channels), scale=x.scale)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1], **activation(rng)}
    return case(rng, [x, y], [Node(kind, ["x"], ["y"], options)])


def unary(rng: Rng, kind: str, **more: Any) -> Case:
    shape = (1, 500)
    x = _wide(rng, "x", shape)
    if kind in ("LOGISTIC", "TANH") and rng.random() < 0.3:  # which have a way of their own
        x.scale = float(rng.choice([2.0**-12, 2.0**-11, 2.0**-13]))
    y = _wide(rng, "y", shape, **(more or {"scale": float(np.float32(x.scale * np.exp(rng.uniform(-1, 1))))}))
    options = {"alpha": scale(rng, -3, 0)} if kind == "LEAKY_RELU" else {}
    return case(rng, [x, y], [Node(kind, ["x"], ["y"], options)])


def softmax(rng: Rng) -> Case:
    shape = (1, *map(int, rng.integers(1, 40, int(rng.integers(1, 3)))))
    beta = float(np.float32(rng.choice([1.0, 1.0, 0.5, 2.0])))
    y = _wide(rng, "y", shape, scale=1 / 32768)
    return case(rng, [_wide(rng, "x", shape), y], [Node("SOFTMAX", ["x"], ["y"], {"beta": beta})])


def binary(rng: Rng, kind: str) -> Case:
    shape = sizes(rng)
    other = tuple(size if rng.random() < 0.7 else 1 for size in shape)[int(rng.integers(0, len(shape))) :]
    x, z, y = _wide(rng, "x", shape), _wide(rng, "z", other), _wide(rng, "y", shape)
    if kind == "MUL":
        y.scale = float(np.float32(float(x.scale) * float(z.scale) * 20000 * np.exp(rng.uniform(-1, 1))))
    options = {**activation(rng), **({} if kind == "MUL" else {"pot_scale_int16": False})}
    return case(rng, [x, z, y], [Node(kind, ["x", "z"], ["y"], options)], inputs=2)


def mean(rng: Rng) -> Case:
    shape = sizes(rng, int(rng.integers(2, 5)))
    axes = sorted(rng.choice(len(shape), int(rng.integers(1, len(shape) + 1)), replace=False).tolist())
    keep = bool(rng.integers(0, 2))
    out = [1 if at in axes else size for at, size in enumerate(shape) if keep or at not in axes]
    x, y = _wide(rng, "x", shape), _wide(rng, "y", out)
    return case(rng, [x, T.of("axes", ints(*axes)), y], [Node("MEAN", ["x", "axes"], ["y"], {"keep_dims": keep})])


WIDE: Mapping[str, Callable[[Rng], Case]] = {
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": lambda rng: conv(rng, "DEPTHWISE_CONV_2D"),
    "TRANSPOSE_CONV": transpose_conv,
    "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul,
    **{k: lambda rng, k=k: pool(rng, k) for k in ("AVERAGE_POOL_2D", "MAX_POOL_2D")},
    **{k: lambda rng, k=k: binary(rng, k) for k in ("ADD", "SUB", "MUL")},
    **{k: lambda rng, k=k: unary(rng, k) for k in ("RELU", "RELU6", "LEAKY_RELU", "EXP")},
    **{k: lambda rng, k=k: unary(rng, k, scale=1 / 32768) for k in ("LOGISTIC", "TANH")},
    "MEAN": mean,
    "SOFTMAX": softmax,
}
"""By operator."""
