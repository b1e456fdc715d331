"""argmax: the index of the greatest channel."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_stages
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, spaced, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["ARGMAX", "argmax"]


def _infer(x: Type, *, element: FixedPoint, stages: int) -> Stream:
    (stream,) = streams(x)
    if element.signed or element.width > 31 or element.maximum < stream.channels - 1:
        need = FixedPoint.holding(0, stream.channels - 1)
        raise TypeMismatchError(f"{element} does not hold an index of {stream.channels} channels; give {need}")
    check_stages(stages, max(_levels(stream), 1))
    return Stream(element, (1, *stream.shape[1:]))


def _levels(stream: Stream) -> int:
    """Comparisons one after the other: those of a tree of lanes, and with the best of the beats before."""
    return counter_bits(stream.lanes) + (stream.folds > 1)


@define_op(level="stream", infer=_infer)
def argmax(x: NDArray[np.integer], *, element: FixedPoint, stages: int = 1) -> NDArray[np.integer]:
    """Return the index of the greatest channel at every position; of equal ones, the first.

    Parameters
    ----------
    element : FixedPoint
        Format of the index, unsigned.

    Examples
    --------
    >>> argmax(np.array([[3, 7, 7]]), element=FixedPoint(False, 2)).tolist()
    [[1]]
    """
    return np.argmax(x, axis=1, keepdims=True).astype(element.dtype)


def _schedule(site: Site) -> Schedule:
    x = site.operands[0]
    steps = np.arange(x.beats)
    # The greatest channel is known with the last beat of a position.
    return spaced(x.beats, steps, steps[x.folds - 1 :: x.folds], site.attributes["stages"])


def _generics(site: Site) -> dict[str, Generic]:
    x = site.operands[0]
    return {
        "CHANNELS": x.channels,
        "LANES": x.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": site.results[0].element.width,
        "STAGES": site.attributes["stages"],
    }


def _resources(site: Site) -> Resources:
    x = site.operands[0]
    candidate = x.element.width + counter_bits(x.channels)
    # Pipeline registers after level l hold the winners of lanes / 2**l.
    levels, stages = _levels(x), site.attributes["stages"]
    cuts = [n for n in range(1, levels) if n * stages // levels != (n - 1) * stages // levels]
    stage_registers = sum(-(-x.lanes // 2**n) * candidate for n in cuts)
    best = candidate + 2 * counter_bits(x.folds) if x.folds > 1 else 0
    joins = x.lanes - 1 + (x.folds > 1)
    pieces = (
        Piece("compare", joins, x.element.width),
        Piece("winner", max(x.lanes - 1 - (x.folds == 1), 0), x.element.width),  # nobody sees the last one
        Piece("select", joins, (counter_bits(x.channels) + 1) // 2, 2),
        Piece("logic", 1, 5),
        # The best of the beats before: what is kept unless a beat is better, and its index.
        Piece("start", 1, (x.element.width + 1) // 2 if x.folds > 1 else 0),
        Piece("counter", 1, counter_bits(x.folds) + 3 * counter_bits(x.channels) if x.folds > 1 else 0),
    )
    return Resources(0, joins, stage_registers + best, 0, pieces)


ARGMAX = buffered(argmax, "argmax.vhd", _generics, _schedule, _resources)
"""The component of `argmax`."""
