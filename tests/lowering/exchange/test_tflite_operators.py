"""Operators of TensorFlow Lite compute what LiteRT's reference kernels (``BUILTIN_REF``) compute: bit for bit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from graphrewrite import Graph, evaluate, verify
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.formats import to_text
from graphrewrite.lowering import from_tflite, to_onnx
from graphrewrite.lowering.exchange.tflite.tables import TFLITE
from tests.models_roundtrip.make_tflite import FILE, KEEPING
from tests.support.litert import needs_litert, outputs, tensors
from tests.support.tflite_files import T
from tests.support.tflite_more_cases import PLAIN, STORED
from tests.support.tflite_networks import network
from tests.support.tflite_tensors import inputs_of

NEAR = 1e-5
"""Of real numbers: they are summed in another order."""


@cache
def recorded() -> dict[str, dict[str, dict[str, np.ndarray]]]:
    """What LiteRT computed, by case."""
    found: dict[str, dict[str, dict[str, np.ndarray]]] = defaultdict(lambda: defaultdict(dict))
    with np.load(FILE) as arrays:
        for key, array in arrays.items():
            case, what, *name = key.split("|")
            found[case][what]["".join(name)] = array
    return found


def assert_computes(
    data: bytes, inputs: dict[str, np.ndarray], expected: dict[str, np.ndarray], *, real: bool
) -> Graph:
    graph = from_tflite(data)
    verify(graph)
    found = evaluate(graph, inputs)
    assert found.keys() == expected.keys()
    for name, array in found.items():
        assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape)
        if real:
            np.testing.assert_allclose(array, expected[name], rtol=NEAR, atol=NEAR)
        else:
            np.testing.assert_array_equal(array, expected[name])
    return graph


@pytest.mark.parametrize("case", [*STORED, *(f"real {kind}" for kind in PLAIN)])
def test_an_operator_computes_what_was_recorded(case: str, same_text: Callable[[str], None]) -> None:
    data = recorded()[case]["model"][""].tobytes()
    graph = assert_computes(data, recorded()[case]["in"], recorded()[case]["out"], real=case.startswith("real"))
    same_text(to_text(graph, whole=True))


@pytest.mark.parametrize("case", [*STORED, *(f"real {kind}" for kind in PLAIN)])
def test_an_operator_with_other_options_becomes_the_recorded_graph(case: str, same_text: Callable[[str], None]) -> None:
    """Of the seeds with which `test_operators_compute_what_litert_does` compares values."""
    kind = case.removeprefix("real ")
    make, texts = (PLAIN if case.startswith("real ") else STORED)[kind], []
    for seed in range(4):
        data, _ = make(np.random.default_rng([seed, len(kind)]))
        texts.append(to_text(from_tflite(data), whole=True))
    same_text("\n".join(texts))


def test_every_tensor_of_a_network_is_what_was_recorded() -> None:
    case = recorded()["network"]
    graph = from_tflite(case["model"][""].tobytes())
    nodes = [node for node in graph if node in case["out"] and node not in (*graph.inputs, *graph.outputs)]
    assert set(nodes) >= {"a/Relu", "b/depthwise", "c/Relu6", "c/add", "pool", "flat", "scores"}
    found = {**evaluate_nodes(graph, case["in"], nodes), **evaluate(graph, case["in"])}
    for node in (*nodes, *graph.outputs):
        np.testing.assert_array_equal(found[node], case["out"][node], err_msg=node)


def test_a_network_is_written_as_onnx_that_onnxruntime_computes_bit_for_bit() -> None:
    session = pytest.importorskip("onnxruntime").InferenceSession
    case = recorded()["network"]
    proto = to_onnx(from_tflite(case["model"][""].tobytes()))
    (y,) = session(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, case["in"])
    np.testing.assert_array_equal(y, case["out"]["Identity"])


@pytest.mark.parametrize("case", [case for case, *_ in KEEPING])
def test_a_state_goes_from_step_to_step(case: str) -> None:
    graph = from_tflite(recorded()[case]["model"][""].tobytes())
    kept = {name: graph.node(name) for name in graph.inputs[1:]}
    states = {n: np.broadcast_to(node.initial, (1, *graph.result_type(n).shape[1:])) for n, node in kept.items()}
    for x, y in zip(recorded()[case]["in"]["x"], recorded()[case]["out"]["y"], strict=True):
        found = evaluate(graph, {"x": x, **states})
        states = {name: found[node.next] for name, node in kept.items()}
        np.testing.assert_allclose(found["y"], y, rtol=NEAR, atol=NEAR if case.startswith("real") else 0)


@needs_litert
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
def test_operators_compute_what_litert_does(seed: int) -> None:
    for table, real in ((STORED, False), (PLAIN, True)):
        for kind, make in table.items():
            data, inputs = make(np.random.default_rng([seed, len(kind)]))
            try:
                expected = outputs(data, inputs)
            except (RuntimeError, ValueError):
                continue  # it has no such kernel, or none for such numbers
            try:
                assert_computes(data, inputs, expected, real=real)
            except Exception as error:
                raise AssertionError(f"{kind} of seed {seed}") from error


@needs_litert
def test_a_network_computes_what_litert_does_at_any_batch() -> None:
    data = network(1)
    graph = from_tflite(data)
    x = inputs_of(np.random.default_rng(1), [T("input:0", (8, 12, 6, 2))])["input:0"]
    nodes = [node for node in graph if "/" in node and not node.endswith(("w", "b", "bias"))]
    found = {**evaluate_nodes(graph, {"input:0": x}, nodes), **evaluate(graph, {"input:0": x})}
    for at in range(len(x)):
        expected = tensors(data, {"input:0": x[at : at + 1]})
        for name, array in found.items():
            np.testing.assert_array_equal(array[at : at + 1], expected[name], err_msg=name)


def test_the_recorded_cases_reach_most_operators() -> None:
    kinds = {case.removeprefix("real ").split(" ")[0] for case in recorded()}
    assert len(kinds & set(TFLITE)) > 60, sorted(set(TFLITE) - kinds)
