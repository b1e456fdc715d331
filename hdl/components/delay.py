"""delay: the positions of a frame, shifted by some positions, what causal convolutions and skipped lines need."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_number
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, per_beat, streams
from graphrewrite.hdl.generics import long_integer
from graphrewrite.hdl.resources import Piece
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["DELAY", "delay"]

_REGISTERS = 4
"""So many beats lie in registers, more in a memory."""


def _infer(x: Type, *, positions: int, initial: int) -> Stream:
    (stream,) = streams(x)
    if stream.positions == 1:
        raise TypeMismatchError(f"{stream} has a single position, which cannot come later; drop the delay")
    if not 1 <= positions < stream.positions:
        raise TypeMismatchError(
            f"positions={positions}: {stream} has {stream.positions}, of which some move and some stay; "
            f"give 1 to {stream.positions - 1}"
        )
    check_number("initial", initial, stream.element)
    return stream


@define_op(name="stream_delay", level="stream", infer=_infer)
def delay(x: NDArray[np.integer], *, positions: int, initial: int = 0) -> NDArray[np.integer]:
    """Return each frame later by some positions in raster order; the first are an initial value, the last are dropped.

    A frame does not depend on the one before it. So this is what a delay of the signal in a frame means, and not the
    register of a circuit, which would carry the end of a frame over to the next.

    Parameters
    ----------
    positions : int
        At least one, fewer than the frame has.

    Examples
    --------
    >>> delay(np.array([[[1, 2, 3, 4]]]), positions=2, initial=9).tolist()
    [[[9, 9, 1, 2]]]
    """
    flat = x.reshape(*x.shape[:2], -1)
    first = np.full_like(flat[:, :, :positions], initial)
    return np.concatenate([first, flat[:, :, :-positions]], axis=2).reshape(x.shape)


def _generics(site: Site) -> dict[str, Generic]:
    x = site.operands[0]
    return {
        "LANES": x.lanes,
        "BEATS": x.beats,
        "DELAYED": site.attributes["positions"] * x.folds,
        **long_integer("INITIAL", site.attributes["initial"]),
        "ELEMENT_WIDTH": x.element.width,
    }


def _resources(site: Site) -> Resources:
    x = site.operands[0]
    beats = site.attributes["positions"] * x.folds
    index, many = counter_bits(x.beats), beats > _REGISTERS
    address = counter_bits(beats) if many else 0
    pieces = (
        Piece("select", 1, x.payload_width, 2),
        Piece("ram", 1, x.payload_width if many else 0, beats),
        Piece("counter", 1, index),
        Piece("counter", 1, address),
        Piece("logic", 1, index),
    )
    stored = x.payload_width * (1 if many else beats)
    return Resources(0, 0, stored + index + address, beats * x.payload_width if many else 0, pieces)


DELAY = buffered(delay, "delay.vhd", _generics, per_beat, _resources)
"""The component of `delay`."""
