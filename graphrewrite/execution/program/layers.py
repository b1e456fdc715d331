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
from graphrewrite.types import FixedPoint

__all__ = ["translate_conv", "translate_linear", "translate_max_pool"]


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
    if min(a["pads"], default=0) < 0 or min(a["dilations"], default=1) < 1:
        return None
    try:
        windows = Geometry.of(x.shape[1:], w.shape[2:], a["strides"], a["pads"], a["dilations"], groups)
    except TypeMismatchError:
        return None  # the op's own function raises a better error
    if windows.plain:
        x = t.carried(x, kind)
        columns = x.register
    else:
        x = t.computed(x)
        columns = t.emit(
            Gather(
                (x.register,),
                t.register(windows.gathered(x.shape[0]), kind, kept=windows.padded, gathered=True),
                windows,
            )
        )
    shape = (len(w), *windows.results[: len(x.shape) - 1])
    along = (windows.results[-1], windows.strides[-1])
    register = t.emit(Product((columns,), t.register(shape, kind), windows.columns(w).astype(kind), along))
    return KernelValue(register, shape, a["element"].dtype, low, high, _bias(b))


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
    least, most = min(x.low, 0), max(x.high, 0)  # a border holds zeros
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
    (x,) = operands
    a, rank = call.attributes, len(x.shape) - 1
    kernel = a["kernel"]
    strides, pads = per_axis(a["strides"], rank, 1), per_axis(a["pads"], 2 * rank, 0)
    if x.low is None or rank < 1 or min(pads, default=0) < 0 or a["ceil_mode"] or set(a["dilations"]) != {1}:
        return None
    try:
        results = spatial_sizes(x.shape[1:], kernel, strides, pads, (1,) * len(kernel))
    except TypeMismatchError:
        return None  # the op's own function raises a better error
    for size, count, k, stride, before in zip(x.shape[1:], results, kernel, strides, pads[:rank], strict=True):
        if k <= before or (count - 1) * stride - before >= size:
            return None  # a window inside the border has no maximum
    kind = t.registers[x.register].dtype
    for axis in range(rank):
        if (kernel[axis], strides[axis], pads[axis], pads[rank + axis]) == (1, 1, 0, 0):
            continue
        shape = (*x.shape[: 1 + axis], results[axis], *x.shape[2 + axis :])
        slide = Slide((x.register,), t.register(shape, kind), axis, kernel[axis], strides[axis], pads[axis])
        x = x._replace(register=t.emit(slide), shape=shape)
    return x
