"""affine: a gain and a bias for each channel, exact."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range, check_stages, number_width, of_channels, row_resources
from graphrewrite.hdl.component import LANE_BITS, Generic, Resources, Site, buffered, per_beat, streams
from graphrewrite.hdl.generics import long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["AFFINE", "affine"]

Numbers = int | Sequence[int] | NDArray[np.integer]


def _infer(x: Type, *, gain: Numbers, element: FixedPoint, bias: Numbers, stages: int) -> Stream:
    (stream,) = streams(x)
    (result,) = streams(Stream(element, stream.shape, stream.lanes))
    gains, biases = of_channels(gain, stream, "gains"), of_channels(bias, stream, "biases")
    for name, numbers, most in (("gain", gains, 30), ("bias", biases, LANE_BITS)):
        if number_width(numbers) > most:
            raise TypeMismatchError(f"a {name} exceeds {most} bits; quantise it to a narrower format")
    ends = gains * stream.element.minimum + biases, gains * stream.element.maximum + biases
    low, high = int(np.minimum(*ends).min()), int(np.maximum(*ends).max())
    # numpy forms products and sums in 64 bits, which must not wrap around.
    if max(abs(int(g)) for g in gains) * max(-stream.element.minimum, stream.element.maximum) >= 1 << 61:
        raise TypeMismatchError(f"products of {stream.element} and a gain exceed 61 bits; give smaller gains")
    check_range("results", low, high, element)
    check_stages(stages, 3)
    return result


@define_op(level="stream", infer=_infer)
def affine(
    x: NDArray[np.integer], *, gain: Numbers, element: FixedPoint, bias: Numbers = 0, stages: int = 1
) -> NDArray[np.integer]:
    """Return ``x * gain + bias``, channel by channel, in a format that holds every result.

    Parameters
    ----------
    gain, bias : int or array of int, shape [C]
        One for all channels or one each, of up to 30 and 48 bits.
    stages : int
        Pipeline stages: 2 splits between product and sum, 3 also before the product.

    Examples
    --------
    >>> affine(np.array([[3, -4]]), gain=[5, 2], bias=[1, 0], element=FixedPoint(True, 8)).tolist()
    [[16, -8]]
    """
    gains, biases = (np.asarray(v, np.int64).reshape(-1, *[1] * (x.ndim - 2)) for v in (gain, bias))
    return (x.astype(np.int64) * gains + biases).astype(element.dtype)


def _schedule(site: Site) -> Schedule:
    return per_beat(site, site.attributes["stages"])


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    gains, biases = of_channels(site.attributes["gain"], x, "gains"), of_channels(site.attributes["bias"], x, "biases")
    return {
        "CHANNELS": x.channels,
        "LANES": x.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        "GAIN_WIDTH": number_width(gains),
        "GAINS": gains,
        "BIAS_WIDTH": number_width(biases),
        **long_vector("BIAS", biases, long=number_width(biases) > 31),
        "STAGES": site.attributes["stages"],
    }


def _resources(site: Site) -> Resources:
    x, z = site.operands[0], site.results[0]
    gains, biases = of_channels(site.attributes["gain"], x, "gains"), of_channels(site.attributes["bias"], x, "biases")
    size, stages = np.abs(gains), site.attributes["stages"]
    # A lane with one gain needs no multiplier if it is a power of two; with several it takes them from a memory.
    lanes = ((size & (size - 1)) != 0) if x.folds == 1 else np.ones(x.lanes, bool)
    product = x.element.width + number_width(gains)
    stage_registers = x.lanes * ((stages > 1) * product + (stages > 2) * x.element.width)
    added = z.lanes if biases.any() else 0
    products = int(lanes.sum())
    pieces = (
        # A block of a multiplier adds the bias to its product.
        Piece("product", products, x.element.width + (not x.element.signed), number_width(gains)),
        Piece("add", max(added - products, 0), x.element.width),
    )
    own = Resources(products, added, stage_registers, pieces=pieces)
    rows = [row_resources(x, v, number_width(v)) for v in (gains, biases)]
    return own.plus(rows[0]).plus(rows[1])


AFFINE = buffered(affine, "affine.vhd", _generics, _schedule, _resources)
"""The component of `affine`."""
