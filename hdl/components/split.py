"""split: the first channels of a stream, and the others."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, per_beat, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["SPLIT", "split"]


def _infer(x: Type, *, at: int) -> tuple[Stream, Stream]:
    (stream,) = streams(x)
    if not 0 < at < stream.channels:
        raise TypeMismatchError(f"at={at} leaves one of two parts of {stream} empty; give 1 to {stream.channels - 1}")
    sizes = at, stream.channels - at
    if stream.folds == 1:
        lanes = sizes
    elif at % stream.lanes == 0:
        lanes = stream.lanes, stream.lanes
    else:
        raise TypeMismatchError(f"{stream} cannot be split at {at} within a beat; refold it to a divisor of {at} lanes")
    first, second = (
        Stream(stream.element, (size, *stream.shape[1:]), count) for size, count in zip(sizes, lanes, strict=True)
    )
    return first, second


@define_op(name="stream_split", level="stream", infer=_infer, results=2)
def split(x: NDArray[np.integer], *, at: int) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return the channels before ``at``, and those from there on.

    Parameters
    ----------
    at : int
        First channel of the second part; where a position takes several beats, the first of a beat.

    Examples
    --------
    >>> [y.tolist() for y in split(np.array([[1, 2, 3]]), at=1)]
    [[[1]], [[2, 3]]]
    """
    return x[:, :at], x[:, at:]


def _schedule(site: Site) -> Schedule:
    x = site.operands[0]
    if x.folds == 1:
        return per_beat(site)
    steps = np.arange(x.beats).reshape(-1, x.folds)
    # Each beat goes to one of the outputs: the first of a position to the first one.
    folds = site.results[0].folds
    return Schedule(steps.size, (steps.ravel(),), (steps[:, :folds].ravel(), steps[:, folds:].ravel()))


def _generics(site: Site) -> dict[str, Generic]:
    x, (first, second) = site.operands[0], site.results
    folds = (first.folds, second.folds) if x.folds > 1 else (0, 0)
    return {
        "X_WIDTH": x.payload_width,
        "Z0_WIDTH": first.payload_width,
        "Z1_WIDTH": second.payload_width,
        "Z0_BEATS": folds[0],
        "Z1_BEATS": folds[1],
    }


def _resources(site: Site) -> Resources:
    counter = counter_bits(site.operands[0].folds)
    pieces = Piece("counter", 1, counter), Piece("logic", 1, 2)
    return Resources(registers=counter, pieces=pieces)


SPLIT = buffered(split, "split.vhd", _generics, _schedule, _resources)
"""The component of `split`."""
