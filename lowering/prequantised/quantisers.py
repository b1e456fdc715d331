"""Quantisers: ops whose results lie on a grid, and the integers of these results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import FixedPoint, Graph, op
from graphrewrite.lowering.composite.axes import channel_entries
from graphrewrite.lowering.prequantised.elementwise_chains import ONE_BY_ONE
from graphrewrite.rules.operands import operands_of
from graphrewrite.types import element_dtype, integer_limits

__all__ = ["QUANTISED", "QUANTISERS", "is_quantised", "quantised_as", "stored_limits"]

_ZERO_BITS = 46
"""Most bits of a zero point without its sign: distances from it have two bits more, with those of a lane."""

QUANTISERS = op.quantize_linear | op.quant | op.bipolar_quant | op.trunc | op.multi_threshold | op.quantise | op.sign
"""Ops whose results lie on a grid, or are stored integers."""

QUANTISED = frozenset(
    {
        *("quantize_linear", "dequantize_linear", "qlinear_conv", "qlinear_matmul", "conv_integer", "matmul_integer"),
        *("quant", "bipolar_quant", "trunc", "multi_threshold", "quantise"),
        *("multiply_fixed_point", "round_half_away"),
    }
)
"""Ops of quantised models: quantisers, and ops on stored integers."""


def is_quantised(graph: Graph) -> bool:
    r"""Tell whether a network has quantisers of its own, so that it needs no calibration.

    Examples
    --------
    >>> is_quantised(Graph.parse("graph g\nx = input() : f32[N,3]\nr = relu(x)\ny = output(r)"))
    False
    """
    return any(graph.nodes[n]["type"] in QUANTISED for n in graph)


def stored_limits(element: Any) -> tuple[int, int] | None:
    """Return the limits of a type of stored integers, all of which float32 holds, or None of another type.

    Examples
    --------
    >>> stored_limits("u16"), stored_limits("i32"), stored_limits("f32")
    ((0, 65535), None, None)
    """
    limits = integer_limits(element) if isinstance(element, str) else None
    return limits if limits is not None and limits[1] < 1 << 16 else None


def quantised_as(top: Any, rank: int) -> tuple[Callable[[np.ndarray], np.ndarray], FixedPoint, Any] | str:
    """Return the integers of a quantiser's values, as distances from the zero point.

    These are: a function from values to integers, the format that holds these, and the value of one: an array that
    broadcasts, a format, or None for stored integers, which have no scale. Or the reason why there are none.
    """
    constants = [o.value for o in operands_of(top)[1:] if o.is_constant]
    if len(constants) < len(operands_of(top)) - 1:
        return "its scale or zero point is computed"
    if top.op_name == "sign":
        return _of_signs(top)
    if top.op_name not in ("quantise", "multi_threshold") and not _is_positive(constants[0]):
        return "its scale is not positive"
    if top.op_name == "quantise":
        if top.fractions is not None:
            return "its result has a format for each channel"
        return lambda v: np.rint(np.ldexp(v.astype(np.float64), top.element.fraction)), top.element, top.element
    if top.op_name == "quantize_linear":
        limits = stored_limits(top.type.element)
        if limits is None:
            return f"its numbers are stored as {top.type.element}"
        zero = constants[1].astype(np.int64) if len(constants) > 1 else np.zeros((), np.int64)
        element = FixedPoint.holding(min(0, limits[0] - int(zero.max())), limits[1] - int(zero.min()))
        return lambda v: v.astype(np.int64) - zero.reshape(-1), element, None
    if top.op_name == "multi_threshold":
        return _of_thresholds(top, constants[0].shape[1])
    # The three that are left give multiples of a scale, as floats.
    step = constants[0]
    if top.op_name == "bipolar_quant":
        element, whole = FixedPoint(True, 2), step
    else:
        bits = constants[2 if top.op_name == "quant" else 3]
        zero = float(constants[1].max())
        if bits.size != 1 or zero != constants[1].min() or zero != np.rint(zero) or float(bits.ravel()[0]) % 1:
            return "its zero point or bit width is not an integer, or differs from channel to channel"
        if abs(zero) >= 1 << _ZERO_BITS:
            return f"its zero point has more than {_ZERO_BITS} bits"
        width = int(bits.ravel()[0])
        if not 1 <= width <= 16:
            return f"it has {width} bits, and quantised numbers have 1 to 16"
        whole = step
        if top.op_name == "trunc":
            if len(constants) > 4:
                whole = constants[4]
            if zero:
                return "its zero point is not 0"
        low, high = (-(1 << (width - 1)), (1 << (width - 1)) - 1) if top.signed else (0, (1 << width) - 1)
        if top.op_name == "trunc" and len(constants) <= 4:
            high = (1 << width) - 1  # without a scale of its own it is not limited, and says of no sign
        if width == 1 and top.signed:
            high = 1
        element = FixedPoint.holding(min(0, low - int(zero)), max(high - int(zero), 1))
    if channel_entries(whole.shape, rank) is None:
        return "its scale differs along other axes than the channels"
    units = whole.astype(np.float64).reshape(-1)
    return lambda v: np.rint(v.astype(np.float64) / units), element, whole


def _of_signs(top: Any) -> tuple[Callable[[np.ndarray], np.ndarray], FixedPoint, Any] | str:
    kinds, readers = {}, list(top.graph.successors(top.node))
    for node in readers:
        kinds[node] = top.graph.nodes[node]["type"]
        if kinds[node] in ONE_BY_ONE and kinds[node] != "sign":
            readers += [n for n in top.graph.successors(node) if n not in readers]
    if not {*kinds.values()}.isdisjoint(QUANTISED | {"sign"}):
        return "what follows is quantised, as one function with it"
    return lambda v: v, FixedPoint(True, 2), np.ones((), element_dtype(top.type.element))


def _of_thresholds(top: Any, steps: int) -> tuple[Callable[[np.ndarray], np.ndarray], FixedPoint, Any] | str:
    scale, bias = float(top.out_scale), float(top.out_bias)
    for part in (1.0, 2.0) if 0 < scale < np.inf and np.isfinite(bias) else ():
        first = bias * part / scale
        if first == np.rint(first) and abs(first) < 1 << 16:
            element = FixedPoint.holding(min(0, int(first)), max(1, int(first + part * steps)))
            worth = np.asarray(scale / part, element_dtype(top.type.element))
            return lambda v, unit=float(worth): np.rint(v.astype(np.float64) / unit), element, worth
    return f"its bias {bias} is not a multiple of half its scale {scale}"


def _is_positive(scale: np.ndarray) -> bool:
    return bool(scale.size and scale.dtype.kind == "f" and (np.isfinite(scale) & (scale > 0)).all())
