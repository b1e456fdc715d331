"""window: the pixels under a sliding window, over one axis or two."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_number
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, spaced, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["WINDOW", "window"]

Ints = Sequence[int]


class _Axis(NamedTuple):
    """One axis of the image, and how the window moves along it."""

    size: int
    kernel: int
    stride: int
    before: int
    after: int
    dilation: int

    @property
    def extent(self) -> int:
        """From the first to the last tap of the window."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def padded(self) -> int:
        """Size with its border."""
        return self.before + self.size + self.after


def _axes(
    sizes: Ints, kernel: Ints, strides: Ints | None, pads: Ints | None, dilations: Ints | None
) -> tuple[_Axis, ...]:
    count = len(sizes)
    pads = pads or (0,) * (2 * count)
    ones = (1,) * count
    columns = (sizes, kernel, strides or ones, pads[:count], pads[count:], dilations or ones)
    return tuple(_Axis(*axis) for axis in zip(*columns, strict=True))


def _infer(
    x: Type, *, kernel: Ints, strides: Ints | None, pads: Ints | None, dilations: Ints | None, fill: int, groups: int
) -> Stream:
    (image,) = streams(x)
    count = len(image.shape) - 1
    lengths = {len(kernel), *(len(values) for values in (strides, dilations) if values)}
    if count not in (1, 2) or lengths != {count} or (pads and len(pads) != 2 * count):
        raise TypeMismatchError(
            f"{image}: give [C,L] or [C,H,W], a kernel, strides and dilations with a number for each axis after C, and "
            "pads with one before each axis, then one after each"
        )
    axes = _axes(image.shape[1:], kernel, strides, pads, dilations)
    if min(min(a.kernel, a.stride, a.dilation) for a in axes) < 1 or min(min(a.before, a.after) for a in axes) < 0:
        raise TypeMismatchError(
            f"kernel {kernel}, strides {strides} and dilations {dilations} must be positive, pads {pads} not negative"
        )
    if any(a.before >= a.extent for a in axes):
        # Such a beat would come before the frame that it belongs to has begun.
        raise TypeMismatchError(
            f"the first window lies wholly in the pads {pads}; pad less before an axis than the kernel {tuple(kernel)} "
            "reaches, or extend the kernel at its end by zero weights"
        )
    check_number("fill", fill, image.element)
    if any(a.padded < a.extent for a in axes):
        raise TypeMismatchError(f"kernel {tuple(kernel)} exceeds {image} with pads {pads}; pad more or shrink it")
    if groups < 1 or image.channels % groups or image.lanes % (image.channels // groups):
        raise TypeMismatchError(
            f"groups={groups}: a beat of {image} has to hold whole groups of channels; give a multiple of "
            f"{image.folds} that divides {image.channels}"
        )
    taps = int(np.prod(kernel))
    shape = (taps * image.channels, *((a.padded - a.extent) // a.stride + 1 for a in axes))
    return Stream(image.element, shape, taps * image.lanes)


@define_op(level="stream", infer=_infer)
def window(
    x: NDArray[np.integer],
    *,
    kernel: Ints,
    strides: Ints | None = None,
    pads: Ints | None = None,
    dilations: Ints | None = None,
    fill: int = 0,
    groups: int = 1,
) -> NDArray[np.integer]:
    """Return the pixels under a sliding window, at each of its positions.

    Channel ``(g * taps + tap) * D + d`` of the result is channel ``g * D + d`` of the pixel under a tap, where taps are
    counted in raster order and each of the ``groups`` has D channels.

    Parameters
    ----------
    kernel : (int, int) or (int,)
        Places of the window along each axis.
    strides : sequence of int, optional
        Steps of the window; 1 where not given.
    pads : sequence of int, optional
        Rows and columns around the image: before each axis, then after each.
    groups : int
        Groups of channels that stay together; 1 puts all channels of a tap side by side.

    Examples
    --------
    >>> window(np.arange(4).reshape(1, 1, 2, 2), kernel=(1, 2), pads=(0, 0, 0, 1), fill=9).tolist()
    [[[[0, 1], [2, 3]], [[1, 9], [3, 9]]]]
    >>> window(np.arange(5).reshape(1, 1, 5), kernel=(2,), dilations=(3,)).tolist()
    [[[0, 1], [3, 4]]]
    """
    count = x.ndim - 2
    axes = _axes(x.shape[2:], kernel, strides, pads, dilations)
    padded = np.pad(x, ((0, 0), (0, 0), *((a.before, a.after) for a in axes)), constant_values=fill)
    # A view of all that each window spans: then every stride-th window, and of it every dilation-th tap.
    spread = np.lib.stride_tricks.sliding_window_view(padded, [a.extent for a in axes], axis=tuple(range(2, x.ndim)))
    steps = (slice(None, None, a.stride) for a in axes), (slice(None, None, a.dilation) for a in axes)
    views = spread[:, :, *steps[0], *steps[1]]
    batch, channels, *rest = views.shape
    sizes, taps = rest[:count], int(np.prod(kernel))
    # The taps go before the channels of a group, as the result counts them.
    grouped = views.reshape(batch, groups, channels // groups, *sizes, taps)
    return np.ascontiguousarray(np.moveaxis(grouped, -1, 2)).reshape(batch, taps * channels, *sizes)


def _plane(site: Site) -> tuple[_Axis, _Axis]:
    """Rows and columns; a single axis is a row."""
    names = ("kernel", "strides", "pads", "dilations")
    axes = _axes(site.operands[0].shape[1:], *(site.attributes[name] for name in names))
    return (axes[0], axes[1]) if len(axes) == 2 else (_Axis(1, 1, 1, 0, 0, 1), axes[0])


def _schedule(site: Site) -> Schedule:
    rows, columns = _plane(site)
    folds = site.operands[0].folds
    steps = np.arange(rows.padded * columns.padded * folds).reshape(rows.padded, columns.padded, folds)
    # A step for each position of the padded image: it takes where the image is, and gives where a window ends.
    takes = steps[rows.before : rows.before + rows.size, columns.before : columns.before + columns.size]
    gives = steps[rows.extent - 1 :: rows.stride, columns.extent - 1 :: columns.stride]
    return spaced(steps.size, takes.ravel(), gives.ravel())


def _generics(site: Site) -> dict[str, Generic]:
    rows, columns = _plane(site)
    x = site.operands[0]
    return {
        "LANES": x.lanes,
        "FOLDS": x.folds,
        "GROUP_SIZE": x.channels // site.attributes["groups"],
        "HEIGHT": rows.size,
        "WIDTH": columns.size,
        "KERNEL_HEIGHT": rows.kernel,
        "KERNEL_WIDTH": columns.kernel,
        "STRIDE_HEIGHT": rows.stride,
        "STRIDE_WIDTH": columns.stride,
        "DILATION_HEIGHT": rows.dilation,
        "DILATION_WIDTH": columns.dilation,
        "PAD_TOP": rows.before,
        "PAD_LEFT": columns.before,
        "PAD_BOTTOM": rows.after,
        "PAD_RIGHT": columns.after,
        "FILL": site.attributes["fill"],
        "ELEMENT_WIDTH": x.element.width,
    }


def _resources(site: Site) -> Resources:
    rows, columns = _plane(site)
    x = site.operands[0]
    # Rows above lie in a memory, as wide as all of them and a row deep; pixels to the left lie in registers.
    pixel, words = x.payload_width, columns.padded * x.folds
    above = (rows.extent - 1) * pixel
    counters = [rows.padded, columns.padded, max(rows.extent, rows.stride), max(columns.extent, columns.stride), words]
    return Resources(
        registers=(columns.extent - 1) * x.folds * rows.kernel * pixel + above + sum(map(counter_bits, counters)),
        memory_bits=above * words if words > 1 else 0,
        pieces=(
            Piece("ram", 1, above, words if words > 1 else 0),
            Piece("delay", (columns.extent - 1) * rows.kernel, pixel, x.folds),
            Piece("logic", pixel if rows.padded * columns.padded * x.folds > x.beats else 0, 1),
            Piece("counter", 1, 3 * sum(map(counter_bits, counters))),
        ),
    )


WINDOW = buffered(window, "window.vhd", _generics, _schedule, _resources)
"""The component of `window`."""
