"""Ops of ONNX that few models have: steps of optimisers as its specification computes them, and random numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from graphrewrite import Graph, GraphRewriteError, evaluate
from graphrewrite.lowering import from_onnx, to_onnx
from graphrewrite.lowering.errors import ModelError, UnsupportedOpsError

Arrays = Mapping[str, np.ndarray]
PREVIEW = "ai.onnx.preview.training"


def imported(kind: str, inputs: Mapping[str, tuple[int, Any]], outputs: list[str], domain: str, **given: Any) -> Graph:
    node = helper.make_node(kind, list(inputs), outputs, domain=domain, **given)
    ports = [helper.make_tensor_value_info(name, *of) for name, of in inputs.items()]
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    sets = [helper.make_opsetid("", 18), *([helper.make_opsetid(domain, 1)] if domain else [])]
    return from_onnx(helper.make_model(helper.make_graph([node], "g", ports, results), opset_imports=sets))


def adagrad(r: float, t: int, x: Any, g: Any, h: Any, *, decay_factor=0.0, epsilon=1e-6, norm_coefficient=0.0) -> Any:
    slope = norm_coefficient * x + g
    h = h + slope**2
    return x - r / (1 + t * decay_factor) * slope / (np.sqrt(h) + epsilon), h


def adam(
    r: float, t: int, x: Any, g: Any, v: Any, h: Any,
    *, alpha=0.9, beta=0.999, epsilon=1e-6, norm_coefficient=0.0, norm_coefficient_post=0.0,
) -> Any:  # fmt: skip
    slope = norm_coefficient * x + g
    v, h = alpha * v + (1 - alpha) * slope, beta * h + (1 - beta) * slope**2
    rate = r * np.sqrt(1 - beta**t) / (1 - alpha**t) if t > 0 else r
    return (1 - norm_coefficient_post) * (x - rate * v / (np.sqrt(h) + epsilon)), v, h


def momentum(
    r: float, t: int, x: Any, g: Any, v: Any, *, alpha: float, beta: float, mode: str, norm_coefficient: float
) -> Any:
    slope = norm_coefficient * x + g
    v = alpha * v + (beta if t > 0 else 1.0) * slope
    return x - r * (slope + alpha * v if mode == "nesterov" else v), v


STEPS: list[tuple[str, Callable[..., Any], int, dict[str, Any]]] = [
    ("Adagrad", adagrad, 3, {}),
    ("Adagrad", adagrad, 3, {"decay_factor": 0.25, "epsilon": 0.5, "norm_coefficient": 0.75}),
    ("Adam", adam, 4, {}),
    ("Adam", adam, 4, {"alpha": 0.5, "beta": 0.75, "epsilon": 0.5, "norm_coefficient": 0.75}),
    ("Adam", adam, 4, {"alpha": 0.5, "beta": 0.75, "norm_coefficient_post": 0.25}),
    ("Momentum", momentum, 3, {"alpha": 0.5, "beta": 0.75, "mode": "standard", "norm_coefficient": 0.25}),
    ("Momentum", momentum, 3, {"alpha": 0.5, "beta": 0.75, "mode": "nesterov", "norm_coefficient": 0.0}),
]


@pytest.mark.parametrize("time", [0, 3])
@pytest.mark.parametrize(("kind", "step", "count", "given"), STEPS)
def test_a_step_of_an_optimiser(
    kind: str, step: Callable[..., Any], count: int, given: dict[str, Any], time: int
) -> None:
    random = np.random.default_rng(3)
    shapes = ((2, 3), (4,))  # two tensors in one node: first both, then both gradients, and so on
    names = [[f"{part}{i}" for i in range(2)] for part in "xgvh"[:count]]
    state = {name: random.uniform(0.5, 2, shapes[i]).astype(np.float32) for row in names for i, name in enumerate(row)}
    inputs = {"r": (TensorProto.FLOAT, []), "t": (TensorProto.INT64, [])}
    inputs |= {name: (TensorProto.FLOAT, array.shape) for name, array in state.items()}
    results = [f"new_{name}" for row in (names[0], *names[2:]) for name in row]
    graph = imported(kind, inputs, results, PREVIEW, **given)
    found = evaluate(graph, {"r": np.float32(0.1), "t": np.int64(time), **state})
    for i in range(2):
        wanted = step(0.1, time, *(state[row[i]] for row in names), **given)
        for name, array in zip(results[i::2], wanted, strict=True):
            np.testing.assert_allclose(found[name], array, rtol=2e-5)


def test_operands_that_are_not_those_of_each_tensor_are_refused() -> None:
    inputs = {"r": (TensorProto.FLOAT, []), "t": (TensorProto.INT64, [])}
    inputs |= {name: (TensorProto.FLOAT, [2]) for name in ("x", "g", "v", "h")}
    with pytest.raises((ModelError, UnsupportedOpsError), match="4 operands are not 3 for each tensor"):
        imported("Adagrad", inputs, ["y", "z"], PREVIEW)


def drawn(kind: str, **given: Any) -> Graph:
    return imported(kind, {"x": (TensorProto.FLOAT, [2, 3])}, ["y"], "", **given)


def attributes_of(graph: Graph) -> dict[str, Any]:
    (node,) = [n for n in graph if graph.nodes[n]["type"] in ("rand_like", "randn_like")]
    return dict(graph.attributes(node))


@pytest.mark.parametrize(("seed", "held"), [(7.0, 7), (0.0, 0), (2.0**24 - 1, 2**24 - 1), (0.5, 0x3F000000)])
def test_a_seed_is_a_whole_number_or_its_bits(seed: float, held: int) -> None:
    for kind in ("RandomUniformLike", "RandomNormalLike"):
        assert attributes_of(drawn(kind, seed=seed))["seed"] == held


@pytest.mark.parametrize("seed", [2.0**24, -1.0])
def test_a_seed_that_no_float_tells_from_others_is_read_by_its_bits(seed: float) -> None:
    graph = drawn("RandomNormalLike", seed=seed)
    assert attributes_of(graph)["seed"] == int(np.float32(seed).view(np.uint32))
    with pytest.raises(GraphRewriteError, match="ONNX has no seed"):
        to_onnx(graph)


def test_limits_and_moments_come_back() -> None:
    for kind, given in (
        ("RandomUniformLike", {"low": -2.0, "high": 3.0}),
        ("RandomNormalLike", {"mean": 2.0, "scale": 0.5}),
    ):
        graph = drawn(kind, seed=5.0, **given)
        assert given.items() <= attributes_of(graph).items()
        (node,) = [node for node in to_onnx(graph).graph.node if node.op_type == kind]
        said = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        assert given.items() | {("seed", 5.0)} <= said.items()


@pytest.mark.parametrize("results", [1, 2])
@pytest.mark.parametrize("training", [False, True])
def test_what_drops_out_in_training_only(training: bool, results: int) -> None:
    constants = [helper.make_tensor("r", TensorProto.FLOAT, [], [0.5])]
    constants.append(helper.make_tensor("t", TensorProto.BOOL, [], [training]))
    node = helper.make_node("Dropout", ["x", "r", "t"], ["y", "m"][:results])
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, 3]) for name in "xy"]
    model = helper.make_graph([node], "g", ends[:1], ends[1:], constants)
    graph = from_onnx(helper.make_model(model, opset_imports=[helper.make_opsetid("", 13)]))
    kinds = {data["type"] for _, data in graph.nodes(data=True)}
    assert {"dropout", "random_dropout"} & kinds == {"random_dropout" if training else "dropout"}
