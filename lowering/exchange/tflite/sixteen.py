"""Operators of TensorFlow Lite on numbers of 16 bits with weights of 8 ("16x8"), as reference kernels compute them.

Sums are of 64 bits there, with a multiplier of 15 bits and one rounding. Here they are whole numbers in float64, which
holds each of their steps exactly; what it could not hold is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import Tensor, op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.layers import (
    depthwise_weights,
    groups,
    image,
    product,
    rows_of,
    transposed,
    turned,
    unrowed,
)
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result, half_away, multipliers, rescaled, shown
from graphrewrite.lowering.exchange.tflite.windows import channels_last, channels_second, window
from graphrewrite.types import Quantised

__all__ = [
    "are_sixteen",
    "wide_average_pool",
    "wide_batch_matmul",
    "wide_conv",
    "wide_depthwise_conv",
    "wide_fully_connected",
    "wide_leaky_relu",
    "wide_logistic",
    "wide_softmax",
    "wide_sum",
    "wide_tabulated",
    "wide_tanh",
    "wide_transpose_conv",
]

_STORED = "i16"
_EXACT = 2.0**52
"""Float64 holds whole numbers, and halves between them, below it."""
_INT32 = 2
"""The type of 32 bits, by its number."""
_LEFT_SHIFT = 15
"""Bits that sums of two operands have right of the point."""
_ALL = np.arange(-(1 << 15), 1 << 15)
"""The stored numbers."""
_STEPS = 512
"""Pieces of a curve in a table, each of 128 numbers."""


def are_sixteen(attributes: Mapping[str, Any], kinds: Sequence[Tensor]) -> str | None:
    """Tell why the first operand and the results are no quantised numbers of 16 bits around zero."""
    for kind in (*kinds[:1], *attributes["to"]):
        element = kind.element
        if not isinstance(element, Quantised) or element.storage != _STORED:
            return f"an operand or result is {shown(kind)}, not i16"
        if any(zero for _, zero in element.channels):
            return f"{shown(kind)} has a zero point, which numbers of 16 bits do not have"
    return None


# ---------------------------------------------------------------------- sums of products


def wide_conv(
    x: Operand,
    w: Operand,
    b: Operand | None = None,
    *,
    to: tuple[Result],
    quantized_bias_type: int = 0,
    **options: Any,
) -> Any:
    """CONV_2D."""
    is_short = _is_short(b, quantized_bias_type)
    sizes = window(image(x), w.shape[1:3], **options)
    moved = w.moved(0, 3, 1, 2, element="f64")
    sums = op.conv(channels_second(_real(x)), moved, groups=groups(x, w), **sizes)
    return channels_last(_rescaled(sums, x, w, b, to[0], is_short=is_short, axis=0))


def wide_depthwise_conv(x: Operand, w: Operand, b: Operand | None = None, *, to: tuple[Result], **options: Any) -> Any:
    """DEPTHWISE_CONV_2D."""
    _is_short(b, 0)
    sizes = window(image(x), w.shape[1:3], **options)
    sums = op.conv(channels_second(_real(x)), depthwise_weights(x, w, "f64"), groups=x.shape[3], **sizes)
    return channels_last(_rescaled(sums, x, w, b, to[0], axis=3))


def wide_transpose_conv(
    shape: Operand,
    w: Operand,
    x: Operand,
    b: Operand | None = None,
    *,
    to: tuple[Result],
    quantized_bias_type: int = 0,
    **options: Any,
) -> Any:
    """TRANSPOSE_CONV."""
    is_short = _is_short(b, quantized_bias_type)
    moved = w.moved(3, 0, 1, 2, element="f64")
    sums = op.conv_transpose(channels_second(_real(x)), moved, **transposed(shape, w, x, options))
    return channels_last(_rescaled(sums, x, w, b, to[0], is_short=is_short, axis=0))


def wide_fully_connected(
    x: Operand,
    w: Operand,
    b: Operand | None = None,
    *,
    to: tuple[Result],
    quantized_bias_type: int = 0,
    keep_num_dims: bool = False,
) -> Any:
    """FULLY_CONNECTED: sums are scaled in float64 and rounded once, half away from zero."""
    is_short = _is_short(b, quantized_bias_type)
    rows, kept = rows_of(x, w.shape[1], keep_num_dims)
    sums, _ = _biased(
        op.matmul(op.cast(rows, element="f64"), w.moved(1, 0, element="f64")),
        w,
        b,
        is_short=is_short,
        axis=0,
        trailing=0,
    )
    factors = x.scale * w.scales / to[0].scale
    factors = factors[0] if (factors == factors[0]).all() else factors
    return unrowed(op.round_half_away(op.mul(sums, factors), **to[0].limits, element=_STORED), kept)


def wide_batch_matmul(x: Operand, y: Operand, *, to: tuple[Result], adj_x: bool = False, adj_y: bool = False) -> Any:
    """BATCH_MATMUL: both operands have 16 bits."""
    if reason := are_sixteen({"to": [to[0].kind]}, [y.kind]):
        raise Unfit(reason)
    most = x.shape[-2 if adj_x else -1] * 2.0**30
    _check_width(most)
    sums = op.matmul(turned(_real(x), adj_x), turned(_real(y), adj_y))
    return _scaled(sums, most, float(product(x.scale, y.scale)) / to[0].scale, to[0])


def _check_width(most: float) -> None:
    """Raise if a product of a sum and a multiplier of 15 bits may be more than float64 holds."""
    if most * (1 << 15) >= _EXACT:
        raise Unfit("its sums may be wider than 37 bits, up to which they are supported")


def _real(x: Operand) -> Any:
    return op.cast(x.value, element="f64")


def _is_short(b: Operand | None, stated: int) -> bool:
    """Tell whether sums have 32 bits, as the operator states, and not 64; raise if its bias has others."""
    if b is not None and b.known().dtype != (np.int32 if stated == _INT32 else np.int64):
        raise Unfit(f"its bias is {shown(b.kind)}, and i64 is supported, or i32 that quantized_bias_type states")
    return stated == _INT32


def _biased(sums: Any, w: Operand, b: Operand | None, *, is_short: bool, axis: int, trailing: int) -> tuple[Any, float]:
    """Return sums with their bias, and how large they may be."""
    weights, at = w.known(), getattr(w.kind.element, "axis", None)
    if weights.dtype != np.int8 or w.zero_points.any() or at not in (None, axis):
        raise Unfit(f"its weights are {shown(w.kind)}; i8 around zero, by axis {axis}, are supported with i16")
    largest = np.abs(weights.astype(np.float64)).sum(tuple(a for a in range(weights.ndim) if a != axis)) * (1 << 15)
    if b is not None:
        bias = b.known().astype(np.float64)
        largest = largest + np.abs(bias)
        if bias.any() and b.keep is not None:
            sums = op.add(sums, b.keep(f"bias {trailing} f64", lambda: bias.reshape(-1, *[1] * trailing)))
    most = float(largest.max(initial=0))
    if is_short:
        if most >= 2.0**31:
            raise Unfit("its sums may be wider than 32 bits, which it states")
    else:
        _check_width(most)
    return sums, most


def _rescaled(
    sums: Any, x: Operand, w: Operand, b: Operand | None, to: Result, *, is_short: bool = False, axis: int
) -> Any:
    """Return sums with their bias in the format of a result."""
    sums, most = _biased(sums, w, b, is_short=is_short, axis=axis, trailing=2)
    factors = x.scale * w.scales / to.scale
    if is_short:
        return rescaled(op.cast(sums, element="i32"), factors, to, trailing=2)
    return _scaled(sums, most, factors, to, trailing=2)


def _scaled(sums: Any, most: float, factors: Any, to: Result, *, trailing: int = 0) -> Any:
    """Return sums of 64 bits, of which none is larger than a number, in the format of a result."""
    multiplier, exponent = (np.asarray(each, np.int64) for each in multipliers(factors, trailing))
    short = np.where(multiplier < 0x7FFF0000, (multiplier + (1 << 15)) >> 16, 0x7FFF)
    if most * float(np.abs(factors).max()) >= 2.0**31:
        raise Unfit("the scale of its result is so fine that the kernel may leave its 32 bits")
    return _rounded(op.mul(sums, np.ldexp(short.astype(np.float64), exponent - 15)), to)


def _rounded(x: Any, to: Result) -> Any:
    """Return real numbers as stored ones: the nearest, halves up."""
    low, high = to.limits.get("low", _ALL[0]), to.limits.get("high", _ALL[-1])
    nearest = op.floor(op.add(x, np.float64(0.5)))
    return op.cast(op.clip(nearest, low=float(low), high=float(high)), element=_STORED)


# ---------------------------------------------------------------------- sums, means and activations


def wide_sum(combine: Any) -> Callable[..., Any]:
    """Return ADD or SUB: operands are brought into twice the wider scale, with 15 bits more."""

    def total(x: Operand, y: Operand, *, to: tuple[Result], pot_scale_int16: bool = True) -> Any:
        shifts = [_power(each.scale) for each in (x, y, to[0])]
        if pot_scale_int16 and None not in shifts:
            raise Unfit("scales that are all powers of two have a kernel of their own, which is not supported")
        twice = 2 * max(x.scale, y.scale)
        terms = []
        for each in (x, y):
            multiplier, exponent = multipliers(each.scale / twice)
            terms.append(
                op.multiply_fixed_point(each.value, multiplier, exponent, left_shift=_LEFT_SHIFT, element="i32")
            )
        return rescaled(combine(*terms), twice / ((1 << _LEFT_SHIFT) * to[0].scale), to[0])

    return total


def _power(scale: float) -> int | None:
    """Return the exponent of a power of two, as far as the kernels take a number for one."""
    exponent = math.log2(scale)
    return round(exponent) if abs(exponent - round(exponent)) < 1e-3 else None


def wide_average_pool(x: Operand, *, to: tuple[Result], filter_height: int, filter_width: int, **options: Any) -> Any:
    """AVERAGE_POOL_2D: the mean of those within the image, rounded half away from zero."""
    kernel = (filter_height, filter_width)
    mean = op.average_pool(channels_second(_real(x)), kernel=kernel, **window(image(x), kernel, **options))
    return channels_last(op.round_half_away(mean, **to[0].limits, element=_STORED))


def wide_leaky_relu(x: Operand, *, to: tuple[Result], alpha: float = 0.0) -> Any:
    """LEAKY_RELU."""
    own = np.float32(x.scale) / np.float32(to[0].scale)
    below = np.float32(np.float32(x.scale) * np.float32(alpha)) / np.float32(to[0].scale)
    parts = [op.multiply_fixed_point(_ALL, *multipliers(float(each)), element="i32") for each in (own, below)]
    return _table(x, np.where(_ALL >= 0, *parts))


def _table(x: Operand, entries: np.ndarray, low: int = -(1 << 15)) -> Any:
    return op.lookup(x.value, np.clip(entries, -(1 << 15), (1 << 15) - 1).astype(np.int16), low=low)


# ---------------------------------------------------------------------- functions


def _curve(function: Callable[[Any], Any], x: tuple[Any, int], y: Any, kind: Any = np.float64) -> np.ndarray:
    """Return the values of a function for all stored numbers, as kernels interpolate them between 513 entries.

    The scale and zero point of the operand, and the scale of the result, are of the kind in which entries are computed.
    """
    scale, zero = kind(x[0]), x[1]
    low, high = scale * kind(-(1 << 15) - zero), scale * kind((1 << 15) - 1 - zero)
    step = (high - low) / kind(_STEPS)
    inverse = kind(1 << 16) / (kind(y) * kind((1 << 15) - 1) - kind(y) * kind(-(1 << 15)))
    places = np.arange(_STEPS, dtype=kind)
    with np.errstate(over="ignore", invalid="ignore"):
        start, middle, end = (
            function(low + places * step),
            function(low + places * step + step / kind(2)),
            function(low + (places + kind(1)) * step),
        )
        own = half_away(start * inverse)
        between = half_away((end * inverse + own) / kind(2))
        entries = own - half_away((between - half_away(middle * inverse)) / kind(2))
        entries = np.append(entries, half_away(function(high) * inverse))
    # What is infinite on both sides has no middle: it is no number in C, and 0 as an integer of 16 bits.
    table = np.clip(np.where(np.isnan(entries), 0, entries), -(1 << 15), (1 << 15) - 1).astype(np.int64)
    index, offset = 256 + (_ALL >> 7), _ALL & 0x7F
    slope = (table[index + 1] - table[index]).astype(np.int16).astype(np.int64)  # which wraps, as in C
    return np.asarray(table[index] + ((slope * offset + 64) >> 7), np.int16)


def wide_tabulated(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a function of one number, whose entries are computed in float32."""

    def look_up(x: Operand, *, to: tuple[Result]) -> Any:
        def rounded(place: Any) -> Any:  # of C's functions, as far as they are right
            return function(np.asarray(place, np.float64)).astype(np.float32)

        return _table(x, _curve(rounded, (x.scale, 0), to[0].scale, np.float32))

    return look_up


def _sigmoids() -> np.ndarray:
    """Return the sigmoid of 0, 1/24, 2/24, … in 16 bits, as kernels keep it: half of what lines between leave above."""
    y = 1 / (1 + np.exp(-np.arange(256) / 24))
    bend = y * (1 - y) * (1 - 2 * y) / 24**2
    found = np.floor((y - bend / 16) * 65536 + 0.5).astype(np.int64)
    return np.where(np.arange(256) == 255, 65535, found)


def _scaled_operand(x: Operand, to: Result, bits: int) -> tuple[int, int]:
    """Return a multiplier and a shift that bring an operand to steps of 1/(3*4096); 0 and a shift for powers of two."""
    if to.scale != 1 / 32768:
        raise Unfit(f"its result is stored with scale {to.scale}, not 1/32768")
    shift = None if _power(x.scale) is None else 12 + int(_power(x.scale) or 0)
    if shift is not None and 0 <= shift <= bits:
        return 0, shift
    factor, shift = x.scale * 4096.0 * 3.0, 0
    while factor <= 32767.0 / 2.0 and shift <= 30:
        shift, factor = shift + 1, factor * 2
    return int(factor), shift


def wide_logistic(x: Operand, *, to: tuple[Result]) -> Any:
    """LOGISTIC."""
    multiplier, shift = _scaled_operand(x, to[0], 0)
    scaled = _ALL * 3 if multiplier == 0 else (_ALL * multiplier + ((1 << shift) >> 1)) >> shift
    size = np.abs(scaled)
    table, at = _sigmoids(), np.minimum(size >> 9, 254)
    found = (table[at] << 9) + (size & 0x1FF) * (table[at + 1] - table[at])
    found = np.where(size >> 9 >= 255, 0x7FFF << 10, found)
    return _table(x, np.where(scaled >= 0, found + (1 << 9), (1 << 25) - found + (1 << 9) - 1) >> 10)


def wide_tanh(x: Operand, *, to: tuple[Result]) -> Any:
    """TANH."""
    multiplier, shift = _scaled_operand(x, to[0], 1)
    scaled = _ALL * 3 << shift if multiplier == 0 else (_ALL * multiplier + ((1 << shift) >> 1)) >> shift
    size = np.abs(scaled)
    table, at = _sigmoids(), np.minimum(size >> 8, 254)
    found = (table[at] << 8) + (size & 0xFF) * (table[at + 1] - table[at])
    found = np.where(size >> 8 >= 255, 0xFFFF << 8, found)
    half = 1 << 23
    return _table(x, np.where(scaled >= 0, found - half + (1 << 7), half - found + (1 << 7) - 1) >> 8)


def wide_softmax(x: Operand, *, to: tuple[Result], beta: float = 0.0) -> Any:
    """SOFTMAX along the last axis, by a table of powers and one of reciprocals."""
    if abs(to[0].scale * 32768 - 1) > 1e-3:
        raise Unfit(f"its result is stored with scale {to[0].scale}, not 1/32768")
    multiplier, exponent = multipliers(x.scale * beta / (10.0 / 65535.0))
    below = np.asarray(op.multiply_fixed_point(np.arange(-65535, 1), multiplier, exponent, element="i32"), np.int64)
    range_ = float((1 << 16) - 1)
    powers = _curve(np.exp, (10.0 / range_, (1 << 15) - 1), 2.0 / range_)
    inverses = _curve(lambda each: 1.0 / (1.0 + each), (1.0 / range_, -(1 << 15)), 2.0 / range_)
    wide = op.cast(x.value, element="i32")
    distance = op.sub(wide, op.reduce_max(wide, axes=(-1,)))
    places = np.clip(below + 32767, -(1 << 15), (1 << 15) - 1) + (1 << 15)
    power = op.lookup(distance, powers[places].astype(np.int32), low=-65535)
    if x.shape[-1] >= 1 << 16:
        raise Unfit("its rows have more than 65,535 entries")
    sums = op.reduce_sum(power, axes=(-1,))
    # A sum of n bits is brought to 17, rounded half up; what it is above 2^16 has the reciprocal in the table.
    bits = op.add(_bits_above(sums, 14), np.int32(14))
    wide_sums = op.cast(sums, element="f64")
    exact = op.mul(wide_sums, op.gather(np.ldexp(1.0, 16 - np.arange(32)), bits))
    short = op.cast(op.floor(op.add(exact, np.float64(0.5))), element="i32")
    inverse = op.lookup(short, inverses.astype(np.int32), low=1 << 16)
    exact = op.mul(op.cast(op.mul(power, inverse), element="f64"), op.gather(np.ldexp(1.0, -np.arange(32)), bits))
    return op.cast(op.clip(op.floor(op.add(exact, np.float64(0.5))), low=0.0, high=32767.0), element=_STORED)


def _bits_above(x: Any, first: int) -> Any:
    """Return how many powers of two from 2^first on a number of 31 bits has reached, less one."""
    reached = [op.cast(op.greater_or_equal(x, np.int32(1 << at)), element="i32") for at in range(first + 1, 31)]
    total = reached[0]
    for each in reached[1:]:
        total = op.add(total, each)
    return total
