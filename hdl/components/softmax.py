"""softmax: a distribution over the channels, by a table of exponentials and one divider."""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, spaced, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.op.integer.approximated import check_exponentials, integer_softmax
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["SOFTMAX", "exponentials", "softmax", "softmax_error"]

_WIDEST = 24
_WAITS = 4
"""Steps from the first number read to the first exponential read."""


def _infer(x: Type, *, table: ArrayLike, shift: int, element: FixedPoint) -> Stream:
    (stream,) = streams(x)
    check_exponentials(stream.element, table, shift, element)
    (result,) = streams(Stream(element, stream.shape, stream.lanes))
    return result


@define_op(name="stream_softmax", level="stream", infer=_infer)
def softmax(x: NDArray[np.integer], *, table: ArrayLike, shift: int, element: FixedPoint) -> NDArray[np.integer]:
    """Return exponentials divided by their sum at every position, to the nearest number of a format.

    The exponential of a channel is an entry of the table: that of the greatest channel's distance to it, shifted right;
    the last entry stands for all greater distances. A quotient is rounded half up, and 1 saturates if the format does
    not hold it. `softmax_error` bounds the distance to the real softmax.

    Parameters
    ----------
    table : array of int
        Exponentials, at most 4096, the first the greatest; `exponentials` makes them.
    shift : int
        Bits of a distance that the table does not distinguish.

    Examples
    --------
    >>> table, shift = exponentials(FixedPoint(True, 8, 4))
    >>> softmax(np.array([[16, 0, -16]]), table=table, shift=shift, element=FixedPoint(False, 9, 8)).tolist()
    [[170, 63, 23]]
    """
    return np.asarray(integer_softmax(x, table=table, shift=shift, element=element))


def exponentials(
    x: FixedPoint, *, bits: int = 10, width: int = 16, step: float | None = None
) -> tuple[NDArray[np.int64], int]:
    """Return a table of exponentials for numbers of a format, and the shift that goes with it.

    Parameters
    ----------
    bits : int
        The table has at most ``2**bits`` entries; at most 12.
    width : int
        Bits of an entry; at most 24.
    step : float, optional
        The number that a mantissa of 1 stands for. Default: as the format says.

    Examples
    --------
    >>> table, shift = exponentials(FixedPoint(True, 8, 1), width=8)
    >>> table.tolist(), shift
    ([255, 155, 94, 57, 35, 21, 13, 8, 5, 3, 2, 1, 1, 0], 0)
    """
    if not (1 <= bits <= 12 and 1 <= width <= _WIDEST):
        raise TypeMismatchError(f"a table of 2**{bits} entries of {width} bits: give at most 12 and {_WIDEST}")
    step = x.step if step is None else step
    if not 0 < step < math.inf:
        raise TypeMismatchError(f"step={step!r}: give a positive number")
    # From the first distance on whose exponential rounds to nothing, all do.
    scale = (1 << width) - 1
    nothing, shift = math.floor(math.log(2 * scale) / step) + 1, 0
    while (last := min(-(-nothing >> shift), (x.maximum - x.minimum) >> shift)) >= 1 << bits:
        shift += 1
    return np.rint(np.exp(-np.arange(last + 1) * (step * 2**shift)) * scale).astype(np.int64), shift


def softmax_error(x: Stream, *, table: ArrayLike, shift: int, element: FixedPoint, step: float | None = None) -> float:
    """Return a bound of the distance of any result from the real softmax, for a table made by `exponentials`.

    It is half a unit for the quotient (a whole one if the format does not hold 1), ``(C + 1) / 2`` units of an entry
    for the entries, and for what a shift does not distinguish ``tanh((2**shift - 1) * step / 4)``, where ``step`` is
    the operand's, or that with which the table was made.

    Examples
    --------
    >>> x = Stream(FixedPoint(True, 8, 4), (10,))
    >>> table, shift = exponentials(x.element)
    >>> round(softmax_error(x, table=table, shift=shift, element=FixedPoint(False, 9, 8)), 6)
    0.002037
    """
    quotient = element.step / 2 if element.width > element.fraction else element.step
    entries = (x.channels + 1) / (2 * int(np.asarray(table)[0]))
    return float(quotient + entries + math.tanh((2**shift - 1) * (x.element.step if step is None else step) / 4))


def _schedule(site: Site) -> Schedule:
    x, bits = site.operands[0], site.attributes["element"].fraction + 2
    # All channels read, all looked up, all divided.
    first = 2 * x.channels + _WAITS
    steps = first + bits * x.channels
    start = np.arange(x.positions)[:, None] * steps
    lanes = np.arange(x.folds) * x.lanes
    takes, gives = start + lanes, start + first + (lanes + x.lanes) * bits - 1
    return spaced(steps * x.positions, takes.ravel(), gives.ravel())


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    return {
        "CHANNELS": x.channels,
        "LANES": x.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "SHIFT": site.attributes["shift"],
        "ENTRIES": np.asarray(site.attributes["table"], np.int64),
        "ENTRY_WIDTH": _entry_width(site),
        "Z_WIDTH": z.element.width,
        "Z_FRACTION": z.element.fraction,
    }


def _entry_width(site: Site) -> int:
    return int(np.asarray(site.attributes["table"])[0]).bit_length()


def _resources(site: Site) -> Resources:
    x, z = site.operands[0], site.results[0]
    entry, count = _entry_width(site), len(np.asarray(site.attributes["table"]))
    total, bits = entry + counter_bits(x.channels), z.element.fraction + 2
    counters = counter_bits(x.channels + _WAITS) + counter_bits(x.lanes) + counter_bits(bits) + 2
    lane_registers = (x.lanes - 1) * (x.element.width + z.element.width)
    value_registers = 2 * (x.element.width + 1) + counter_bits(count) + 2 * entry + 2 * total + 1 + bits - 1
    memories = (("ram", x.element.width, x.channels), ("ram", entry, x.channels), ("rom", entry, count))
    pieces = (
        Piece("compare", 1, x.element.width + 1),
        Piece("add", 1, x.element.width + 1),
        Piece("add", 2, total + 1),
        Piece("compare", 1, total + 1),
        Piece("add", 1, bits),
        Piece("select", 2, total + 1, 2),
        Piece("select", 1, (x.lanes - 1) * x.element.width, 2),
        Piece("counter", 1, counters),
        Piece("logic", 1, 3 * counter_bits(x.channels + _WAITS) + 2 * counter_bits(count) + bits + entry + 8),
        *(Piece(kind, 1, width, size) for kind, width, size in memories),
    )
    memory = sum(width * size for _, width, size in memories)
    return Resources(0, 4, counters + lane_registers + value_registers, memory, pieces)


SOFTMAX = buffered(softmax, "softmax.vhd", _generics, _schedule, _resources)
"""The component of `softmax`."""
