"""permute: the channels of a stream in another order."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.channelwise import buffers
from graphrewrite.hdl.component import Component, Generic, Resources, Site, per_beat, streams
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["PERMUTE", "permute"]


def _infer(x: Type, *, order: Sequence[int]) -> Stream:
    (given,) = streams(x)
    if sorted(order) != list(range(given.channels)):
        raise TypeMismatchError(
            f"{list(order)} is no order of the channels of {given}; give each of 0 to {given.channels - 1} once"
        )
    if given.folds > 1:
        raise TypeMismatchError(f"{given} has its channels in several beats; refold it to {given.channels} lanes first")
    return given


@define_op(level="stream", infer=_infer)
def permute(x: NDArray[np.integer], *, order: Sequence[int]) -> NDArray[np.integer]:
    """Return the channels in another order: channel ``order[c]`` becomes channel c.

    Parameters
    ----------
    x : ndarray of int, shape [N, C, *positions]
        A stream with all channels in one beat.
    order : sequence of int
        Each channel once.

    Returns
    -------
    ndarray of int, shape [N, C, *positions]

    Examples
    --------
    >>> permute(np.array([[7, 8, 9]]), order=[2, 0, 1]).tolist()
    [[9, 7, 8]]
    """
    return x[:, list(order)]


def _generics(site: Site) -> dict[str, Generic]:
    x = site.operands[0]
    return {
        "LANES": x.lanes,
        "WIDTH": x.element.width,
        "ORDER": np.asarray(site.attributes["order"], np.int64),
        "CAPACITY": per_beat(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    return buffers(site.results, per_beat(site))


PERMUTE = Component(permute, "permute.vhd", _generics, per_beat, _resources)
"""The component of `permute`."""
