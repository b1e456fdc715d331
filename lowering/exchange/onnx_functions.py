"""ONNX functions for library ops that ONNX lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graphrewrite.lowering.exchange.model_file import OURS

if TYPE_CHECKING:
    import onnx

__all__ = ["FUNCTIONS"]


def _linear(opset: int) -> onnx.FunctionProto:
    from onnx import helper

    body = [helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)]
    return helper.make_function(OURS, "linear", ["x", "w", "b"], ["y"], body, [helper.make_opsetid("", opset)])


def _fma(opset: int) -> onnx.FunctionProto:
    from onnx import helper

    body = [helper.make_node("Mul", ["x", "y"], ["product"]), helper.make_node("Add", ["product", "z"], ["sum"])]
    return helper.make_function(OURS, "fma", ["x", "y", "z"], ["sum"], body, [helper.make_opsetid("", opset)])


def _softmin(opset: int) -> onnx.FunctionProto:
    from onnx import AttributeProto, helper

    softmax = helper.make_node("Softmax", ["negative"], ["y"])
    axis = AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="axis")
    softmax.attribute.append(axis)
    body = [helper.make_node("Neg", ["x"], ["negative"]), softmax]
    return helper.make_function(OURS, "softmin", ["x"], ["y"], body, [helper.make_opsetid("", opset)], ["axis"])


FUNCTIONS: dict[str, Callable[[int], onnx.FunctionProto]] = {"fma": _fma, "linear": _linear, "softmin": _softmin}
"""Function builders by name; each takes the opset of its body."""
