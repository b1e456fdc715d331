"""requantise: to another format, by shifting, rounding and saturating."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import bounds, check_stages, row_resources
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, per_beat, streams
from graphrewrite.hdl.generics import long_integer
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["REQUANTISE", "requantise"]

Shift = int | Sequence[int]
_ROUNDINGS = ("half_even", "half_up", "down", "to_zero")


def _infer(
    x: Type,
    *,
    shift: Shift,
    element: FixedPoint,
    low: int | None,
    high: int | None,
    offset: int,
    rounding: str,
    stages: int,
) -> Stream:
    (stream,) = streams(x)
    (result,) = streams(Stream(element, stream.shape, stream.lanes))
    if np.size(shift) != (stream.channels if np.ndim(shift) else 1):
        raise TypeMismatchError(
            f"{np.size(shift)} shifts do not fit the channels of {stream}; give one, or {stream.channels}"
        )
    if np.max(shift) > 60 or stream.element.width - np.min(shift) > 60:
        raise TypeMismatchError(f"shifts by {np.min(shift)} to {np.max(shift)} bits need more than 60 bits; shift less")
    least, most = bounds(element, low, high)
    if least > most:
        raise TypeMismatchError(f"bounds {low} to {high} leave no number of {element}; give low <= high")
    if rounding not in _ROUNDINGS:
        raise TypeMismatchError(f"rounding is {', '.join(_ROUNDINGS[:-1])} or {_ROUNDINGS[-1]}, not {rounding!r}")
    if abs(offset) >= 1 << 47:
        raise TypeMismatchError(f"offset {offset} exceeds 48 bits; give a smaller one")
    check_stages(stages, 3 if _varies(_shifts(shift, stream)) else 2)
    return result


def _shifts(shift: Shift, stream: Stream) -> NDArray[np.int64]:
    """Places by fold and lane."""
    return np.broadcast_to(np.asarray(shift, np.int64), stream.channels).reshape(stream.folds, stream.lanes)


def _varies(shifts: NDArray[np.int64]) -> bool:
    """Whether a lane shifts by other amounts in other beats."""
    return bool(np.ptp(shifts, axis=0).any())


@define_op(name="stream_requantise", level="stream", infer=_infer)
def requantise(
    x: NDArray[np.integer],
    *,
    shift: Shift,
    element: FixedPoint,
    low: int | None = None,
    high: int | None = None,
    offset: int = 0,
    rounding: str = "half_even",
    stages: int = 1,
) -> NDArray[np.integer]:
    """Return ``x / 2**shift`` rounded, plus ``offset``, limited to ``element`` and to ``[low, high]``.

    Parameters
    ----------
    shift : int or sequence of int
        Places to the right, one for all channels or one each; negative: to the left.
    rounding : "half_even", "half_up", "down" or "to_zero"
        To the nearest number, of two the even or the greater one; or always downwards, or towards zero.
    stages : int
        Pipeline stages: 2 splits between rounding and limiting, 3 also before rounding, where the shift of a lane
        varies from beat to beat.

    Examples
    --------
    >>> requantise(np.array([[6, 10, 999]]), shift=[2, 2, -1], element=FixedPoint(True, 8)).tolist()
    [[2, 2, 127]]
    >>> requantise(np.array([[6, -6]]), shift=2, element=FixedPoint(False, 8), offset=9, rounding="half_up").tolist()
    [[11, 8]]
    """
    by = np.asarray(shift, np.int64).reshape(-1, *[1] * (x.ndim - 2))
    shifted = _rounded(x.astype(np.int64), np.maximum(by, 0), rounding) * (1 << np.maximum(-by, 0))
    return np.clip(shifted + offset, *bounds(element, low, high)).astype(element.dtype)


def _rounded(x: NDArray[np.int64], places: NDArray[np.int64], rounding: str) -> NDArray[np.int64]:
    whole = x >> places
    rest, half = x - (whole << places), (1 << places) >> 1  # a rest is less than 1: of no places, the half is none
    if rounding == "half_up":
        return np.asarray(whole + ((rest >= half) & (places > 0)))
    if rounding == "half_even":
        return np.asarray(whole + ((rest > half - (whole & 1)) & (places > 0)))
    return np.asarray(whole + ((x < 0) & (rest != 0))) if rounding == "to_zero" else whole


def _schedule(site: Site) -> Schedule:
    return per_beat(site, site.attributes["stages"])


def _working_width(site: Site) -> int:
    """Bits that hold every number on the way, whatever lane it is in."""
    x, z = site.operands[0], site.results[0]
    shifts = _shifts(site.attributes["shift"], x)
    # Where they vary, all are shifted to the left as far as they are to be shifted to the right less than the farthest.
    right = np.maximum(np.broadcast_to(shifts.max(), shifts.shape) if _varies(shifts) else shifts, 0)
    left = int((right - shifts).max())
    added = int(site.attributes["offset"]).bit_length() + 1
    places = int(right.max())
    return 2 + max(z.element.width, x.element.width + 1 + left, places + 1, added + places)


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    least, most = bounds(z.element, site.attributes["low"], site.attributes["high"])
    return {
        "CHANNELS": x.channels,
        "LANES": x.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        "SHIFTS": _shifts(site.attributes["shift"], x).ravel(),
        "ROUNDING": _ROUNDINGS.index(site.attributes["rounding"]),
        **long_integer("OFFSET", site.attributes["offset"]),
        **long_integer("LOW", least),
        **long_integer("HIGH", most),
        "WORKING": _working_width(site),
        "STAGES": site.attributes["stages"],
    }


def _resources(site: Site) -> Resources:
    x, z = site.operands[0], site.results[0]
    attributes = site.attributes
    shifts, working, stages = _shifts(attributes["shift"], x), _working_width(site), attributes["stages"]
    rounded = int((shifts > 0).any(axis=0).sum()) if attributes["rounding"] != "down" else 0
    least, most = bounds(z.element, attributes["low"], attributes["high"])
    ends = np.array([x.element.minimum, x.element.maximum]).reshape(2, 1, 1)
    shifted = ((ends >> np.maximum(shifts, 0)) << np.maximum(-shifts, 0)) + attributes["offset"]
    limited = int(((shifted < least) | (shifted > most)).any(axis=(0, 1)).sum())
    left = working - max(int(shifts.max()), 0)  # bits after rounding
    own = Resources(
        adders=rounded + 2 * z.lanes,
        registers=(stages - 1) * working * z.lanes,
        pieces=(
            Piece("increment", rounded, x.element.width),
            # Other bounds are seen from a few bits, without carries.
            Piece("bound", rounded if least else 0, left),
            Piece("logic", limited, z.element.width + 1),  # the number or a bound, and which
        ),
    )
    if _varies(shifts):
        own = own.plus(row_resources(x, shifts.max() - shifts, counter_bits(int(np.ptp(shifts)) + 1)))
    return own


REQUANTISE = buffered(requantise, "requantise.vhd", _generics, _schedule, _resources)
"""The component of `requantise`."""
