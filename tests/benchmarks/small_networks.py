"""Networks as they run on small devices, with weights by a seed, as ONNX models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

BATCHES = (1, 32, 1024)


class _Layers:
    """A model in the making: each method adds a layer to a value and returns the name of the result."""

    def __init__(self, *shape: int) -> None:
        self.shape, self.nodes, self.weights = shape, [], []
        self.random = np.random.default_rng(0)

    def model(self, y: str) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ("N", *self.shape))
        result = helper.make_tensor_value_info(y, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", [x], [result], self.weights)
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return onnx.shape_inference.infer_shapes(proto)

    def node(self, kind: str, *operands: str, **attributes: object) -> str:
        name = f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], name=name, **attributes))
        return name

    def weight(self, array: np.ndarray) -> str:
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    def conv(
        self, x: str, inner: int, outer: int, *kernel: int, groups: int = 1, bias: bool = True, **how: object
    ) -> str:
        shape = (outer, inner // groups, *kernel)
        w = self.weight(self.random.normal(scale=np.sqrt(2 / np.prod(shape[1:])), size=shape))
        b = (self.weight(self.random.normal(scale=0.1, size=outer)),) if bias else ()
        return self.node("Conv", x, w, *b, group=groups, **how)

    def linear(self, x: str, inner: int, outer: int) -> str:
        w = self.weight(self.random.normal(scale=np.sqrt(2 / inner), size=(outer, inner)))
        return self.node("Gemm", x, w, self.weight(self.random.normal(scale=0.1, size=outer)), transB=1)

    def norm(self, x: str, channels: int) -> str:
        shift, mean = (self.weight(self.random.normal(scale=0.1, size=channels)) for _ in range(2))
        gain, var = (self.weight(self.random.uniform(0.5, 1.5, size=channels)) for _ in range(2))
        return self.node("BatchNormalization", x, gain, shift, mean, var)

    def relu(self, x: str) -> str:
        return self.node("Relu", x)

    def flat(self, x: str) -> str:
        return self.node("Flatten", x)


def mlp() -> onnx.ModelProto:
    """784-128-64-10."""
    n = _Layers(784)
    x = n.relu(n.linear("x", 784, 128))
    x = n.relu(n.linear(x, 128, 64))
    return n.model(n.linear(x, 64, 10))


def cnn() -> onnx.ModelProto:
    """The layers of LeNet-5 (LeCun et al. 1998) with rectifiers and maxima, on 1x28x28."""
    n = _Layers(1, 28, 28)
    x = n.relu(n.conv("x", 1, 6, 5, 5, pads=[2, 2, 2, 2]))
    x = n.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = n.relu(n.conv(x, 6, 16, 5, 5))
    x = n.flat(n.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]))
    x = n.relu(n.linear(x, 400, 120))
    x = n.relu(n.linear(x, 120, 84))
    return n.model(n.linear(x, 84, 10))


def ds_cnn() -> onnx.ModelProto:
    """Depthwise separable convolutions on 49x10 features of speech (MLPerf Tiny's keyword spotting)."""
    n = _Layers(1, 49, 10)
    x = n.relu(n.norm(n.conv("x", 1, 64, 10, 4, strides=[2, 2], pads=[4, 1, 5, 1], bias=False), 64))
    for _ in range(4):
        x = n.relu(n.norm(n.conv(x, 64, 64, 3, 3, groups=64, pads=[1, 1, 1, 1], bias=False), 64))
        x = n.relu(n.norm(n.conv(x, 64, 64, 1, 1, bias=False), 64))
    x = n.linear(n.flat(n.node("GlobalAveragePool", x)), 64, 12)
    return n.model(n.node("Softmax", x, axis=1))


def resnet() -> onnx.ModelProto:
    """Eight layers with three residual blocks on 3x32x32 (MLPerf Tiny's image classification)."""
    n = _Layers(3, 32, 32)
    x, inner = n.relu(n.norm(n.conv("x", 3, 16, 3, 3, pads=[1, 1, 1, 1], bias=False), 16)), 16
    for outer in (16, 32, 64):
        step = [outer // inner] * 2
        y = n.conv(x, inner, outer, 3, 3, strides=step, pads=[1, 1, 1, 1], bias=False)
        y = n.relu(n.norm(y, outer))
        y = n.norm(n.conv(y, outer, outer, 3, 3, pads=[1, 1, 1, 1], bias=False), outer)
        past = x if outer == inner else n.conv(x, inner, outer, 1, 1, strides=step)
        x, inner = n.relu(n.node("Add", y, past)), outer
    x = n.linear(n.flat(n.node("GlobalAveragePool", x)), 64, 10)
    return n.model(n.node("Softmax", x, axis=1))


def mobilenet(size: int = 96) -> onnx.ModelProto:
    """MobileNetV2 (Sandler et al. 2018) of half the width, on 3x96x96."""
    n = _Layers(3, size, size)

    def limited(x: str) -> str:
        n.nodes.append(helper.make_node("Clip", [x, low, high], [name := f"clip{len(n.nodes)}"], name=name))
        return name

    low, high = (n.weight(np.array(limit)) for limit in (0.0, 6.0))
    x = limited(n.conv("x", 3, 16, 3, 3, strides=[2, 2], pads=[1, 1, 1, 1]))
    inner = 16
    for expansion, outer, count, stride in _BOTTLENECKS:
        for index in range(count):
            wide, step = inner * expansion, [stride if index == 0 else 1] * 2
            y = limited(n.conv(x, inner, wide, 1, 1)) if expansion > 1 else x
            y = limited(n.conv(y, wide, wide, 3, 3, groups=wide, pads=[1, 1, 1, 1], strides=step))
            y = n.conv(y, wide, outer, 1, 1)
            x, inner = (n.node("Add", x, y) if step == [1, 1] and inner == outer else y), outer
    x = limited(n.conv(x, inner, 1280, 1, 1))
    return n.model(n.linear(n.flat(n.node("GlobalAveragePool", x)), 1280, 10))


_BOTTLENECKS = (
    (1, 8, 1, 1),
    (6, 16, 2, 2),
    (6, 16, 3, 2),
    (6, 32, 4, 2),
    (6, 48, 3, 1),
    (6, 80, 3, 2),
    (6, 160, 1, 1),
)
"""Expansion, channels, blocks, and stride of the first one."""


def transformer(layers: int = 2, length: int = 128, width: int = 128, heads: int = 4) -> onnx.ModelProto:
    """An encoder (Vaswani et al. 2017) with the norm first and the error function, as PyTorch exports one."""
    n = _Layers(length, width)
    dense = {"root": np.sqrt(2.0), "half": 0.5, "one": 1.0, "scale": np.sqrt(width // heads)}
    number = {name: n.weight(np.array(value)) for name, value in dense.items()}

    def product(x: str, inner: int, outer: int) -> str:
        w = n.weight(n.random.normal(scale=1 / np.sqrt(inner), size=(inner, outer)))
        return n.node("Add", n.node("MatMul", x, w), n.weight(n.random.normal(scale=0.1, size=outer)))

    def norm(x: str) -> str:
        gain, shift = n.weight(n.random.uniform(0.5, 1.5, width)), n.weight(n.random.normal(scale=0.1, size=width))
        return n.node("LayerNormalization", x, gain, shift)

    def split(x: str, perm: list[int]) -> str:
        shape = n.node("Constant", value_ints=[-1, length, heads, width // heads])
        return n.node("Transpose", n.node("Reshape", x, shape), perm=perm)

    x = "x"
    for _ in range(layers):
        y = norm(x)
        q, k, v = (split(product(y, width, width), perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = n.node("Softmax", n.node("Div", n.node("MatMul", q, k), number["scale"]), axis=-1)
        y = n.node("Transpose", n.node("MatMul", scores, v), perm=[0, 2, 1, 3])
        y = n.node("Reshape", y, n.node("Constant", value_ints=[-1, length, width]))
        x = n.node("Add", x, product(y, width, width))
        y = product(norm(x), width, 4 * width)
        bell = n.node("Add", n.node("Erf", n.node("Div", y, number["root"])), number["one"])
        y = n.node("Mul", n.node("Mul", y, bell), number["half"])
        x = n.node("Add", x, product(y, 4 * width, width))
    return n.model(norm(x))


def exported_resnet(blocks: int, channels: int = 4) -> onnx.ModelProto:
    """So many residual blocks with what exporters leave between layers: nodes that do nothing, alone or in pairs."""
    n = _Layers(channels, 8, 8)

    def nothing(x: str) -> str:
        """The same value, after transposes to the other order of axes and back, reshapes, an identity and a dropout."""
        x = n.node("Transpose", n.node("Identity", x), perm=[0, 2, 3, 1])
        x = n.node("Transpose", n.node("Dropout", x), perm=[0, 3, 1, 2])
        for shape in ([0, -1], [0, channels, 8, 8]):
            x = n.node("Reshape", x, n.node("Constant", value_ints=shape))
        return n.node("Identity", x)

    def layer(x: str) -> str:
        """A convolution and its norm."""
        x = n.conv(x, channels, channels, 3, 3, pads=[1, 1, 1, 1], bias=False)
        return n.node("Identity", n.norm(nothing(x), channels))

    x = "x"
    for _ in range(blocks):
        y = layer(nothing(n.relu(n.relu(layer(x)))))
        x = n.node("Dropout", n.relu(n.node("Add", y, x)))
    x = n.linear(n.flat(n.node("GlobalAveragePool", x)), channels, 10)
    return n.model(n.node("Softmax", x, axis=1))


NETWORKS: dict[str, Callable[[], onnx.ModelProto]] = {"MLP": mlp, "CNN": cnn, "DS-CNN": ds_cnn, "ResNet-8": resnet}
LARGER: dict[str, Callable[[], onnx.ModelProto]] = {"MobileNetV2 x0.5": mobilenet, "transformer": transformer}


def inputs_of(model: onnx.ModelProto, batch: int) -> dict[str, np.ndarray]:
    (x,) = model.graph.input
    shape = [d.dim_value for d in x.type.tensor_type.shape.dim][1:]
    return {x.name: np.random.default_rng(1).standard_normal((batch, *shape), dtype=np.float32)}
