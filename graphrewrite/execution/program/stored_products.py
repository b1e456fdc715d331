"""Translation of products of stored numbers, whose scales and zero points are operands."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphrewrite import op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import carrier
from graphrewrite.execution.program.chain import Chain, Link, limit
from graphrewrite.execution.program.instruction import Product
from graphrewrite.execution.program.layers import convolved
from graphrewrite.execution.program.reals import channelwise
from graphrewrite.execution.program.stored_numbers import limits_of, moved, number
from graphrewrite.execution.program.translation import KernelValue, Translation
from graphrewrite.execution.program.windows import Geometry
from graphrewrite.types import element_dtype

__all__ = ["convolution", "convolution_shape", "translate_qlinear_conv", "translate_qlinear_matmul", "translate_sums"]


def convolution_shape(call: Call, x: KernelValue, w: np.ndarray) -> tuple[int, ...] | None:
    """Return the shape of a convolution's result without the batch; None if operands do not fit."""
    rank, groups, a = len(x.shape) - 1, call.attributes["groups"], call.attributes
    if rank < 1 or w.ndim != rank + 2 or w.shape[1] * groups != x.shape[0] or len(w) % groups:
        return None
    try:
        windows = Geometry.of(x.shape[1:], w.shape[2:], a["strides"], a["pads"], a["dilations"], groups)
    except TypeMismatchError:
        return None  # the op's own function raises a better error
    return (len(w), *windows.results[:rank])


def convolution(
    t: Translation, call: Call, x: KernelValue, w: np.ndarray, shape: tuple[int, ...], kind: np.dtype
) -> int:
    """Emit a matrix product for all positions, or a sum of products by channel; return its register."""
    a = call.attributes
    target = t.register(shape, kind)
    if not a["groups"] == x.shape[0] == len(w):
        windows = Geometry.of(x.shape[1:], w.shape[2:], a["strides"], a["pads"], a["dilations"], a["groups"])
        return convolved(t, x, windows, w, target)
    channelwise(t, call, x, w.astype(kind), target)
    return target


def translate_sums(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit the exact sums of products of stored numbers, which are integers of 32 bits."""
    values = [t.constants.get(o.node) for o in call.operands]
    if len(operands) != 1 or call.operands[0].node not in t.held or any(v is None for v in values[1:]):
        return None
    x_zero, w_zero = number(t, call, 2), values[3] if len(values) > 3 else np.zeros((), np.int8)
    x = None if x_zero is None else moved(t, operands[0], int(x_zero))
    w, zeros = np.asarray(values[1]).astype(np.int64), np.asarray(w_zero).astype(np.int64)
    if x is None or zeros.ndim > 1:
        return None
    if call.op is op.conv_integer:
        w = w - (zeros.reshape(-1, *[1] * (w.ndim - 1)) if zeros.size > 1 else int(zeros.reshape(())))
        shape = convolution_shape(call, x, w)
    else:
        w = np.ascontiguousarray((w - zeros).T) if w.ndim == 2 else w
        shape = w.shape[:1] if w.ndim == 2 and x.shape == w.shape[1:] else None
    bound = int(np.abs(w).reshape(len(w), -1).sum(axis=1).max(initial=0)) * x.bound
    kind = carrier(bound)
    if shape is None or kind is None or bound >= 1 << 31:
        return None
    if call.op is op.conv_integer:
        register = convolution(t, call, x, w, shape, kind)
    else:
        register = t.emit(Product((t.carried(x, kind).register,), t.register(shape, kind), w.astype(kind)))
    return KernelValue(register, shape, np.dtype(np.int32), -bound, bound)


def translate_qlinear_conv(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit exact sums, scaled and rounded in float64."""
    values = [t.constants.get(o.node) for o in call.operands]
    if len(operands) != 1 or call.operands[0].node not in t.held or any(v is None for v in values[1:]):
        return None
    x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, *bias = (np.asarray(v) for v in values[1:])
    outputs = (-1, *[1] * (w.ndim - 1))
    weights = w.astype(np.int64) - (
        w_zero.astype(np.int64).reshape(outputs) if w_zero.size > 1 else int(w_zero.reshape(()))
    )
    shape = convolution_shape(call, operands[0], weights)
    if shape is None:
        return None
    factor = x_scale.reshape(()) * w_scale.reshape(-1) / y_scale.reshape(())

    def sums(x: KernelValue, kind: np.dtype) -> int:
        return convolution(t, call, x, weights, shape, kind)

    return _stored(t, call, operands[0], x_zero, weights, bias[0] if bias else None, factor, y_zero, shape, sums)


def translate_qlinear_matmul(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit exact sums of a vector a frame, scaled and rounded in float64."""
    values = [t.constants.get(o.node) for o in call.operands]
    if len(operands) != 1 or call.operands[0].node not in t.held or any(v is None for v in values[1:]):
        return None
    a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (np.asarray(v) for v in values[1:])
    if b.ndim != 2 or operands[0].shape != b.shape[:1] or a_scale.size > 1 or a_zero.size > 1 or y_scale.size > 1:
        return None
    if max(b_scale.ndim, b_zero.ndim) > 1:
        return None
    rows = np.ascontiguousarray((b.astype(np.int64) - b_zero.astype(np.int64)).T)
    factor = a_scale.reshape(()) * b_scale.reshape(-1) / y_scale.reshape(())

    def sums(x: KernelValue, kind: np.dtype) -> int:
        target = t.register(rows.shape[:1], kind)
        return t.emit(Product((t.carried(x, kind).register,), target, rows.astype(kind)))

    return _stored(t, call, operands[0], a_zero, rows, None, factor, y_zero, rows.shape[:1], sums)


def _stored(
    t: Translation,
    call: Call,
    x: KernelValue,
    x_zero: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray | None,
    factor: np.ndarray,
    y_zero: np.ndarray,
    shape: tuple[int, ...],
    sums: Callable[[KernelValue, np.dtype], int],
) -> KernelValue | None:
    """Return exact sums in the scale of a result: a product in float64, rounded, limited."""
    limits = limits_of(call)
    if limits is None or x_zero.size != 1 or y_zero.size != 1 or factor.size not in (1, shape[0]):
        return None
    factor = factor.astype(np.float64)
    if not (np.isfinite(factor) & (factor > 0)).all():
        return None
    from_zero = moved(t, x, int(x_zero.reshape(())))
    if from_zero is None:
        return None
    x = from_zero
    bound = int(np.abs(weights).reshape(len(weights), -1).sum(axis=1).max()) * x.bound
    total = bound + (0 if bias is None else int(np.abs(bias.astype(np.int64)).max(initial=0)))
    kind, zero = carrier(bound), int(y_zero.reshape(()))
    if kind is None or total >= 1 << 31:
        return None  # sums wrap around in 32 bits
    low, high = limits[0] - zero, limits[1] - zero
    register = sums(x, kind)
    links = [] if bias is None else [Link(np.add, bias.reshape(-1, 1).astype(np.float64))]
    links += [Link(np.multiply, factor.reshape(-1, 1) if factor.size > 1 else np.float64(factor[0])), Link(np.rint)]
    chain = Chain((*links, limit(low, high)), is_wide=True)
    dtype = element_dtype(call.results[0].element)
    return KernelValue(register, shape, dtype, low, high, chain, zero)
