"""Translation of quantised islands: layers on stored numbers, and what follows until their results are stored.

A register holds the distances of stored numbers from their zero point; the floats that these stand for are written only
where something outside reads them. Sums are exact (see `exact_layers`), and everything after them is done by the same
float operations, in the same order, as by the ops' functions: the results have the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import FLOAT32, FLOAT64, Map, carrier
from graphrewrite.execution.program.chain import POSITIVE_ZERO, Chain, Link, limit
from graphrewrite.execution.program.channelwise import Total
from graphrewrite.execution.program.exact_layers import ExactLayer, ExactMean, Steps
from graphrewrite.execution.program.instruction import Join, Product, Sum
from graphrewrite.execution.program.kernel import TABLE
from graphrewrite.execution.program.layers import pooled, pooled_sizes
from graphrewrite.execution.program.stored_numbers import (
    is_given,
    is_real,
    translate_cast,
    translate_dequantize,
    translate_quantize,
)
from graphrewrite.execution.program.stored_products import (
    convolution,
    convolution_shape,
    translate_qlinear_conv,
    translate_qlinear_matmul,
    translate_sums,
)
from graphrewrite.execution.program.translation import KernelValue, Translate, Translation
from graphrewrite.op.nn.pooling import has_window_in_border
from graphrewrite.op.op import Op

__all__ = ["ISLANDS", "is_island"]


_STORED = frozenset({op.qlinear_conv, op.qlinear_matmul, op.conv_integer, op.matmul_integer})


def is_island(call: Call) -> bool:
    """Tell whether a call computes exact sums of quantised numbers, so that a kernel pays."""
    return isinstance(call, ExactLayer) or call.op in _STORED


def _factor(t: Translation, call: ExactLayer, operands: list[KernelValue]) -> tuple[KernelValue, np.ndarray] | None:
    """Return the operand of a layer as whole numbers, and the whole numbers of its weights."""
    grid, weights = call.grids
    if len(operands) != 1 or not isinstance(weights, Steps) or isinstance(grid, Steps):
        return None
    (x,) = operands
    if x.scale is None:
        # Floats from outside, which are known to be on the grid.
        if not is_given(t, call) or not is_real(x):
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
        x = t.computed(x._replace(pending=Map(offset=0.0 if offset is None else offset)))
    else:
        x = t.chained(x, POSITIVE_ZERO if offset is None else Link(np.add, offset))
    return t.chained(x, Link(np.multiply, unit))


def _translate_conv(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one matrix product for all positions, or one sum of products for a depthwise convolution."""
    if not isinstance(call, ExactLayer) or (factor := _factor(t, call, operands)) is None:
        return None
    x, w = factor
    shape = convolution_shape(call, x, w)
    return None if shape is None else _after(t, call, convolution(t, call, x, w, shape, call.carrier), shape)


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
    return None if is_given(t, call) or not is_real(x) else t.chained(x, limit(0.0, math.inf))


def _translate_clip(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Limit floats to one or two bounds."""
    low, high = call.attributes["low"], call.attributes["high"]
    low, high = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    x = operands[0] if is_given(t, call) else t.real(operands[0])
    if not low <= high or is_given(t, call) or not is_real(x) or -math.inf == low == -high:
        return None
    return t.chained(x, limit(low, high))


def _translate_pair(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Add floats of one shape; or add, subtract or multiply a constant, of which there may be one for each channel."""
    if any(o.node in t.entries for o in call.operands):
        return None
    terms = [t.real(x) for x in operands]
    if len(operands) == 1 and len(call.operands) == 2:
        return _with_constant(t, call, terms[0])
    if call.op is not op.add or len(operands) != 2 or terms[0].shape != terms[1].shape or not all(map(is_real, terms)):
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
    if not is_real(x) or value.dtype != FLOAT32:
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


def _translate_concat(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Copy numbers of one grid, or floats, one behind the other."""
    rank = len(operands[0].shape) + 1
    axis = call.attributes["axis"] % rank - 1
    if len(operands) < len(call.operands) or axis < 0 or any(len(x.shape) != rank - 1 for x in operands):
        return None
    if any(o.node in t.entries for o in call.operands):
        return None
    first = operands[0]
    known = {(x.scale, x.zero, x.dtype) for x in operands}
    if len(known) > 1 or first.low is None:
        operands = [t.real(x) for x in operands]
        if not all(map(is_real, operands)):
            return None
    if any(x.low is not None and carrier(x.bound) != FLOAT32 for x in operands):
        return None
    operands = [t.carried(x, FLOAT32) for x in operands]
    shape = (*first.shape[:axis], sum(x.shape[axis] for x in operands), *first.shape[axis + 1 :])
    joined = Join(tuple(x.register for x in operands), t.register(shape, FLOAT32), (axis - 1) % len(shape))
    low = None if operands[0].low is None else min(x.low for x in operands if x.low is not None)
    high = None if operands[0].high is None else max(x.high for x in operands if x.high is not None)
    return operands[0]._replace(register=t.emit(joined), shape=shape, low=low, high=high)


def _translate_batch_norm(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Subtract, multiply and add a number for each channel, as the op does."""
    if len(operands) != 1 or is_given(t, call):
        return None
    x, values = t.real(operands[0]), [t.constants.get(o.node) for o in call.operands[1:]]
    if not is_real(x) or any(v is None or v.dtype != FLOAT32 or v.shape != x.shape[:1] for v in values):
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
    if results is None or (is_given(t, call) and x.low is None):
        return None
    if has_window_in_border(x.shape[1:], a["kernel"], a["strides"], a["pads"]):
        return None
    if isinstance(x.pending, Chain) and not x.pending.is_increasing:
        x = t.computed(x)
    return pooled(t, call, x, results, np.maximum)


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
    op.quantize_linear: translate_quantize,
    op.dequantize_linear: translate_dequantize,
    op.qlinear_conv: translate_qlinear_conv,
    op.qlinear_matmul: translate_qlinear_matmul,
    op.conv: _translate_conv,
    **dict.fromkeys((op.linear, op.gemm, op.matmul), _translate_rows),
    **dict.fromkeys((op.average_pool, op.global_average_pool, op.reduce_mean), _translate_mean),
    op.concat: _translate_concat,
    op.batch_norm: _translate_batch_norm,
    op.relu: _translate_relu,
    op.clip: _translate_clip,
    **dict.fromkeys((op.add, op.sub, op.mul), _translate_pair),
    **dict.fromkeys((op.matmul_integer, op.conv_integer), translate_sums),
    op.cast: translate_cast,
    op.max_pool: _translate_max_pool,
}

ISLANDS: Mapping[Op, Translate] = {each: _either(_OWN.get(each), TABLE.get(each)) for each in {**TABLE, **_OWN}}
"""Translations of quantised islands, and of the integer level."""
