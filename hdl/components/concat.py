"""concat: two streams, one after the other along the channels or an axis of positions."""

import math

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, per_beat, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["CONCAT", "concat"]


def _infer(x: Type, y: Type, *, axis: int) -> Stream:
    first, second = streams(x, y)
    if first.element != second.element:
        raise TypeMismatchError(f"{first} and {second} differ in format; requantise one of them")
    rank = len(first.shape)
    if len(second.shape) != rank or not 1 <= axis <= rank:
        raise TypeMismatchError(
            f"{first} and {second} have no axis {axis} in common; give 1 for channels, from 2 on for positions"
        )
    at = axis - 1
    if first.shape[:at] != second.shape[:at] or first.shape[axis:] != second.shape[axis:]:
        differ = "channels or positions" if at else "positions"
        raise TypeMismatchError(f"{first} and {second} differ in their {differ}; give equal ones but for axis {axis}")
    shape = (*first.shape[:at], first.shape[at] + second.shape[at], *first.shape[axis:])
    if axis == 1 and first.folds == second.folds == 1:
        return Stream(first.element, shape)
    if first.lanes != second.lanes:
        raise TypeMismatchError(
            f"{first} and {second} differ in lanes; refold one, or both to as many lanes as they have channels"
        )
    return Stream(first.element, shape, first.lanes)


@define_op(name="stream_concat", level="stream", infer=_infer)
def concat(x: NDArray[np.integer], y: NDArray[np.integer], *, axis: int = 1) -> NDArray[np.integer]:
    """Return ``x``, then ``y``, along an axis.

    Where both carry all channels in one beat, and these are joined, so does the result; else they have equal lanes, and
    beats of ``x`` come before those of ``y``: for channels in each position, for columns in each row, for rows in each
    frame. A batch of one, as a `constant` gives it, stands for any number.

    Parameters
    ----------
    x, y : ndarray of int, shape [N, C, *positions]
        Of equal format, and equal sizes but for one axis.

    Examples
    --------
    >>> concat(np.array([[1, 2]]), np.array([[3]])).tolist()
    [[1, 2, 3]]
    >>> concat(np.array([[[1, 2], [3, 4]]]), np.array([[[5], [6]]]), axis=2).tolist()
    [[[1, 2, 5], [3, 4, 6]]]
    """
    frames = max(len(x), len(y))
    return np.concatenate([np.broadcast_to(each, (frames, *each.shape[1:])) for each in (x, y)], axis=axis)


def _runs(site: Site) -> tuple[int, int]:
    """Beats of x, and of y, that come together, again and again; none where the beats of both are one."""
    axis = site.attributes["axis"]
    if axis == 1 and max(operand.folds for operand in site.operands) == 1:
        return 0, 0
    first, second = (x.folds * (math.prod(x.shape[axis - 1 :]) if axis > 1 else 1) for x in site.operands)
    return first, second


def _schedule(site: Site) -> Schedule:
    first, second = _runs(site)
    if not first:
        return per_beat(site)
    # A step takes a beat of one operand and passes it on: a run of x, a run of y, in turn.
    steps = np.arange(site.results[0].beats).reshape(-1, first + second)
    return Schedule(steps.size, (steps[:, :first].ravel(), steps[:, first:].ravel()), (steps.ravel(),))


def _generics(site: Site) -> dict[str, Generic]:
    x, y = site.operands
    runs = _runs(site)
    return {
        "X_WIDTH": x.payload_width,
        "Y_WIDTH": y.payload_width,
        "Z_WIDTH": site.results[0].payload_width,
        "X_BEATS": runs[0],
        "Y_BEATS": runs[1],
    }


def _resources(site: Site) -> Resources:
    z, runs = site.results[0], sum(_runs(site))
    counter = counter_bits(runs) if runs else 0
    pieces = Piece("select", 1, z.payload_width if runs else 0, 2), Piece("counter", 1, counter)
    return Resources(registers=counter, pieces=(*pieces, Piece("logic", 1, 2)))


CONCAT = buffered(concat, "concat.vhd", _generics, _schedule, _resources)
"""The component of `concat`."""
