"""multiply: the exact product of two streams, number by number."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range, check_stages
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, per_beat, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["MULTIPLY", "multiply"]


def _infer(x: Type, y: Type, *, element: FixedPoint, stages: int) -> Stream:
    left, right = streams(x, y)
    if left.shape != right.shape or left.lanes != right.lanes:
        raise TypeMismatchError(f"{left} and {right} differ in shape or lanes; give equal shapes and refold one")
    ends = [
        a * b
        for a in (left.element.minimum, left.element.maximum)
        for b in (right.element.minimum, right.element.maximum)
    ]
    check_range("products", min(ends), max(ends), element)
    (result,) = streams(Stream(element, left.shape, left.lanes))
    check_stages(stages, 3)
    return result


@define_op(level="stream", infer=_infer, commutative=True)
def multiply(
    x: NDArray[np.integer], y: NDArray[np.integer], *, element: FixedPoint, stages: int = 1
) -> NDArray[np.integer]:
    """Return ``x * y``, in a format that holds every product.

    Examples
    --------
    >>> multiply(np.array([[3, -4]]), np.array([[5, 2]]), element=FixedPoint(True, 16)).tolist()
    [[15, -8]]
    """
    return (x.astype(np.int64) * y.astype(np.int64)).astype(element.dtype)


def _schedule(site: Site) -> Schedule:
    return per_beat(site, site.attributes["stages"])


def _generics(site: Site) -> dict[str, Generic]:
    x, y = (operand.element for operand in site.operands)
    return {
        "LANES": site.results[0].lanes,
        "X_WIDTH": x.width,
        "X_SIGNED": x.signed,
        "Y_WIDTH": y.width,
        "Y_SIGNED": y.signed,
        "Z_WIDTH": site.results[0].element.width,
        "STAGES": site.attributes["stages"],
    }


def _resources(site: Site) -> Resources:
    (x, y), stages = site.operands, site.attributes["stages"]
    factors = x.payload_width + y.payload_width
    pieces = (Piece("product", x.lanes, *(operand.element.width + (not operand.element.signed) for operand in (x, y))),)
    return Resources(multipliers=x.lanes, registers=(stages - 1) * factors, pieces=pieces)


MULTIPLY = buffered(multiply, "multiply.vhd", _generics, _schedule, _resources)
"""The component of `multiply`."""
