"""concat: the channels of two streams, one after the other."""

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.channelwise import buffers
from graphrewrite.hdl.component import Component, Generic, Resources, Site, counter_bits, per_beat, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import Stream, Type

__all__ = ["CONCAT", "concat"]


def _infer(x: Type, y: Type) -> Stream:
    first, second = streams(x, y)
    if first.element != second.element:
        raise TypeMismatchError(f"{first} and {second} differ in format; requantise one of them")
    if first.shape[1:] != second.shape[1:]:
        raise TypeMismatchError(f"{first} and {second} differ in their positions; give equal ones")
    shape = (first.channels + second.channels, *first.shape[1:])
    if first.folds == second.folds == 1:
        return Stream(first.element, shape)
    if first.lanes != second.lanes:
        raise TypeMismatchError(
            f"{first} and {second} differ in lanes; refold one, or both to as many lanes as they have channels"
        )
    return Stream(first.element, shape, first.lanes)


@define_op(name="stream_concat", level="stream", infer=_infer)
def concat(x: NDArray[np.integer], y: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return the channels of ``x``, then those of ``y``.

    Where both carry all channels in one beat, so does the result; else they have equal lanes, and the beats of a
    position of ``x`` come before those of ``y``. A batch of one, as a `constant` gives it, stands for any number.

    Parameters
    ----------
    x, y : ndarray of int, shape [N, C, *positions]
        Of equal format.

    Returns
    -------
    ndarray of int, shape [N, C, *positions]

    Examples
    --------
    >>> concat(np.array([[1, 2]]), np.array([[3]])).tolist()
    [[1, 2, 3]]
    """
    frames = max(len(x), len(y))
    return np.concatenate([np.broadcast_to(each, (frames, *each.shape[1:])) for each in (x, y)], axis=1)


def _is_folded(site: Site) -> bool:
    return max(operand.folds for operand in site.operands) > 1


def _schedule(site: Site) -> Schedule:
    if not _is_folded(site):
        return per_beat(site)
    folds = site.operands[0].folds
    steps = np.arange(site.results[0].beats).reshape(-1, site.results[0].folds)
    return Schedule(steps.size, (steps[:, :folds].ravel(), steps[:, folds:].ravel()), (steps.ravel(),))


def _generics(site: Site) -> dict[str, Generic]:
    x, y = site.operands
    folds = (x.folds, y.folds) if _is_folded(site) else (0, 0)
    return {
        "X_WIDTH": x.payload_width,
        "Y_WIDTH": y.payload_width,
        "Z_WIDTH": site.results[0].payload_width,
        "X_BEATS": folds[0],
        "Y_BEATS": folds[1],
        "CAPACITY": _schedule(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    z, counter = site.results[0], counter_bits(site.results[0].folds)
    pieces = Piece("select", 1, z.payload_width if _is_folded(site) else 0, 2), Piece("counter", 1, counter)
    return Resources(registers=counter, pieces=(*pieces, Piece("logic", 1, 2))).plus(
        buffers(site.results, _schedule(site))
    )


CONCAT = Component(concat, "concat.vhd", _generics, _schedule, _resources)
"""The component of `concat`."""
