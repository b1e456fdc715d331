"""pad: a border of one number around an image or a sequence."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_number
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, spaced, streams
from graphrewrite.hdl.generics import long_integer
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["PAD", "pad"]


def _infer(x: Type, *, pads: Sequence[int], fill: int) -> Stream:
    (stream,) = streams(x)
    axes = len(stream.shape) - 1
    if axes not in (1, 2) or len(pads) != 2 * axes:
        raise TypeMismatchError(
            f"{stream}, pads {tuple(pads)}: give [C,H,W] and (top,left,bottom,right), or [C,L] and (left,right)"
        )
    if min(pads) < 0:
        raise TypeMismatchError(f"pads {tuple(pads)} must not be negative; crop before, or pad less")
    check_number("fill", fill, stream.element)
    sizes = [size + before + after for size, before, after in zip(stream.shape[1:], pads, pads[axes:], strict=False)]
    return Stream(stream.element, (stream.channels, *sizes), stream.lanes)


@define_op(name="stream_pad", level="stream", infer=_infer)
def pad(x: NDArray[np.integer], *, pads: Sequence[int], fill: int = 0) -> NDArray[np.integer]:
    """Return an image or a sequence with a border of one number.

    In hardware a step gives one beat of the padded frame. Where a border comes before the first beat of a frame, that
    beat is taken with the first beat of the border already, and kept until it is due: so no frame begins before its
    first beat is there, and the border after a frame never waits for the next.

    Parameters
    ----------
    pads : sequence of int
        Positions before and after: (top, left, bottom, right), or (left, right) of a sequence.

    Examples
    --------
    >>> pad(np.array([[[1, 2]]]), pads=(2, 1), fill=9).tolist()
    [[[9, 9, 1, 2, 9]]]
    """
    axes = len(pads) // 2
    border = list(zip(pads[:axes], pads[axes:], strict=True))
    return np.pad(x, ((0, 0), (0, 0), *border), constant_values=fill)


def _image(site: Site) -> tuple[tuple[int, int], tuple[int, ...]]:
    """Height and width, and the pads of an image; a sequence is one of a single row."""
    _, *sizes = site.operands[0].shape
    pads = tuple(site.attributes["pads"])
    if len(sizes) == 1:
        return (1, sizes[0]), (0, pads[0], 0, pads[1])
    return (sizes[0], sizes[1]), pads


def _schedule(site: Site) -> Schedule:
    (height, width), (top, left, _, _) = _image(site)
    z = site.results[0]
    steps = np.arange(z.beats).reshape(-1, z.shape[-1] * z.folds)
    takes = steps[top : top + height, left * z.folds : (left + width) * z.folds].ravel().copy()
    # With the first beat of the border, or a frame would begin before its data are there.
    takes[0] = 0
    return spaced(z.beats, takes, np.arange(z.beats))


def _generics(site: Site) -> dict[str, Generic]:
    (height, width), (top, left, bottom, right) = _image(site)
    x = site.operands[0]
    return {
        "LANES": x.lanes,
        "FOLDS": x.folds,
        "HEIGHT": height,
        "WIDTH": width,
        "PAD_TOP": top,
        "PAD_LEFT": left,
        "PAD_BOTTOM": bottom,
        "PAD_RIGHT": right,
        **long_integer("FILL", site.attributes["fill"]),
        "ELEMENT_WIDTH": x.element.width,
    }


def _resources(site: Site) -> Resources:
    (height, width), (top, left, bottom, right) = _image(site)
    x = site.operands[0]
    border_registers = x.payload_width if top or left else 0
    rows, columns = counter_bits(top + height + bottom), counter_bits((left + width + right) * x.folds)
    pieces = (
        Piece("select", 1, x.payload_width, 3 if border_registers else 2),
        Piece("counter", 1, rows),
        Piece("counter", 1, columns),
        Piece("logic", 1, 2 * (rows + columns)),
    )
    return Resources(registers=border_registers + rows + columns, pieces=pieces)


PAD = buffered(pad, "pad.vhd", _generics, _schedule, _resources)
"""The component of `pad`."""
