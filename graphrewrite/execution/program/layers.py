"""Translation of convolutions, fully-connected layers and pooling."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.execution.program.call import Call
from graphrewrite.execution.program.carrier import Map, carrier
from graphrewrite.execution.program.instruction import Product, Slide
from graphrewrite.execution.program.translation import KernelValue, Translation
from graphrewrite.execution.program.windows import Gather, Geometry
from graphrewrite.op.nn.convolution import per_axis, spatial_sizes
from graphrewrite.op.nn.pooling import has_window_in_border
from graphrewrite.types import FixedPoint

__all__ = ["convolved", "pooled", "pooled_sizes", "translate_conv", "translate_linear", "translate_max_pool"]


def translate_linear(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one matrix product; the bias is pending, so that it merges with following ops."""
    layer = _layer(t, call, operands)
    if layer is None:
        return None
    x, w, b, kind, (low, high) = layer
    if w.ndim != 2 or x.shape != w.shape[1:]:
        return None
    x = t.carried(x, kind)
    register = t.emit(Product((x.register,), t.register(b.shape, kind), w.astype(kind)))
    return KernelValue(register, b.shape, call.attributes["element"].dtype, low, high, _bias(b))


def translate_conv(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one matrix product for all positions, after gathering the windows unless they are contiguous already."""
    layer = _layer(t, call, operands)
    if layer is None:
        return None
    x, w, b, kind, (low, high) = layer
    a = call.attributes
    groups = a["groups"]
    if w.ndim < 3 or w.ndim != len(x.shape) + 1 or groups < 1 or w.shape[1] * groups != x.shape[0] or len(w) % groups:
        return None
    try:
        windows = Geometry.of(x.shape[1:], w.shape[2:], a["strides"], a["pads"], a["dilations"], groups)
    except TypeMismatchError:
        return None  # the op's own function raises a better error
    shape = (len(w), *windows.results[: len(x.shape) - 1])
    register = convolved(t, x, windows, w, t.register(shape, kind))
    return KernelValue(register, shape, a["element"].dtype, low, high, _bias(b))


def convolved(t: Translation, x: KernelValue, windows: Geometry, w: np.ndarray, target: int) -> int:
    """Emit the matrix product of a convolution, and a gather of its windows unless they are contiguous already."""
    kind = t.registers[target].dtype
    if windows.plain:
        columns = t.carried(x, kind).register
    else:
        columns = t.register(windows.gathered(x.shape[0]), kind, gathered=True)
        t.emit(Gather((t.computed(x).register,), columns, windows))
    along = (windows.results[-1], windows.strides[-1])
    return t.emit(Product((columns,), target, windows.columns(w).astype(kind, copy=False), along))


def _layer(
    t: Translation, call: Call, operands: list[KernelValue]
) -> tuple[KernelValue, np.ndarray, np.ndarray, np.dtype, tuple[int, int]] | None:
    """Return the operands of a layer, the carrier of its sums and their bounds; None unless sums are provably exact."""
    if len(operands) != 1 or len(call.operands) != 3 or call.operands[0].node not in t.held:
        return None
    (x,), w, b = operands, t.constant(call, 1), t.constant(call, 2)
    element = call.attributes["element"]
    if x.low is None or x.high is None or w is None or b is None or not isinstance(element, FixedPoint):
        return None
    if w.ndim < 2 or not w.size or b.shape != w.shape[:1]:
        return None
    # Every partial sum, in any order and with the bias, is bounded by the operand's magnitude times the weights'.
    # This is computed in float64, exactly up to 2**53; beyond, rounding cannot bring it back below the bound.
    rows = w.reshape(len(w), -1)
    magnitudes, sums = np.abs(rows).sum(axis=1), rows.sum(axis=1)
    largest = float((magnitudes * max(x.bound, 1) + np.abs(b)).max())
    kind = carrier(int(largest)) if largest < 2.0**53 else None
    if kind is None:
        return None
    least, most = min(x.low, 0), max(x.high, 0)  # padding adds zeros to the operand's range
    positive, negative = (sums + magnitudes) / 2, (sums - magnitudes) / 2
    high = int((positive * most + negative * least + b).max())
    low = int((positive * least + negative * most + b).min())
    if low < element.minimum or high > element.maximum:
        return None  # the op's function would overflow and wrap around
    return x, w, b, kind, (low, high)


def _bias(b: np.ndarray) -> Map | None:
    return Map(offset=b.reshape(-1, 1)) if b.any() else None


def translate_max_pool(t: Translation, call: Call, operands: list[KernelValue]) -> KernelValue | None:
    """Emit one maximum per axis, before the pending map, which is monotone and cheaper afterwards."""
    (x,), a = operands, call.attributes
    results = pooled_sizes(x, call)
    # A window in the padding has no maximum.
    if x.low is None or results is None or has_window_in_border(x.shape[1:], a["kernel"], a["strides"], a["pads"]):
        return None
    return pooled(t, call, x, results, np.maximum)


def pooled_sizes(x: KernelValue, call: Call) -> tuple[int, ...] | None:
    """Return the output sizes of a pooling without dilation; None if instructions cannot compute it."""
    a = call.attributes
    if len(x.shape) < 2 or a["ceil_mode"] or set(a["dilations"]) != {1}:
        return None
    try:
        return spatial_sizes(x.shape[1:], a["kernel"], a["strides"], a["pads"], (1,) * len(a["kernel"]))
    except TypeMismatchError:
        return None  # the op's own function raises a better error


def pooled(t: Translation, call: Call, x: KernelValue, results: tuple[int, ...], fold: np.ufunc) -> KernelValue:
    """Emit one fold per axis."""
    a, rank, kind = call.attributes, len(results), t.registers[x.register].dtype
    kernel, strides, pads = a["kernel"], per_axis(a["strides"], rank, 1), per_axis(a["pads"], 2 * rank, 0)
    for axis in range(rank):
        if (kernel[axis], strides[axis], pads[axis], pads[rank + axis]) == (1, 1, 0, 0):
            continue
        shape = (*x.shape[: 1 + axis], results[axis], *x.shape[2 + axis :])
        slide = Slide((x.register,), t.register(shape, kind), axis, kernel[axis], strides[axis], pads[axis], fold)
        x = x._replace(register=t.emit(slide), shape=shape)
    return x
