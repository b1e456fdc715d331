"""Float networks with all that is lowered down to hardware, with samples: always the same ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value

__all__ = ["NETWORKS", "Network"]


class Network(NamedTuple):
    """A graph and samples of its inputs, and what is right for them."""

    graph: Graph
    samples: dict[str, np.ndarray]
    labels: np.ndarray


class _Making:
    """A network that grows, with weights of its own."""

    def __init__(self, seed: int) -> None:
        self.random, self.graph, self.samples = np.random.default_rng(seed), Graph("net"), dict[str, np.ndarray]()

    def input(self, name: str, *shape: int, scale: float = 1.0, middle: float = 0.0) -> Value:
        units = scale * np.exp2(self.random.integers(0, 3, (shape[0], *[1] * (len(shape) - 1))))
        self.samples[name] = np.round(self.random.normal(middle, 1, (24, *shape)) * units, 3)
        return self.graph.input(name, Tensor("f64", ("N", *shape)))

    def numbers(self, *shape: int, scale: float = 0.5) -> np.ndarray:
        return np.round(self.random.normal(scale=scale, size=shape) * (self.random.random(shape) < 0.9), 4)

    def linear(self, x: Value, outputs: int) -> Value:
        return op.linear(x, self.numbers(outputs, x.type.shape[-1]), self.numbers(outputs))

    def conv(self, x: Value, outputs: int, *kernel: int, groups: int = 1, **attributes: tuple[int, ...]) -> Value:
        weights = self.numbers(outputs, x.type.shape[1] // groups, *kernel)
        return op.conv(x, weights, self.numbers(outputs), groups=groups, **attributes)

    def norm(self, x: Value) -> Value:
        gain, shift, mean, variance = (self.numbers(x.type.shape[1], scale=1) for _ in range(4))
        return op.batch_norm(x, gain + 2, shift, mean, abs(variance) + 0.5)

    def network(self, *outputs: Value) -> Network:
        for i, value in enumerate(outputs):
            self.graph.output(f"y{i}", value)
        return Network(self.graph, self.samples, self.random.integers(0, 3, 24))


def _vectors() -> Network:
    """Layers of vectors, with functions between them, a residual sum, and classes."""
    m = _Making(1)
    x = m.input("x", 6)
    h = op.relu(m.norm(m.linear(x, 5)))
    h = op.add(op.tanh(m.linear(h, 5)), h)
    h = op.concat(op.clip(m.linear(h, 3), low=-1.0, high=2.0), op.sigmoid(m.linear(h, 2)), axis=1)
    return m.network(op.softmax(m.linear(h, 3), axis=1))


def _image() -> Network:
    """Convolutions of every kind, pools, a border, a mean."""
    m = _Making(2)
    x = m.input("x", 2, 4, 4, middle=0.5)
    h = op.relu(m.conv(x, 4, 3, 3, pads=(1, 0, 1, 1), strides=(1, 1)))
    h = op.add(h, op.relu(m.conv(h, 4, 3, 1, pads=(1, 0, 1, 0), groups=2)))
    p = op.max_pool(h, kernel=(2, 2), strides=(2, 2), pads=(0, 1, 0, 0))
    a = op.average_pool(h, kernel=(2, 2), strides=(2, 2), pads=(0, 1, 0, 0), count_include_pad=True)
    h = m.conv(op.concat(p, a, axis=1), 4, 2, 2, groups=4, pads=(0, 0, 1, 1))
    h = op.pad(op.relu(h), pads=(0, 0, 1, 0, 0, 0, 0, 1), fill=0.25)
    return m.network(op.sigmoid(m.linear(op.reduce_mean(h, axes=(2, 3), keep_dims=False), 1)))


def _moved() -> Network:
    """Channels and positions that move, a gate, and the greatest of scores."""
    m = _Making(3)
    x = m.input("x", 4, 3, 2)
    first, rest = op.split(op.relu(m.conv(x, 4, 1, 1)), axis=1, sizes=(1, 3))
    h = op.channel_shuffle(op.concat(m.conv(rest, 3, 3, 3, pads=(1, 1, 1, 1)), first, axis=1), groups=2)
    h = op.mul(h, op.sigmoid(m.conv(op.global_average_pool(h), 4, 1, 1)))
    h = op.slice(h, starts=(1,), ends=(3,), axes=(2,))
    h = op.sub(h, m.numbers(4, 1, 1, scale=1))
    h = op.max_pool(op.resize(h, scales=(1.0, 1.0, 2.0, 1.0)), kernel=(2, 2), strides=(2, 2))
    h = op.flatten(op.transpose(h, perm=(0, 2, 3, 1)))
    return m.network(op.arg_max(m.linear(h, 3), axis=1))


def _signs() -> Network:
    """Weights of one bit, and signs of sums."""
    m = _Making(4)
    h = op.sign(m.input("x", 8))
    for outputs in (6, 5):
        h = op.sign(op.linear(h, np.sign(m.numbers(outputs, h.type.shape[1]) + 0.01), np.full(outputs, 0.5)))
    return m.network(m.linear(h, 3))


def _joined() -> Network:
    """Two inputs of other units, and three outputs: numbers, a comparison, a function."""
    m = _Making(5)
    x, y = m.input("x", 3, scale=20, middle=3), m.input("y", 3, scale=0.1)
    h = op.relu(op.add(m.linear(x, 4), m.linear(y, 4)))
    h = op.mul(h, np.array([0.5, 1.5, 1.0, 0.25]))
    z = m.linear(op.sub(np.array(1.5), h), 2)
    return m.network(z, op.greater(m.linear(h, 1), np.array(0.25)), op.tanh(m.linear(op.gelu(h), 2)))


def _row() -> Network:
    """Convolutions along one axis, dilated and in strides, and a mean in windows."""
    m = _Making(6)
    x = m.input("x", 3, 12)
    h = op.leaky_relu(m.conv(x, 4, 3, dilations=(2,)), alpha=0.125)
    h = op.relu(m.norm(m.conv(h, 6, 2, strides=(2,), groups=2)))
    h = op.average_pool(h, kernel=(2,), strides=(2,))
    return m.network(op.softmax(m.linear(op.flatten(h), 4), axis=1))


def _pair() -> Network:
    """Two small layers, which are lowered in no time."""
    m = _Making(7)
    return m.network(m.linear(op.relu(m.linear(m.input("x", 3), 3)), 3))


NETWORKS: dict[str, Callable[[], Network]] = {
    "vectors": _vectors, "image": _image, "moved": _moved, "signs": _signs, "joined": _joined, "row": _row,
    "pair": _pair,
}  # fmt: skip
