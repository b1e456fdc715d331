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


def convolution(draw: st.DrawFn, random: np.random.Generator, value: Value, *, keeps: bool = False) -> Value:
    """A convolution; one that keeps the shape, if asked to."""
    _, channels, height, width = value.type.shape
    groups = draw(st.sampled_from([1, channels]))
    if keeps:
        weights, bias = numbers(random, channels, channels // groups, 1, 3), numbers(random, channels)
        return op.conv(value, weights, bias, strides=(1, 1), pads=(0, 1, 0, 1), groups=groups)
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


def joined(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    """Two branches of other formats, side by side."""
    return op.concat(convolution(draw, random, value, keeps=True), op.relu(value), axis=1)


def parted(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    """The channels in two parts, one of them convolved, in the other order."""
    channels = value.type.shape[1]
    if channels == 1:
        return op.tile(value, repeats=(1, 2, 1, 1))
    first, rest = op.split(value, axis=1, sizes=(1, channels - 1))
    return op.concat(convolution(draw, random, rest, keeps=True), first, axis=1)


def shuffled(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    channels = value.type.shape[1]
    return op.channel_shuffle(convolution(draw, random, value, keeps=True), groups=channels if channels % 2 else 2)


def bordered(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    fill = draw(st.sampled_from([0.0, 0.3, -1.0, 5.0]))
    return op.pad(value, pads=(0, 0, 1, 0, 0, 0, 0, 1), fill=fill)


def averaged(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    kernel = tuple(draw(st.integers(1, min(3, size))) for size in value.type.shape[2:])
    pads = (0, *([1, 0, 0] if min(kernel) > 1 else [0, 0, 0]))
    counted = {"count_include_pad": draw(st.booleans()), "ceil_mode": draw(st.booleans())}
    return op.average_pool(value, kernel=kernel, strides=(1, draw(st.integers(1, 2))), pads=pads, **counted)


def placed(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    """Numbers of positions, as embeddings have them."""
    constant = numbers(random, *(1 if draw(st.booleans()) else size for size in value.type.shape[1:]))
    pair = draw(st.sampled_from([op.add, op.sub, op.mul]))
    return pair(constant, value) if draw(st.booleans()) else pair(value, constant)


def lengthened(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    """More rows or columns."""
    return op.concat(convolution(draw, random, value, keeps=True), value, axis=draw(st.integers(2, 3)))


def gated(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    """Squeeze and excite (Hu et al. 2018), by mean or maximum, by channel or by position."""
    if draw(st.booleans()):
        return op.mul(
            value, op.sigmoid(op.conv(value, numbers(random, 1, value.type.shape[1], 1, 1), numbers(random, 1)))
        )
    squeezed = draw(st.sampled_from([op.global_average_pool, op.global_max_pool]))(value)
    return op.mul(op.sigmoid(squeezed), value)


def subtracted(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    return op.relu(op.sub(convolution(draw, random, value, keeps=True), value))


def enlarged(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    scales = (1.0, 1.0, *(float(draw(st.integers(1, 2))) for _ in range(2)))
    return op.resize(value, scales=scales, coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def normalised(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    gain, shift, mean, var = (numbers(random, value.type.shape[1]) for _ in range(4))
    return op.batch_norm(op.relu(value), gain, shift, mean, np.abs(var) + 0.5)


def head(draw: st.DrawFn, random: np.random.Generator, value: Value) -> Value:
    """Vectors of an image: a mean or the greatest over positions, or all of them; or the image itself."""
    axes = {"axes": (2, 3), "keep_dims": False}
    made = draw(st.sampled_from(["mean", "greatest", "all", "image"]))
    if made == "image":
        return value
    value = (
        {"mean": op.reduce_mean, "greatest": op.reduce_max}[made](value, **axes) if made != "all" else op.flatten(value)
    )
    return linear(draw, random, value) if draw(st.booleans()) else value


MOVED = (parted, shuffled, bordered, enlarged, lengthened)
PIECES = (*MOVED, joined, averaged, gated, subtracted, normalised, placed)


@st.composite
def combined_networks(draw: st.DrawFn) -> Network:
    """Pieces of networks with branches, joins, borders, means, products and other positions, in some order."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (draw(st.integers(1, 3)), draw(st.integers(2, 4)), draw(st.integers(2, 4)))
    graph = Graph("combined")
    value = graph.input("x", Tensor("f64", ("N", *shape)))
    for piece in draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)):
        value = piece(draw, random, value)
    graph.output("y", head(draw, random, value))
    return Network(graph, random.normal(size=(6, *shape)))


@st.composite
def interpolated(draw: st.DrawFn) -> Graph:
    """An image that becomes larger or smaller by whole numbers along both axes, with numbers between others."""
    graph, element = Graph("interpolated"), draw(st.sampled_from(["f32", "f64"]))
    x = graph.input("x", Tensor(element, ("N", draw(st.integers(1, 2)), 2 * draw(st.integers(1, 2)), 4)))
    coordinates = draw(st.sampled_from(["half_pixel", "asymmetric", "pytorch_half_pixel"]))
    scales = draw(st.sampled_from([(2, 2), (3, 3), (0.5, 0.5), (1, 0.5)]))
    how = {"mode": "linear", "coordinate_transformation_mode": coordinates}
    graph.output("y", op.resize(op.relu(x) if draw(st.booleans()) else x, scales=(1, 1, *scales), **how))
    return graph


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
