"""The nine published networks that the onnx package brings, with random weights: as onnxruntime computes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from graphrewrite import Tensor, verify
from graphrewrite.execution.program import compile_graph
from graphrewrite.lowering import from_onnx
from graphrewrite.lowering.exchange.onnx.model_file import without_weights
from tests.support.sessions import session_of

pytest.importorskip("onnxruntime")
FOLDER = Path(onnx.__file__).parent / "backend/test/data/light"
NETWORKS = {file.stem.removeprefix("light_"): file for file in sorted(FOLDER.glob("light_*.onnx"))}
LARGEST = ("vgg19", "zfnet512", "densenet121")
"""They take longest, and have no op that the others have not."""


def with_weights(file: Path) -> onnx.ModelProto:
    """The network with seeded weights where the file has shapes, and what enters its softmax as an output more."""
    proto = onnx.load(file)
    typed = {value.name: value for value in onnx.shape_inference.infer_shapes(proto).graph.value_info}
    shapes = {tensor.name: tensor for tensor in proto.graph.initializer}
    scales = {n.input[i] for n in proto.graph.node if n.op_type == "BatchNormalization" for i in (1, 4)}
    # Of a size that no shape is a multiple of, so that no two filters are alike.
    normal, nodes = np.random.default_rng(0).standard_normal(1_000_003, dtype=np.float32), []
    for node in proto.graph.node:
        if node.op_type != "ConstantOfShape":
            nodes.append(node)
            continue
        shape = tuple(numpy_helper.to_array(shapes[node.input[0]]))
        drawn = normal * np.float32(np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.1)
        if node.output[0] in scales:
            drawn = np.abs(drawn) + np.float32(0.5)
        # Written where it stays: the largest of them are half a gigabyte.
        raw = np.resize(drawn, shape).tobytes()
        proto.graph.initializer.add(name=node.output[0], dims=shape, data_type=onnx.TensorProto.FLOAT, raw_data=raw)
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    proto.graph.output.extend(typed[n.input[0]] for n in nodes if n.op_type == "Softmax")
    proto.ir_version = 8  # before, constants had to be inputs as well
    return proto


def test_there_are_nine() -> None:
    assert len(NETWORKS) == 9


@pytest.mark.slow
@pytest.mark.parametrize(
    "file",
    [pytest.param(f, id=n, marks=[pytest.mark.thorough] * (n in LARGEST)) for n, f in NETWORKS.items()],
)
def test_it_evaluates_as_onnxruntime_does(file: Path) -> None:
    proto = with_weights(file)
    graph = from_onnx(proto)
    verify(graph)
    kind = graph.result_type(graph.inputs[0])
    assert kind == Tensor("f32", ("N", 3, 224, 224))
    x = np.random.default_rng(1).standard_normal((1, 3, 224, 224), dtype=np.float32)
    names, found = graph.outputs, compile_graph(graph)({graph.inputs[0]: x})
    # onnxruntime is given the weights as further inputs: the largest have half a gigabyte, and are not copied for it.
    light, weights = without_weights(proto)
    given, fed = graph.inputs[0], {name: numpy_helper.to_array(tensor) for name, tensor in weights.items()}
    session = session_of(light.SerializeToString())
    for name, wanted in zip(names, session.run(None, {given: x, **fed}), strict=True):
        assert np.ptp(wanted) > 0
        np.testing.assert_allclose(found[name], wanted, rtol=1e-3, atol=1e-5 * np.abs(wanted).max())
