"""Layers on stored integers: sums of products of their distances from the zero points."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, rule
from graphrewrite.lowering.composite.axes import channel_entries, named
from graphrewrite.lowering.matched_operands import Mantissas
from graphrewrite.lowering.prequantised.layers import accumulated, axes_are_disordered
from graphrewrite.lowering.prequantised.quantised_inputs import distances

__all__ = ["LOWER_STORED"]

Zero = Constant | None
"""A zero point, which ONNX may leave out."""
_STORED = 32
"""Bits of the sums of stored integers."""


def _of_outputs(values: np.ndarray, rank: int) -> np.ndarray:
    """A scalar, or one number an output, along the first of so many axes."""
    return values.reshape(()) if values.size == 1 else values.reshape(-1, *[1] * (rank - 1))


def _shifted(w: np.ndarray, zero: np.ndarray | None) -> np.ndarray:
    return w.astype(np.int64) - (0 if zero is None else zero.astype(np.int64))


def _accumulator(whole: np.ndarray, bias: np.ndarray, x: Any) -> FixedPoint | str:
    element = accumulated(whole, bias, x.type.element)
    # Sums are int32, which has a sign bit where an unsigned format has none.
    if isinstance(element, FixedPoint) and element.width > _STORED - (not element.signed):
        return f"its sums need {element.width} bits and wrap around in {_STORED}"
    return element


def _conv_sums(x: Any, w: Any, w_zero: Any, b: Any, conv: Any) -> Any:
    """The sums of a convolution of distances from zero points, or the reason why they do not fit."""
    weights = _shifted(w.value, None if w_zero is None else _of_outputs(w_zero.value, w.value.ndim))
    bias = np.zeros(len(weights), np.int64) if b is None else b.value.astype(np.int64)
    element = _accumulator(weights, bias, x)
    return element if isinstance(element, str) else op.integer_conv(x, weights, bias, like=conv, element=element)


def _matrix_sums(x: Any, w: Any, w_zero: Any) -> Any:
    """The sums of a matrix product of distances from zero points, or the reason why they do not fit."""
    rows = np.ascontiguousarray(_shifted(w.value, None if w_zero is None else w_zero.value).T)
    bias = np.zeros(len(rows), np.int64)
    element = _accumulator(rows, bias, x)
    return element if isinstance(element, str) else op.integer_linear(x, rows, bias, element=element)


@rule(shared="keep", kind="lowering")
def lower_conv_integer(x: Mantissas, w: Constant, z: Zero = None, zero: Zero = None, w_zero: Zero = None):
    """A convolution of distances from zero points is one of mantissas."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    conv = op.conv_integer(stored, w, zero, w_zero)
    yield conv
    if reason := distances(x, z, stored, zero):
        return decline(reason, at=stored)
    sums = _conv_sums(x, w, w_zero, None, conv)
    return decline(sums, at=conv) if isinstance(sums, str) else op.from_fixed(sums, fraction=0, element="i32")


@rule(shared="keep", kind="lowering")
def lower_matmul_integer(x: Mantissas, w: Constant, z: Zero = None, zero: Zero = None, w_zero: Zero = None):
    """A matrix product of distances from zero points is a layer on mantissas."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    product = op.matmul_integer(stored, w, zero, w_zero)
    yield product
    if reason := distances(x, z, stored, zero):
        return decline(reason, at=stored)
    if len(x.shape) != 2 or w.value.ndim != 2 or (w_zero is not None and w_zero.value.ndim > 1):
        return decline("its operands are not a batch of vectors and a matrix", at=product)
    if axes_are_disordered(x):
        return decline("the axes of its operand are in another order", at=product)
    sums = _matrix_sums(x, w, w_zero)
    if isinstance(sums, str):
        return decline(sums, at=product)
    return named(op.from_fixed(sums, fraction=0, element="i32"), product)


@rule(shared="keep")
def add_to_bias(x: Mantissas, w: Constant, b: Constant, c: Constant):
    """A constant that is added to the sums of a layer is added to its bias."""
    layer = (op.integer_linear | op.integer_conv)(x, w, b)
    real = op.from_fixed(layer, fraction=0, element="i32")
    total = op.add(real, c)
    yield total
    if total.type != real.type or channel_entries(c.value.shape, len(layer.shape)) is None:
        return decline("its addend differs along other axes than the channels, or broadcasts the sums", at=c)
    bias = b.value.astype(np.int64) + c.value.astype(np.int64).reshape(-1)
    element = _accumulator(w.value, bias, x)
    if isinstance(element, str):
        return decline(element, at=layer)
    return op.from_fixed(layer.op(x, w, bias, like=layer, element=element), like=real)


def _stored_again(sums: Any, x_scale: Any, w_scale: Any, y_scale: Any, y_zero: Any, top: Any) -> Any:
    """Sums in the scale of the result: rounded half to even, offset and saturated."""
    if isinstance(sums, str):
        return decline(sums, at=top)
    # Float32 like the op, in the order of its products and quotients: a double would round some factors differently.
    factor = x_scale.value.reshape(()) * w_scale.value.reshape(-1) / y_scale.value.reshape(())
    scales = factor.astype(np.float64)
    scales = scales.reshape(()) if scales.size == 1 else scales.reshape(-1, *[1] * (len(top.shape) - 2))
    real = op.mul(op.from_fixed(sums, fraction=0, element="f64"), scales)
    return named(op.quantize_linear(real, np.ones(y_zero.shape, np.float64), y_zero), top)


@rule(shared="keep", kind="lowering")
def lower_qlinear_conv(
    x: Mantissas,
    z: Constant,
    x_scale: Constant,
    x_zero: Constant,
    w: Constant,
    w_scale: Constant,
    w_zero: Constant,
    y_scale: Constant,
    y_zero: Constant,
    b: Constant | None = None,
):
    """A quantised convolution is one of mantissas, whose sums are brought into the scale of the result."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    conv = op.qlinear_conv(stored, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, b)
    yield conv
    if reason := distances(x, z, stored, x_zero):
        return decline(reason, at=stored)
    return _stored_again(_conv_sums(x, w, w_zero, b, conv), x_scale, w_scale, y_scale, y_zero, conv)


@rule(shared="keep", kind="lowering")
def lower_qlinear_matmul(
    x: Mantissas,
    z: Constant,
    x_scale: Constant,
    x_zero: Constant,
    w: Constant,
    w_scale: Constant,
    w_zero: Constant,
    y_scale: Constant,
    y_zero: Constant,
):
    """A quantised matrix product is a layer on mantissas, whose sums are brought into the scale of the result."""
    stored = op.quantize_linear(op.from_fixed(x, fraction=0), 1, z)
    product = op.qlinear_matmul(stored, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero)
    yield product
    if reason := distances(x, z, stored, x_zero):
        return decline(reason, at=stored)
    constants = (x_scale, w_scale, y_scale, y_zero, w_zero)
    if len(x.shape) != 2 or w.value.ndim != 2 or any(c.value.ndim > 1 for c in constants):
        return decline("its operands are not a batch of vectors and a matrix", at=product)
    if axes_are_disordered(x):
        return decline("the axes of its operand are in another order", at=product)
    if any(c.value.size != 1 for c in (x_scale, y_scale, y_zero)):
        return decline("a scale or zero point differs from row to row", at=product)
    return _stored_again(_matrix_sums(x, w, w_zero), x_scale, w_scale, y_scale, y_zero, product)


LOWER_STORED = (lower_conv_integer, lower_matmul_integer, add_to_bias, lower_qlinear_conv, lower_qlinear_matmul)
"""Layers on stored integers."""
