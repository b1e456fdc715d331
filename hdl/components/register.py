"""register: a pipeline register in a stream, which splits a long path in two."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.hdl.component import Generic, Site, buffered, per_beat, streams
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["REGISTER", "register"]


def _infer(x: Type) -> Stream:
    (stream,) = streams(x)
    return stream


@define_op(name="stream_register", level="stream", infer=_infer)
def register(x: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the operand; in hardware each beat comes one cycle later, and none is lost or doubled by that.

    It is a fifo of two beats, the least that passes one every cycle. A stream has no value in cycles without a beat, so
    there is no initial value: see ``delay`` for a signal that is shifted.

    Examples
    --------
    >>> register(np.array([[1, 2]])).tolist()
    [[1, 2]]
    """
    return x


def _generics(site: Site) -> dict[str, Generic]:
    return {"WIDTH": site.operands[0].payload_width}


REGISTER = buffered(register, "fifo.vhd", _generics, per_beat)
"""The component of `register`; its entity is that of `fifo`, as the word is reserved in VHDL."""
