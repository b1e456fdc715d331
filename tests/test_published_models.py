"""Published networks that are not shipped: they lie beside a development checkout, and the tests skip without them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphrewrite import evaluate, hdl
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.lowering import from_onnx, from_tflite, partition, quantise, softmax_as_arg_max, to_integer, to_stream
from tests.support.litert import needs_litert, tensors

MODELS = Path(__file__).parents[2] / "shared" / "models"


def samples(name: str, count: int) -> np.ndarray:
    shape = {"three_layer_keras": (16,), "conv2d_small_keras": (8, 8, 1)}[name]
    return np.random.default_rng(0).normal(size=(count, *shape)).astype(np.float32)


@pytest.mark.ghdl
@pytest.mark.parametrize("name", ["three_layer_keras", "conv2d_small_keras"])
def test_every_level_agrees_down_to_ghdl(name: str) -> None:
    file = MODELS / f"{name}.onnx"
    if not file.is_file():
        pytest.skip(f"{file.name} is not beside this checkout")
    graph = softmax_as_arg_max(from_onnx(file))
    (given,), (wanted,) = graph.inputs, graph.outputs
    x = samples(name, 200)
    fixed = quantise(graph, x, bits=8)
    integer = to_integer(fixed)
    parts = partition(integer)
    stream = to_stream(integer, max_multipliers=200)
    encoded = parts.encode({given: x})
    found = parts.decode(evaluate(stream, encoded))[wanted]
    assert np.array_equal(found, evaluate(integer, {given: x})[wanted])
    assert np.array_equal(found, evaluate(fixed, {given: x})[wanted])
    assert (found == evaluate(graph, {given: x})[wanted]).mean() > 0.95
    report = hdl.cosimulate(hdl.emit(stream, inputs={k: v[:20] for k, v in encoded.items()}))
    assert report.equal, str(report)


@pytest.mark.parametrize("name", ["three_layer_keras", "conv2d_small_keras", "two_layer_pytorch"])
def test_it_evaluates_as_onnxruntime_does_at_the_batch_of_its_export(name: str) -> None:
    file = MODELS / f"{name}.onnx"
    if not file.is_file():
        pytest.skip(f"{file.name} is not beside this checkout")
    ort = pytest.importorskip("onnxruntime")
    graph = from_onnx(file, batch=None)
    (given,) = graph.inputs
    x = np.random.default_rng(0).standard_normal(graph.result_type(given).shape, dtype=np.float32)
    (wanted,) = ort.InferenceSession(str(file), providers=["CPUExecutionProvider"]).run(None, {given: x})
    (found,) = evaluate(graph, {given: x}).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    any_batch = from_onnx(file)
    np.testing.assert_allclose(
        evaluate(any_batch, {given: x[:7]})[any_batch.outputs[0]], wanted[:7], rtol=1e-4, atol=1e-5
    )
    assert any_batch.result_type(given).shape[0] == "N"


@needs_litert
@pytest.mark.parametrize("name", ["ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8"])
def test_every_tensor_is_what_litert_s_reference_kernels_compute(name: str) -> None:
    file = MODELS / "mlperf_tiny" / f"{name}.tflite"
    if not file.is_file():
        pytest.skip(f"{file.name} is not beside this checkout")
    graph = from_tflite(file)
    (given,) = graph.inputs
    x = np.random.default_rng(0).integers(-128, 128, (3, *graph.result_type(given).shape[1:])).astype(np.int8)
    nodes = [node for node in graph if graph.origin(node) == (node,) and graph.nodes[node]["type"] != "constant"]
    assert len(nodes) > 5
    found = {**evaluate_nodes(graph, {given: x}, nodes), **evaluate(graph, {given: x})}
    for at in range(len(x)):
        expected = tensors(file.read_bytes(), {given: x[at : at + 1]})
        for node, array in found.items():
            np.testing.assert_array_equal(array[at : at + 1], expected[node], err_msg=node)
