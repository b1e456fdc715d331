"""constant: a source that repeats one frame for ever."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, per_beat, streams
from graphrewrite.hdl.generics import long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream

__all__ = ["CONSTANT", "constant"]


def _infer(*, value: ArrayLike, element: FixedPoint, lanes: int | None) -> Stream:
    frame = np.asarray(value)
    if frame.dtype.kind not in "iu" or not frame.ndim or not frame.size:
        raise TypeMismatchError(
            f"a frame of {frame.dtype}{list(frame.shape)} is no stream; give whole numbers of shape [C, *positions]"
        )
    check_range("numbers", int(frame.min()), int(frame.max()), element)
    (result,) = streams(Stream(element, frame.shape, frame.shape[0] if lanes is None else lanes))
    return result


@define_op(name="stream_constant", level="stream", infer=_infer)
def constant(*, value: ArrayLike, element: FixedPoint, lanes: int | None = None) -> NDArray[np.integer]:
    """Return a frame that is always the same, as a batch of one; in hardware it comes again and again.

    Its batch of one stands for any number of frames: a component of two operands broadcasts it. It has no operand, so
    ``graph.add(constant, [], {…})`` makes a node of it.

    Parameters
    ----------
    value : array of int, shape [C, *positions]
        Mantissas.

    Examples
    --------
    >>> constant(value=[[1, 2], [3, 4]], element=FixedPoint(True, 8)).tolist()
    [[[1, 2], [3, 4]]]
    """
    return np.asarray(value, element.dtype)[None]


def _generics(site: Site) -> dict[str, Generic]:
    z = site.results[0]
    numbers = z.to_beats(np.asarray(site.attributes["value"], np.int64)[None]).ravel()
    return {
        "LANES": z.lanes,
        "BEATS": z.beats,
        **long_vector("VALUES", numbers, long=z.element.width > 31),
        "ELEMENT_WIDTH": z.element.width,
    }


def _resources(site: Site) -> Resources:
    z = site.results[0]
    if z.beats == 1:
        return Resources()
    index = counter_bits(z.beats)
    pieces = (Piece("rom", 1, z.payload_width, z.beats), Piece("counter", 1, 4 * index))
    return Resources(0, 0, z.payload_width + index, z.beats * z.payload_width, pieces)


def _bits(site: Site) -> int:
    # Of a beat that never changes nothing is left but that it is there.
    return site.results[0].payload_width if site.results[0].beats > 1 else 1


CONSTANT = buffered(constant, "constant_source.vhd", _generics, per_beat, _resources, bits=_bits)
"""The component of `constant`; the word is reserved in VHDL."""
