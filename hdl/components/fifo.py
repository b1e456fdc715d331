"""fifo: a first-in first-out store between parts of different rhythm."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["FIFO", "fifo"]


def _infer(x: Type, *, depth: int) -> Stream:
    (stream,) = streams(x)
    if depth < 1:
        raise TypeMismatchError(f"depth={depth} stores nothing; give at least 1, or 2 for a beat every cycle")
    return stream


@define_op(level="stream", infer=_infer)
def fifo(x: NDArray[np.integer], *, depth: int) -> NDArray[np.integer]:
    """Return the operand; in hardware up to ``depth`` beats of it wait for the reader.

    Parameters
    ----------
    depth : int
        At least 1; a beat every cycle needs 2.

    Examples
    --------
    >>> fifo(np.array([[1, 2]]), depth=8).tolist()
    [[1, 2]]
    """
    return x


def _schedule(site: Site) -> Schedule:
    beats = np.arange(site.operands[0].beats)
    return Schedule(len(beats), (beats,), (beats,), 1, (site.attributes["depth"],))


def _generics(site: Site) -> dict[str, Generic]:
    return {"WIDTH": site.operands[0].payload_width}


def _resources(site: Site) -> Resources:
    return Resources(pieces=(Piece("logic", 1, 10 if 1 < site.attributes["depth"] <= 4 else 1),))


FIFO = buffered(fifo, "fifo.vhd", _generics, _schedule, _resources)
"""The component of `fifo`."""
