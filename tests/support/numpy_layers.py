"""Layers in plain numpy, with a forward and a backward step, and training by Adam: nothing of what is tested."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Node = tuple[str, list[str], dict[str, Any]]
"""An ONNX op, the names of the layer's arrays that it reads after its first operand, and its attributes."""
EPSILON = 1e-5
"""Of the batch norm, as the frameworks have it."""


class Layer:
    """A layer: `parameters` are learnt, `gradients` belong to the last backward step, `state` is not learnt."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parameters: dict[str, Array] = {}
        self.gradients: dict[str, Array] = {}
        self.state: dict[str, Array] = {}

    def forward(self, x: Array, training: bool) -> Array:
        """Return the layer's outputs for a batch."""
        raise NotImplementedError

    def backward(self, slope: Array) -> Array:
        """Derivative by the input, from the one by the output; leaves `gradients`."""
        raise NotImplementedError

    def nodes(self) -> list[Node]:
        """The layer as a chain of ONNX nodes."""
        raise NotImplementedError


class Linear(Layer):
    """A fully connected layer; what has more than two dimensions is flattened first."""

    def __init__(self, name: str, inputs: int, outputs: int, rng: np.random.Generator) -> None:
        super().__init__(name)
        weight = rng.normal(0, np.sqrt(2 / inputs), (outputs, inputs))
        self.parameters = {"weight": weight, "bias": np.zeros(outputs)}

    def forward(self, x: Array, training: bool) -> Array:
        self.shape, self.x = x.shape, x.reshape(len(x), -1)
        return self.x @ self.parameters["weight"].T + self.parameters["bias"]

    def backward(self, slope: Array) -> Array:
        self.gradients = {"weight": slope.T @ self.x, "bias": slope.sum(0)}
        return (slope @ self.parameters["weight"]).reshape(self.shape)

    def nodes(self) -> list[Node]:
        flatten: list[Node] = [("Flatten", [], {})] if len(self.shape) > 2 else []
        return [*flatten, ("Gemm", ["weight", "bias"], {"transB": 1})]


class Convolution(Layer):
    """A 3x3 convolution with one pixel of padding, as a product with the image's shifted copies."""

    def __init__(self, name: str, inputs: int, outputs: int, rng: np.random.Generator, bias: bool = True) -> None:
        super().__init__(name)
        self.parameters = {"weight": rng.normal(0, np.sqrt(2 / (9 * inputs)), (outputs, inputs, 3, 3))}
        if bias:
            self.parameters["bias"] = np.zeros(outputs)

    def forward(self, x: Array, training: bool) -> Array:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        self.windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        y = np.tensordot(self.windows, self.parameters["weight"], axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)
        return y + self.parameters["bias"][:, None, None] if "bias" in self.parameters else y

    def backward(self, slope: Array) -> Array:
        self.gradients["weight"] = np.tensordot(slope, self.windows, axes=((0, 2, 3), (0, 2, 3)))
        if "bias" in self.parameters:
            self.gradients["bias"] = slope.sum((0, 2, 3))
        padded = np.pad(slope, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        turned = self.parameters["weight"][:, :, ::-1, ::-1]
        return np.tensordot(windows, turned, axes=((1, 4, 5), (0, 2, 3))).transpose(0, 3, 1, 2)

    def nodes(self) -> list[Node]:
        return [("Conv", [*self.parameters], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]})]


class BatchNorm(Layer):
    """Batch norm over channels, with running moments."""

    def __init__(self, name: str, channels: int) -> None:
        super().__init__(name)
        self.parameters = {"weight": np.ones(channels), "bias": np.zeros(channels)}
        self.state = {"running_mean": np.zeros(channels), "running_var": np.ones(channels)}

    def forward(self, x: Array, training: bool) -> Array:
        mean, var = self.state["running_mean"], self.state["running_var"]
        if training:
            mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
            for key, moment in (("running_mean", mean), ("running_var", var)):
                self.state[key] = 0.9 * self.state[key] + 0.1 * moment
        self.deviation = np.sqrt(var + EPSILON)[:, None, None]
        self.x = (x - mean[:, None, None]) / self.deviation
        return self.x * self.parameters["weight"][:, None, None] + self.parameters["bias"][:, None, None]

    def backward(self, slope: Array) -> Array:
        self.gradients = {"weight": (slope * self.x).sum((0, 2, 3)), "bias": slope.sum((0, 2, 3))}
        slope = slope * self.parameters["weight"][:, None, None]
        mean = slope.mean((0, 2, 3), keepdims=True)
        along = (slope * self.x).mean((0, 2, 3), keepdims=True)
        return np.asarray((slope - mean - self.x * along) / self.deviation)

    def nodes(self) -> list[Node]:
        return [("BatchNormalization", [*self.parameters, *self.state], {"epsilon": EPSILON})]


class Relu(Layer):
    """max(x, 0)."""

    def forward(self, x: Array, training: bool) -> Array:
        self.positive = x > 0
        return x * self.positive

    def backward(self, slope: Array) -> Array:
        return slope * self.positive

    def nodes(self) -> list[Node]:
        return [("Relu", [], {})]


class MaxPool(Layer):
    """The maximum of each 2x2 square."""

    def forward(self, x: Array, training: bool) -> Array:
        n, c, h, w = x.shape
        squares = x.reshape(n, c, h // 2, 2, w // 2, 2)
        y = squares.max((3, 5), keepdims=True)
        winners = squares == y
        self.share = winners / winners.sum((3, 5), keepdims=True)
        return np.asarray(y[:, :, :, 0, :, 0])

    def backward(self, slope: Array) -> Array:
        n, c, h, w = slope.shape
        return np.asarray(slope[:, :, :, None, :, None] * self.share).reshape(n, c, 2 * h, 2 * w)

    def nodes(self) -> list[Node]:
        return [("MaxPool", [], {"kernel_shape": [2, 2], "strides": [2, 2]})]


def train(
    layers: list[Layer],
    x: Array,
    labels: Array,
    rng: np.random.Generator,
    *,
    epochs: int,
    batch: int = 64,
    rate: float = 3e-3,
    decay: float = 1e-4,
    augment: Callable[[Array, np.random.Generator], Array] = lambda images, rng: images,
) -> None:
    """Minimise the cross entropy by Adam with weight decay; the rate falls to zero along a cosine."""
    moments = [{k: (np.zeros_like(p), np.zeros_like(p)) for k, p in layer.parameters.items()} for layer in layers]
    steps, step = epochs * (len(x) // batch), 0
    for _ in range(epochs):
        order = rng.permutation(len(x))
        for start in range(0, len(x) - batch + 1, batch):
            chosen = order[start : start + batch]
            slope = softmax(forward(layers, augment(x[chosen], rng), training=True))
            slope[np.arange(batch), labels[chosen]] -= 1
            slope /= batch
            for layer in reversed(layers):
                slope = layer.backward(slope)
            step += 1
            pace = rate * 0.5 * (1 + np.cos(np.pi * step / steps))
            for layer, kept in zip(layers, moments, strict=True):
                for key, parameter in layer.parameters.items():
                    gradient = layer.gradients[key]
                    first, second = kept[key]
                    first += 0.1 * (gradient - first)
                    second += 0.001 * (gradient**2 - second)
                    direction = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
                    parameter -= pace * (direction + decay * parameter)


def forward(layers: list[Layer], x: Array, *, training: bool = False) -> Array:
    """Scores (logits) of a batch."""
    for layer in layers:
        x = layer.forward(x, training)
    return x


def softmax(scores: Array) -> Array:
    """Probabilities from scores."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True))
