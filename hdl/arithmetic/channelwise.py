"""Shared by components that work beat by beat: constants of each channel, and pipeline stages."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Resources, counter_bits
from graphrewrite.hdl.resources import Piece
from graphrewrite.types import FixedPoint, Stream

__all__ = [
    "bounds",
    "check_number",
    "check_range",
    "check_stages",
    "different_bits",
    "number_width",
    "of_channels",
    "row_resources",
    "varying_bits",
]


def of_channels(values: ArrayLike, stream: Stream, what: str) -> NDArray[np.int64]:
    """Return one number for each channel, from one for all or one each.

    Examples
    --------
    >>> of_channels(3, Stream(FixedPoint(True, 8), (2, 5)), "gains").tolist()
    [3, 3]
    """
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "iu" or numbers.ndim > 1 or (numbers.ndim and len(numbers) != stream.channels):
        raise TypeMismatchError(
            f"{what} {numbers.dtype}{list(numbers.shape)} do not fit the {stream.channels} channels of {stream}; give "
            f"one whole number, or {stream.channels}"
        )
    return np.broadcast_to(numbers.astype(np.int64), stream.channels)


def bounds(element: FixedPoint, low: int | None, high: int | None) -> tuple[int, int]:
    """Return the bounds of results in a format, some tighter ones given; they may leave no number.

    Examples
    --------
    >>> bounds(FixedPoint(False, 4), -1, None), bounds(FixedPoint(False, 4), None, 9)
    ((0, 15), (0, 9))
    """
    least = element.minimum if low is None else max(low, element.minimum)
    return least, element.maximum if high is None else min(high, element.maximum)


def check_range(what: str, low: int, high: int, element: FixedPoint) -> None:
    """Raise unless a format holds all numbers of a range: what hardware computes there never wraps around.

    Examples
    --------
    >>> check_range("sums", -8, 7, FixedPoint(True, 4))
    """
    if low < element.minimum or high > element.maximum:
        need = FixedPoint.holding(low, high, element.fraction)
        raise TypeMismatchError(f"{what} of {low} to {high} exceed {element}; give {need} or wider")


def check_number(name: str, number: int, element: FixedPoint) -> None:
    """Raise unless a number is one of a format.

    Examples
    --------
    >>> check_number("fill", -8, FixedPoint(True, 4))
    """
    if not element.minimum <= number <= element.maximum:
        raise TypeMismatchError(f"{name} {number} is no {element}; give {element.minimum} to {element.maximum}")


def check_stages(stages: int, most: int) -> None:
    """Raise unless a component has use for so many pipeline stages, the output buffer's included.

    Examples
    --------
    >>> check_stages(2, 3)
    """
    if not 1 <= stages <= most:
        raise TypeMismatchError(f"stages={stages}: this computation has use for 1 to {most} pipeline stages")


def number_width(values: ArrayLike) -> int:
    """Return the bits of the narrowest two's complement that holds all numbers, at least two.

    Examples
    --------
    >>> number_width([3, -5]), number_width(0)
    (4, 2)
    """
    numbers = np.asarray(values)
    return max(FixedPoint.holding(min(int(numbers.min()), -1), int(numbers.max())).width, 2)


def varying_bits(values: ArrayLike) -> int:
    """Return how many bits are not the same in all numbers: those that a memory of them holds.

    Examples
    --------
    >>> varying_bits([4, 6, 7]), varying_bits([-1, 0]), varying_bits([5, 5])
    (2, 2, 0)
    """
    numbers = np.asarray(values, np.int64).ravel()
    differing = int(np.bitwise_or.reduce(numbers ^ numbers[0]))
    return (differing & ((1 << number_width(numbers)) - 1)).bit_count()


def different_bits(rows: ArrayLike, width: int) -> int:
    """Return how many bits of a memory's words are not always the same, and not the same as others.

    Examples
    --------
    >>> different_bits([[1, 1], [2, 1], [3, 1]], 4), different_bits([[0, 3], [-1, 3]], 8)
    (2, 1)
    """
    numbers = np.asarray(rows, np.int64)
    bits = np.right_shift(numbers[:, :, None], np.arange(width)) & 1
    # Equal columns of bits are one output of the memory; constant ones are none.
    columns = np.unique(bits.reshape(len(numbers), -1), axis=1)
    return int((np.ptp(columns, axis=0) > 0).sum())


def row_resources(stream: Stream, numbers: ArrayLike, width: int) -> Resources:
    """Return what a memory with a row of constants for each beat of a position costs; nothing if there is one beat.

    Examples
    --------
    >>> costs = row_resources(Stream(FixedPoint(True, 8), (6, 5), 2), [1, 2, 3, 4, 5, 6], 4)
    >>> costs.registers, costs.memory_bits
    (6, 24)
    """
    if stream.folds == 1:
        return Resources()
    rows = np.reshape(numbers, (stream.folds, -1))
    row, counter, different = rows.shape[1] * width, counter_bits(stream.folds), different_bits(rows, width)
    pieces = Piece("rom", 1, row, stream.folds, row - different), Piece("counter", 1, counter)
    return Resources(registers=different + counter, memory_bits=row * stream.folds, pieces=pieces)
