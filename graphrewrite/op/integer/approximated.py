"""Real functions of mantissas by tables of integers, equal in software and hardware."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.define import define_op
from graphrewrite.op.domain import MANTISSAS
from graphrewrite.types import FixedPoint, Tensor

__all__ = ["check_exponentials", "integer_interpolate", "integer_softmax"]

_ENTRIES = 1 << 12
_WIDEST = 24


def check_exponentials(operand: FixedPoint, table: ArrayLike, shift: int, element: FixedPoint) -> None:
    """Raise unless a table holds exponentials, for an operand and a result of some formats.

    Parameters
    ----------
    table : array of int
        At most 4096 numbers of at most 24 bits, the first the greatest.
    shift : int
        Bits of a distance that it does not distinguish.
    """
    entries = np.asarray(table)
    if entries.dtype.kind not in "iu" or entries.ndim != 1 or not 1 <= len(entries) <= _ENTRIES:
        raise TypeMismatchError(
            f"a table of {entries.dtype}{list(entries.shape)} is not a list of exponentials; give 1 to {_ENTRIES} "
            "integers, as `exponentials` does"
        )
    if entries.min() < 0 or entries[0] != entries.max() or not 1 <= entries[0] < 1 << _WIDEST:
        raise TypeMismatchError(
            f"exponentials of {entries.min()} to {entries.max()}, the first one {entries[0]}: give integers from 0 to "
            f"{(1 << _WIDEST) - 1} that begin with the greatest, which is not zero"
        )
    if not 0 <= shift <= operand.width:
        raise TypeMismatchError(f"shift={shift} of {operand}: give 0 to {operand.width}")
    if element.signed or not 1 <= element.fraction <= min(element.width, _WIDEST):
        raise TypeMismatchError(
            f"{element} is not a format for probabilities; give an unsigned one of 1 to {_WIDEST} bits right of the "
            "point, one more than these to hold 1 itself"
        )


def _format(x: Tensor) -> FixedPoint:
    if not isinstance(x.element, FixedPoint) or len(x.shape) < 2 or (x.layout or "NC")[1] != "C":
        raise TypeMismatchError(f"expected mantissas of a fixed-point format with channels as the second axis, got {x}")
    return x.element


def _infer_softmax(x: Tensor, *, table: Sequence[int], shift: int, element: FixedPoint, bound: float | None) -> Tensor:
    check_exponentials(_format(x), table, shift, element)
    if bound is not None and not bound >= 0:
        raise TypeMismatchError(f"bound={bound}: an error bound is at least 0")
    return Tensor(element, x.shape, x.layout)


@define_op(level="integer", infer=_infer_softmax, elements=MANTISSAS)
def integer_softmax(
    x: np.ndarray, *, table: Sequence[int], shift: int, element: FixedPoint, bound: float | None = None
) -> np.ndarray:
    """Softmax over the channels by a table of exponentials: each divided by their sum, to the nearest number.

    The exponential of a channel is an entry of the table: that of the greatest channel's distance to it, shifted right;
    the last entry stands for all greater distances. A quotient is rounded half up, and 1 saturates if the format does
    not hold it.

    Parameters
    ----------
    x
        Mantissas [N, C, …].
    table
        The exponentials, as integers.
    shift
        Number of bits by which distances are shifted.
    element
        Format of the result.
    bound
        How far that is at most from the softmax of the numbers that the mantissas stand for.

    Examples
    --------
    >>> u8 = FixedPoint(False, 8, 8)
    >>> integer_softmax(np.array([[2, 1, 0]]), table=(255, 94, 35), shift=0, element=u8).tolist()
    [[170, 63, 23]]
    """
    entries = np.asarray(table, np.int64)
    wide = x.astype(np.int64)
    greatest = wide.max(axis=1, keepdims=True, initial=np.iinfo(np.int64).min)  # without channels there is none
    distance = (greatest - wide) >> shift
    powers = entries[np.minimum(distance, len(entries) - 1)]
    quotients = (powers << (element.fraction + 1)) // powers.sum(axis=1, keepdims=True)
    return np.asarray(np.minimum((quotients + 1) >> 1, element.maximum).astype(element.dtype))


def _infer_interpolate(
    x: Tensor,
    *,
    base: Sequence[int] | Sequence[Sequence[int]],
    slope: Sequence[int] | Sequence[Sequence[int]],
    rest: int,
    shift: int,
    element: FixedPoint,
    low: int,
    bound: int | None,
) -> Tensor:
    operand, starts, slopes = _format(x), np.asarray(base, np.int64), np.asarray(slope, np.int64)
    fits = starts.ndim > 0 and slopes.shape == starts.shape and starts.shape[:-1] in ((), x.shape[1:2])
    if not fits or not 0 <= rest <= operand.width or starts.shape[-1] << rest != 1 << operand.width:
        raise TypeMismatchError(
            f"{starts.shape} bases and {slopes.shape} slopes of segments of {rest} bits do not cover the range of "
            f"{operand}; give one of each for each value of the bits above, or a row of them for each channel"
        )
    if bound is not None and bound < 0:
        raise TypeMismatchError(f"bound={bound}: an error bound is at least 0 units in the last place")
    if low != operand.minimum or not 0 <= shift <= 62:
        raise TypeMismatchError(f"low={low}, shift={shift}: give low={operand.minimum} and a shift of 0 to 62")
    # A straight line has its extremes at the ends of its segment.
    ends = starts >> shift, (starts + slopes * ((1 << rest) - 1)) >> shift
    least, most = int(np.minimum(*ends).min()), int(np.maximum(*ends).max())
    if least < element.minimum or most > element.maximum:
        need = FixedPoint.holding(least, most, element.fraction)
        raise TypeMismatchError(f"results of {least} to {most} exceed {element}; give {need} or wider")
    return Tensor(element, x.shape, x.layout)


@define_op(level="integer", infer=_infer_interpolate, elements=MANTISSAS)
def integer_interpolate(
    x: np.ndarray,
    *,
    base: Sequence[int] | Sequence[Sequence[int]],
    slope: Sequence[int] | Sequence[Sequence[int]],
    rest: int,
    shift: int,
    element: FixedPoint,
    low: int = 0,
    bound: int | None = None,
) -> np.ndarray:
    """Straight lines: ``(base[s] + slope[s] * r) >> shift``, r the lowest bits of ``x - low`` and s those above.

    Parameters
    ----------
    x
        Mantissas, of any shape.
    base
        Begin of each line [S], or [C, S] for a row a channel.
    slope
        Slope of each line, in the shape of the bases.
    rest
        Number of the lowest bits, which follow a line.
    shift
        Number of bits by which results are shifted right.
    element
        Format of the result.
    low
        The mantissa at which the first line begins.
    bound
        How far that is at most from the function that the lines stand for, in units of the last place.

    Examples
    --------
    >>> x = np.array([[-128, -1, 0, 127]], np.int8)
    >>> integer_interpolate(x, base=(0, 64), slope=(0, 1), rest=7, shift=1, element=FixedPoint(False, 8), low=-128)
    array([[ 0,  0, 32, 95]], dtype=uint8)
    """
    index = x.astype(np.int64) - low
    segment, within = index >> rest, index & ((1 << rest) - 1)
    starts, slopes = np.asarray(base, np.int64), np.asarray(slope, np.int64)
    channel = np.arange(len(starts)).reshape(-1, *[1] * (x.ndim - 2))
    line = (segment,) if starts.ndim == 1 else (channel, segment)
    return np.asarray((starts[line] + slopes[line] * within) >> shift).astype(element.dtype)
