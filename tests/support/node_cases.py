"""The node cases of ONNX, with arrays as we hold them."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from graphrewrite.types import integer_limits

__all__ = ["Case", "assert_case", "cases_of", "node_cases"]

ELEMENTS = {
    onnx.TensorProto.BFLOAT16: "bf16",
    onnx.TensorProto.FLOAT8E4M3FN: "f8e4m3fn",
    onnx.TensorProto.FLOAT8E4M3FNUZ: "f8e4m3fnuz",
    onnx.TensorProto.FLOAT8E5M2: "f8e5m2",
    onnx.TensorProto.FLOAT8E5M2FNUZ: "f8e5m2fnuz",
    onnx.TensorProto.FLOAT8E8M0: "f8e8m0",
    onnx.TensorProto.FLOAT4E2M1: "f4e2m1",
    onnx.TensorProto.INT4: "i4",
    onnx.TensorProto.UINT4: "u4",
    onnx.TensorProto.INT2: "i2",
    onnx.TensorProto.UINT2: "u2",
    onnx.TensorProto.BOOL: "bool",
    onnx.TensorProto.FLOAT16: "f16",
    onnx.TensorProto.FLOAT: "f32",
    onnx.TensorProto.DOUBLE: "f64",
    **{getattr(onnx.TensorProto, f"INT{bits}"): f"i{bits}" for bits in (8, 16, 32, 64)},
    **{getattr(onnx.TensorProto, f"UINT{bits}"): f"u{bits}" for bits in (8, 16, 32, 64)},
}
_WIDER = {"int2": np.int8, "int4": np.int8, "uint2": np.uint8, "uint4": np.uint8}


class Case(NamedTuple):
    """One node with its operands and results."""

    name: str
    attributes: dict[str, Any]
    operands: list[np.ndarray | None]
    results: list[np.ndarray]
    elements: list[str]
    """Of the operands that are there, then of the results."""


KEPT = Path(__file__).parents[2] / ".pytest_cache" / f"onnx_cases_{onnx.__version__}_{np.__version__}.pickle"
"""What ONNX takes ten seconds to make is made once for all processes and runs."""


@cache
def node_cases() -> list[Any]:
    """The cases of nodes that the installed onnx package makes."""
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        return list(pickle.loads(KEPT.read_bytes()))
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cases are made by computing what overflows, for one
        cases = collect_testcases(None)
    with suppress(OSError):  # a folder that nobody may write to
        KEPT.parent.mkdir(exist_ok=True)
        part = KEPT.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(cases))
        part.replace(KEPT)
    return cases


@cache
def _by_op() -> dict[str, list[Any]]:
    """The cases of a single node, by its op."""
    found: dict[str, list[Any]] = {}
    for case in node_cases():
        nodes = case.model.graph.node
        if len(nodes) == 1:
            found.setdefault(nodes[0].op_type, []).append(case)
    return found


def held(value: Any) -> np.ndarray:
    """An array of ONNX as we hold it: ml_dtypes in the next wider type of numpy."""
    array = numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    name = str(array.dtype)
    if name in _WIDER:
        return array.astype(_WIDER[name])
    return array.astype(np.float32) if name == "bfloat16" or name.startswith(("float8", "float4")) else array


def cases_of(kind: str) -> Iterator[Case]:
    """Every case of a single node of an op; a test that fails has printed which it was at."""
    if kind not in _by_op():
        pytest.skip(f"this onnx has no case of {kind}")
    for case in _by_op()[kind]:
        print(case.name)
        graph = case.model.graph
        (node,) = graph.node
        ((inputs, outputs),) = case.data_sets
        by_name = dict(zip((i.name for i in graph.input), map(held, inputs), strict=True))
        yield Case(
            case.name,
            {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute},
            [by_name.get(name) if name else None for name in node.input],
            [held(o) for o in outputs],
            [ELEMENTS[v.type.tensor_type.elem_type] for v in (*graph.input, *graph.output)],
        )


def is_left_open(operand: Any, element: str) -> np.ndarray:
    """Tell where ONNX leaves open what a cast gives: of floats beyond an integer type, of which few bits show it."""
    numbers = np.asarray(operand)
    limits = integer_limits(element) if numbers.dtype.kind == "f" else None
    if limits is None or limits[1] >= 1 << 4:
        return np.zeros(numbers.shape, np.bool_)
    return ~((limits[0] - 1 < numbers) & (numbers < limits[1] + 1))


def assert_case(found: Any, case: Case) -> None:
    """What was computed is what ONNX says, as its own test suite compares."""
    results = found if isinstance(found, tuple) else (found,)
    for array, wanted in zip(results, case.results, strict=False):
        assert array.dtype == wanted.dtype
        assert array.shape == wanted.shape
        if wanted.dtype.kind in "iub":
            np.testing.assert_array_equal(array, wanted)
        else:
            np.testing.assert_allclose(array, wanted, rtol=1e-3, atol=1e-7)
