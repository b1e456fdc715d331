"""Quantised ops of ONNX, and those of QONNX and FINN."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.attribute_values import data_type, element, number, truth, whole, word
from graphrewrite.lowering.exchange.entry import Entry, same_names
from graphrewrite.lowering.exchange.onnx.window_attributes import CONVOLUTION, complete_conv, shown
from graphrewrite.types import HELD_WIDER

__all__ = ["BLOCKED", "QUANTISED"]

BLOCKED: dict[str, Any] = same_names(whole, "axis", "block_size")
_QONNX_DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")
"""Names that the domain has had; the first one is written."""


def _complete_quantised(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    return complete_conv(attributes, [types[0], types[3]])


def _element_or_none(value: int) -> str | None:
    return element(value) if value else None


def _or_undefined(value: str | None) -> int:
    return 0 if value is None else data_type(value)


def _stored(attributes: dict[str, Any], types: list[Tensor]) -> dict[str, Any]:
    """Store the result as the zero point; the element type is explicit where numpy lacks it."""
    is_held_wider = len(types) > 2 and types[2].element in HELD_WIDER
    return {"element": types[2].element, **attributes} if is_held_wider else attributes


def _has_no_output_scale(_: Mapping[str, Any], types: Sequence[Tensor]) -> str | None:
    return None if len(types) == 5 else "it has the operands of QONNX's second version"


def _qonnx() -> list[Entry]:
    quant = {**same_names(truth, "signed", "narrow"), **same_names(word, "rounding_mode")}
    entries = []
    for domain in _QONNX_DOMAINS:
        entries += [
            Entry(f"{domain}.Quant", op.quant, quant),
            Entry(f"{domain}.IntQuant", op.quant, quant),
            Entry(f"{domain}.BipolarQuant", op.bipolar_quant),
            Entry(f"{domain}.Trunc", op.trunc, quant, fits=_has_no_output_scale),
            Entry(f"{domain}.Trunc", op.trunc, quant, operands=(0, 1, 2, 3, 5, 4)),
            Entry(
                f"{domain}.MultiThreshold",
                op.multi_threshold,
                {**same_names(number, "out_scale", "out_bias"), **same_names(word, "data_layout")},
                ignored=("out_dtype",),
            ),
        ]
    return entries


QUANTISED: tuple[Entry, ...] = (
    Entry(
        "ConvInteger",
        op.conv_integer,
        CONVOLUTION,
        complete=complete_conv,
        ignored=("kernel_shape",),
        shown=shown,
    ),
    Entry(
        "DequantizeLinear",
        op.dequantize_linear,
        {**BLOCKED, "output_dtype": ("element", _element_or_none, _or_undefined)},
    ),
    Entry("DynamicQuantizeLinear", op.dynamic_quantize_linear),
    Entry("MatMulInteger", op.matmul_integer),
    Entry(
        "QLinearConv",
        op.qlinear_conv,
        CONVOLUTION,
        complete=_complete_quantised,
        ignored=("kernel_shape",),
        shown=shown,
    ),
    Entry("QLinearMatMul", op.qlinear_matmul),
    Entry(
        "QuantizeLinear",
        op.quantize_linear,
        {**BLOCKED, "saturate": ("saturate", truth), "output_dtype": ("element", _element_or_none, _or_undefined)},
        complete=_stored,
        required={"precision": (0, 1)},
    ),
    *_qonnx(),
)
