"""Fake quantisation: floats that take few values, as networks are trained with it (QONNX, Pappalardo et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.domain import FLOATS, NUMBERS
from graphrewrite.types import Tensor, element_kind

__all__ = ["bipolar_quant", "multi_threshold", "quant", "trunc"]

ROUNDING: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "ROUND": np.rint,
    "HALF_EVEN": np.rint,
    "CEIL": np.ceil,
    "FLOOR": np.floor,
    "UP": lambda x: np.copysign(np.ceil(np.abs(x)), x),
    "DOWN": np.trunc,
    "HALF_UP": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "HALF_DOWN": lambda x: np.copysign(np.ceil(np.abs(x) - 0.5), x),
}
"""Rounding by the names of QONNX: up is away from zero, down is towards it."""


def _infer(x: Tensor, *parameters: Tensor, rounding_mode: str = "ROUND", **_: object) -> Tensor:
    if element_kind(x.element) != "float":
        raise TypeMismatchError(f"does not compute with {x.element}; op.cast(x, element='f32') gives floats first")
    if rounding_mode.upper() not in ROUNDING:
        raise TypeMismatchError(
            f"the rounding mode is one of {', '.join(ROUNDING)}, got {rounding_mode!r}"
            f"{did_you_mean(rounding_mode.upper(), ROUNDING)}"
        )
    for parameter in parameters:
        if broadcast_shape(x.shape, parameter.shape) != x.shape:
            raise TypeMismatchError(f"the parameter {parameter} does not broadcast to {x}")
    return Tensor(x.element, x.shape, x.layout)


def _limited(y: np.ndarray, bits: np.ndarray, *, signed: bool, narrow: bool) -> np.ndarray:
    """Return numbers limited to the range of so many bits; a narrow range is one shorter."""
    whole = np.exp2(bits.astype(np.float64))
    low = (-whole / 2 + narrow) if signed else np.zeros_like(whole)
    high = whole / 2 - 1 if signed else whole - 1 - narrow
    return np.minimum(np.maximum(y, low.astype(y.dtype)), high.astype(y.dtype))


@define_op(infer=_infer, elements=NUMBERS)
def quant(
    x: np.ndarray,
    scale: np.ndarray,
    zero_point: np.ndarray,
    bit_width: np.ndarray,
    *,
    signed: bool = True,
    narrow: bool = False,
    rounding_mode: str = "ROUND",
) -> np.ndarray:
    """The nearest numbers that so many bits hold: ``(round(clip(x/scale + zero_point)) - zero_point) * scale``.

    One bit with a sign is -1 or 1 (QONNX, IntQuant).

    Parameters
    ----------
    x
        Any shape.
    scale
        What one step stands for; this and the next ones broadcast to the shape of the first operand.
    zero_point
        The stored number that stands for zero.
    bit_width
        Number of bits.
    signed
        Whether the numbers have a sign.
    narrow
        Whether the range is without -2**(bits-1), or without a sign 2**bits-1.
    rounding_mode
        One of {ROUND, HALF_EVEN, CEIL, FLOOR, UP, DOWN, HALF_UP, HALF_DOWN}.

    Examples
    --------
    >>> quant(np.array([0.3, 9.0, -9.0]), np.array(0.25), np.array(0.0), np.array(4)).tolist()
    [0.25, 1.75, -2.0]
    """
    kind = np.promote_types(x.dtype, np.float32)
    step, zero, bits = np.asarray(scale, kind), np.asarray(zero_point, kind), np.asarray(bit_width)
    with np.errstate(all="ignore"):
        y = np.asarray(x, kind) / step + zero
        whole = ROUNDING[rounding_mode.upper()](_limited(y, bits, signed=signed, narrow=narrow))
        if signed:  # one bit with a sign is bipolar: -1 or 1, not -1 or 0
            whole = np.where(bits == 1, np.where(y >= 0, kind.type(1), kind.type(-1)), whole)
        return ((whole - zero) * step).astype(x.dtype)


@define_op(infer=_infer, elements=NUMBERS)
def bipolar_quant(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The scale where a number is not negative, and its opposite elsewhere (QONNX, BipolarQuant).

    Parameters
    ----------
    x
        Any shape.
    scale
        Broadcast to the shape of the first operand.

    Examples
    --------
    >>> bipolar_quant(np.array([0.3, -9.0, 0.0]), np.array(0.25)).tolist()
    [0.25, -0.25, 0.25]
    """
    step = np.asarray(scale).astype(x.dtype)
    return np.where(x >= 0, step, -step)


@define_op(infer=_infer, elements=NUMBERS)
def trunc(
    x: np.ndarray,
    scale: np.ndarray,
    zero_point: np.ndarray,
    in_bit_width: np.ndarray,
    out_bit_width: np.ndarray,
    out_scale: np.ndarray | None = None,
    *,
    signed: bool = True,
    narrow: bool = False,
    rounding_mode: str = "FLOOR",
) -> np.ndarray:
    """Quantised numbers without their last bits: ``round(round(x/scale + zero_point) / 2**places)``, in a scale again.

    With a scale of the result, the places are ``log2(out_scale / scale)``, the result is limited to its bit width, and
    stands in that scale, with a zero point that loses the same places (QONNX, Trunc, version 2). Without it, places are
    the difference of the bit widths, and scale and zero point stay (version 1).

    Parameters
    ----------
    x
        Any shape.
    scale
        What one step stands for; this and the next ones broadcast to the shape of the first operand.
    zero_point
        The stored number that stands for zero.
    in_bit_width
        Bits of the operand.
    out_bit_width
        Bits of the result.
    out_scale
        Scale of the result.
    signed
        Whether the numbers have a sign.
    narrow
        Whether the range of the result is without its outermost number, as of `quant`.
    rounding_mode
        One of {ROUND, HALF_EVEN, CEIL, FLOOR, UP, DOWN, HALF_UP, HALF_DOWN}.

    Examples
    --------
    >>> one, zero = np.array(1.0), np.array(0.0)
    >>> trunc(np.array([7.0, 13.0]), one, zero, np.array(8), np.array(6)).tolist()
    [1.0, 3.0]
    >>> trunc(np.array([7.0, 13.0]), one, zero, np.array(8), np.array(6), np.array(4.0)).tolist()
    [4.0, 12.0]
    """
    kind = np.promote_types(x.dtype, np.float32)
    step, zero, rounded = np.asarray(scale, kind), np.asarray(zero_point, kind), ROUNDING[rounding_mode.upper()]
    with np.errstate(all="ignore"):
        y = np.rint(np.asarray(x, kind) / step + zero)
        if out_scale is None:
            places = np.asarray(in_bit_width, np.float64) - np.asarray(out_bit_width, np.float64)
            return ((rounded(y / np.exp2(places).astype(kind)) - zero) * step).astype(x.dtype)
        wider = np.asarray(out_scale, kind)
        power = np.exp2(np.rint(np.log2(wider / step)))
        y = rounded(_limited(y / power, np.asarray(out_bit_width), signed=signed, narrow=narrow))
        return ((y - zero / power) * wider).astype(x.dtype)


def _infer_multi_threshold(x: Tensor, thresholds: Tensor, *, data_layout: str = "NCHW", **_: object) -> Tensor:
    if len(x.shape) < 2 or len(thresholds.shape) != 2:
        raise TypeMismatchError(f"thresholds are [C,steps] or [1,steps], got {x} with {thresholds}")
    if len(data_layout) < 2 or "C" not in (data_layout[1], data_layout[-1]):
        raise TypeMismatchError(f"data_layout has the channels as the second or the last axis, got {data_layout!r}")
    axis = _channel_axis(data_layout, len(x.shape))
    if x.layout is not None and x.layout[axis] != "C":
        raise TypeMismatchError(f"the channels of {x} are not axis {axis}, as data_layout={data_layout!r} says")
    if thresholds.shape[0] not in (1, x.shape[axis]):
        raise TypeMismatchError(
            f"{x.shape[axis]} channels need one row of thresholds each, or one for all, got {thresholds}"
        )
    return Tensor(x.element, x.shape, x.layout)


def _channel_axis(data_layout: str, rank: int) -> int:
    return rank - 1 if data_layout[-1] == "C" else 1


@define_op(infer=_infer_multi_threshold, elements=FLOATS)
def multi_threshold(
    x: np.ndarray,
    thresholds: np.ndarray,
    *,
    out_scale: float = 1.0,
    out_bias: float = 0.0,
    data_layout: str = "NCHW",
) -> np.ndarray:
    """How many thresholds of its channel a number reaches: ``out_scale * sum_t(x >= thresholds[c,t]) + out_bias``.

    FINN, MultiThreshold.

    Parameters
    ----------
    x
        Input [N, C, …], or [N, …, C].
    thresholds
        Thresholds [C, steps], or [1, steps] for all channels.
    out_scale
        Factor of the count.
    out_bias
        What is added to it.
    data_layout
        Names of the axes, such as ``NHWC``; where they end with C, channels are last, otherwise second.

    Examples
    --------
    >>> multi_threshold(np.array([[0.0, 0.0], [1.5, 9.0]]), np.array([[0.5, 1.0], [0.0, 2.0]])).tolist()
    [[0.0, 1.0], [2.0, 2.0]]
    """
    moved = np.moveaxis(x, _channel_axis(data_layout, x.ndim), 0)
    counts = np.empty(moved.shape, x.dtype)
    rows = np.sort(thresholds, axis=1)
    if len(rows) == 1:
        counts[...] = np.searchsorted(rows[0], moved, side="right")
    else:
        for channel, row in enumerate(rows):
            counts[channel] = np.searchsorted(row, moved[channel], side="right")
    counts[np.isnan(moved)] = 0  # searchsorted puts NaN after all thresholds, but it reaches none
    kind = x.dtype.type
    with np.errstate(over="ignore"):
        return np.moveaxis(counts * kind(out_scale) + kind(out_bias), 0, _channel_axis(data_layout, x.ndim))
