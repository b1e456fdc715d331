"""Small ONNX models for tests, built by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def model(
    nodes: Iterable[onnx.NodeProto],
    constants: Mapping[str, np.ndarray],
    *,
    input_shape: tuple[Any, ...],
    output: str = "y",
    input_name: str = "x",
    opset: int = 17,
    domains: Iterable[str] = (),
) -> onnx.ModelProto:
    """One input, one output, constants by name; nothing is said of the types that ops of other domains give."""
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info(input_name, TensorProto.FLOAT, input_shape)],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    sets = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    proto = helper.make_model(graph, opset_imports=sets, ir_version=8)
    if domains:
        return proto
    inferred = onnx.shape_inference.infer_shapes(proto)
    if not inferred.graph.output[0].type.tensor_type.HasField("shape"):
        inferred.graph.output[0].type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto())  # none can be inferred
    return inferred


def weights(*shape: int, seed: int = 0, scale: float = 0.5) -> np.ndarray:
    return np.random.default_rng(seed).normal(scale=scale, size=shape).astype(np.float32)


def mlp(inputs: int = 4, hidden: int = 5, outputs: int = 3, *, softmax: bool = False) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], name="fc1", transB=1),
        helper.make_node("Relu", ["h"], ["r"], name="relu1"),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["s" if softmax else "y"], name="fc2", transB=1),
    ]
    if softmax:
        nodes.append(helper.make_node("Softmax", ["s"], ["y"], name="soft"))
    constants = {
        "w1": weights(hidden, inputs),
        "b1": weights(hidden, seed=1),
        "w2": weights(outputs, hidden, seed=2),
        "b2": weights(outputs, seed=3),
    }
    return model(nodes, constants, input_shape=("N", inputs))


def residual_cnn() -> onnx.ModelProto:
    """Convolution, batch norm, a branch and a join, pooling, a fully-connected layer."""
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], name="c1", pads=[1, 1, 1, 1]),
        helper.make_node("BatchNormalization", ["c1", "g", "s", "m", "v"], ["n1"], name="n1"),
        helper.make_node("Relu", ["n1"], ["r1"], name="r1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], name="c2", pads=[1, 1, 1, 1]),
        helper.make_node("Add", ["c2", "r1"], ["a"], name="join"),
        helper.make_node("Relu", ["a"], ["r2"], name="r2"),
        helper.make_node("MaxPool", ["r2"], ["p"], name="pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Flatten", ["p"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], name="fc", transB=1),
    ]
    constants = {
        "w1": weights(3, 1, 3, 3),
        "g": 1 + weights(3, seed=1, scale=0.1),
        "s": weights(3, seed=2),
        "m": weights(3, seed=3),
        "v": 1 + np.abs(weights(3, seed=4)),
        "w2": weights(3, 3, 3, 3, seed=5, scale=0.2),
        "b2": weights(3, seed=6),
        "w3": weights(4, 3 * 3 * 3, seed=7),
        "b3": weights(4, seed=8),
    }
    return model(nodes, constants, input_shape=("N", 1, 6, 6))
