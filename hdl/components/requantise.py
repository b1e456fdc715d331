"""requantise: to another format, by shifting, rounding and saturating."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Component, Generic, Resources, Site, buffer_resources, per_beat, streams
from graphrewrite.op.define import define_op
from graphrewrite.op.integer import narrowed
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["REQUANTISE", "requantise"]


def _infer(
    x: Type, *, shift: int | Sequence[int], element: FixedPoint, low: int | None = None, high: int | None = None
) -> Stream:
    (given,) = streams(x)
    if element.width > 31:
        raise TypeMismatchError(
            f"{element} has more than the 31 bits that a requantised lane may have; give a narrower format"
        )
    if np.ndim(shift) > 1 or np.size(shift) != (given.lanes if np.ndim(shift) else 1):
        raise TypeMismatchError(f"{np.size(shift)} shifts do not fit the lanes of {given}; give one, or {given.lanes}")
    if np.max(shift) > 60 or given.element.width - np.min(shift) > 60:
        raise TypeMismatchError(
            f"shifts of {np.min(shift)} to {np.max(shift)} places need more than 60 bits; shift less"
        )
    least, most = _bounds(element, low, high)
    if least > most:
        raise TypeMismatchError(f"bounds {low} to {high} leave no number of {element}; give low <= high")
    return Stream(element, given.shape)


def _bounds(element: FixedPoint, low: int | None, high: int | None) -> tuple[int, int]:
    least = element.minimum if low is None else max(low, element.minimum)
    return least, element.maximum if high is None else min(high, element.maximum)


@define_op(name="stream_requantise", level="stream", infer=_infer)
def requantise(
    x: NDArray[np.integer],
    *,
    shift: int | Sequence[int],
    element: FixedPoint,
    low: int | None = None,
    high: int | None = None,
) -> NDArray[np.integer]:
    """Return ``x / 2**shift`` rounded half to even, limited to ``element`` and to ``[low, high]``.

    Parameters
    ----------
    x : ndarray of int, shape [N, C, *positions]
    shift : int or sequence of int
        Places to the right, one for all channels or one each; negative: to the left.
    element : FixedPoint
        Format of the result.
    low, high : int, optional
        Tighter bounds than the format's.

    Returns
    -------
    ndarray of int, shape [N, C, *positions]

    Examples
    --------
    >>> requantise(np.array([[6, 10, 999]]), shift=[2, 2, -1], element=FixedPoint(True, 8)).tolist()
    [[2, 2, 127]]
    """
    by = np.asarray(shift, np.int64).reshape(-1, *[1] * (x.ndim - 2))
    return narrowed(x, by, *_bounds(element, low, high)).astype(element.dtype)


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    least, most = _bounds(z.element, site.attributes["low"], site.attributes["high"])
    return {
        "CHANNELS": x.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        "SHIFTS": np.broadcast_to(np.asarray(site.attributes["shift"], np.int64), x.lanes),
        "LOW": least,
        "HIGH": most,
        "CAPACITY": per_beat(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    z = site.results[0]
    rounded = int(np.count_nonzero(np.broadcast_to(site.attributes["shift"], z.lanes) > 0))
    own = Resources(adders=rounded + 2 * z.lanes)
    return own.plus(buffer_resources(z.payload_width, per_beat(site).capacity[0]))


REQUANTISE = Component(requantise, "requantise.vhd", _generics, per_beat, _resources)
"""The component of `requantise`."""
