"""interpolate: a function of one number, by a straight line for each segment of its range."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range, check_stages, number_width, varying_bits
from graphrewrite.hdl.component import LANE_BITS, Generic, Resources, Site, buffered, counter_bits, per_beat, streams
from graphrewrite.hdl.generics import long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.op.integer.approximated import integer_interpolate
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["INTERPOLATE", "interpolate"]


def _infer(
    x: Type, *, base: ArrayLike, slope: ArrayLike, rest: int, shift: int, element: FixedPoint, low: int, stages: int
) -> Stream:
    (stream,) = streams(x)
    (result,) = streams(Stream(element, stream.shape, stream.lanes))
    starts, slopes = np.asarray(base), np.asarray(slope)
    kinds = {starts.dtype.kind, slopes.dtype.kind}
    if starts.ndim not in (1, 2) or slopes.shape != starts.shape or not kinds <= {"i", "u"}:
        raise TypeMismatchError(
            f"bases {starts.dtype}{list(starts.shape)} and slopes {slopes.dtype}{list(slopes.shape)} are no lines; "
            "give vectors of whole numbers, one of each a segment, or matrices with a row a channel"
        )
    if starts.ndim == 2 and len(starts) != stream.channels:
        raise TypeMismatchError(f"lines of {len(starts)} channels do not fit {stream}; give one, or {stream.channels}")
    bits, segments = stream.element.width - rest, starts.shape[-1]
    if rest < 1 or not 1 <= bits <= 16 or segments != 1 << bits or low != stream.element.minimum:
        raise TypeMismatchError(
            f"{segments} segments of {rest} bits from {low} on are not the range of {stream.element}; give a power "
            f"of two of them, as many bits as are left, and low={stream.element.minimum}"
        )
    if number_width(starts) > LANE_BITS or number_width(slopes) > 30 or not 0 <= shift < LANE_BITS:
        raise TypeMismatchError(f"a base or the shift exceeds {LANE_BITS} bits, or a slope 30; give a smaller shift")
    least, most = _range(starts.astype(np.int64), slopes.astype(np.int64), rest, shift)
    check_range("results", least, most, element)
    check_stages(stages, 2)
    return result


def _range(base: NDArray[np.int64], slope: NDArray[np.int64], rest: int, shift: int) -> tuple[int, int]:
    # A line is monotone, and so is rounding down: its ends bound its results.
    ends = base >> shift, (base + slope * ((1 << rest) - 1)) >> shift
    return int(np.minimum(*ends).min()), int(np.maximum(*ends).max())


@define_op(level="stream", infer=_infer)
def interpolate(
    x: NDArray[np.integer],
    *,
    base: ArrayLike,
    slope: ArrayLike,
    rest: int,
    shift: int,
    element: FixedPoint,
    low: int = 0,
    stages: int = 1,
) -> NDArray[np.integer]:
    """Return ``(base[s] + slope[s] * r) >> shift`` where s are the upper bits of ``x - low`` and r its ``rest`` lowest.

    Parameters
    ----------
    base, slope : array of int, shape [S] or [C, S]
        The line of each segment, from the least numbers to the greatest, for all channels or for each; S is a power of
        two. To round to the nearest, a base contains ``2**(shift - 1)``.
    rest : int
        Bits of a number that say where in its segment it is.
    shift : int
        Bits that bases and slopes have below the result's.

    Examples
    --------
    >>> x = np.array([[-128, -1, 0, 127]])
    >>> u8 = FixedPoint(False, 8)
    >>> interpolate(x, base=[0, 64], slope=[0, 1], rest=7, shift=1, element=u8, low=-128).tolist()
    [[0, 0, 32, 95]]
    """
    return np.asarray(integer_interpolate(x, base=base, slope=slope, rest=rest, shift=shift, element=element, low=low))


def _schedule(site: Site) -> Schedule:
    return per_beat(site, 1 + int(site.attributes["stages"]))


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    base, slope = (np.asarray(site.attributes[name], np.int64) for name in ("base", "slope"))
    # In the order of the bits: the negative ones after the others.
    half = base.shape[-1] // 2 if x.element.signed else 0
    words, slopes = (np.roll(lines, half, axis=-1).ravel() for lines in (base, slope))
    return {
        "CHANNELS": x.channels,
        "LANES": x.lanes,
        "TABLES": len(np.atleast_2d(base)),
        "X_WIDTH": x.element.width,
        "REST": site.attributes["rest"],
        "Z_WIDTH": z.element.width,
        "BASE_WIDTH": number_width(base),
        **long_vector("BASES", words, long=number_width(base) > 31),
        "SLOPE_WIDTH": number_width(slope),
        "SLOPES": slopes,
        "SHIFT": site.attributes["shift"],
        "STAGES": site.attributes["stages"],
    }


def _resources(site: Site) -> Resources:
    x = site.operands[0]
    starts, slopes = number_width(site.attributes["base"]), number_width(site.attributes["slope"])
    word, rest = starts + slopes, site.attributes["rest"]
    product = (site.attributes["stages"] - 1) * (slopes + rest + starts)
    base = np.asarray(site.attributes["base"])
    folds = x.folds if base.ndim == 2 else 1
    count = folds * base.shape[-1]
    # A block of a multiplier adds the base to its product.
    varying = varying_bits(site.attributes["base"]) + varying_bits(site.attributes["slope"])
    pieces = (
        Piece("rom", x.lanes, varying, count),
        Piece("product", x.lanes, slopes, rest + 1),
        Piece("counter", 1, counter_bits(folds)),
    )
    registers = x.lanes * (word + rest + product) + counter_bits(folds)
    return Resources(x.lanes, x.lanes, registers, x.lanes * word * count, pieces)


INTERPOLATE = buffered(interpolate, "interpolate.vhd", _generics, _schedule, _resources)
"""The component of `interpolate`."""
