"""A small quantised network with the operators of keyword spotting and image recognition, as a file."""

from __future__ import annotations

import numpy as np

from tests.support.tflite_files import Node, T, model
from tests.support.tflite_tensors import ints

__all__ = ["network"]


def network(seed: int = 0) -> bytes:
    """Convolutions, also depthwise ones and by strides, a sum, a mean of positions, a layer and a softmax."""
    rng = np.random.default_rng(seed)

    def weights(name: str, shape: tuple[int, ...], axis: int, channels: int, x: float) -> tuple[T, T]:
        scales = np.exp(rng.uniform(-5, -4, channels)).astype(np.float32)
        w, b = rng.integers(-127, 128, shape).astype(np.int8), rng.integers(-900, 900, channels).astype(np.int32)
        return T.of(name, w, scale=scales, axis=axis), T.of(f"{name}/bias", b, scale=scales * np.float32(x))

    def held(name: str, shape: tuple[int, ...], scale: float, zero: int) -> T:
        return T(name, shape, scale=float(np.float32(scale)), zero=zero, signature=(-1, *shape[1:]))

    x, a = held("input:0", (1, 12, 6, 2), 0.05, 5), held("a/Relu", (1, 6, 3, 8), 0.04, -128)
    d, p = held("b/depthwise", (1, 6, 3, 8), 0.09, -20), held("c/Relu6", (1, 6, 3, 8), 0.05, -128)
    total, pooled = held("c/add", (1, 6, 3, 8), 0.07, -128), held("pool", (1, 3, 1, 8), 0.07, -128)
    flat, scores = held("flat", (1, 24), 0.07, -128), held("scores", (1, 5), 0.3, 7)
    y = held("Identity", (1, 5), 1 / 256, -128)
    tensors = [x, *weights("a/w", (8, 3, 3, 2), 0, 8, 0.05), a, *weights("b/w", (1, 3, 3, 8), 3, 8, 0.04), d]
    tensors += [*weights("c/w", (8, 1, 1, 8), 0, 8, 0.09), p, total, pooled, T.of("shape", ints(-1, 24)), flat]
    dense = T.of("d/w", rng.integers(-127, 128, (5, 24)).astype(np.int8), scale=0.01)
    tensors += [dense, T.of("d/b", ints(5, -70, 800, 3, 0), scale=0.0007), scores, y]
    half, one = {"stride_h": 2, "stride_w": 2}, {"stride_h": 1, "stride_w": 1}
    nodes = [
        Node("CONV_2D", ["input:0", "a/w", "a/w/bias"], ["a/Relu"], {**half, "fused_activation_function": 1}),
        Node("DEPTHWISE_CONV_2D", ["a/Relu", "b/w", "b/w/bias"], ["b/depthwise"], {**one, "depth_multiplier": 1}),
        Node("CONV_2D", ["b/depthwise", "c/w", "c/w/bias"], ["c/Relu6"], {**one, "fused_activation_function": 3}),
        Node("ADD", ["c/Relu6", "a/Relu"], ["c/add"], {"fused_activation_function": 1}),
        Node("AVERAGE_POOL_2D", ["c/add"], ["pool"], {**half, "padding": 1, "filter_height": 2, "filter_width": 3}),
        Node("RESHAPE", ["pool", "shape"], ["flat"]),
        Node("FULLY_CONNECTED", ["flat", "d/w", "d/b"], ["scores"]),
        Node("SOFTMAX", ["scores"], ["Identity"], {"beta": 1.0}),
    ]
    return model(tensors, nodes, ["input:0"], ["Identity"])
