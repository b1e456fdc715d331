"""LiteRT with its reference kernels, where it is installed; operators that they lack, or have wrong, have others."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib.util import find_spec

import numpy as np
import pytest

__all__ = ["needs_litert", "outputs", "steps", "tensors"]

needs_litert = pytest.mark.skipif(find_spec("ai_edge_litert") is None, reason="ai-edge-litert is not installed")


def tensors(data: bytes, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Every tensor of a model by name, as ``OpResolverType.BUILTIN_REF`` computes it."""
    interpreter = _run(data, inputs)
    return {d["name"]: interpreter.get_tensor(d["index"]) for d in interpreter.get_tensor_details()}


def outputs(data: bytes, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of a model, as the same kernels compute them."""
    interpreter = _run(data, inputs)
    return {d["name"]: interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()}


def steps(data: bytes, x: np.ndarray) -> list[np.ndarray]:
    """The output of a model after each step along the first axis of its input, as it keeps its state."""
    interpreter, found = _made(data), []
    for step in x:
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], step)
        interpreter.invoke()
        found.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    return found


def _run(data: bytes, inputs: Mapping[str, np.ndarray]):  # type: ignore[no-untyped-def]  # the package may be missing
    interpreter = _made(data)
    for d in interpreter.get_input_details():
        interpreter.set_tensor(d["index"], inputs[d["name"]])
    interpreter.invoke()
    return interpreter


def _made(data: bytes):  # type: ignore[no-untyped-def]  # the package may be missing
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ai_edge_litert.interpreter import Interpreter, OpResolverType
    for kernels in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
        try:
            interpreter = Interpreter(
                model_content=data,
                experimental_op_resolver_type=kernels,
                experimental_preserve_all_tensors=True,
            )
            interpreter.allocate_tensors()
            if not _is_wrong(interpreter):
                break
        except ValueError as error:
            if "Didn't find op" not in str(error):
                raise
    return interpreter


def _is_wrong(interpreter) -> bool:  # type: ignore[no-untyped-def]  # the package may be missing
    """Tell whether reference kernels (of 2.3) are wrong: sums of stored numbers are all one, LRN omits a channel."""
    kinds = {d["index"]: d["dtype"] for d in interpreter.get_tensor_details()}
    operators = {(d["op_name"], kinds.get(d["inputs"][0])) for d in interpreter._get_ops_details() if len(d["inputs"])}
    return bool(operators & {("SUM", np.int8), ("LOCAL_RESPONSE_NORMALIZATION", np.float32)})
