"""Random small networks of the level ``nn``, with calibration samples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value
from graphrewrite.lowering import QuantisationError, quantise


class Network(NamedTuple):
    """A network of float64, in which sums of any width up to 53 bits are exact."""

    graph: Graph
    samples: np.ndarray


def numbers(random: np.random.Generator, *shape: int) -> np.ndarray:
    """Small and large, and some that are nothing at all."""
    scale = 2.0 ** random.integers(-6, 4)
    return random.normal(scale=scale, size=shape) * (random.random(shape) < 0.9)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """One to three layers: convolutions with strides, pads and groups, sums of branches, poolings, a linear layer."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    spatial = draw(st.booleans())
    channels = draw(st.integers(1, 4))
    shape = (channels, draw(st.integers(2, 5)), draw(st.integers(2, 5))) if spatial else (channels,)
    graph = Graph("random")
    value = graph.input("x", Tensor("f64", ("N", *shape)))
    for _ in range(draw(st.integers(0, 2))):
        value = convolution(draw, random, value) if spatial else linear(draw, random, value)
    if spatial and draw(st.booleans()):
        kernel = (min(2, value.type.shape[2]), min(2, value.type.shape[3]))
        pads = draw(st.sampled_from([(0, 0, 0, 0), (0, 0, 0, 1)] if 1 in kernel else [(0, 0, 0, 0), (1, 1, 0, 1)]))
        value = op.max_pool(value, kernel=kernel, strides=(1, 2), pads=pads)
    if spatial:
        value = op.flatten(value)
    graph.output("y", linear(draw, random, value))
    samples = numbers(random, 12, *shape)
    return Network(graph, np.abs(samples) if draw(st.booleans()) else samples)


def linear(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    outputs = draw(st.integers(1, 4))
    made = op.linear(value, numbers(random, outputs, value.type.shape[1]), numbers(random, outputs))
    return op.relu(made) if draw(st.booleans()) else made


def convolution(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    _, channels, height, width = value.type.shape
    groups = draw(st.sampled_from([1, channels]))
    kernel = (draw(st.integers(1, min(3, height))), draw(st.integers(1, min(3, width))))
    outputs = groups * draw(st.integers(1, 2))
    weights = numbers(random, outputs, channels // groups, *kernel)
    strides = (draw(st.integers(1, 2)), draw(st.integers(1, 2)))
    pads = tuple(draw(st.integers(0, 1)) for _ in range(4))
    made = op.conv(value, weights, numbers(random, outputs), strides=strides, pads=pads, groups=groups)
    if draw(st.booleans()):
        made = op.relu(made)
    if made.type == value.type and draw(st.booleans()):
        made = op.relu(op.add(made, value))
    return made


def quantised(network: Network, bits: int, *, per_channel: bool = False) -> Graph:
    """Quantise; a network whose biases are out of all proportion to its weights is not what a test is about."""
    try:
        return quantise(network.graph, network.samples, bits=bits, per_channel=per_channel)
    except QuantisationError as error:
        if "needs sums of" not in str(error):
            raise
        reject()


def widths() -> st.SearchStrategy[int]:
    return st.integers(4, 16)
