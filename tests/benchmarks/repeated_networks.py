"""ONNX models of any length, as exporters write them: one block again and again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

__all__ = ["REPEATED", "write_repeated"]


class _Writer:
    def __init__(self, *shape: int) -> None:
        self.shape, self.nodes, self.constants = shape, [], []
        self.random = np.random.default_rng(0)

    def constant(self, value: object, kind: type = np.float32) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, kind), name))
        return name

    def weights(self, *shape: int, least: float = -0.2) -> str:
        return self.constant(self.random.uniform(least, least + 0.4, shape))

    def add(self, kind: str, *operands: str, **attributes: object) -> str:
        name = f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name=name, **attributes))
        return name

    def conv(self, x: str, before: int, after: int, size: int = 1, groups: int = 1) -> str:
        """A convolution and a batch norm."""
        y = self.add("Conv", x, self.weights(after, before // groups, size, size), pads=[size // 2] * 4, group=groups)
        return self.add(
            "BatchNormalization", y, *[self.weights(after, least=least) for least in (0.8, -0.2, -0.2, 0.8)]
        )

    def linear(self, x: str, before: int, after: int) -> str:
        return self.add("Add", self.add("MatMul", x, self.weights(before, after)), self.weights(after))

    def norm(self, x: str, size: int) -> str:
        """A layer norm in parts."""
        apart = self.add("Sub", x, self.add("ReduceMean", x, axes=[-1]))
        variance = self.add("ReduceMean", self.add("Pow", apart, self.constant(2)), axes=[-1])
        scaled = self.add("Div", apart, self.add("Sqrt", self.add("Add", variance, self.constant(1e-5))))
        return self.add("Add", self.add("Mul", scaled, self.weights(size)), self.weights(size))

    def heads(self, x: str, size: int, *, perm: tuple[int, ...] = (0, 2, 1, 3)) -> str:
        parts = self.add("Reshape", self.linear(x, size, size), self.constant([0, -1, 4, size // 4], np.int64))
        return self.add("Transpose", parts, perm=perm)

    def model(self, y: str) -> onnx.ModelProto:
        graph = helper.make_graph(
            self.nodes,
            "repeated",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)],
            [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)],
            self.constants,
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def _mobile(blocks: int) -> onnx.ModelProto:
    """Inverted residuals: a wider convolution, one by channel, a narrower one."""
    net, channels = _Writer(1, 8, 16, 16), 8
    x = "x"
    for _ in range(blocks):
        y = net.conv(x, channels, 4 * channels)
        y = net.add("Clip", y, net.constant(0), net.constant(6))
        y = net.conv(y, 4 * channels, 4 * channels, 3, 4 * channels)
        y = net.add("Clip", y, net.constant(0), net.constant(6))
        x = net.add("Add", x, net.conv(y, 4 * channels, channels))
    return net.model(net.linear(net.add("Flatten", net.add("GlobalAveragePool", x)), channels, 10))


def _residual(blocks: int) -> onnx.ModelProto:
    net, channels = _Writer(1, 8, 8, 8), 8
    x = "x"
    for _ in range(blocks):
        y = net.add("Relu", net.conv(x, channels, channels, 3))
        x = net.add("Relu", net.add("Add", net.conv(y, channels, channels, 3), x))
    return net.model(net.linear(net.add("Flatten", net.add("GlobalAveragePool", x)), channels, 10))


def _transformer(blocks: int) -> onnx.ModelProto:
    """Attention of four heads and two layers with a gelu between them, all in parts."""
    size = 32
    net = _Writer(1, 16, size)
    x = "x"
    for _ in range(blocks):
        y = net.norm(x, size)
        queries, keys, values = net.heads(y, size), net.heads(y, size, perm=(0, 2, 3, 1)), net.heads(y, size)
        scores = net.add("Div", net.add("MatMul", queries, keys), net.constant((size // 4) ** 0.5))
        y = net.add("Transpose", net.add("MatMul", net.add("Softmax", scores, axis=-1), values), perm=(0, 2, 1, 3))
        y = net.add("Reshape", y, net.constant([0, -1, size], np.int64))
        x = net.add("Add", x, net.linear(y, size, size))
        y = net.linear(net.norm(x, size), size, 4 * size)
        erf = net.add("Add", net.add("Erf", net.add("Div", y, net.constant(2**0.5))), net.constant(1))
        y = net.add("Mul", net.add("Mul", y, erf), net.constant(0.5))
        x = net.add("Add", x, net.linear(y, 4 * size, size))
    return net.model(x)


REPEATED: dict[str, tuple[Callable[[int], onnx.ModelProto], int]] = {
    "mobile block": (_mobile, 1),
    "mobile": (_mobile, 16),
    "residual": (_residual, 640),
    "transformer block": (_transformer, 1),
    "transformer": (_transformer, 63),
}
"""By name what makes a model, and of how many blocks."""


def write_repeated(name: str, folder: Path) -> Path:
    """Write one of the models to a file of its name."""
    make, blocks = REPEATED[name]
    path = folder / f"{name}.onnx"
    onnx.save(make(blocks), path)
    return path
