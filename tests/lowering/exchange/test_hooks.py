"""Hooks of imports: one mechanism for ONNX, TensorFlow, TensorFlow Lite, Keras and single nodes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from graphrewrite import Graph, op
from graphrewrite.lowering import Hook, ModelError, from_keras, from_onnx, from_tensorflow, from_tflite, interpret_onnx
from graphrewrite.lowering.exchange.hooks import Hooks, ModelInfo
from tests.lowering.exchange.test_tensorflow import frozen, placeholder, written
from tests.support.tflite_files import Node, T, model

TEXT = """<ir_version: 8, opset_import: ["" : 17, "acme" : 3], producer_name: "maker", producer_version: "2">
g (float[N, 2] x) => (float[N, 2] y) { a = acme.Swirl <k: int = 2> (x)  y = Relu (a) }"""


def of_onnx(*hooks: Hook) -> Graph:
    return from_onnx(onnx.parser.parse_model(TEXT), hooks=hooks)


def of_tensorflow(*hooks: Hook) -> Graph:
    nodes = (placeholder("x", (-1, 2)), written("a", "Swirl", ["x"]), written("y", "Relu", ["a"]))
    return from_tensorflow(frozen(*nodes), hooks=hooks)


READERS = {"onnx": (of_onnx, "acme.Swirl", "Relu"), "tensorflow": (of_tensorflow, "Swirl", "Relu")}
X = np.float32([[-1, 2]])


@pytest.fixture(params=READERS)
def reader(request: pytest.FixtureRequest) -> Any:
    return READERS[request.param]


def test_a_node_becomes_values_or_another_node(reader: Any) -> None:
    read, swirl, relu = reader
    seen = []

    def before(node: Any) -> Any:
        seen.append((node.op, node.name, node.outputs, node.model.framework))
        return op.mul(node.inputs[0], node.inputs[0])

    np.testing.assert_array_equal(read(Hook(before, op=swirl))(X), [[1, 4]])
    assert [each[0] for each in seen] == [swirl]
    graph = read(Hook(before=lambda node: replace(node, op="Neg", attributes={}), node="a"))
    np.testing.assert_array_equal(graph(X), [[1, 0]])
    assert graph.origin(next(n for n in graph if graph.nodes[n]["type"] == "neg")) == ("a",)
    # None of it is left, and something follows another one.
    gone = read(Hook(before=lambda node: node.inputs[0], op=swirl), Hook(after=lambda node, y: op.neg(y), op=relu))
    np.testing.assert_array_equal(gone(X), [[0, -2]])


def test_versions_and_names_of_the_model() -> None:
    told = []
    hook = Hook(lambda info: told.append(info) or {"x": "image", "y": "scores"}, lambda info, graph: graph.copy())
    graph = of_onnx(hook)
    assert (graph.inputs, graph.outputs) == (("image",), ("scores",))
    (info,) = told
    assert (info.framework, info.producer, dict(info.versions)) == ("onnx", "maker 2", {"": 17, "acme": 3})
    assert dict(info.ops) == {"a": "acme.Swirl", "y": "Relu"}
    of_tensorflow(Hook(told.append), Hook(lambda node: node.inputs, op="Swirl"))
    assert told[-1].versions == {"producer": 0, "min_consumer": 0}


def test_of_tensorflow_lite() -> None:
    tensors = [T(name, (1, 2), "f32") for name in "xay"]
    data = model(tensors, [Node("CUSTOM", ["x"], ["a"]), Node("RELU", ["a"], ["y"])], ["x"], ["y"])
    kinds = []
    hook = Hook(lambda node: kinds.append(node.op) or op.mul(node.inputs[0], node.inputs[0]), node="a")
    np.testing.assert_array_equal(from_tflite(data, hooks=[hook])(X), [[1, 4]])
    other = Hook(lambda node: replace(node, op="NEG", attributes={}), op=kinds[0])
    np.testing.assert_array_equal(from_tflite(data, hooks=[other])(X), [[1, 0]])


@pytest.mark.parametrize(
    ("hook", "told"),
    [
        (
            Hook(lambda node: 3, op="acme.Swirl"),
            r"hook .*lambda.* before node 'a' \(acme.Swirl\) returned int; return None",
        ),
        (
            Hook(lambda node: (node.inputs[0],) * 2, op="acme.Swirl"),
            "returned 2 values; return one for each of its res",
        ),
        (Hook(lambda node: Graph("h").input("x", node.inputs[0].type), op="acme.Swirl"), "a value of another graph"),
        (Hook(lambda node: 1 / 0, node="a"), r"before node 'a' \(acme.Swirl\): division by zero"),
        (Hook(after=lambda node, y: "y", op="Relu"), r"after node 'y' \(Relu\) returned"),
        (Hook(lambda node: None, node="aa"), r"the node 'aa', which the model does not have; did you mean 'a'"),
        (Hook(op="Relu"), "has no function; give it before= or after="),
        ((lambda node: None), "is no hook; write Hook"),
        (Hook(lambda info: {"xx": "z"}), "renames 'xx', which the graph does not have"),
        (Hook(lambda info: 3), "hook .* before the model returned int; return None, or new names"),
        (Hook(after=lambda info, graph: 3), "after the model returned int; return None or a Graph"),
        (
            Hook(lambda node: replace(node, attributes={"k": object()}), op="Relu"),
            "the attribute 'k', which is none of ONNX",
        ),
    ],
)
def test_what_a_hook_returns_is_checked(hook: Any, told: str) -> None:
    with pytest.raises(ModelError, match=told):
        of_onnx(hook)


def test_a_single_node() -> None:
    node = onnx.helper.make_node("Swirl", ["x"], ["y"], k=2, name="s")
    before = Hook(lambda node: replace(node, op="LeakyRelu", attributes={"alpha": 0.5}), op="Swirl")
    after = Hook(after=lambda node, found: replace(found, name=f"{node.name}_{node.model.versions['']}"), node="s")
    found = interpret_onnx(node, hooks=[before, after], opset=17)
    assert (found.descriptor.name, found.name, found.values["floats"]) == ("leaky_relu", "s_17", {"alpha": 0.5})
    with pytest.raises(ModelError, match="returned str; return None or a ModelNode, as there is no graph"):
        interpret_onnx(node, hooks=[Hook(lambda node: "x", op="Swirl")])


def test_only_what_comes_before_may_give_a_node_another_meaning() -> None:
    def same(*values: Any) -> None:
        """Change nothing."""

    hooks = Hooks([Hook(after=same, op="Relu"), Hook(same, node="b"), Hook(same)], ModelInfo("onnx", "", {}, {}))
    told = {
        (op, name): (hooks.are_for(op, name), hooks.are_for(op, name, before=True))
        for op in ("Relu", "Neg")
        for name in "ab"
    }
    assert told == {
        ("Relu", "a"): (True, False), ("Relu", "b"): (True, True), ("Neg", "a"): (False, False),
        ("Neg", "b"): (True, True),
    }  # fmt: skip


def test_layers_of_keras(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    config = (
        '{"class_name": "Sequential", "config": {"name": "m", "layers": [{"class_name": "InputLayer", "config": '
        '{"name": "x", "batch_shape": [null, 2], "dtype": "float32"}}, '
        '{"class_name": "Swirl", "config": {"name": "s"}}]}}'
    )
    with h5py.File(tmp_path / "m.h5", "w") as file:
        file.attrs["model_config"], file.attrs["keras_version"] = config, "3.1.0"
        file.create_group("model_weights")
    with pytest.raises(ModelError, match="Swirl"):
        from_keras(tmp_path / "m.h5")
    versions = []
    hook = Hook(lambda layer: versions.append(layer.model.versions["keras"]) or op.neg(layer.inputs[0]), op="Swirl")
    np.testing.assert_array_equal(from_keras(tmp_path / "m.h5", hooks=[hook])(X), [[1, -2]])
    assert versions == [3]
