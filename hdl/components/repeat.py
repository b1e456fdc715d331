"""repeat: up-sampling by repetition."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, spaced, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["REPEAT", "repeat"]


def _infer(x: Type, *, factors: Sequence[int]) -> Stream:
    (stream,) = streams(x)
    axes = len(stream.shape) - 1
    if axes not in (1, 2) or len(factors) != axes:
        raise TypeMismatchError(
            f"{stream}, factors {tuple(factors)}: give [C,H,W] and (vertical,horizontal), or [C,L] and one factor"
        )
    if min(factors) < 1:
        raise TypeMismatchError(f"factors {tuple(factors)} must be positive; 1 repeats nothing")
    sizes = (size * factor for size, factor in zip(stream.shape[1:], factors, strict=True))
    return Stream(stream.element, (stream.channels, *sizes), stream.lanes)


@define_op(name="stream_repeat", level="stream", infer=_infer)
def repeat(x: NDArray[np.integer], *, factors: Sequence[int]) -> NDArray[np.integer]:
    """Return an image or a sequence with each position repeated: up-sampling to the nearest neighbour.

    Parameters
    ----------
    factors : sequence of int
        How often each position comes, along each axis of positions.

    Examples
    --------
    >>> repeat(np.array([[[[1, 2]]]]), factors=(2, 3)).tolist()
    [[[[1, 1, 1, 2, 2, 2], [1, 1, 1, 2, 2, 2]]]]
    """
    for axis, factor in enumerate(factors, start=2):
        x = np.repeat(x, factor, axis=axis)
    return x


def _rows(site: Site) -> tuple[int, int, int]:
    """Times that a row comes, positions of a row, how often a position comes."""
    factors = site.attributes["factors"]
    return (factors[0] if len(factors) == 2 else 1), site.operands[0].shape[-1], factors[-1]


def _schedule(site: Site) -> Schedule:
    row_times, width, times = _rows(site)
    x, z = site.operands[0], site.results[0]
    steps = np.arange(z.beats).reshape(-1, row_times, width, times, x.folds)
    return spaced(z.beats, steps[:, 0, :, 0].ravel(), steps.ravel())


def _generics(site: Site) -> dict[str, Generic]:
    row_times, width, times = _rows(site)
    x = site.operands[0]
    return {"BEAT_WIDTH": x.payload_width, "FOLDS": x.folds, "WIDTH": width, "ROW_TIMES": row_times, "TIMES": times}


def _resources(site: Site) -> Resources:
    row_times, width, times = _rows(site)
    x = site.operands[0]
    counters = sum(map(counter_bits, (x.folds, times, *((row_times, width) if row_times > 1 else ()))))
    stored = x.folds * (width if row_times > 1 else 1)
    if row_times * times == 1:
        return Resources()
    # The last beat goes past the memory where the next step reads it.
    past = x.payload_width + 1 if x.folds == 1 and stored > 1 else 0
    memory, address = stored * x.payload_width if stored > 1 else 0, counter_bits(stored)
    pieces = (
        Piece("select", 1, x.payload_width, 3 if past else 2),
        Piece("ring" if past else "ram", 1, x.payload_width if memory else 0, stored),
        Piece("counter", 1, counters),
        Piece("logic", 1, 2 * address + 8),
    )
    return Resources(0, 0, x.payload_width + past + counters + address, memory, pieces)


REPEAT = buffered(repeat, "repeat.vhd", _generics, _schedule, _resources)
"""The component of `repeat`."""
