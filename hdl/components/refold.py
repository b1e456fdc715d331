"""refold: the same stream with more or fewer lanes."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, spaced, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["REFOLD", "refold"]


def _infer(x: Type, *, lanes: int) -> Stream:
    (stream,) = streams(x)
    result = stream.with_lanes(lanes)
    if lanes < 1 or max(lanes, stream.lanes) % min(lanes, stream.lanes):
        raise TypeMismatchError(
            f"{stream.lanes} and {lanes} lanes do not divide each other; refold {stream} by way of a common divisor"
        )
    return result


@define_op(level="stream", infer=_infer)
def refold(x: NDArray[np.integer], *, lanes: int) -> NDArray[np.integer]:
    """Return the operand; in hardware its channels travel in narrower or wider beats.

    Examples
    --------
    >>> refold(np.array([[1, 2]]), lanes=1).tolist()
    [[1, 2]]
    """
    return x


def _factors(site: Site) -> tuple[int, int]:
    """Beats out of a wide beat, and beats into one."""
    x, z = site.operands[0].lanes, site.results[0].lanes
    return max(1, x // z), max(1, z // x)


def _schedule(site: Site) -> Schedule:
    narrower, wider = _factors(site)
    steps = max(site.operands[0].beats, site.results[0].beats)
    # A wide beat is taken with the first of its narrow ones, and given with the last.
    every = np.arange(steps)
    return spaced(steps, every[::narrower], every[wider - 1 :: wider], 2 if narrower > 1 else 1)


def _generics(site: Site) -> dict[str, Generic]:
    return {
        "X_LANES": site.operands[0].lanes,
        "Z_LANES": site.results[0].lanes,
        "ELEMENT_WIDTH": site.operands[0].element.width,
    }


def _resources(site: Site) -> Resources:
    narrower, wider = _factors(site)
    x, z = site.operands[0].payload_width, site.results[0].payload_width
    registers = x + counter_bits(narrower) if narrower > 1 else z - x
    selector = Piece("select", 1, z if narrower > 1 else 0, narrower)
    pieces = (selector, Piece("counter", 1, 3 * counter_bits(narrower)), Piece("decode", 1, wider if wider > 1 else 0))
    return Resources(registers=registers + counter_bits(narrower * wider), pieces=pieces)


REFOLD = buffered(refold, "refold.vhd", _generics, _schedule, _resources)
"""The component of `refold`."""
