"""Contrib ops that onnxruntime's quantiser and optimiser write (``com.microsoft``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.lowering.exchange.attribute_values import number, truth, whole
from graphrewrite.lowering.exchange.entry import Entry
from graphrewrite.lowering.exchange.onnx.tables.layers import POOL
from graphrewrite.lowering.exchange.onnx.tables.quantised import BLOCKED
from graphrewrite.lowering.exchange.onnx.window_attributes import complete_pool

__all__ = ["ONNXRUNTIME"]

_DOMAIN = "com.microsoft"


def _around(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """An op of one quantised operand by its float meaning: dequantise, compute, quantise."""

    def build(x: Any, x_scale: Any, x_zero: Any, y_scale: Any, y_zero: Any = None, **attributes: Any) -> Any:
        real = op.dequantize_linear(x, x_scale, x_zero)
        return op.quantize_linear(meaning(real, **attributes), y_scale, y_zero)

    return build


def _between(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """An op of two quantised operands by its float meaning."""

    def build(
        a: Any, a_scale: Any, a_zero: Any, b: Any, b_scale: Any, b_zero: Any, y_scale: Any, y_zero: Any = None
    ) -> Any:
        real = meaning(op.dequantize_linear(a, a_scale, a_zero), op.dequantize_linear(b, b_scale, b_zero))
        return op.quantize_linear(real, y_scale, y_zero)

    return build


def _transposed(x: Any, wanted: bool) -> Any:
    return op.transpose(x, perm=(1, 0)) if wanted else x


def _q_gemm(
    a: Any,
    a_scale: Any,
    a_zero: Any,
    b: Any,
    b_scale: Any,
    b_zero: Any,
    c: Any = None,
    y_scale: Any = None,
    y_zero: Any = None,
    *,
    alpha: float = 1.0,
    trans_a: bool = False,
    trans_b: bool = False,
) -> Any:
    """Integers are summed exactly; one factor scales the sum (onnxruntime, QGemm)."""
    total = op.matmul_integer(_transposed(a, trans_a), _transposed(b, trans_b), a_zero, b_zero)
    total = total if c is None else op.add(total, c)
    factor = op.mul(a_scale, b_scale)
    factor = factor if alpha == 1 else op.mul(factor, alpha)
    # Without a scale of its own the result is a float.
    if y_scale is None:
        return op.mul(op.cast(total, element="f32"), factor)
    scaled = op.mul(op.cast(total, element="f32"), op.div(factor, y_scale))
    return op.quantize_linear(scaled, np.float32(1), y_zero)


def _q_concat(y_scale: Any, y_zero: Any, *parts: Any, axis: int) -> Any:
    real = [op.dequantize_linear(*parts[i : i + 3]) for i in range(0, len(parts), 3)]
    return op.quantize_linear(op.concat(*real, axis=axis), y_scale, y_zero)


def _to_float(a: Any, b: Any, a_scale: Any, b_scale: Any, a_zero: Any = None, b_zero: Any = None, c: Any = None) -> Any:
    total = op.cast(op.matmul_integer(a, b, a_zero, b_zero), element="f32")
    real = op.mul(total, op.mul(a_scale, b_scale))
    return real if c is None else op.add(real, c)


def _dynamic(a: Any, b: Any, b_scale: Any, b_zero: Any = None, c: Any = None) -> Any:
    x, x_scale, x_zero = op.dynamic_quantize_linear(a)
    return _to_float(x, b, x_scale, b_scale, x_zero, b_zero, c)


_LAST = {"channels_last": (0,)}
_AXIS = {"axis": ("axis", whole)}

ONNXRUNTIME: tuple[Entry, ...] = (
    Entry(f"{_DOMAIN}.DequantizeLinear", op.dequantize_linear, BLOCKED),
    Entry(f"{_DOMAIN}.DynamicQuantizeMatMul", _dynamic),
    Entry(f"{_DOMAIN}.Gelu", op.gelu),
    Entry(f"{_DOMAIN}.MatMulIntegerToFloat", _to_float),
    Entry(
        f"{_DOMAIN}.QGemm",
        _q_gemm,
        {"alpha": ("alpha", number), "transA": ("trans_a", truth), "transB": ("trans_b", truth)},
    ),
    Entry(f"{_DOMAIN}.QLinearAdd", _between(op.add)),
    Entry(
        f"{_DOMAIN}.QLinearAveragePool",
        _around(op.average_pool),
        {**POOL, "count_include_pad": ("count_include_pad", truth)},
        required=_LAST,
        complete=complete_pool,
    ),
    Entry(f"{_DOMAIN}.QLinearConcat", _q_concat, _AXIS),
    Entry(f"{_DOMAIN}.QLinearGlobalAveragePool", _around(op.global_average_pool), required=_LAST),
    Entry(f"{_DOMAIN}.QLinearLeakyRelu", _around(op.leaky_relu), {"alpha": ("alpha", number)}),
    Entry(f"{_DOMAIN}.QLinearMul", _between(op.mul)),
    Entry(f"{_DOMAIN}.QLinearSigmoid", _around(op.sigmoid)),
    Entry(f"{_DOMAIN}.QLinearSoftmax", _around(op.softmax), _AXIS, ignored=("opset",)),
    Entry(f"{_DOMAIN}.QuantizeLinear", op.quantize_linear, BLOCKED),
)
