"""Ops of PyTorch compute what PyTorch computed in recorded calls; PyTorch is not needed for that."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphrewrite import Graph, Tensor, evaluate
from graphrewrite.formats import to_text
from graphrewrite.lowering.exchange.static_values import StaticValues
from graphrewrite.lowering.exchange.torch.call import Call, cast
from graphrewrite.lowering.exchange.torch_import import TORCH
from graphrewrite.types import as_element

# Written by `tests.support.record_torch_calls` with PyTorch 2.14.
with np.load(Path(__file__).with_name("recorded_calls.npz")) as stored:
    ARRAYS = {name: stored[name] for name in stored.files}
CALLS = defaultdict(list)
for each in json.loads(str(ARRAYS.pop("calls"))):
    CALLS[each["op"]].append(each)


def array_of(told: dict[str, Any]) -> np.ndarray:
    """The array that a file has at a place among all of its type."""
    size = math.prod(told["shape"])
    return ARRAYS[told["type"].removeprefix("torch.")][told["array"] :][:size].reshape(told["shape"])


def told(value: Any, graph: Graph, inputs: dict[str, np.ndarray]) -> Any:
    """An argument as the table gets it: tensors are inputs of a graph, or constants if they are known."""
    if isinstance(value, list):
        return tuple(told(part, graph, inputs) for part in value)
    if isinstance(value, dict) and "dtype" in value:
        return as_element(value["dtype"])
    if isinstance(value, dict):
        kind = Tensor(as_element(value["type"]), tuple(value["shape"]))
        if value["known"]:
            return graph.constant(array_of(value), type=kind)
        name = f"x{len(inputs)}"
        inputs[name] = array_of(value)
        return graph.input(name, kind)
    return value


def results_of(call: dict[str, Any]) -> tuple[Graph, list[np.ndarray], list[np.ndarray]]:
    """The graph of a call, what the table's entry gives, of the results that it gives, and what PyTorch gave."""
    graph, inputs = Graph("call"), dict[str, np.ndarray]()
    arguments = {name: told(value, graph, inputs) for name, value in call["arguments"].items()}
    kinds = tuple(Tensor(as_element(r["type"]), tuple(r["shape"])) for r in call["results"])
    static = StaticValues(graph)
    made = TORCH[call["op"]](Call(graph, arguments, kinds, str(as_element(call["common"])), static.array))
    wanted = []
    several = made if isinstance(made, tuple) else (made,)
    for i, (value, result) in enumerate(zip(several, call["results"], strict=True)):
        if value is not None:
            graph.output(f"y{i}", cast(value, as_element(result["type"])))
            wanted.append(array_of(result))
    return graph, [*evaluate(graph, inputs).values()], wanted


@pytest.mark.parametrize("op", sorted(CALLS))
def test_an_op_computes_what_was_recorded(op: str, same_text: Callable[[str], None]) -> None:
    compared, texts = 0, []
    for call in CALLS[op]:
        graph, found, wanted = results_of(call)
        texts.append(to_text(graph, whole=True))
        for ours, theirs in zip(found, wanted, strict=True):
            what = f"{op}{ {name: value for name, value in call['arguments'].items() if value is not None} }"
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), what
            bound = 2e-3 if theirs.dtype == np.float16 else 2e-5
            scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1)
            np.testing.assert_allclose(ours, theirs, rtol=bound, atol=bound * scale, err_msg=what)
            compared += 1
    assert compared > 0
    same_text("\n".join(texts))


@pytest.mark.parametrize("op", ["var", "std"])
@pytest.mark.parametrize(("settings", "nothing"), [({}, True), ({"correction": 3}, True), ({"unbiased": False}, False)])
def test_a_variance_of_too_few_numbers_is_none(op: str, settings: dict[str, Any], nothing: bool) -> None:
    """It is divided by no less than 0 (documentation of torch.var)."""
    graph = Graph("call")
    arguments = {"self": graph.input("x", Tensor("f32", (2, 1))), "dim": (1,), **settings}
    made = TORCH[f"aten.{op}"](Call(graph, arguments, (Tensor("f32", (2,)),), "f32", StaticValues(graph).array))
    graph.output("y", made)
    (found,) = evaluate(graph, {"x": np.float32([[3], [5]])}).values()
    np.testing.assert_array_equal(found, [np.nan] * 2 if nothing else [0, 0])
