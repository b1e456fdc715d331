"""Ops of the integer level beside sums of products: differences, products, tables, thresholds, rescaling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.axes import common_layout
from graphrewrite.op.cost import one_each
from graphrewrite.op.define import broadcast_shape, define_op
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.op.integer.arithmetic import check_shifts
from graphrewrite.op.integer.fixed_point import limits
from graphrewrite.types import FixedPoint, Tensor, integer_limits

__all__ = ["integer_mul", "integer_sub", "integer_threshold", "lookup", "rescale"]

_ROUNDINGS = ("half_even", "half_up", "down", "to_zero")


def _range(kind: Tensor) -> tuple[int, int]:
    """Return the least and the greatest number of an element type of whole numbers."""
    element = kind.element
    if isinstance(element, FixedPoint):
        return element.minimum, element.maximum
    return integer_limits(str(element)) or (0, 0)


def _holding(x: Tensor, y: Tensor, results: Sequence[int], element: FixedPoint | None) -> Tensor:
    """Return the type of exact results: of a format, or of the narrowest that holds them all."""
    need = FixedPoint.holding(min(results), max(results), 0 if element is None else element.fraction)
    if element is not None and not element.minimum <= min(results) <= max(results) <= element.maximum:
        raise TypeMismatchError(f"results range from {min(results)} to {max(results)}, beyond {element}; give {need}")
    shape = broadcast_shape(x.shape, y.shape)
    return Tensor(element or need, shape, common_layout((x, y), len(shape)))


def _infer_sub(x: Tensor, y: Tensor, *, element: FixedPoint | None = None, shifts: Sequence[int] = (0, 0)) -> Tensor:
    check_shifts(shifts)
    (low, high), (other_low, other_high) = _range(x), _range(y)
    return _holding(
        x, y, [(low << shifts[0]) - (other_high << shifts[1]), (high << shifts[0]) - (other_low << shifts[1])], element
    )


@define_op(level="integer", infer=_infer_sub, elements=MANTISSAS)
def integer_sub(
    x: np.ndarray, y: np.ndarray, *, element: FixedPoint | None = None, shifts: Sequence[int] = (0, 0)
) -> np.ndarray:
    """Exact difference ``(x << shifts[0]) - (y << shifts[1])`` of mantissas whose binary points differ.

    Parameters
    ----------
    x, y
        Mantissas; shapes broadcast.
    element
        Format of the result; the narrowest that holds it, with its binary point at 0, if not given.
    shifts
        Number of bits by which each operand is shifted left.

    Examples
    --------
    >>> integer_sub(np.array([1]), np.array([3]), shifts=(2, 0)).tolist()
    [1]
    """
    return (x.astype(np.int64) << shifts[0]) - (y.astype(np.int64) << shifts[1])


def _infer_mul(x: Tensor, y: Tensor, *, element: FixedPoint | None = None) -> Tensor:
    return _holding(x, y, [one * other for one in _range(x) for other in _range(y)], element)


@define_op(level="integer", infer=_infer_mul, commutative=True, elements=MANTISSAS, cost=one_each)
def integer_mul(x: np.ndarray, y: np.ndarray, *, element: FixedPoint | None = None) -> np.ndarray:
    """Exact product of mantissas; its width is at most the sum of theirs.

    Parameters
    ----------
    x, y
        Mantissas; shapes broadcast.
    element
        Format of the result; the narrowest that holds it, with its binary point at 0, if not given.

    Examples
    --------
    >>> integer_mul(np.array([-7], np.int8), np.array([9], np.int8)).tolist()
    [-63]
    """
    return x.astype(np.int64) * y.astype(np.int64)


def _infer_lookup(x: Tensor, table: Tensor, *, low: int = 0) -> Tensor:
    if len(table.shape) not in (1, 2) or table.shape[-1] == 0:
        raise TypeMismatchError(f"tables are non-empty vectors, or matrices with one row per channel, got {table}")
    if len(table.shape) == 2 and (len(x.shape) < 2 or table.shape[0] != x.shape[1] or (x.layout or "NC")[1] != "C"):
        raise TypeMismatchError(f"{table.shape[0]} tables do not fit the channels of {x}; give one, or one per channel")
    return Tensor(table.element, x.shape, x.layout)


@define_op(level="integer", infer=_infer_lookup, elements=MANTISSAS)
def lookup(x: np.ndarray, table: np.ndarray, *, low: int = 0) -> np.ndarray:
    """Entry of a table for each mantissa, ``table[x - low]``; what lies beyond its ends has the entry there.

    Parameters
    ----------
    x
        Mantissas, of any shape.
    table
        Results [T], or [C, T] for a row a channel.
    low
        The mantissa of the first entry.

    Examples
    --------
    >>> lookup(np.array([-2, 1, 9], np.int8), np.array([9, 8, 7, 6]), low=-2).tolist()
    [9, 6, 6]
    >>> lookup(np.array([[0, 1]], np.int8), np.array([[9, 8], [7, 6]])).tolist()
    [[9, 6]]
    """
    last = min(low + table.shape[-1], 2**63) - 1
    at = np.clip(x.astype(np.int64), low, last) - low  # a difference of any two mantissas may wrap around
    if table.ndim == 1:
        return np.asarray(table[at])
    return np.asarray(table[np.arange(len(table)).reshape(-1, *[1] * (x.ndim - 2)), at])


def _infer_threshold(x: Tensor, levels: Tensor) -> Tensor:
    if len(levels.shape) != 2 or not isinstance(levels.shape[1], int):
        raise TypeMismatchError(f"thresholds are matrices with one row per channel, or one row for all, got {levels}")
    if levels.shape[0] != 1 and (len(x.shape) < 2 or levels.shape[0] != x.shape[1]):
        raise TypeMismatchError(
            f"{levels.shape[0]} rows of thresholds do not fit the channels of {x}; give one, or one per channel"
        )
    if x.layout is not None and x.layout[1:2] != "C" and levels.shape[0] != 1:
        raise TypeMismatchError(f"the second axis of {x} does not hold the channels; move them there with op.transpose")
    return Tensor(FixedPoint.holding(0, levels.shape[1]), x.shape, x.layout)


@define_op(level="integer", infer=_infer_threshold, elements=MANTISSAS)
def integer_threshold(x: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """How many thresholds of its channel a mantissa has reached: ``sum(x >= levels)`` (FINN, Umuroglu et al. 2017).

    Parameters
    ----------
    x
        Mantissas [N, C, …].
    levels
        Thresholds [C, T], or [1, T] for all channels alike.

    Examples
    --------
    >>> integer_threshold(np.array([[0, 5]], np.int8), np.array([[1, 3], [2, 9]], np.int8)).tolist()
    [[0, 1]]
    """
    rows = levels[0] if len(levels) == 1 else levels.reshape(len(levels), *[1] * (x.ndim - 2), -1)
    reached = x[..., None].astype(np.int64) >= rows.astype(np.int64)
    return reached.sum(axis=-1, dtype=FixedPoint.holding(0, levels.shape[1]).dtype)


def _extremes(x: Tensor, name: str, numbers: int | Sequence[int]) -> tuple[int, int]:
    """Return the least and the greatest of numbers; raise unless there is one integer, or one per channel."""
    if isinstance(numbers, int):
        return numbers, numbers
    channels = x.shape[1] if len(x.shape) > 1 and (x.layout or "NC")[1] == "C" else "no"
    if len(numbers) != channels or not all(isinstance(number, int) for number in numbers):
        raise TypeMismatchError(
            f"{name} is one integer, or one for each of the {channels} channels of {x}, got {list(numbers)}"
        )
    return min(numbers, default=0), max(numbers, default=0)


def _infer_rescale(
    x: Tensor,
    *,
    multiplier: int | Sequence[int],
    shift: int | Sequence[int],
    element: FixedPoint,
    addend: int | Sequence[int],
    rounding: str,
    **_: object,
) -> Tensor:
    if not isinstance(element, FixedPoint):
        raise TypeMismatchError(f"the element must be a FixedPoint format, got {element!r}")
    if rounding not in _ROUNDINGS:
        raise TypeMismatchError(f"rounding is {', '.join(_ROUNDINGS[:-1])} or {_ROUNDINGS[-1]}, got {rounding!r}")
    factors, terms = _extremes(x, "multiplier", multiplier), _extremes(x, "addend", addend)
    shifts = _extremes(x, "shift", shift)
    if not 0 <= shifts[0] <= shifts[1] <= 62 or not -1 << 32 < factors[0] <= factors[1] < 1 << 32:
        raise TypeMismatchError(f"multipliers have 1 to 32 bits and shifts are 0 to 62, got {multiplier} and {shift}")
    low, high = _range(x)
    # A bit less than int64 has: rounding may add 1.
    if max(abs(low), high) * max(map(abs, factors)) + max(map(abs, terms)) >= 1 << 62:
        raise TypeMismatchError(f"the products of {x} and {multiplier} exceed 63 bits; give a smaller multiplier")
    return Tensor(element, x.shape, x.layout)


@define_op(level="integer", infer=_infer_rescale, elements=MANTISSAS)
def rescale(
    x: np.ndarray,
    *,
    multiplier: int | Sequence[int],
    shift: int | Sequence[int],
    element: FixedPoint,
    addend: int | Sequence[int] = 0,
    offset: int = 0,
    rounding: str = "half_even",
    saturate: bool = True,
    low: int | None = None,
    high: int | None = None,
    bound: int | None = None,
) -> np.ndarray:
    """Mantissas of another scale: ``(x * multiplier + addend) / 2**shift + offset``, rounded, saturated or wrapped.

    The quotient is rounded, then the offset, a zero point, is added (Jacob et al. 2018, section 2.2).

    Parameters
    ----------
    x
        Mantissas [N, C, …].
    multiplier
        The factor; a sequence holds one a channel (axis 1).
    shift
        Number of bits; a sequence holds one a channel.
    element
        Format of the result.
    addend
        What is added before the shift; a sequence holds one a channel.
    offset
        What is added after it.
    rounding
        "half_even", "half_up", "down" or "to_zero".
    saturate
        Whether what lies beyond the limits saturates, not wraps around.
    low
        Tighter lower limit, where it saturates.
    high
        Tighter upper limit, where it saturates.
    bound
        How far results are at most, in units of the last place, from those of the function that the scale approximates.

    Examples
    --------
    >>> u4 = FixedPoint(False, 4)
    >>> rescale(np.array([5, 7, 99], np.int8), multiplier=1, shift=1, element=u4).tolist()
    [2, 4, 15]
    >>> rescale(np.array([5, 7, 99], np.int8), multiplier=1, shift=1, element=u4, rounding="down").tolist()
    [2, 3, 15]
    >>> rescale(np.array([35], np.int8), multiplier=1, shift=0, element=u4, saturate=False).tolist()
    [3]
    >>> rescale(np.array([[8, 8]], np.int8), multiplier=(3, -1), addend=(0, 9), shift=1, element=u4, high=9).tolist()
    [[9, 0]]
    """
    product = x.astype(np.int64) * _per_channel(multiplier, x.ndim) + _per_channel(addend, x.ndim)
    bits = _per_channel(shift, x.ndim)
    whole = product >> bits  # rounded down; the remainder is not negative
    remainder = product - (whole << bits)
    half = (np.int64(1) << bits) >> 1
    if rounding == "half_up":
        whole = whole + (bits > 0) * (remainder >= half)
    elif rounding == "half_even":
        whole = whole + (bits > 0) * ((remainder > half) | ((remainder == half) & (whole & 1 == 1)))
    elif rounding == "to_zero":
        whole = whole + ((product < 0) & (remainder != 0))
    if saturate:
        return np.clip(whole + offset, *limits(element, low, high)).astype(element.dtype)
    wrapped = (whole + offset) & ((1 << element.width) - 1)
    sign = element.signed * (1 << (element.width - 1))
    return ((wrapped ^ sign) - sign).astype(element.dtype)  # the sign bit is extended


def _per_channel(numbers: int | Sequence[int], rank: int) -> np.ndarray:
    """Return one number, or one per channel, for broadcasting against an array of so many axes."""
    values = np.asarray(numbers, np.int64)
    return values if values.ndim == 0 else values.reshape(-1, *[1] * (rank - 2))
