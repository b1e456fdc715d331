"""reshape: the same numbers under another shape; flatten and its inverse."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import (
    Component,
    Generic,
    Resources,
    Site,
    buffer_resources,
    counter_bits,
    per_beat,
    spaced,
    streams,
)
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["RESHAPE", "reshape"]


def _infer(x: Type, *, shape: Sequence[int], lanes: int | None) -> Stream:
    (stream,) = streams(x)
    if not shape or min(shape) < 1 or math.prod(shape) != math.prod(stream.shape):
        raise TypeMismatchError(
            f"shape {tuple(shape)} does not hold the {math.prod(stream.shape)} numbers of {stream}; give as many"
        )
    return Stream(stream.element, tuple(shape), shape[0] if lanes is None else lanes)


@define_op(name="stream_reshape", level="stream", infer=_infer)
def reshape(x: NDArray[np.integer], *, shape: Sequence[int], lanes: int | None = None) -> NDArray[np.integer]:
    """Return the same numbers in row-major order of another shape, the batch aside.

    Where the numbers come in the order in which they leave, and as many in a beat, each beat passes as it comes: a
    flattened single position, an added axis. Else a frame is stored in registers.

    Parameters
    ----------
    shape : sequence of int
        The new shape, without the batch; its first dimension is the channels.

    Examples
    --------
    >>> reshape(np.arange(6).reshape(1, 2, 3), shape=(3, 2)).tolist()
    [[[0, 1], [2, 3], [4, 5]]]
    """
    return x.reshape(len(x), *shape)


def _places(stream: Stream) -> NDArray[np.int64]:
    """Return for each lane of each beat which number of a frame it is."""
    return np.asarray(stream.to_beats(np.arange(math.prod(stream.shape))[None])[0])


def _in_order(site: Site) -> bool:
    x, z = site.operands[0], site.results[0]
    return x.lanes == z.lanes and np.array_equal(_places(x), _places(z))


def _schedule(site: Site) -> Schedule:
    if _in_order(site):
        return per_beat(site)
    beats_in, beats_out = site.operands[0].beats, site.results[0].beats
    # Stored whole: the step that takes the last beat of a frame gives the first.
    return spaced(beats_in + beats_out - 1, np.arange(beats_in), beats_in - 1 + np.arange(beats_out))


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    return {
        "X_LANES": x.lanes,
        "X_FOLDS": x.folds,
        "X_POSITIONS": x.positions,
        "Z_LANES": z.lanes,
        "Z_FOLDS": z.folds,
        "Z_POSITIONS": z.positions,
        "IN_ORDER": _in_order(site),
        "ELEMENT_WIDTH": x.element.width,
        "CAPACITY": _schedule(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    x, z = site.operands[0], site.results[0]
    buffer = buffer_resources(z.payload_width, _schedule(site).capacity[0])
    if _in_order(site):
        return buffer
    # The last beat of a frame is stored only where later steps read it.
    stored = x.payload_width * (x.beats if z.beats > 1 else x.beats - 1)
    index = counter_bits(_schedule(site).steps)
    pieces = (
        Piece("counter", 1, index),
        Piece("logic", 1, 3 * x.beats),  # which beat is stored
        Piece("select", 1, z.payload_width, z.beats),
    )
    return buffer.plus(Resources(registers=stored + index, pieces=pieces))


RESHAPE = Component(reshape, "reshape.vhd", _generics, _schedule, _resources)
"""The component of `reshape`."""
