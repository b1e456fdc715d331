"""Translate networks of real numbers: the same instructions, in the floats that the types say.

The sums are those of the op's function in another order, so that results agree but for rounding. What only moves or
compares numbers gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from graphrewrite import op
from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.convolution import per_axis, spatial_sizes
from graphrewrite.op.op import Op
from graphrewrite.program.call import Call
from graphrewrite.program.carrier import Map
from graphrewrite.program.channelwise import Border, Channelwise, Total
from graphrewrite.program.instruction import Product, Slide, Sum
from graphrewrite.program.movement import translate_flatten, translate_identity, translate_reshape, translate_transpose
from graphrewrite.program.translation import Held, Translate, Translation
from graphrewrite.program.windows import Gather, Geometry

__all__ = ["REALS"]


def _real(translate: Translate) -> Translate:
    """A translation for operands that are real numbers in registers of their own dtype."""

    def of_reals(t: Translation, call: Call, given: list[Held]) -> Held | None:
        plain = all(x.low is None and t.registers[x.register].dtype == x.dtype == given[0].dtype for x in given)
        return translate(t, call, given) if plain else None

    return of_reals


def _constant(t: Translation, call: Call, slot: int, dtype: np.dtype) -> np.ndarray | None:
    """An operand that is a constant of the dtype."""
    value = t.constants.get(call.operands[slot].node) if slot < len(call.operands) else None
    return value if value is not None and value.dtype == dtype else None


def _with_bias(t: Translation, call: Call, made: Held, factor: float = 1.0) -> Held | None:
    """A layer's sums with the bias still to be added, if the layer has one."""
    if len(call.operands) == 2:
        return made
    b = _constant(t, call, 2, made.dtype)
    if b is None or not (b.size == 1 or b.size == made.shape[0] == b.shape[-1]):
        return None
    offset = np.broadcast_to(b.reshape(-1, 1) * made.dtype.type(factor), (made.shape[0], 1))
    return made._replace(pending=Map(offset=offset.astype(np.float64)))


def translate_conv(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """One matrix product for all positions, or one sum of products where each channel has its own filter."""
    (x,), a = given, call.attributes
    w = _constant(t, call, 1, x.dtype)
    rank, groups = len(x.shape) - 1, a["groups"]
    if w is None or rank < 1 or w.ndim != rank + 2 or not w.size or w.shape[1] * groups != x.shape[0]:
        return None
    try:
        windows = Geometry.of(x.shape[1:], w.shape[2:], a["strides"], a["pads"], a["dilations"], groups)
    except TypeMismatchError:
        return None  # the op's own function says what is wrong
    shape = (len(w), *windows.results[:rank])
    made = t.register(shape, x.dtype)
    if _with_bias(t, call, Held(made, shape, x.dtype)) is None:
        return None
    x = t.computed(x)
    if groups == x.shape[0] == len(w):
        _channelwise(t, call, x, w, made)
    else:
        columns = x.register
        if not windows.plain:
            columns = t.register(windows.gathered(x.shape[0]), x.dtype, kept=windows.padded, gathered=True)
            t.emit(Gather((x.register,), columns, windows))
        along = (windows.results[-1], windows.strides[-1])
        t.emit(Product((columns,), made, windows.columns(w), along))
    return _with_bias(t, call, Held(made, shape, x.dtype))


def _channelwise(t: Translation, call: Call, x: Held, w: np.ndarray, made: int) -> None:
    rank, a = len(x.shape) - 1, call.attributes
    pads, source = per_axis(a["pads"], 2 * rank, 0), x.register
    if any(pads):
        sizes = [p + size + q for p, size, q in zip(pads, x.shape[1:], pads[rank:], strict=False)]
        source = t.register((x.shape[0], *sizes), x.dtype, kept=True)
        t.emit(Border((x.register,), source, pads[:rank]))
    weights = np.ascontiguousarray(np.moveaxis(w[:, 0], 0, -1))
    strides, dilations = (per_axis(a[name], rank, 1) for name in ("strides", "dilations"))
    t.emit(Channelwise((source,), made, weights, strides, dilations))


def translate_linear(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """One matrix product."""
    (x,) = given
    w = _constant(t, call, 1, x.dtype)
    return None if w is None else _product(t, call, x, w)


def translate_gemm(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """One matrix product with weights on its right."""
    (x,), a = given, call.attributes
    w = _constant(t, call, 1, x.dtype)
    if w is None or w.ndim != 2 or a["trans_a"]:
        return None
    w = w if a["trans_b"] else w.T
    return _product(t, call, x, w * x.dtype.type(a["alpha"]) if a["alpha"] != 1 else w, a["beta"])


def _product(t: Translation, call: Call, x: Held, w: np.ndarray, factor: float = 1.0) -> Held | None:
    if w.ndim != 2 or x.shape != w.shape[1:]:
        return None
    shape = (len(w),)
    made = t.register(shape, x.dtype)
    found = _with_bias(t, call, Held(made, shape, x.dtype), factor)
    if found is not None:
        t.emit(Product((t.computed(x).register,), made, np.ascontiguousarray(w)))
    return found


def translate_batch_norm(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """A scale, which the weights of a layer before it take, and an offset."""
    (x,) = given
    found = [_constant(t, call, slot, x.dtype) for slot in range(1, 5)]
    if any(p is None or p.shape != x.shape[:1] for p in found):
        return None
    gain, shift, mean, var = (np.asarray(p, np.float64).reshape(-1, 1) for p in found)
    with np.errstate(all="ignore"):
        scale = gain / np.sqrt(var + call.attributes["epsilon"])
        offset = shift - mean * scale
    if not (np.isfinite(scale).all() and np.isfinite(offset).all()):
        return None
    if x.pending is not None and x.pending.limited:
        x = t.computed(x)
    if _is_last(t, call, x):
        layer = t.instructions[-1]
        assert isinstance(layer, Product | Channelwise)
        t.instructions[-1] = replace(layer, weights=_scaled(layer, scale))
        before = None if x.pending is None else x.pending.offset
        return x._replace(pending=Map(offset=offset if before is None else before * scale + offset))
    return t.mapped(x, Map(scale, offset), low=None, high=None, dtype=x.dtype)


def _is_last(t: Translation, call: Call, x: Held) -> bool:
    """Whether an operand is what the last instruction gives, a layer, and nobody else knows it."""
    last = t.instructions[-1] if t.instructions else None
    return (
        isinstance(last, Product | Channelwise)
        and last.writes == x.register
        and t.reads.get(call.operands[0].node) == 1
        and sum(held.register == x.register for held in t.held.values()) == 1
    )


def _scaled(layer: Product | Channelwise, scale: np.ndarray) -> np.ndarray:
    w = layer.weights
    # Channels come last, or are rows, perhaps in groups.
    factor = scale.reshape(-1) if isinstance(layer, Channelwise) else scale.reshape(*w.shape[:-1], 1)
    return np.asarray(w * factor, w.dtype)


def translate_relu(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """A limit."""
    return t.mapped(given[0], Map(low=0.0), low=None, high=None, dtype=given[0].dtype)


def translate_clip(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """Two limits, or one."""
    low, high = call.attributes["low"], call.attributes["high"]
    low, high = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    return (
        t.mapped(given[0], Map(low=low, high=high), low=None, high=None, dtype=given[0].dtype) if low <= high else None
    )


def translate_add(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """A sum of two values of one shape."""
    if len(given) != 2 or given[0].shape != given[1].shape:
        return None
    x, y = (t.computed(held) for held in given)
    return Held(t.emit(Sum((x.register, y.register), t.register(x.shape, x.dtype))), x.shape, x.dtype)


def _slid(t: Translation, call: Call, x: Held, fold: np.ufunc) -> Held | None:
    """Windows, one axis after the other."""
    a, rank = call.attributes, len(x.shape) - 1
    kernel, strides, pads = a["kernel"], per_axis(a["strides"], rank, 1), per_axis(a["pads"], 2 * rank, 0)
    if rank < 1 or a["ceil_mode"] or set(a["dilations"]) != {1}:
        return None
    try:
        results = spatial_sizes(x.shape[1:], kernel, strides, pads, (1,) * len(kernel))
    except TypeMismatchError:
        return None  # the op's own function says what is wrong
    x = t.computed(x) if x.pending is not None and _is_turned(x.pending) else x
    for axis in range(rank):
        if (kernel[axis], strides[axis], pads[axis], pads[rank + axis]) == (1, 1, 0, 0):
            continue
        shape = (*x.shape[: 1 + axis], results[axis], *x.shape[2 + axis :])
        made = t.register(shape, x.dtype)
        t.emit(Slide((x.register,), made, axis, kernel[axis], strides[axis], pads[axis], fold))
        x = x._replace(register=made, shape=shape)
    return x


def _is_turned(by: Map) -> bool:
    """Whether a map makes the greatest number another one."""
    return bool(np.any(np.asarray(by.scale) < 0))


def translate_max_pool(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """One axis after the other, before what is pending, if that is monotone: it costs less afterwards."""
    return _slid(t, call, given[0], np.maximum)


def translate_average_pool(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """Sums along one axis after the other, and a scale."""
    if any(call.attributes["pads"]) and not call.attributes["count_include_pad"]:
        return None
    found = _slid(t, call, t.computed(given[0]), np.add)
    return None if found is None else _mean(t, found, math.prod(call.attributes["kernel"]))


def translate_global_average_pool(t: Translation, call: Call, given: list[Held]) -> Held | None:
    """One sum and a scale."""
    x = t.computed(given[0])
    if len(x.shape) < 2:
        return None
    shape = (x.shape[0], *[1] * (len(x.shape) - 1))
    made = t.emit(Total((x.register,), t.register(shape, x.dtype)))
    return _mean(t, x._replace(register=made, shape=shape), math.prod(x.shape[1:]))


def _mean(t: Translation, x: Held, count: int) -> Held:
    return t.mapped(x, Map(1.0 / count), low=None, high=None, dtype=x.dtype)


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
"""What of real numbers can become instructions."""
