"""Translation of quantised islands: stored numbers, layers on them, and what is done with the sums until they are stored.

A register holds the distances of stored numbers from their zero point; the floats that these stand for are written only
where something outside reads them. Sums are exact (see `exact_layers`), and everything after them is done by the same
float operations, in the same order, as by the ops' functions: the results have the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import FLOAT32, FLOAT64, Map, carrier
from graphrewrite.execution.program.chain import POSITIVE_ZERO, Chain, Link, limit
from graphrewrite.execution.program.channelwise import Border, Channelwise, Total
from graphrewrite.execution.program.exact_layers import ExactLayer, ExactMean, Steps
from graphrewrite.execution.program.instruction import Product, Sum
from graphrewrite.execution.program.kernel import TABLE
from graphrewrite.execution.program.layers import convolved, pooled, pooled_sizes
from graphrewrite.execution.program.translation import KernelValue, Translate, Translation
from graphrewrite.execution.program.windows import Geometry
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.nn.pooling import has_window_in_border
from graphrewrite.op.op import Op
from graphrewrite.types import element_dtype, integer_limits

__all__ = ["ISLANDS", "is_island"]


_STORED = frozenset({op.qlinear_conv, op.qlinear_matmul, op.conv_integer, op.matmul_integer})


def is_island(call: Call) -> bool:
    """Tell whether a call computes exact sums of quantised numbers, so that a kernel pays."""
    return isinstance(call, ExactLayer) or call.op in _STORED


def _number(t: Translation, call: Call, slot: int, dtype: np.dtype | None = None) -> float | None:
    """Return an operand that is a constant number, of a dtype if one is given; 0 where it is left out."""
    if slot >= len(call.operands):
        return 0.0
    value = t.constants.get(call.operands[slot].node)
    if value is None or value.size != 1 or (dtype is not None and value.dtype != dtype):
        return None
    return float(value.reshape(()))


def _is_given(t: Translation, call: Call) -> bool:
    """Tell whether the first operand comes from outside as it is."""
    return call.operands[0].node in t.entries


def _translate_quantize(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Divide by the scale, round, limit: what is left are distances from the zero point."""
    scale, zero = _number(t, call, 1, FLOAT32), _number(t, call, 2)
    limits = _limits_of(call)
    if len(operands) != 1 or scale is None or zero is None or limits is None or call.attributes["block_size"]:
        return None
    x = t.real(operands[0])
    if not _is_real(x) or not (0 < scale < math.inf):
        return None
    return _quantised(t, x, call, scale, int(zero), limits)


def _quantised(
    t: Translation, x: KernelValue, call: Call, scale: float, zero: int, limits: tuple[int, int]
) -> KernelValue | None:
    if isinstance(x.pending, Map):
        x = t.computed(x)
    chain, low, high = (x.pending or Chain()).quantised(scale, limits[0] - zero, limits[1] - zero)
    if carrier(max(-low, high)) != FLOAT32:
        return None
    return x._replace(pending=chain, low=low, high=high, zero=zero, dtype=element_dtype(call.results[0].element))


def _limits_of(call: Call) -> tuple[int, int] | None:
    """Return the limits of the integers in which a result is stored; None for others, and for wide ones."""
    element = call.results[0].element if call.results else None
    limits = integer_limits(element) if isinstance(element, str) else None
    return limits if limits is not None and limits[1] - limits[0] < 1 << 16 else None


def _is_real(x: KernelValue) -> bool:
    """Tell whether a register holds, or will hold, float32 numbers that are the values."""
    return x.low is None and x.scale is None and x.dtype == FLOAT32


def _translate_dequantize(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Read the register as floats on a grid; another zero point moves the numbers."""
    scale, zero = _number(t, call, 1, FLOAT32), _number(t, call, 2)
    if scale is None or zero is None or call.attributes["block_size"] or call.results[0].element != "f32":
        return None
    x = _moved(t, operands[0], int(zero)) if 0 < scale < math.inf else None
    return None if x is None else x._replace(scale=scale, dtype=FLOAT32)


def _factor(t: Translation, call: ExactLayer, operands: list[KernelValue]) -> tuple[KernelValue, np.ndarray] | None:
    """Return the operand of a layer as whole numbers, and the whole numbers of its weights."""
    grid, weights = call.grids
    if len(operands) != 1 or not isinstance(weights, Steps) or isinstance(grid, Steps):
        return None
    (x,) = operands
    if x.scale is None:
        # Floats from outside, which are known to be on the grid.
        if not _is_given(t, call) or not _is_real(x):
            return None
        links = Link(np.divide, grid.scale), Link(np.rint)
        x = t.chained(x, *links, low=grid.low, high=grid.high, scale=grid.scale)
    if x.scale != grid.scale or x.low is None or x.high is None or x.low < grid.low or x.high > grid.high:
        return None
    return x, weights.whole


def _after(t: Translation, call: ExactLayer, register: int, shape: tuple[int, ...]) -> KernelValue | None:
    """Return the sums in a register as floats: with their bias, in units, with what is added."""
    column = (-1, 1)
    bias, addend = call.bias, call.addend
    if any(b is not None and b.size not in (1, shape[0]) for b in (bias, addend)):
        return None
    offset = None if bias is None else bias.reshape(column).astype(call.carrier)
    unit = np.float64(1) if call.unit is None else call.unit
    sums = KernelValue(register, shape, FLOAT32)
    x = _in_units(t, sums, offset, unit.reshape(column) if unit.size > 1 else np.float64(unit))
    return x if addend is None else t.chained(x, Link(np.add, addend.reshape(column)))


def _in_units(t: Translation, x: KernelValue, offset: np.ndarray | None, unit: np.float64 | np.ndarray) -> KernelValue:
    """Return exact sums, and what is added to them, as floats: one product in float64."""
    if t.registers[x.register].dtype == FLOAT64:  # which float32 does not hold before
        x, links = t.computed(x._replace(pending=Map(offset=0.0 if offset is None else offset))), ()
    else:
        links = (POSITIVE_ZERO if offset is None else Link(np.add, offset),)
    return t.chained(x, *links, Link(np.multiply, unit))


def _translate_conv(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one matrix product for all positions, or one sum of products for a depthwise convolution."""
    if not isinstance(call, ExactLayer) or (factor := _factor(t, call, operands)) is None:
        return None
    x, w = factor
    shape = _convolution_shape(call, x, w)
    return None if shape is None else _after(t, call, _convolution(t, call, x, w, shape, call.carrier), shape)


def _convolution_shape(call: Call, x: KernelValue, w: np.ndarray) -> tuple[int, ...] | None:
    rank, groups, a = len(x.shape) - 1, call.attributes["groups"], call.attributes
    if rank < 1 or w.ndim != rank + 2 or w.shape[1] * groups != x.shape[0] or len(w) % groups:
        return None
    try:
        windows = Geometry.of(x.shape[1:], w.shape[2:], a["strides"], a["pads"], a["dilations"], groups)
    except TypeMismatchError:
        return None  # the op's own function raises a better error
    return (len(w), *windows.results[:rank])


def _convolution(
    t: Translation, call: Call, x: KernelValue, w: np.ndarray, shape: tuple[int, ...], kind: np.dtype
) -> int:
    a, rank = call.attributes, len(x.shape) - 1
    target = t.register(shape, kind)
    if not a["groups"] == x.shape[0] == len(w):
        windows = Geometry.of(x.shape[1:], w.shape[2:], a["strides"], a["pads"], a["dilations"], a["groups"])
        return convolved(t, x, windows, w, target)
    pads, source = per_axis(a["pads"], 2 * rank, 0), t.carried(x, kind).register
    if any(pads):
        sizes = [p + size + q for p, size, q in zip(pads, x.shape[1:], pads[rank:], strict=False)]
        source = t.emit(Border((source,), t.register((x.shape[0], *sizes), kind, kept=True), pads[:rank]))
    weights = np.ascontiguousarray(np.moveaxis(w[:, 0], 0, -1).astype(kind))
    strides, dilations = (per_axis(a[name], rank, 1) for name in ("strides", "dilations"))
    return t.emit(Channelwise((source,), target, weights, strides, dilations))


def _translate_rows(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one matrix product for a vector a frame."""
    if not isinstance(call, ExactLayer) or (factor := _factor(t, call, operands)) is None:
        return None
    x, w = factor
    if call.op is op.gemm and call.attributes["trans_a"]:
        return None
    rows = w if call.op is op.linear or (call.op is op.gemm and call.attributes["trans_b"]) else w.T
    if w.ndim != 2 or x.shape != rows.shape[1:]:
        return None
    target = t.register(rows.shape[:1], call.carrier)
    t.emit(Product((t.carried(x, call.carrier).register,), target, np.ascontiguousarray(rows)))
    return _after(t, call, target, rows.shape[:1])


def _translate_mean(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit sums, and a scale."""
    (x,), a = operands, call.attributes
    if not isinstance(call, ExactMean) or x.scale is None or x.scale != call.grid.scale or len(x.shape) < 2:
        return None
    if call.op is op.average_pool:
        count = math.prod(a["kernel"])
        if any(a["pads"]) and not a["count_include_pad"]:
            return None
    elif call.op is op.reduce_mean and not _are_positions(a["axes"], len(x.shape)):
        return None
    else:
        count = math.prod(x.shape[1:])
    kind = carrier(count * x.bound)
    results = pooled_sizes(x, call) if call.op is op.average_pool else (1,) * (len(x.shape) - 1)
    if kind is None or results is None:
        return None
    unit = np.float64(x.scale * (1.0 / count))
    x = t.carried(x, kind)
    if call.op is op.average_pool:
        x = pooled(t, call, x, results, np.add)
    else:
        shape = (x.shape[0], *(results if a.get("keep_dims", True) else ()))
        x = x._replace(register=t.emit(Total((x.register,), t.register(shape, kind))), shape=shape)
    return _in_units(t, x._replace(low=None, high=None, scale=None), None, unit)


def _are_positions(axes: Any, rank: int) -> bool:
    return axes is not None and {axis % (rank + 1) for axis in axes} == set(range(2, rank + 1))


def _translate_relu(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Limit floats, or the whole numbers of a grid, to non-negative ones."""
    (x,) = operands
    if x.scale is not None and x.high is not None:
        return t.chained(x, limit(0.0, math.inf), low=0, high=x.high)
    return None if _is_given(t, call) or not _is_real(x) else t.chained(x, limit(0.0, math.inf))


def _translate_clip(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Limit floats to one or two bounds."""
    low, high = call.attributes["low"], call.attributes["high"]
    low, high = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    x = operands[0] if _is_given(t, call) else t.real(operands[0])
    if not low <= high or _is_given(t, call) or not _is_real(x) or -math.inf == low == -high:
        return None
    return t.chained(x, limit(low, high))


def _translate_pair(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Add floats of one shape; or add, subtract or multiply a constant, of which there may be one for each channel."""
    if any(o.node in t.entries for o in call.operands):
        return None
    terms = [t.real(x) for x in operands]
    if len(operands) == 1 and len(call.operands) == 2:
        return _with_constant(t, call, terms[0])
    if call.op is not op.add or len(operands) != 2 or terms[0].shape != terms[1].shape or not all(map(_is_real, terms)):
        return None
    registers = tuple(t.computed(x).register for x in terms)
    return KernelValue(t.emit(Sum(registers, t.register(terms[0].shape, FLOAT32))), terms[0].shape, FLOAT32)


def _with_constant(t: Translation, call: Call, x: KernelValue) -> KernelValue | None:
    value = t.constants.get(call.operands[1].node)
    column = None if value is None or not np.isfinite(value).all() else _column(value, x.shape)
    if column is None or value is None:
        return None
    if x.low is not None and x.high is not None:
        # Integers of 32 bits; larger sums would wrap around.
        most = x.bound + int(np.abs(column.astype(np.int64)).max())
        if call.op is not op.add or value.dtype != np.int32 or x.dtype != np.int32 or carrier(most) != FLOAT32:
            return None
        return t.chained(x, Link(np.add, column.astype(np.float32)), low=-most, high=most)
    if not _is_real(x) or value.dtype != FLOAT32:
        return None
    ufunc = {op.add: np.add, op.sub: np.subtract, op.mul: np.multiply}[call.op]
    x = t.chained(x, Link(ufunc, column))
    return _turned(x) if ufunc is np.multiply and (column < 0).any() else x


def _column(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return a constant of one number, or one for each channel, as a column; None for others."""
    rank = len(shape) + 1
    if value.ndim > rank or not value.size:
        return None
    value = value.reshape((1,) * (rank - value.ndim) + value.shape)
    return value.reshape(-1, 1) if value.size in (1, shape[0]) and value.size == value.shape[1] else None


def _turned(x: KernelValue) -> KernelValue:
    assert isinstance(x.pending, Chain)
    return x._replace(pending=x.pending._replace(is_increasing=False))


def _translate_sums(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit the exact sums of products of stored numbers, which are integers of 32 bits."""
    values = [t.constants.get(o.node) for o in call.operands]
    if len(operands) != 1 or call.operands[0].node not in t.held or any(v is None for v in values[1:]):
        return None
    x_zero, w_zero = _number(t, call, 2), values[3] if len(values) > 3 else np.zeros((), np.int8)
    x = None if x_zero is None else _moved(t, operands[0], int(x_zero))
    w, zeros = np.asarray(values[1]).astype(np.int64), np.asarray(w_zero).astype(np.int64)
    if x is None or zeros.ndim > 1:
        return None
    if call.op is op.conv_integer:
        w = w - (zeros.reshape(-1, *[1] * (w.ndim - 1)) if zeros.size > 1 else int(zeros.reshape(())))
        shape = _convolution_shape(call, x, w)
    else:
        w = np.ascontiguousarray((w - zeros).T) if w.ndim == 2 else w
        shape = w.shape[:1] if w.ndim == 2 and x.shape == w.shape[1:] else None
    bound = int(np.abs(w).reshape(len(w), -1).sum(axis=1).max(initial=0)) * x.bound
    kind = carrier(bound)
    if shape is None or kind is None or bound >= 1 << 31:
        return None
    if call.op is op.conv_integer:
        register = _convolution(t, call, x, w, shape, kind)
    else:
        register = t.emit(Product((t.carried(x, kind).register,), t.register(shape, kind), w.astype(kind)))
    return KernelValue(register, shape, np.dtype(np.int32), -bound, bound)


def _moved(t: Translation, x: KernelValue, zero: int) -> KernelValue | None:
    """Return stored numbers as their distances from another zero point."""
    if x.low is None or x.high is None or x.scale is not None or x.dtype.kind not in "iu":
        return None
    if by := x.zero - zero:
        x = t.chained(t.computed(x), Link(np.add, float(by)), low=x.low + by, high=x.high + by)
    return x._replace(zero=0) if x.bound < 1 << 17 else None


def _translate_cast(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Read integers as float32."""
    (x,) = operands
    if x.low is None or x.scale is not None or x.zero or x.dtype != np.int32 or call.results[0].element != "f32":
        return None
    return t.chained(x, POSITIVE_ZERO, low=None, high=None, dtype=FLOAT32)


def _translate_batch_norm(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Subtract, multiply and add a number for each channel, as the op does."""
    if len(operands) != 1 or _is_given(t, call):
        return None
    x, values = t.real(operands[0]), [t.constants.get(o.node) for o in call.operands[1:]]
    if not _is_real(x) or any(v is None or v.dtype != FLOAT32 or v.shape != x.shape[:1] for v in values):
        return None
    gain, shift, mean, var = (np.asarray(v).reshape(-1, 1) for v in values)
    with np.errstate(all="ignore"):
        scale = gain / np.sqrt(var + var.dtype.type(call.attributes["epsilon"]))
    if not all(np.isfinite(v).all() for v in (scale, shift, mean)):
        return None
    links = Link(np.subtract, mean), Link(np.multiply, scale), Link(np.add, shift)
    x = t.chained(x, *links)
    return _turned(x) if (scale < 0).any() else x


def _translate_max_pool(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one maximum per axis, before what is pending: it is increasing, and cheaper afterwards."""
    (x,), a = operands, call.attributes
    results = pooled_sizes(x, call)
    if results is None or (_is_given(t, call) and x.low is None):
        return None
    if has_window_in_border(x.shape[1:], a["kernel"], a["strides"], a["pads"]):
        return None
    if isinstance(x.pending, Chain) and not x.pending.is_increasing:
        x = t.computed(x)
    return pooled(t, call, x, results, np.maximum)


def _translate_qlinear_conv(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit exact sums, scaled and rounded in float64."""
    values = [t.constants.get(o.node) for o in call.operands]
    if len(operands) != 1 or call.operands[0].node not in t.held or any(v is None for v in values[1:]):
        return None
    x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, *bias = (np.asarray(v) for v in values[1:])
    outputs = (-1, *[1] * (w.ndim - 1))
    weights = w.astype(np.int64) - (
        w_zero.astype(np.int64).reshape(outputs) if w_zero.size > 1 else int(w_zero.reshape(()))
    )
    shape = _convolution_shape(call, operands[0], weights)
    if shape is None:
        return None
    factor = x_scale.reshape(()) * w_scale.reshape(-1) / y_scale.reshape(())

    def sums(x: KernelValue, kind: np.dtype) -> int:
        return _convolution(t, call, x, weights, shape, kind)

    return _stored(t, call, operands[0], x_zero, weights, bias[0] if bias else None, factor, y_zero, shape, sums)


def _translate_qlinear_matmul(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
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
    limits = _limits_of(call)
    if limits is None or x_zero.size != 1 or y_zero.size != 1 or factor.size not in (1, shape[0]):
        return None
    factor = factor.astype(np.float64)
    if not (np.isfinite(factor) & (factor > 0)).all():
        return None
    if (moved := _moved(t, x, int(x_zero.reshape(())))) is None:
        return None
    x = moved
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


def _either(island: Translate | None, integers: Translate | None) -> Translate:
    """Return the translation of an op for values of islands, else for those of the integer level."""

    def translate(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
        found = None if island is None else island(t, call, operands)
        if found is None and integers is not None and (integers in _MOVING or all(x.is_plain for x in operands)):
            found = integers(t, call, operands)
        return found

    return translate


_MOVING = frozenset(TABLE[each] for each in (op.identity, op.flatten, op.reshape, op.transpose))
"""Translations that only move entries: what is known of a value stays true."""

_OWN: Mapping[Op, Translate] = {
    op.quantize_linear: _translate_quantize,
    op.dequantize_linear: _translate_dequantize,
    op.qlinear_conv: _translate_qlinear_conv,
    op.qlinear_matmul: _translate_qlinear_matmul,
    op.conv: _translate_conv,
    **dict.fromkeys((op.linear, op.gemm, op.matmul), _translate_rows),
    **dict.fromkeys((op.average_pool, op.global_average_pool, op.reduce_mean), _translate_mean),
    op.batch_norm: _translate_batch_norm,
    op.relu: _translate_relu,
    op.clip: _translate_clip,
    **dict.fromkeys((op.add, op.sub, op.mul), _translate_pair),
    **dict.fromkeys((op.matmul_integer, op.conv_integer), _translate_sums),
    op.cast: _translate_cast,
    op.max_pool: _translate_max_pool,
}

ISLANDS: Mapping[Op, Translate] = {each: _either(_OWN.get(each), TABLE.get(each)) for each in {**TABLE, **_OWN}}
"""Translations of quantised islands, and of the integer level."""
