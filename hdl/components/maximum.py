"""maximum: the greatest of several groups of channels, the second half of max pooling."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Component, Generic, Resources, Site, buffer_resources, per_beat, streams
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["MAXIMUM", "maximum"]


def _infer(x: Type, *, groups: int) -> Stream:
    (given,) = streams(x)
    if groups < 1 or given.lanes % groups:
        raise TypeMismatchError(f"groups={groups} does not divide the {given.lanes} lanes of {given}; give a divisor")
    return Stream(given.element, (given.lanes // groups, *given.shape[1:]))


@define_op(name="stream_maximum", level="stream", infer=_infer)
def maximum(x: NDArray[np.integer], *, groups: int) -> NDArray[np.integer]:
    """Return the greatest of ``groups`` numbers for each channel; number g of channel c is lane ``g * C + c``.

    Parameters
    ----------
    x : ndarray of int, shape [N, groups * C, *positions]
    groups : int

    Returns
    -------
    ndarray of int, shape [N, C, *positions]

    Examples
    --------
    >>> maximum(np.array([[1, 8, 5, 2]]), groups=2).tolist()
    [[5, 8]]
    """
    return x.reshape(len(x), groups, x.shape[1] // groups, *x.shape[2:]).max(axis=1)


def _generics(site: Site) -> dict[str, Generic]:
    z = site.results[0]
    return {
        "CHANNELS": z.lanes,
        "GROUPS": site.attributes["groups"],
        "ELEMENT_WIDTH": z.element.width,
        "IS_SIGNED": z.element.signed,
        "CAPACITY": per_beat(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    z = site.results[0]
    compared = Resources(adders=z.lanes * (site.attributes["groups"] - 1))
    return compared.plus(buffer_resources(z.payload_width, per_beat(site).capacity[0]))


MAXIMUM = Component(maximum, "maximum.vhd", _generics, per_beat, _resources)
"""The component of `maximum`."""
