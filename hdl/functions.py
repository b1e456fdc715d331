"""Tables of real functions, for `lookup` and `interpolate`, with how far they are from the function."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import LANE_BITS, counter_bits
from graphrewrite.hdl.components.interpolate import interpolate
from graphrewrite.hdl.components.lookup import WIDEST_TABLE, lookup
from graphrewrite.types import FixedPoint

__all__ = ["Table", "tabulate"]

Function = Callable[[NDArray[np.float64]], NDArray[np.floating[Any]]]

_WIDEST = 24
"""Bits of the widest operand whose numbers can all be compared with the function, and of a result on a line."""
_BLOCK = 1 << 18
_GUARD = 2
"""Bits of a slope below the one that moves the end of its segment by half a unit of the result."""


@dataclass(frozen=True)
class Table:
    """A function of numbers of one format, for hardware.

    Attributes
    ----------
    element : FixedPoint
        Format of the result.
    attributes : dict
        Those of `lookup`, or of `interpolate` if there is a ``base`` among them.
    bound : float
        The greatest distance of any result from the function, limited to the format's range, in units of the last place
        of the result. Found by comparing all numbers.

    Examples
    --------
    >>> sigmoid = tabulate(lambda v: 1 / (1 + np.exp(-v)), FixedPoint(True, 8, 4), FixedPoint(False, 8, 8))
    >>> sigmoid.apply(np.array([[-128, 0, 16, 127]])).tolist(), sigmoid.bound
    ([[0, 128, 187, 255]], 0.49...)
    """

    element: FixedPoint
    attributes: dict[str, Any] = field(repr=False)
    bound: float

    @property
    def segments(self) -> int:
        """Straight lines of which it consists; 0 if all results are listed."""
        return len(self.attributes["base"]) if "base" in self.attributes else 0

    def apply(self, x: Any) -> Any:
        """Return the results for an array of mantissas, or the node for a stream of a graph."""
        chosen: Any = interpolate if self.segments else lookup
        return chosen(x, element=self.element, **self.attributes)


def tabulate(
    function: Function,
    element_in: FixedPoint,
    element_out: FixedPoint,
    *,
    within: float = 1.0,
    segments: int | None = None,
) -> Table:
    """Return a function as a table: of all results for up to 12 bits, else of straight lines.

    A result that is listed is the nearest number of the format. A line is the chord of the function over its segment,
    moved to where it is equally far from the function on both sides.

    Parameters
    ----------
    function : callable
        Takes and returns an array of float64; what lies beyond the format of the result is limited to it.
    element_in, element_out : FixedPoint
        Formats of operand, of up to 24 bits, and result.
    within : float
        Wanted bound for straight lines, in units of the last place of the result. Where even 4096 segments are not that
        close, the bound says what they reach.

    Raises
    ------
    TypeMismatchError
        If operand or result are wider, the function has no value for one of the numbers, or there cannot be so many
        segments.

    Examples
    --------
    >>> import math
    >>> table = tabulate(np.tanh, FixedPoint(True, 16, 12), FixedPoint(True, 12, 11))
    >>> table.segments, table.bound < 1
    (256, True)
    >>> table.apply(np.array([[-32768, -4096, 0, 4096]])).tolist(), 2048 * math.tanh(1)
    ([[-2048, -1560, 0, 1560]], 1559.74...)
    """
    width = element_in.width
    if width > _WIDEST:
        raise TypeMismatchError(
            f"{element_in} has more numbers than can be compared with the function; requantise to {_WIDEST} bits"
        )
    if width <= WIDEST_TABLE and segments is None:
        (targets,) = _targets(function, element_in, element_out, 1 << width)
        results = np.rint(targets).astype(np.int64)
        attributes = {"table": results, "low": element_in.minimum}
        return Table(element_out, attributes, float(np.abs(results - targets).max()))
    if element_out.width > _WIDEST:
        raise TypeMismatchError(f"{element_out} is too wide for straight lines; give a result of {_WIDEST} bits")
    fewest = max(1, width + element_out.width + _GUARD + 1 - LANE_BITS)  # so that a base fits
    if segments is not None:
        bits = counter_bits(segments)
        if segments != 1 << bits or not fewest <= bits <= min(width - 1, 16):
            raise TypeMismatchError(
                f"segments={segments}; give a power of two from {1 << fewest} to {1 << min(width - 1, 16)}, so that a "
                "segment holds two numbers and no base is too wide"
            )
        return _lines(function, element_in, element_out, bits)
    few, enough = fewest - 1, min(WIDEST_TABLE, width - 1)
    best = _lines(function, element_in, element_out, enough)
    if best.bound > within:
        return best
    while enough - few > 1:  # more lines are hardly ever farther from the function: bisection finds how many it takes
        middle = (few + enough) // 2
        table = _lines(function, element_in, element_out, middle)
        few, enough, best = (few, middle, table) if table.bound <= within else (middle, enough, best)
    return best


def _targets(
    function: Function, element_in: FixedPoint, element_out: FixedPoint, block: int
) -> Iterator[NDArray[np.float64]]:
    """Yield the function's values in units of the last place of the result, so many numbers at a time."""
    for start in range(element_in.minimum, element_in.maximum + 1, block):
        numbers = np.arange(start, start + block, dtype=np.float64) * element_in.step
        with np.errstate(all="ignore"):
            values = np.asarray(function(numbers), np.float64) / element_out.step
        if values.shape != numbers.shape or np.isnan(values).any():
            where = "has no value" if values.shape == numbers.shape else f"gives an array of shape {values.shape}"
            at = numbers[int(np.isnan(values).argmax())] if values.shape == numbers.shape else f"{block} numbers"
            raise TypeMismatchError(f"the function {where} at {at}; give one that takes every {element_in}")
        yield np.clip(values, element_out.minimum, element_out.maximum)


def _lines(function: Function, element_in: FixedPoint, element_out: FixedPoint, bits: int) -> Table:
    """The table of ``2**bits`` segments."""
    rest = element_in.width - bits
    shift, length = rest + _GUARD, 1 << rest
    within = np.arange(length)
    bases, slopes, bound = [], [], 0.0
    for block in _targets(function, element_in, element_out, min(max(_BLOCK, length), 1 << element_in.width)):
        targets = block.reshape(-1, length)
        slope = np.rint((targets[:, -1] - targets[:, 0]) * (1 << shift) / (length - 1)).astype(np.int64)
        off = targets - slope[:, None] * within / (1 << shift)
        # Halfway between the greatest distances on both sides, and half a unit higher, since results are rounded down.
        middle = np.rint((off.min(axis=1) + off.max(axis=1) + 1) / 2 * (1 << shift)).astype(np.int64)
        # Both ends stay in the format; the range of the chord does.
        rise = slope * (length - 1)
        base = np.clip(
            middle,
            (element_out.minimum << shift) - np.minimum(rise, 0),
            ((element_out.maximum + 1) << shift) - 1 - np.maximum(rise, 0),
        )
        results = (base[:, None] + slope[:, None] * within) >> shift
        bases.append(base)
        slopes.append(slope)
        bound = max(bound, float(np.abs(results - targets).max()))
    attributes = {
        "base": np.concatenate(bases),
        "slope": np.concatenate(slopes),
        "rest": rest,
        "shift": shift,
        "low": element_in.minimum,
    }
    return Table(element_out, attributes, bound)
