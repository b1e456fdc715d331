"""clip: lanes limited to a range; from zero on, it is relu."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import bounds
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, per_beat, streams
from graphrewrite.hdl.generics import long_integer
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["CLIP", "clip"]


def _infer(x: Type, *, low: int | None, high: int | None, element: FixedPoint | None) -> Stream:
    (stream,) = streams(x)
    (result,) = streams(Stream(element or stream.element, stream.shape, stream.lanes))
    least, most = bounds(result.element, low, high)
    if least > most:
        raise TypeMismatchError(f"bounds {low} to {high} leave no number of {result.element}; give low <= high")
    return result


@define_op(name="stream_clip", level="stream", infer=_infer)
def clip(
    x: NDArray[np.integer], *, low: int | None = None, high: int | None = None, element: FixedPoint | None = None
) -> NDArray[np.integer]:
    """Return each number, or the bound that it exceeds.

    Examples
    --------
    >>> clip(np.array([[-3, 0, 300]]), low=0, element=FixedPoint(False, 8)).tolist()
    [[0, 0, 255]]
    """
    if element is None:
        return np.clip(x.astype(np.int64), low, high).astype(x.dtype) if (low, high) != (None, None) else x
    return np.clip(x.astype(np.int64), *bounds(element, low, high)).astype(element.dtype)


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    least, most = bounds(z.element, site.attributes["low"], site.attributes["high"])
    return {
        "LANES": x.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        **long_integer("LOW", least),
        **long_integer("HIGH", most),
    }


def _resources(site: Site) -> Resources:
    x, z = site.operands[0], site.results[0]
    least, most = bounds(z.element, site.attributes["low"], site.attributes["high"])
    compared = int(least > x.element.minimum) + int(most < x.element.maximum)
    return Resources(adders=compared * z.lanes)


CLIP = buffered(clip, "clip.vhd", _generics, per_beat, _resources)
"""The component of `clip`."""
