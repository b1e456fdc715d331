"""select: some channels of a stream, in any order: shuffled, sliced or repeated."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Site, buffered, per_beat, streams
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["SELECT", "select"]


def _infer(x: Type, *, order: Sequence[int]) -> Stream:
    (stream,) = streams(x)
    if not len(order) or min(order) < 0 or max(order) >= stream.channels:
        raise TypeMismatchError(
            f"{list(order)} are no channels of {stream}; give numbers from 0 to {stream.channels - 1}"
        )
    if stream.folds > 1:
        raise TypeMismatchError(
            f"{stream} has its channels in several beats; refold it to {stream.channels} lanes first"
        )
    return Stream(stream.element, (len(order), *stream.shape[1:]))


@define_op(name="stream_select", level="stream", infer=_infer)
def select(x: NDArray[np.integer], *, order: Sequence[int]) -> NDArray[np.integer]:
    """Return some channels: channel ``order[c]`` of the operand becomes channel c.

    Parameters
    ----------
    x : ndarray of int, shape [N, C, *positions]
        A stream with all channels in one beat.
    order : sequence of int
        Channels of ``x``: each once to shuffle them, some to slice, one several times to repeat it.

    Examples
    --------
    >>> select(np.array([[7, 8, 9]]), order=[2, 0, 1]).tolist(), select(np.array([[7, 8, 9]]), order=[1, 1]).tolist()
    ([[9, 7, 8]], [[8, 8]])
    """
    return x[:, list(order)]


def _generics(site: Site) -> dict[str, Generic]:
    x = site.operands[0]
    return {
        "X_LANES": x.lanes,
        "Z_LANES": site.results[0].lanes,
        "WIDTH": x.element.width,
        "ORDER": np.asarray(site.attributes["order"], np.int64),
    }


def _bits(site: Site) -> int:
    # Of lanes that are always equal, synthesis keeps one.
    return len(set(site.attributes["order"])) * site.operands[0].element.width


SELECT = buffered(select, "select_lanes.vhd", _generics, per_beat, bits=_bits)
"""The component of `select`."""
