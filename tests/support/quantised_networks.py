"""Random quantised networks, as quantisers of ONNX write them: stored numbers, layers between their floats."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value

STORAGE = {"i8": np.int8, "u8": np.uint8, "i16": np.int16}


@dataclass
class QuantisedNetwork:
    """Adds random quantised layers to a graph; kinds and sizes are drawn, numbers come from a seeded generator."""

    draw: st.DrawFn
    random: np.random.Generator
    graph: Graph = field(default_factory=lambda: Graph("net"))

    def pick(self, *choices):
        return self.draw(st.sampled_from(choices))

    def scale(self, low: float = -7, high: float = -3) -> np.float32:
        """Any number, or a power of two, with which ties are frequent."""
        exponent = self.random.uniform(low, high)
        return np.float32(2.0 ** (exponent if self.pick(True, True, False) else round(exponent)))

    def stored(self, x: Value) -> Value:
        """Quantise and dequantise."""
        kind = self.pick("i8", "u8", "u8", "i16")
        limits = np.iinfo(STORAGE[kind])
        zero = self.pick(limits.min, 0, int(self.random.integers(max(limits.min, -200), min(limits.max, 200) + 1)))
        scale, zero = self.scale() * np.float32(1 if kind != "i16" else 0.01), np.asarray(zero, STORAGE[kind])
        return op.dequantize_linear(op.quantize_linear(x, scale, zero), scale, zero)

    def weights(self, shape: tuple[int, ...], axis: int) -> Value | np.ndarray:
        """Weights of 8 or 4 bits: dequantised in the graph, with one scale or one an output, or folded before."""
        most = self.pick(127, 127, 7, 1)
        whole = self.random.integers(-most, most + 1, shape).astype(np.int8)
        count = shape[axis] if self.pick(True, False) else 1
        scales = np.array([self.scale() for _ in range(count)], np.float32)
        scales = scales if count > 1 else scales.reshape(())
        zeros = np.zeros(scales.shape, np.int8)
        if self.pick(True, False, False):
            zeros = zeros + np.int8(self.random.integers(-3, 4))
        if self.pick(True, False):
            return op.dequantize_linear(self.graph.constant(whole), scales, zeros, axis=axis)
        shape = [-1 if i == axis else 1 for i in range(whole.ndim)]
        spread = [p.reshape(shape) if p.ndim else p for p in (scales, zeros.astype(np.float32))]
        return (whole.astype(np.float32) - spread[1]) * spread[0]

    def bias(self, size: int) -> tuple[np.ndarray, ...]:
        """None, one on any grid, or any floats."""
        kind = self.pick("none", "grid", "float", "zero")
        if kind == "none":
            return ()
        if kind == "float":
            return (self.random.normal(size=size).astype(np.float32),)
        whole = self.random.integers(-5000, 5000, size).astype(np.float32)
        return (whole * (self.scale(-14, -6) if kind == "grid" else np.float32(0)),)

    def convolution(self, x: Value) -> Value:
        channels, *sizes = x.type.shape[1:]
        groups = self.pick(1, 1, channels)
        outputs = groups * self.pick(1, 1, 3) if groups > 1 else self.pick(1, 3, 4)
        kernel, stride = (min(self.pick(1, 2, 3), s) for s in sizes), self.pick(1, 1, 2)
        kernel = tuple(kernel)
        dilation = 2 if max(kernel) * 2 - 1 <= min(sizes) and self.pick(True, False) else 1
        return op.conv(
            x,
            self.weights((outputs, channels // groups, *kernel), 0),
            *self.bias(outputs),
            groups=groups,
            strides=(stride,) * len(sizes),
            dilations=(dilation,) * len(sizes),
            pads=tuple(self.pick(0, 1) for _ in range(2 * len(sizes))),
        )

    def transposed(self, x: Value) -> Value:
        channels, *sizes = x.type.shape[1:]
        groups, outputs = self.pick(1, channels), self.pick(1, 2)
        w = self.weights((channels, outputs, *[2] * len(sizes)), 1)
        how = {"strides": (2,) * len(sizes), "dilations": (1,) * len(sizes), "pads": (0, 1) * len(sizes)}
        return op.conv_transpose(
            x, w, *self.bias(outputs * groups), groups=groups, **how, output_padding=(0,) * len(sizes)
        )

    def rows(self, x: Value) -> Value:
        if len(x.type.shape) > 2:
            x = op.flatten(x)
        inner, outer = int(x.type.shape[1]), self.pick(1, 3, 5)
        match self.pick("linear", "gemm", "transposed", "matmul"):
            case "linear":
                return op.linear(x, self.weights((outer, inner), 0), *self.bias(outer))
            case "gemm":
                return op.gemm(x, self.weights((inner, outer), 1), *self.bias(outer), alpha=self.pick(1.0, 0.3))
            case "transposed":
                return op.gemm(x, self.weights((outer, inner), 0), *self.bias(outer), trans_b=True, beta=0.5)
        y = op.matmul(x, self.weights((inner, outer), 1))
        return op.add(y, *bias) if (bias := self.bias(outer)) else y

    def pooling(self, x: Value) -> Value:
        sizes = x.type.shape[2:]
        how = {"kernel": tuple(min(2, s) for s in sizes), "strides": (self.pick(1, 2),) * len(sizes)}
        how["pads"] = tuple(self.pick(0, 0, min(how["kernel"]) - 1) for _ in range(2 * len(sizes)))
        match self.pick("max", "average", "global", "reduce"):
            case "max":
                return op.max_pool(x, **how)
            case "average":
                return op.average_pool(x, **how, count_include_pad=self.pick(True, False))
            case "global":
                return op.global_average_pool(x)
        return op.reduce_mean(x, axes=tuple(range(2, 2 + len(sizes))), keep_dims=self.pick(True, False))

    def norm(self, x: Value) -> Value:
        parameters = [self.random.normal(size=x.type.shape[1]).astype(np.float32) for _ in range(3)]
        return op.batch_norm(x, *parameters, np.square(parameters[0]) + np.float32(0.5))

    def after(self, x: Value, *, keeps_shape: bool = False) -> Value:
        """What stands between a layer and the next quantisation."""
        for _ in range(self.pick(0, 1, 1, 2)):
            match self.pick("relu", "clip", "norm", "scale", *(() if keeps_shape else ("max",))):
                case "relu":
                    x = op.relu(x)
                case "clip":
                    x = op.clip(x, low=self.pick(None, 0.0, -0.3), high=self.pick(6.0, 0.7))
                case "norm":
                    x = self.norm(x)
                case "scale":
                    x = op.mul(x, np.float32(self.pick(0.7, -1.5)))
                case "max" if len(x.type.shape) > 2 and min(x.type.shape[2:]) > 1:
                    rank = len(x.type.shape) - 2
                    x = op.max_pool(x, kernel=(2,) * rank, strides=(1,) * rank, pads=(0,) * 2 * rank)
        return x

    def layer(self, x: Value) -> Value:
        has_positions = len(x.type.shape) > 2
        match self.pick("conv", "conv", "rows", "pool", "residual", "move", "norm", "product"):
            case "conv" if has_positions:
                return self.after(self.transposed(x) if self.pick(*[False] * 7, True) else self.convolution(x))
            case "pool" if has_positions:
                return self.after(self.pooling(x))
            case "residual":
                return self.after(op.add(x, self.stored(self.after(x, keeps_shape=True))))
            case "move":
                if self.pick(True, False):
                    return op.relu(x)
                other = self.after(x, keeps_shape=True)
                return op.concat(x, self.pick(x, other, self.stored(other)), axis=self.pick(1, len(x.type.shape) - 1))
            case "norm":
                return self.after(self.norm(x))
            case "product" if not has_positions:
                return op.matmul(x, self.stored(op.transpose(x, perm=(1, 0))))
            case "conv" | "pool":
                return self.after(self.rows(x))
        return self.after(self.rows(x))


@st.composite
def quantised_networks(draw) -> Graph:
    """One to four quantised layers, of which some are outputs, and perhaps a head of floats."""
    made = QuantisedNetwork(draw, np.random.default_rng(draw(st.integers(0, 2**32 - 1))))
    shape = made.pick((6,), (2, 5), (2, 4, 5), (3, 5, 4), (1, 2, 3, 2))
    g = made.graph
    x = made.stored(g.input("x", Tensor("f32", ("N", *shape))))
    for _ in range(made.pick(1, 2, 3, 4)):
        mixes = x.type.shape[-1] == "N"
        x = made.stored(x if mixes else made.layer(x))
    g.output("y", x if made.pick(True, False) else op.softmax(x, axis=-1))
    return g
