"""Random quantised networks as training gives them: any scales and zero points, per tensor and per channel."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from hypothesis import strategies as st

from graphrewrite import FixedPoint, Graph, Pass, Rule, Tensor, op, rewrite
from graphrewrite.graph import Value

FORMAT = FixedPoint(True, 7, 4)


_STORAGE = {"i8": np.int8, "u8": np.uint8}


def stored(random: np.random.Generator, value: Value, scale: float | None = None) -> Value:
    """Quantise and dequantise, with a random scale and zero point."""
    kind = str(random.choice(["i8", "u8"]))
    step = np.float32(2.0 ** random.uniform(-7, -3) if scale is None else scale)
    low = -128 if kind == "i8" else 0
    zero = np.asarray(random.integers(low, low + 256), _STORAGE[kind])
    return op.dequantize_linear(op.quantize_linear(value, step, zero), step, zero)


def fake(random: np.random.Generator, value: Value) -> Value:
    """Quantise as QONNX does, or FINN."""
    step = np.float32(2.0 ** random.uniform(-6, -2))
    match random.integers(4):
        case 0:
            return op.bipolar_quant(value, step)
        case 1:
            levels = np.sort(random.normal(size=(value.type.shape[1], 7)).astype(np.float32))
            return op.multi_threshold(value, levels, out_scale=0.5, out_bias=-1.0)
        case 2:
            return op.quantise(value, element=FORMAT)
    bits = np.float32(random.integers(2, 9))
    mode = str(random.choice(["ROUND", "FLOOR", "CEIL"]))
    return op.quant(value, step, np.float32(0), bits, rounding_mode=mode, narrow=bool(random.integers(2)))


def weights(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Whole numbers times a scale for all, or one each."""
    scales = 2.0 ** random.uniform(-8, -4, shape[0] if random.integers(2) else 1)
    whole = random.integers(-127, 128, shape).astype(np.float32)
    return whole * scales.astype(np.float32).reshape(-1, *[1] * (len(shape) - 1))


def convolution(random: np.random.Generator, value: Value) -> Value:
    channels, groups = value.type.shape[1], int(random.integers(2))
    outputs, size = int(random.integers(1, 5)), int(random.choice([1, 3]))
    shape = (channels, 1, size, size) if groups else (outputs, channels, size, size)
    bias = random.normal(size=shape[0]).astype(np.float32)
    layer = op.conv(
        value, weights(random, shape), bias, pads=(size // 2,) * 4, groups=channels if groups else 1,
        strides=(1, 1), dilations=(1, 1),
    )  # fmt: skip
    return op.relu(layer) if random.integers(2) else layer


def norm(random: np.random.Generator, value: Value) -> Value:
    parameters = [random.normal(size=value.type.shape[1]).astype(np.float32) for _ in range(3)]
    return op.batch_norm(value, *parameters, np.square(parameters[0]) + np.float32(0.5))


def other_way_round(value: Value) -> Value:
    """Channels last, for a moment."""
    return op.transpose(op.relu(op.transpose(value, perm=(0, 2, 3, 1))), perm=(0, 3, 1, 2))


def averaged(value: Value) -> Value:
    """Means with a border that counts where the number of channels is even, and else does not."""
    even = int(value.type.shape[1]) % 2 == 0
    return op.average_pool(value, kernel=(2, 2), strides=(1, 1), pads=(1, 1, 0, 0), count_include_pad=even)


LAYERS: tuple[Callable[[np.random.Generator, Value], Value], ...] = (
    convolution,
    convolution,
    norm,
    lambda r, v: op.max_pool(v, kernel=(2, 2), strides=(1, 2), pads=(0, 0, 1, 1)),
    lambda _, v: averaged(v),
    lambda r, v: op.global_average_pool(v),
    lambda r, v: op.add(v, stored(r, op.relu(v))),
    lambda r, v: op.relu(op.sub(stored(r, op.tanh(v)), v)),
    lambda r, v: op.mul(v, stored(r, op.sigmoid(v))),
    lambda r, v: op.mul(v, v),
    lambda r, v: op.add(v, v),
    lambda r, v: op.concat(v, stored(r, op.tanh(v)), axis=1),
    lambda r, v: op.concat(v, op.max_pool(v, kernel=(1, 1)), axis=1),
    lambda r, v: op.pad(v, pads=(0, 0, 1, 0, 0, 0, 0, 1)),
    lambda r, v: other_way_round(v),
    lambda r, v: op.sigmoid(v),
    lambda r, v: op.hard_swish(v),
    lambda r, v: op.gelu(v),
    lambda r, v: op.leaky_relu(v, alpha=0.1),
    lambda r, v: op.clip(v, low=-0.7, high=1.1),
    lambda r, v: op.resize(v, scales=(1.0, 1.0, 2.0, 1.0), coordinate_transformation_mode="asymmetric"),
)


def products(random: np.random.Generator, graph: Graph, value: Value) -> Value:
    """A product of stored numbers, by one of the ops that have their scales and zero points as operands."""
    step, point = np.float32(2.0 ** random.uniform(-6, -4)), np.asarray(random.integers(0, 99), np.int8)
    number = op.quantize_linear(value, step, point)
    channels, outputs = value.type.shape[1], int(random.integers(1, 4))
    whole = random.integers(-127, 128, (outputs, channels, 1, 1)).astype(np.int8)
    zero = np.asarray(random.integers(-9, 9), np.int8)
    scale, result = np.float32(2.0 ** random.uniform(-7, -6)), np.float32(2.0 ** random.uniform(-5, -3))
    bias = random.integers(-999, 999, outputs).astype(np.int32)
    match random.integers(4):
        case 0:
            made = op.qlinear_conv(
                number, step, point, whole, scale, zero, result, point, bias, pads=(1, 0, 0, 1), strides=(1, 1),
                dilations=(1, 1),
            )  # fmt: skip
            return op.dequantize_linear(made, result, point)
        case 1:
            sums = op.conv_integer(number, whole, point, zero, pads=(0, 1, 0, 0), strides=(1, 1), dilations=(1, 1))
            sums = op.add(sums, bias.reshape(-1, 1, 1))
            return stored(random, op.mul(op.cast(sums, element="f32"), step * scale))
    vectors = op.flatten(number)
    matrix = random.integers(-127, 128, (vectors.type.shape[1], outputs)).astype(np.int8)
    if random.integers(2):
        made = op.qlinear_matmul(vectors, step, point, matrix, scale, zero, result, point)
        return op.dequantize_linear(made, result, point)
    sums = op.add(op.matmul_integer(vectors, matrix, point, zero), bias)
    return stored(random, op.mul(op.cast(sums, element="f32"), step * scale))


def head(random: np.random.Generator, value: Value) -> Value:
    """A fully-connected layer, by one of its ops."""
    vectors = op.flatten(value)
    rows = weights(random, (3, vectors.type.shape[1]))
    bias = random.normal(size=3).astype(np.float32)
    match random.integers(3):
        case 0:
            return op.linear(vectors, rows, bias)
        case 1:
            return op.matmul(vectors, np.ascontiguousarray(rows.T))
    return op.gemm(vectors, rows, bias, trans_b=True)


def trained_network(seed: int) -> Graph:
    """One to three layers, each of them quantised, and perhaps a head."""
    random = np.random.default_rng(seed)
    graph = Graph("trained")
    given = graph.input("x", Tensor("f32", ("N", int(random.integers(1, 4)), 4, 4)))
    fine = (np.float32(0.0473), np.float32(0), np.float32(6))
    value = op.quant(given, *fine) if seed % 5 == 0 else stored(random, given)
    for _ in range(int(random.integers(1, 4))):
        layer = LAYERS[int(random.integers(len(LAYERS)))]
        value = layer(random, value)
        value = fake(random, value) if random.integers(4) == 0 else stored(random, value)
    match random.integers(3):
        case 0:
            value = products(random, graph, value)
        case 1:
            value = stored(random, head(random, value))
    graph.output("y", value)
    return graph


def parts_with_binary_points() -> Graph:
    """Two parts on grids of powers of two, joined."""
    graph = Graph("parts")
    x, y = (op.quantise(graph.input(n, Tensor("f32", ("N", 2))), element=FixedPoint(True, 6, 4)) for n in "xy")
    join = op.concat(op.quantise(op.tanh(x), element=FixedPoint(False, 5, 4)), y, axis=1)
    graph.output("z", join)
    return graph


def states(member: Rule, others: Iterable[Rule | Pass], seeds: Iterable[int]) -> st.SearchStrategy[Graph]:
    """Where the lowering of some networks gets to without a rule, of those where it then has something to do."""
    rest = [other for other in others if other is not member]
    reached = st.sampled_from(list(seeds)).map(lambda seed: rewrite(trained_network(seed), rest))
    return reached.filter(lambda graph: bool(member.find(graph)))
