"""argmax: the index of the greatest lane."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Component, Generic, Resources, Site, buffer_resources, per_beat, streams
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["ARGMAX", "argmax"]


def _infer(x: Type, *, element: FixedPoint) -> Stream:
    (given,) = streams(x)
    if element.signed or element.width > 31 or element.maximum < given.lanes - 1:
        need = FixedPoint.holding(0, given.lanes - 1)
        raise TypeMismatchError(f"{element} does not hold an index of {given.lanes} lanes; give {need}")
    return Stream(element, (1, *given.shape[1:]))


@define_op(level="stream", infer=_infer)
def argmax(x: NDArray[np.integer], *, element: FixedPoint) -> NDArray[np.integer]:
    """Return the index of the greatest channel at every position; of equal ones, the first.

    Parameters
    ----------
    x : ndarray of int, shape [N, C, *positions]
    element : FixedPoint
        Format of the index, unsigned.

    Returns
    -------
    ndarray of int, shape [N, 1, *positions]

    Examples
    --------
    >>> argmax(np.array([[3, 7, 7]]), element=FixedPoint(False, 2)).tolist()
    [[1]]
    """
    return np.argmax(x, axis=1, keepdims=True).astype(element.dtype)


def _generics(site: Site) -> dict[str, Generic]:
    x = site.operands[0]
    return {
        "INPUTS": x.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": site.results[0].element.width,
        "CAPACITY": per_beat(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    compared = Resources(adders=site.operands[0].lanes - 1)
    return compared.plus(buffer_resources(site.results[0].payload_width, per_beat(site).capacity[0]))


ARGMAX = Component(argmax, "argmax.vhd", _generics, per_beat, _resources)
"""The component of `argmax`."""
