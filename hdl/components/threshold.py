"""threshold: how many levels of its channel a number has reached."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range, check_stages, number_width, row_resources, varying_bits
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, per_beat, streams
from graphrewrite.hdl.generics import long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["THRESHOLD", "threshold"]

_METHODS = ("parallel", "search")
_FEW = 7
"""Levels up to which comparing with all at once costs less than searching."""


def _infer(
    x: Type, *, levels: ArrayLike, element: FixedPoint, step: int, offset: int, method: str | None, stages: int
) -> Stream:
    (stream,) = streams(x)
    matrix = np.asarray(levels)
    if matrix.dtype.kind not in "iu" or matrix.ndim != 2 or not matrix.size or len(matrix) not in (1, stream.channels):
        raise TypeMismatchError(
            f"levels {matrix.dtype}{list(matrix.shape)} do not fit {stream}; give a row of whole numbers for all "
            f"channels, or {stream.channels} rows"
        )
    if method not in (None, *_METHODS):
        raise TypeMismatchError(f"method is {' or '.join(_METHODS)}, not {method!r}")
    if element.width > 31:
        raise TypeMismatchError(f"{element} has more than the 31 bits that a result may have; give a narrower format")
    ends = offset, offset + step * matrix.shape[1]
    check_range("results", min(ends), max(ends), element)
    check_stages(stages, 2 if _method(stream, matrix, method) == "parallel" else 1)
    return Stream(element, stream.shape, stream.lanes)


def _method(stream: Stream, matrix: NDArray[np.integer], method: str | None) -> str:
    if method is not None:
        return method
    return "parallel" if matrix.shape[1] <= (_FEW if len(matrix) == 1 or stream.folds == 1 else 1) else "search"


@define_op(name="stream_threshold", level="stream", infer=_infer)
def threshold(
    x: NDArray[np.integer],
    *,
    levels: ArrayLike,
    element: FixedPoint,
    step: int = 1,
    offset: int = 0,
    method: str | None = None,
    stages: int = 1,
) -> NDArray[np.integer]:
    """Return ``offset + step * sum(x >= levels)``, channel by channel.

    Parameters
    ----------
    method : "parallel" or "search", optional
        Comparing with all levels at once; or by bisection, one level of each of ``ceil(log2(T + 1))`` memories. Where
        not given, what costs less.
    stages : int
        Pipeline stages: 2 splits between comparing and counting. A search has one for each comparison already.

    Examples
    --------
    >>> threshold(np.array([[0, 5]]), levels=[[1, 3], [2, 9]], element=FixedPoint(True, 4), offset=-1).tolist()
    [[-1, 0]]
    """
    matrix = np.sort(np.asarray(levels, np.int64), axis=1)
    rows = np.broadcast_to(matrix, (x.shape[1], matrix.shape[1]))
    counts = [np.searchsorted(row, x[:, c].astype(np.int64), side="right") for c, row in enumerate(rows)]
    return (offset + step * np.stack(counts, axis=1)).astype(element.dtype)


def _steps(count: int) -> int:
    """Comparisons of a search."""
    return counter_bits(count + 1)


def _schedule(site: Site) -> Schedule:
    matrix = np.asarray(site.attributes["levels"])
    if _method(site.operands[0], matrix, site.attributes["method"]) == "parallel":
        return per_beat(site, site.attributes["stages"])
    return per_beat(site, 1 + _steps(matrix.shape[1]))


def _levels(site: Site) -> tuple[NDArray[np.int64], bool]:
    """The levels as the hardware has them, and whether it searches them."""
    x = site.operands[0]
    matrix = np.sort(np.asarray(site.attributes["levels"], np.int64), axis=1)
    search = _method(x, matrix, site.attributes["method"]) == "search"
    # All levels above all numbers are alike, never reached; a search has one for each number of some bits but one.
    never = x.element.maximum + 1
    spare = (1 << _steps(matrix.shape[1])) - 1 - matrix.shape[1] if search else 0
    return np.pad(np.clip(matrix, x.element.minimum, never), ((0, 0), (0, spare)), constant_values=never), search


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    padded, search = _levels(site)
    return {
        "CHANNELS": x.channels,
        "LANES": x.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        "ROWS": len(padded),
        "COUNT": padded.shape[1],
        "LEVEL_WIDTH": number_width(padded),
        **long_vector("LEVELS", padded.ravel(), long=number_width(padded) > 31),
        "STEP": site.attributes["step"],
        "OFFSET": site.attributes["offset"],
        "SEARCH": search,
        "STAGES": site.attributes["stages"],
    }


def _resources(site: Site) -> Resources:
    x = site.operands[0]
    matrix = np.asarray(site.attributes["levels"])
    rows, count = matrix.shape
    padded, search = _levels(site)
    width, steps, folds = number_width(padded), _steps(count), x.folds if rows > 1 else 1
    pieces: tuple[Piece, ...]
    if search:
        pieces = (
            # Small memories become one with the comparison that they are read for.
            *(Piece("rom", x.lanes, varying_bits(padded), folds << n) for n in range(steps) if folds << n > 16),
            Piece("logic", x.lanes * (steps - (folds == 1)), x.element.width),
            Piece("counter", 1, counter_bits(folds)),
        )
        registers = x.lanes * (width * steps + x.element.width * steps + steps * (steps - 1) // 2)
        memory = x.lanes * width * folds * ((1 << steps) - 1)
        return Resources(0, x.lanes * steps, registers + steps * counter_bits(folds), memory, pieces)
    pieces = (
        Piece("compare", x.lanes * count if folds > 1 else 0, x.element.width),
        Piece("logic", x.lanes, 0 if folds > 1 else count * (x.element.width + 8) // 4),
        Piece("add", x.lanes * (count - 1) if folds > 1 else 0, (steps + 1) // 2),
    )
    registers = (site.attributes["stages"] - 1) * x.lanes * count
    own = Resources(0, x.lanes * (2 * count - 1), registers, 0, pieces)
    if folds == 1:
        return own
    row = row_resources(x, matrix, width)
    return own.plus(row if folds > 16 else row._replace(pieces=()))


THRESHOLD = buffered(threshold, "threshold.vhd", _generics, _schedule, _resources)
"""The component of `threshold`."""
