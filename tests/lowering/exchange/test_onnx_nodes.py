"""Nodes of ONNX with each of their attributes: values as onnxruntime, or onnx's reference, has them, there and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, printer
from onnx.reference import ReferenceEvaluator

from graphrewrite import Graph, GraphRewriteError, evaluate
from graphrewrite.formats import to_text
from graphrewrite.lowering import from_onnx, to_onnx
from graphrewrite.types import TEXT
from tests.support.node_cases import ELEMENTS
from tests.support.onnx_node_cases import CASES, NodeCase
from tests.support.sessions import session_of

NUMBERS = {name: number for number, name in ELEMENTS.items()} | {TEXT: TensorProto.STRING}


def wanted(case: NodeCase, graph: Graph) -> list[Any] | None:
    """What another implementation gives; None where none has the node."""
    for value, name in zip(case.model.graph.output, graph.outputs, strict=True):
        (result,) = graph.operands(name)
        value.type.tensor_type.elem_type = NUMBERS[str(graph.result_type(*result).element)]
    try:
        return list(session_of(case.model.SerializeToString()).run(None, case.inputs))
    except Exception:  # whatever onnxruntime raises for what it lacks
        if case.model.graph.node[0].domain:  # the reference's classical models give other types and labels
            return None
        try:
            return list(ReferenceEvaluator(case.model).run(None, case.inputs))
        except Exception:
            return None


def assert_alike(found: Graph, case: NodeCase, expected: list[Any], kind: str) -> None:
    for ours, theirs in zip(evaluate(found, case.inputs).values(), expected, strict=True):
        assert ours.shape == theirs.shape, kind
        if ours.dtype.kind in "fiub":
            bound = 2e-2 if theirs.dtype == np.float16 else 2e-4
            np.testing.assert_allclose(ours, theirs, rtol=bound, atol=bound, err_msg=str(case.model.graph.node))
        else:
            assert ours.tolist() == theirs.tolist()


@pytest.mark.parametrize("kind", CASES)
def test_a_node_computes_what_others_do(kind: str, same_text: Callable[[str], None]) -> None:
    texts = []
    for case in CASES[kind]:
        graph = from_onnx(case.model, batch=None)
        expected = wanted(case, graph)
        if expected is not None:
            assert_alike(graph, case, expected, kind)
        texts.append(to_text(graph, whole=True))
        try:
            written = to_onnx(graph)
        except GraphRewriteError as error:
            texts.append(str(error))
            continue
        texts.append(re.sub(r'"\d+(\.\d+)*"', "", printer.to_text(written.graph)))
        assert_alike(from_onnx(written, batch=None), case, list(evaluate(graph, case.inputs).values()), kind)
    same_text("\n".join(texts))
