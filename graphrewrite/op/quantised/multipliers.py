"""Stored integers brought into another scale, by the rounding of TensorFlow Lite's reference kernels."""

from __future__ import annotations

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.domain import FLOATS
from graphrewrite.types import ElementName, Tensor, element_dtype, integer_limits

__all__ = ["high_product", "multiply_fixed_point", "round_half_away", "rounded_shift"]

_INTEGERS = frozenset({"integer"})
_WORD = 32
_MOST = (1 << (_WORD - 1)) - 1


def high_product(a: np.ndarray | int, b: np.ndarray | int) -> np.ndarray:
    """Return ``a * b / 2**31`` of 32-bit integers, rounded half up and saturated (gemmlowp).

    Examples
    --------
    >>> high_product(np.array([3, -3]), 1 << 30).tolist()
    [2, -1]
    """
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    return np.minimum((product + (1 << 30)) >> 31, _MOST)


def rounded_shift(x: np.ndarray, bits: np.ndarray | int) -> np.ndarray:
    """Return ``x / 2**bits``, rounded half away from zero, of numbers of at most 62 bits (gemmlowp).

    Examples
    --------
    >>> rounded_shift(np.array([3, -3, 2, -2]), 1).tolist()
    [2, -2, 1, -1]
    """
    half = (np.int64(1) << np.asarray(bits, np.int64)) >> 1
    return np.asarray((x + half - ((x < 0) & (half > 0))) >> bits)


def _storage(element: ElementName, low: int | None, high: int | None) -> tuple[int, int]:
    """Return the limits of results: those of an integer of at most 32 bits, or tighter ones."""
    limits = integer_limits(str(element))
    if limits is None or limits[1] >= 1 << _WORD:
        raise TypeMismatchError(f"results are integers of up to {_WORD} bits, not {element}")
    least, most = (
        limits[0] if low is None else max(low, limits[0]),
        limits[1] if high is None else min(high, limits[1]),
    )
    if least > most:
        raise TypeMismatchError(f"nothing of {element} lies between low={low} and high={high}")
    return least, most


def _infer_multiply(
    x: Tensor,
    multiplier: Tensor,
    exponent: Tensor,
    *,
    element: ElementName,
    low: int | None,
    high: int | None,
    **_: object,
) -> Tensor:
    _storage(element, low, high)
    for kind in (multiplier, exponent):
        if broadcast_shape(x.shape, kind.shape) != x.shape:
            raise TypeMismatchError(f"{kind} does not broadcast to {x}; give one number, or one for each channel")
    return Tensor(element, x.shape, x.layout)


@define_op(infer=_infer_multiply, elements=_INTEGERS)
def multiply_fixed_point(
    x: np.ndarray,
    multiplier: np.ndarray,
    exponent: np.ndarray,
    *,
    input_zero_point: int = 0,
    left_shift: int = 0,
    zero_point: int = 0,
    element: ElementName = "i8",
    low: int | None = None,
    high: int | None = None,
) -> np.ndarray:
    """Integers in another scale: ``(x - input_zero_point) * multiplier * 2**(exponent - 31) + zero_point``, saturated.

    It rounds twice: the product with the multiplier of 31 bits half up, the shift half away from zero (gemmlowp and
    TensorFlow Lite, MultiplyByQuantizedMultiplier; TOSA specification, RESCALE with double rounding).

    Parameters
    ----------
    x
        Integers, of any shape.
    multiplier
        Integers of 32 bits that broadcast to the shape of the first operand.
    exponent
        Integers of -31 to 30 in the same form; beyond that the next one of these.
    input_zero_point
        What is subtracted first.
    left_shift
        Number of bits by which the difference is then shifted left.
    zero_point
        What is added at last.
    element
        Element type of the result, an integer of up to 32 bits.
    low
        Tighter lower limit.
    high
        Tighter upper limit.

    Examples
    --------
    >>> x, half = np.array([6, 7, -7, 999]), np.array(1 << 30)
    >>> multiply_fixed_point(x, half, np.array(-1), zero_point=1).tolist()
    [3, 3, -1, 127]
    """
    bits = np.clip(np.asarray(exponent, np.int64), -31, 30)
    numbers = x.astype(np.int64)
    if input_zero_point:
        numbers = numbers - input_zero_point
    up = left_shift + np.maximum(bits, 0)
    if np.any(up):  # in 32 bits, which wrap around
        numbers = (numbers << up).astype(np.int32)
    scaled = rounded_shift(high_product(numbers, multiplier), np.maximum(-bits, 0))
    return np.clip(scaled + zero_point, *_storage(element, low, high)).astype(element_dtype(element))


def _infer_round(x: Tensor, *, element: ElementName, low: int | None, high: int | None, **_: object) -> Tensor:
    _storage(element, low, high)
    return Tensor(element, x.shape, x.layout)


@define_op(infer=_infer_round, elements=FLOATS)
def round_half_away(
    x: np.ndarray, *, zero_point: int = 0, element: ElementName = "i8", low: int | None = None, high: int | None = None
) -> np.ndarray:
    """Integers nearest to real numbers, half away from zero, plus a zero point, saturated (TensorFlow Lite, Quantize).

    NaN, for which there is no integer, becomes the zero point.

    Parameters
    ----------
    x
        Real numbers, divided by their scale.
    zero_point
        What is added to the rounded number.
    element
        Element type of the result, an integer of up to 32 bits.
    low
        Tighter lower limit.
    high
        Tighter upper limit.

    Examples
    --------
    >>> round_half_away(np.array([0.5, 2.5, -2.5, 999.0]), zero_point=1).tolist()
    [2, 4, -2, 127]
    """
    least, most = _storage(element, low, high)
    wide = np.asarray(x, np.float64)
    size = np.abs(wide)
    whole = np.floor(size)
    with np.errstate(invalid="ignore"):  # infinity less itself
        whole = np.copysign(np.where(size - whole >= 0.5, whole + 1, whole), wide)
    return np.clip(np.where(np.isnan(whole), 0.0, whole) + zero_point, least, most).astype(element_dtype(element))
