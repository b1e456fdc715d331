"""reshape: the same numbers in beats of another width; flatten and its inverse."""

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
    spaced,
    streams,
)
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["RESHAPE", "reshape"]


def _infer(x: Type, *, shape: Sequence[int]) -> Stream:
    (given,) = streams(x)
    if not shape or min(shape) < 1 or math.prod(shape) != math.prod(given.shape):
        raise TypeMismatchError(
            f"shape {tuple(shape)} does not hold the {math.prod(given.shape)} numbers of {given}; give as many"
        )
    return Stream(given.element, tuple(shape))


@define_op(name="stream_reshape", level="stream", infer=_infer)
def reshape(x: NDArray[np.integer], *, shape: Sequence[int]) -> NDArray[np.integer]:
    """Return the same numbers in row-major order of another shape, the batch aside.

    Parameters
    ----------
    x : ndarray of int, shape [N, ...]
    shape : sequence of int
        The new shape, without the batch; its first dimension is the lanes.

    Returns
    -------
    ndarray of int, shape [N, *shape]

    Examples
    --------
    >>> reshape(np.arange(6).reshape(1, 2, 3), shape=(3, 2)).tolist()
    [[[0, 1], [2, 3], [4, 5]]]
    """
    return x.reshape(len(x), *shape)


def _schedule(site: Site) -> Schedule:
    taken, given = site.operands[0].beats, site.results[0].beats
    return spaced(taken + given - 1, np.arange(taken), taken - 1 + np.arange(given))


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    return {
        "X_LANES": x.lanes,
        "X_BEATS": x.beats,
        "Z_LANES": z.lanes,
        "Z_BEATS": z.beats,
        "ELEMENT_WIDTH": x.element.width,
        "CAPACITY": _schedule(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    x, z = site.operands[0], site.results[0]
    # The last beat of a frame is stored only where later steps read it.
    stored = x.payload_width * (x.beats if z.beats > 1 else x.beats - 1)
    own = Resources(registers=stored + counter_bits(_schedule(site).steps))
    return own.plus(buffer_resources(z.payload_width, _schedule(site).capacity[0]))


RESHAPE = Component(reshape, "reshape.vhd", _generics, _schedule, _resources)
"""The component of `reshape`."""
