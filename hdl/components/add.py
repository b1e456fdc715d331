"""add: the exact sum of two streams."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, per_beat, streams
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["ADD", "add"]


def _infer(x: Type, y: Type, *, element: FixedPoint, shifts: Sequence[int]) -> Stream:
    left, right = streams(x, y)
    if left.shape != right.shape or left.lanes != right.lanes:
        raise TypeMismatchError(f"{left} and {right} differ in shape or lanes; give equal shapes and refold one")
    if len(shifts) != 2 or min(shifts) < 0:
        raise TypeMismatchError(f"shifts {tuple(shifts)}: give two numbers of bits to the left")
    low = (left.element.minimum << shifts[0]) + (right.element.minimum << shifts[1])
    high = (left.element.maximum << shifts[0]) + (right.element.maximum << shifts[1])
    check_range("sums", low, high, element)
    (result,) = streams(Stream(element, left.shape, left.lanes))
    return result


@define_op(name="stream_add", level="stream", infer=_infer)
def add(
    x: NDArray[np.integer], y: NDArray[np.integer], *, element: FixedPoint, shifts: Sequence[int] = (0, 0)
) -> NDArray[np.integer]:
    """Return ``(x << shifts[0]) + (y << shifts[1])``, in a format that holds every sum.

    Parameters
    ----------
    shifts : (int, int)
        Places by which each operand is shifted left, so that the binary points agree.

    Examples
    --------
    >>> add(np.array([[1, 2]]), np.array([[3, -4]]), element=FixedPoint(True, 8), shifts=(2, 0)).tolist()
    [[7, 4]]
    """
    return ((x.astype(np.int64) << shifts[0]) + (y.astype(np.int64) << shifts[1])).astype(element.dtype)


def _generics(site: Site) -> dict[str, Generic]:
    x, y = (operand.element for operand in site.operands)
    return {
        "LANES": site.results[0].lanes,
        "X_WIDTH": x.width,
        "X_SIGNED": x.signed,
        "X_SHIFT": site.attributes["shifts"][0],
        "Y_WIDTH": y.width,
        "Y_SIGNED": y.signed,
        "Y_SHIFT": site.attributes["shifts"][1],
        "Z_WIDTH": site.results[0].element.width,
    }


def _resources(site: Site) -> Resources:
    return Resources(adders=site.results[0].lanes)


ADD = buffered(add, "add.vhd", _generics, per_beat, _resources)
"""The component of `add`."""
