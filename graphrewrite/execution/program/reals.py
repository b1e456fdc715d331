"""Translation of networks of real numbers: the same instructions, in the float types of the graph.

Sums are computed in another order than by the ops' functions, so that results differ by rounding. Ops that only move
or compare numbers give the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from graphrewrite import op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import Map
from graphrewrite.execution.program.chain import Chain
from graphrewrite.execution.program.channelwise import Border, Channelwise, Total
from graphrewrite.execution.program.instruction import Product, Sum
from graphrewrite.execution.program.layers import convolved, pooled, pooled_sizes
from graphrewrite.execution.program.movement import (
    translate_flatten,
    translate_identity,
    translate_reshape,
    translate_transpose,
)
from graphrewrite.execution.program.translation import KernelValue, Translate, Translation
from graphrewrite.execution.program.windows import Geometry
from graphrewrite.op.nn.convolution import per_axis
from graphrewrite.op.op import Op

__all__ = ["REALS", "channelwise"]


def _real(translate: Translate) -> Translate:
    """Restrict a translation to operands that are real numbers in registers of their own dtype."""

    def of_reals(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
        plain = all(x.low is None and t.registers[x.register].dtype == x.dtype == operands[0].dtype for x in operands)
        return translate(t, call, operands) if plain else None

    return of_reals


def _constant(t: Translation, call: Call, slot: int, dtype: np.dtype) -> np.ndarray | None:
    """Return an operand that is a constant of the dtype; None for others."""
    value = t.constants.get(call.operands[slot].node) if slot < len(call.operands) else None
    return value if value is not None and value.dtype == dtype else None


def _with_bias(t: Translation, call: Call, result: KernelValue, factor: float = 1.0) -> KernelValue | None:
    """Return a layer's sums with the bias, if it has one, as pending map."""
    if len(call.operands) == 2:
        return result
    b = _constant(t, call, 2, result.dtype)
    if b is None or not (b.size == 1 or b.size == result.shape[0] == b.shape[-1]):
        return None
    offset = np.empty((result.shape[0], 1))
    offset[...] = b.reshape(-1, 1) * result.dtype.type(factor)
    return result._replace(pending=Map(offset=offset))


def translate_conv(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one matrix product for all positions, or one sum of products for a depthwise convolution."""
    (x,), a = operands, call.attributes
    w = _constant(t, call, 1, x.dtype)
    rank, groups = len(x.shape) - 1, a["groups"]
    if w is None or rank < 1 or w.ndim != rank + 2 or not w.size or w.shape[1] * groups != x.shape[0]:
        return None
    try:
        windows = Geometry.of(x.shape[1:], w.shape[2:], a["strides"], a["pads"], a["dilations"], groups)
    except TypeMismatchError:
        return None  # the op's own function raises a better error
    shape = (len(w), *windows.results[:rank])
    result = _with_bias(t, call, KernelValue(t.register(shape, x.dtype), shape, x.dtype))
    if result is None:
        return None
    if groups == x.shape[0] == len(w):
        channelwise(t, call, x, w, result.register)
    else:
        convolved(t, t.computed(x), windows, w, result.register)
    return result


def channelwise(t: Translation, call: Call, x: KernelValue, w: np.ndarray, target: int) -> None:
    """Emit a sum of products for each channel, in a border of zeros, in the carrier of the register that it writes."""
    rank, a, kind = len(x.shape) - 1, call.attributes, t.registers[target].dtype
    pads = per_axis(a["pads"], 2 * rank, 0)
    if any(pads):
        is_alike = t.registers[x.register].dtype == kind
        if not is_alike or (isinstance(x.pending, Chain) and x.pending.is_wide):
            x = t.carried(x, kind)
        sizes = [p + size + q for p, size, q in zip(pads, x.shape[1:], pads[rank:], strict=False)]
        source = t.register((x.shape[0], *sizes), kind)
        by = None if x.pending is None else x.pending.held(kind)
        t.emit(Border((x.register,), source, by, pads[:rank]))
    else:
        source = t.carried(x, kind).register
    weights = np.ascontiguousarray(np.moveaxis(w[:, 0], 0, -1))
    strides, dilations = (per_axis(a[name], rank, 1) for name in ("strides", "dilations"))
    t.emit(Channelwise((source,), target, weights, strides, dilations))


def translate_linear(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one matrix product."""
    (x,) = operands
    w = _constant(t, call, 1, x.dtype)
    return None if w is None else _product(t, call, x, w)


def translate_gemm(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one matrix product with weights on its right."""
    (x,), a = operands, call.attributes
    w = _constant(t, call, 1, x.dtype)
    if w is None or w.ndim != 2 or a["trans_a"]:
        return None
    w = w if a["trans_b"] else w.T
    return _product(t, call, x, w * x.dtype.type(a["alpha"]) if a["alpha"] != 1 else w, a["beta"])


def _product(t: Translation, call: Call, x: KernelValue, w: np.ndarray, factor: float = 1.0) -> KernelValue | None:
    if w.ndim != 2 or x.shape != w.shape[1:]:
        return None
    shape = (len(w),)
    product = _with_bias(t, call, KernelValue(t.register(shape, x.dtype), shape, x.dtype), factor)
    if product is not None:
        t.emit(Product((t.computed(x).register,), product.register, np.ascontiguousarray(w)))
    return product


def translate_batch_norm(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Fold the scale into the weights of a preceding layer, if possible, and add an offset."""
    (x,) = operands
    parameters = [_constant(t, call, slot, x.dtype) for slot in range(1, 5)]
    if any(p is None or p.shape != x.shape[:1] for p in parameters):
        return None
    gain, shift, mean, var = (np.asarray(p, np.float64).reshape(-1, 1) for p in parameters)
    with np.errstate(all="ignore"):
        scale = gain / np.sqrt(var + call.attributes["epsilon"])
        offset = shift - mean * scale
    if not (np.isfinite(scale).all() and np.isfinite(offset).all()):
        return None
    if isinstance(x.pending, Map) and x.pending.limited:
        x = t.computed(x)
    if _is_last(t, call, x):
        layer = t.instructions[-1]
        assert isinstance(layer, Product | Channelwise)
        t.instructions[-1] = replace(layer, weights=_scaled(layer, scale))
        before = x.pending.offset if isinstance(x.pending, Map) else None
        return x._replace(pending=Map(offset=offset if before is None else before * scale + offset))
    return t.mapped(x, Map(scale, offset))


def _is_last(t: Translation, call: Call, x: KernelValue) -> bool:
    """Tell whether an operand is the result of the last instruction, a layer, without other readers."""
    last = t.instructions[-1] if t.instructions else None
    return (
        isinstance(last, Product | Channelwise)
        and last.writes == x.register
        and t.reads.get(call.operands[0].node) == 1
        and sum(held.register == x.register for held in t.held.values()) == 1
    )


def _scaled(layer: Product | Channelwise, scale: np.ndarray) -> np.ndarray:
    w = layer.weights
    # Channels are the last axis, or rows, perhaps in groups.
    factor = scale.reshape(-1) if isinstance(layer, Channelwise) else scale.reshape(*w.shape[:-1], 1)
    return np.asarray(w * factor, w.dtype)


def translate_relu(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Limit to non-negative numbers."""
    return t.mapped(operands[0], Map(low=0.0))


def translate_clip(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Limit to one or two bounds."""
    low, high = call.attributes["low"], call.attributes["high"]
    low, high = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    return t.mapped(operands[0], Map(low=low, high=high)) if low <= high else None


def translate_add(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Add two values of one shape."""
    if len(operands) != 2 or operands[0].shape != operands[1].shape:
        return None
    x, y = (t.computed(held) for held in operands)
    return KernelValue(t.emit(Sum((x.register, y.register), t.register(x.shape, x.dtype))), x.shape, x.dtype)


def translate_max_pool(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one maximum per axis, before the pending map if that is increasing: it is cheaper afterwards."""
    (x,) = operands
    results = pooled_sizes(x, call)
    if results is None:
        return None
    if isinstance(x.pending, Map) and np.any(np.asarray(x.pending.scale) < 0):  # does not commute with a maximum
        x = t.computed(x)
    return pooled(t, call, x, results, np.maximum)


def translate_average_pool(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one sum per axis, and a scale."""
    if any(call.attributes["pads"]) and not call.attributes["count_include_pad"]:
        return None
    results = pooled_sizes(operands[0], call)
    if results is None:
        return None
    total = pooled(t, call, t.computed(operands[0]), results, np.add)
    return t.mapped(total, Map(1.0 / math.prod(call.attributes["kernel"])))


def translate_global_average_pool(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one sum and a scale."""
    x = t.computed(operands[0])
    if len(x.shape) < 2:
        return None
    shape = (x.shape[0], *[1] * (len(x.shape) - 1))
    total = t.emit(Total((x.register,), t.register(shape, x.dtype)))
    return t.mapped(x._replace(register=total, shape=shape), Map(1.0 / math.prod(x.shape[1:])))


REALS: Mapping[Op, Translate] = {
    each: _real(translate)
    for each, translate in {
        op.conv: translate_conv,
        op.linear: translate_linear,
        op.gemm: translate_gemm,
        op.batch_norm: translate_batch_norm,
        op.relu: translate_relu,
        op.clip: translate_clip,
        op.add: translate_add,
        op.max_pool: translate_max_pool,
        op.average_pool: translate_average_pool,
        op.global_average_pool: translate_global_average_pool,
        op.identity: translate_identity,
        op.flatten: translate_flatten,
        op.reshape: translate_reshape,
        op.transpose: translate_transpose,
    }.items()
}
"""Translations of ops on real numbers."""
