"""window: the pixels under a sliding window."""

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

__all__ = ["WINDOW", "window"]


def _infer(
    x: Type,
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    fill: int = 0,
) -> Stream:
    (image,) = streams(x)
    if len(image.shape) != 3 or len(kernel) != 2 or len(strides) != 2 or len(pads) != 4:
        raise TypeMismatchError(
            f"{image}: give [C,H,W], kernel=(kh,kw), strides=(sh,sw) and pads=(top,left,bottom,right)"
        )
    if min(*kernel, *strides) < 1 or min(pads) < 0:
        raise TypeMismatchError(f"kernel {kernel} and strides {strides} must be positive, pads {pads} not negative")
    if pads[0] >= kernel[0] or pads[1] >= kernel[1]:
        # Such a beat would come before the frame that it belongs to has begun.
        raise TypeMismatchError(
            f"the first window lies wholly in the pads {tuple(pads)}; pad fewer rows above and columns to the "
            "left than "
            f"the kernel {tuple(kernel)} has, or extend the kernel by zero weights below and to the right"
        )
    if not image.element.minimum <= fill <= image.element.maximum:
        raise TypeMismatchError(
            f"fill {fill} is no {image.element}; give {image.element.minimum} to {image.element.maximum}"
        )
    channels, height, width = image.shape
    rows, columns = pads[0] + height + pads[2] - kernel[0], pads[1] + width + pads[3] - kernel[1]
    if rows < 0 or columns < 0:
        raise TypeMismatchError(
            f"kernel {tuple(kernel)} exceeds {image} with pads {tuple(pads)}; pad more or shrink it"
        )
    return Stream(image.element, (kernel[0] * kernel[1] * channels, rows // strides[0] + 1, columns // strides[1] + 1))


@define_op(level="stream", infer=_infer)
def window(
    x: NDArray[np.integer],
    *,
    kernel: Sequence[int],
    strides: Sequence[int] = (1, 1),
    pads: Sequence[int] = (0, 0, 0, 0),
    fill: int = 0,
) -> NDArray[np.integer]:
    """Return the pixels under a sliding window: lane ``(ky * kw + kx) * C + c`` of each of its positions.

    Parameters
    ----------
    x : ndarray of int, shape [N, C, H, W]
    kernel : (int, int)
        Height and width of the window.
    strides : (int, int)
        Vertical and horizontal step.
    pads : (int, int, int, int)
        Rows and columns around the image: top, left, bottom, right.
    fill : int
        What they hold.

    Returns
    -------
    ndarray of int, shape [N, kh * kw * C, OH, OW]

    Examples
    --------
    >>> window(np.arange(4).reshape(1, 1, 2, 2), kernel=(1, 2), pads=(0, 0, 0, 1), fill=9).tolist()
    [[[[0, 1], [2, 3]], [[1, 9], [3, 9]]]]
    """
    top, left, bottom, right = pads
    padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    seen = np.lib.stride_tricks.sliding_window_view(padded, tuple(kernel), axis=(2, 3))[
        :, :, :: strides[0], :: strides[1]
    ]
    batch, channels, height, width = seen.shape[:4]
    lanes = kernel[0] * kernel[1] * channels
    return np.ascontiguousarray(seen.transpose(0, 4, 5, 1, 2, 3)).reshape(batch, lanes, height, width)


def _schedule(site: Site) -> Schedule:
    _, height, width = site.operands[0].shape
    (kh, kw), (sh, sw) = site.attributes["kernel"], site.attributes["strides"]
    top, left, bottom, right = site.attributes["pads"]
    rows, columns = top + height + bottom, left + width + right
    steps = np.arange(rows * columns).reshape(rows, columns)
    takes = steps[top : top + height, left : left + width]
    return spaced(steps.size, takes.ravel(), steps[kh - 1 :: sh, kw - 1 :: sw].ravel())


def _generics(site: Site) -> dict[str, Generic]:
    channels, height, width = site.operands[0].shape
    top, left, bottom, right = site.attributes["pads"]
    return {
        "CHANNELS": channels,
        "HEIGHT": height,
        "WIDTH": width,
        "KERNEL_HEIGHT": site.attributes["kernel"][0],
        "KERNEL_WIDTH": site.attributes["kernel"][1],
        "STRIDE_HEIGHT": site.attributes["strides"][0],
        "STRIDE_WIDTH": site.attributes["strides"][1],
        "PAD_TOP": top,
        "PAD_LEFT": left,
        "PAD_BOTTOM": bottom,
        "PAD_RIGHT": right,
        "FILL": site.attributes["fill"],
        "ELEMENT_WIDTH": site.operands[0].element.width,
        "CAPACITY": _schedule(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    _, height, width = site.operands[0].shape
    (kh, kw), (sh, sw) = site.attributes["kernel"], site.attributes["strides"]
    top, left, bottom, right = site.attributes["pads"]
    pixel = site.operands[0].payload_width
    columns = left + width + right
    counters = [top + height + bottom, columns, max(kh, sh), max(kw, sw)]
    own = Resources(
        registers=(kw - 1) * kh * pixel + (kh - 1) * pixel + sum(map(counter_bits, counters)),
        memory_bits=(kh - 1) * pixel * columns if columns > 1 else 0,
    )
    return own.plus(buffer_resources(site.results[0].payload_width, _schedule(site).capacity[0]))


WINDOW = Component(window, "window.vhd", _generics, _schedule, _resources)
"""The component of `window`."""
