"""Element-wise operators of TensorFlow Lite: those of real numbers that are compositions, and those of stored ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.tflite.layers import product
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result, half_away, multipliers, rescaled
from graphrewrite.op.quantised.multipliers import high_product, rounded_shift
from graphrewrite.op.quantised.softmax import quantised_multiplier
from graphrewrite.types import element_dtype

__all__ = [
    "ACTIVATIONS",
    "TABULATED",
    "compared",
    "dequantise",
    "hard_swish",
    "quantise",
    "requantise",
    "stored_add",
    "stored_gelu",
    "stored_hard_swish",
    "stored_inverse_root",
    "stored_leaky_relu",
    "stored_mul",
    "stored_prelu",
    "stored_relu",
    "stored_sub",
    "tabulated",
]

_LEFT_SHIFT = 20
"""Bits that sums of stored numbers have right of the point."""
_SQUARED = 7
"""And their differences that are squared."""
_COMPARED = 8
"""Bits that stored numbers have right of the point where they are compared."""
_ALL = np.arange(-128, 128)
"""The stored numbers."""

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "none": lambda x: x,
    "relu": op.relu,
    "relu_n1_to_1": lambda x: op.clip(x, low=-1.0, high=1.0),
    "relu6": lambda x: op.clip(x, low=0.0, high=6.0),
    "relu_0_to_1": lambda x: op.clip(x, low=0.0, high=1.0),
    "tanh": op.tanh,
}
"""Activations of real numbers."""


def hard_swish(x: Operand, *, to: tuple[Result]) -> Any:
    """HARD_SWISH."""
    return op.hard_swish(x.value)


# ---------------------------------------------------------------------- stored numbers


def stored_add(x: Operand, y: Operand, *, to: tuple[Result]) -> Any:
    """ADD of stored numbers: both are brought into twice the wider scale, with 20 bits more."""
    return _sum(op.add, x, y, to[0])


def stored_sub(x: Operand, y: Operand, *, to: tuple[Result]) -> Any:
    """SUB of stored numbers, in the way of ADD."""
    return _sum(op.sub, x, y, to[0])


def stored_squared_difference(x: Operand, y: Operand, *, to: tuple[Result]) -> Any:
    """SQUARED_DIFFERENCE of stored numbers: of distances in twice the wider scale, with 7 bits more."""
    twice = 2 * max(x.scale, y.scale)
    difference = op.sub(*(_distance(each, each.scale / twice, _SQUARED) for each in (x, y)))
    return rescaled(op.mul(difference, difference), twice * twice / ((1 << 2 * _SQUARED) * to[0].scale), to[0])


def stored_abs(x: Operand, *, to: tuple[Result]) -> Any:
    """ABS of stored numbers, as a table."""
    sizes = np.abs(_ALL - x.zero_point)
    scaled = sizes if x.scale == to[0].scale else _multiplied(sizes, _ratio(x.scale, to[0]))
    return _table(x, scaled + to[0].zero_point)


def _sum(combine: Any, x: Operand, y: Operand, to: Result) -> Any:
    twice = 2 * max(x.scale, y.scale)
    terms = [_distance(each, each.scale / twice, _LEFT_SHIFT) for each in (x, y)]
    return rescaled(combine(*terms), twice / ((1 << _LEFT_SHIFT) * to.scale), to)


def _distance(x: Operand, factor: float, left_shift: int) -> Any:
    """Return the distance of stored numbers from their zero point, in another scale and 32 bits."""
    multiplier, exponent = multipliers(factor)
    return op.multiply_fixed_point(
        x.value, multiplier, exponent, input_zero_point=x.zero_point, left_shift=left_shift, element="i32"
    )


def _whole(x: Operand) -> Any:
    """Return the distance of stored numbers from their zero point."""
    wide = op.cast(x.value, element="i32")
    return op.sub(wide, np.int32(x.zero_point)) if x.zero_point else wide


def stored_mul(x: Operand, y: Operand, *, to: tuple[Result]) -> Any:
    """MUL of stored numbers; its factor is computed in float32."""
    return rescaled(op.mul(_whole(x), _whole(y)), _ratio(product(x.scale, y.scale), to[0]), to[0])


def _ratio(scale: Any, to: Result) -> float:
    return float(np.float32(scale) / np.float32(to.scale))


def requantise(x: Operand, *, to: tuple[Result]) -> Any:
    """QUANTIZE of stored numbers into another format."""
    storage = to[0].kind.element.storage  # type: ignore[union-attr]  # see the entry
    return rescaled(x.value, x.scale / to[0].scale, to[0], input_zero_point=x.zero_point, element=storage)


def quantise(x: Operand, *, to: tuple[Result]) -> Any:
    """QUANTIZE of real numbers."""
    storage = to[0].kind.element.storage  # type: ignore[union-attr]  # see the entry
    ratio = x.value if to[0].scale == 1 else op.div(x.value, np.float32(to[0].scale))
    return op.round_half_away(ratio, zero_point=to[0].zero_point, element=storage)


def dequantise(x: Operand, *, to: tuple[Result]) -> Any:
    """DEQUANTIZE."""
    scales, zero_points = x.scales.astype(np.float32), x.zero_points
    axis = getattr(x.kind.element, "axis", None)
    if axis is None:
        scales, zero_points = scales.reshape(()), zero_points.reshape(())
    zeros = zero_points.astype(element_dtype(x.value.type.element))
    return op.dequantize_linear(x.value, scales, zeros, axis=axis or 0)


def stored_relu(activation: str) -> Callable[..., Any]:
    """Return RELU, RELU6 and their like of stored numbers: another format, and limits."""

    def activate(x: Operand, *, to: tuple[Result]) -> Any:
        limited = Result(to[0].kind, activation, to[0].fix)
        return rescaled(x.value, _ratio(x.scale, limited), limited, input_zero_point=x.zero_point)

    return activate


def stored_leaky_relu(x: Operand, *, to: tuple[Result], alpha: float = 0.0) -> Any:
    """LEAKY_RELU of stored numbers, as a table."""
    distances = _ALL - x.zero_point
    positive = _multiplied(distances, _ratio(x.scale, to[0]))
    negative = _multiplied(distances, _ratio(product(x.scale, alpha), to[0]))
    return _table(x, np.where(distances >= 0, positive, negative) + to[0].zero_point)


def _multiplied(x: np.ndarray, factor: float) -> np.ndarray:
    multiplier, exponent = multipliers(factor)
    return np.asarray(op.multiply_fixed_point(x, multiplier, exponent, element="i32"), np.int64)


def stored_prelu(x: Operand, slope: Operand, *, to: tuple[Result]) -> Any:
    """PRELU of stored numbers."""
    distance = _whole(x)
    positive = rescaled(distance, _ratio(x.scale, to[0]), to[0])
    negative = rescaled(op.mul(distance, _whole(slope)), _ratio(product(x.scale, slope.scale), to[0]), to[0])
    return op.where(op.greater_or_equal(distance, np.int32(0)), positive, negative)


def _table(x: Operand, entries: np.ndarray) -> Any:
    return op.lookup(x.value, np.clip(entries, -128, 127).astype(np.int8), low=-128)


def _gelu(x: np.ndarray) -> np.ndarray:
    """In the steps of float32 of the kernel, as is the next one."""
    real = x.astype(np.float32)
    slope = (real * np.float32(-math.sqrt(0.5))).astype(np.float64)
    return np.float32(0.5) * real * np.array([math.erfc(each) for each in slope], np.float32)


def _gelu_by_tanh(x: np.ndarray) -> np.ndarray:
    real = x.astype(np.float32)
    inner = np.float32(math.sqrt(2 / math.pi)) * (real + np.float32(0.044715) * real * real * real)
    return np.float32(0.5) * real * (np.float32(1) + np.tanh(inner.astype(np.float64)).astype(np.float32))


TABULATED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "LOGISTIC": lambda x: 1 / (1 + np.exp(-x)),
    "TANH": np.tanh,
    "EXP": np.exp,
    "ELU": lambda x: np.where(x < 0, np.expm1(x), x),
}
"""Functions of which the kernels make tables of 256 entries."""


def tabulated(name: str) -> Callable[..., Any]:
    """Return a function of stored numbers as a table, whose entries are computed in float32."""

    def look_up(x: Operand, *, to: tuple[Result]) -> Any:
        if name == "LOGISTIC" and (to[0].scale, to[0].zero_point) != (1 / 256, -128):
            raise Unfit(
                f"its result is stored with scale {to[0].scale} and zero point {to[0].zero_point}, not 1/256, -128"
            )
        return _computed_table(TABULATED[name], x, to[0])

    return look_up


def stored_gelu(x: Operand, *, to: tuple[Result], approximate: bool) -> Any:
    """GELU of stored numbers, by the error function or by the hyperbolic tangent."""
    return _computed_table(_gelu_by_tanh if approximate else _gelu, x, to[0])


def _computed_table(function: Callable[[np.ndarray], np.ndarray], x: Operand, result: Result) -> Any:
    real = np.float32(x.scale) * (_ALL - x.zero_point).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        exact = function(real.astype(np.float64)).astype(np.float32)
        steps = half_away(exact * (np.float32(1) / np.float32(result.scale))).astype(np.float32)
    return _table(x, np.clip(steps + np.float32(result.zero_point), -128, 127))


def stored_inverse_root(x: Operand, *, to: tuple[Result]) -> Any:
    """RSQRT of stored numbers, as a table; of numbers below zero, which the kernel refuses, it gives the greatest."""
    factor, exponent = multipliers(1 / (float(np.sqrt(np.float32(x.scale))) * to[0].scale))
    found = np.full(256, 127, np.int64)
    for at, distance in enumerate((_ALL - x.zero_point).tolist()):
        if distance > 0:
            root, shift = _inverse_root_of(distance)
            fine = op.multiply_fixed_point(np.array(1), root, shift + _LEFT_SHIFT, element="i32")
            found[at] = op.multiply_fixed_point(fine, factor, exponent - _LEFT_SHIFT, element="i32") + to[0].zero_point
    return _table(x, found)


def _inverse_root_of(number: int) -> tuple[int, int]:
    """Return ``1 / sqrt(number)`` as a multiplier and its exponent, by five steps of Newton's (GetInvSqrt…Exp)."""
    if number == 1:
        return (1 << 31) - 1, 0
    pairs = (31 - number.bit_length()) // 2 - 1
    half = int(rounded_shift(np.array(number << 2 * pairs >> 1), 1))
    root = 1 << 28  # one, with three bits left of the point
    for _ in range(5):
        cube = int(high_product(high_product(root, root), root)) << 6
        root = int(high_product(3 << 27, root) - high_product(half, cube)) << 3
    return int(high_product(root, round(math.sqrt(0.5) * (1 << 31)))), pairs - 11


def stored_hard_swish(x: Operand, *, to: tuple[Result]) -> Any:
    """HARD_SWISH of stored numbers in 16 bits, as a table."""
    step = product(1 / 128, x.scale)
    out, out_exponent = quantised_multiplier(float(step / np.float32(to[0].scale)))
    gate, gate_exponent = quantised_multiplier(float(step / np.float32(3 / 32768)))
    if out_exponent > 0:
        raise Unfit("the scale of its result is too fine for the kernel")
    factors = [min((multiplier + (1 << 15)) >> 16, 32767) for multiplier in (out, gate)]
    fine = (_ALL - x.zero_point) * 128
    scaled, opened = (fine * factors[0] + (1 << 14)) >> 15, fine
    if gate_exponent > 0:
        opened = _sixteen(opened << (gate_exponent - 1))
    opened = (opened * factors[1] + (1 << 14)) >> 15
    if gate_exponent > 0:
        opened = _sixteen(opened << 1)
    opened = _shifted(opened, max(-gate_exponent, 0))
    opened = (opened + 32768) >> 1
    gated = np.trunc(opened * scaled / 2**15).astype(np.int64)
    return _table(x, _shifted(gated, -out_exponent) + to[0].zero_point)


def _sixteen(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.clip(x, -32768, 32767))


def _shifted(x: np.ndarray, bits: int) -> np.ndarray:
    """Return ``x / 2**bits``, half away from zero."""
    return np.asarray(half_away(x / math.ldexp(1.0, bits)), np.int64)


def compared(name: str, *, inverted: bool = False) -> Callable[..., Any]:
    """Return a comparison of stored numbers, which are brought into one scale with 8 bits more."""
    compare = getattr(op, name)

    def of_distances(x: Operand, y: Operand, *, to: tuple[Result]) -> Any:
        if max(x.scale, y.scale) >= 1:
            raise Unfit(f"its operands have scales of {x.scale} and {y.scale}, and the kernel is right below 1 only")
        found = compare(*(_distance(each, each.scale, _COMPARED) for each in (x, y)))
        return op.logical_not(found) if inverted else found

    return of_distances
