"""Movement: the same numbers in another order."""

from __future__ import annotations

from graphrewrite import decline, op, rule
from graphrewrite.hdl.components.reshape import reshape
from graphrewrite.lowering.bridge import leave
from graphrewrite.lowering.streaming.refusals import too_wide

__all__ = ["MAP_MOVEMENT", "map_reshape", "map_transpose"]


@rule(shared="keep", kind="lowering")
def map_reshape(x):
    """A reshape collects the beats of a frame and gives them in the new order."""
    shaped = op.reshape(leave(x))
    yield shaped
    if reason := too_wide(x):
        return decline(reason, at=shaped)
    if not isinstance(shaped.shape[0], str):
        return decline("the batch is not symbolic", at=shaped)
    if len(shaped.shape) < 2:
        return decline("a stream needs channels, and only the batch is left", at=shaped)
    return leave(reshape(x, shape=tuple(shaped.shape[1:])))


@rule(shared="keep", kind="lowering")
def map_transpose(x):
    """A transpose between one channel and many positions, or the reverse, is a reshape."""
    moved = op.transpose(leave(x))
    yield moved
    if reason := too_wide(x):
        return decline(reason, at=moved)
    long = [p for p in moved.perm if _size(x, p) != 1]
    if long != sorted(long) or moved.perm[0] != 0:
        return decline("axes longer than 1 change their order, for which there is no component", at=moved)
    return leave(reshape(x, shape=tuple(moved.shape[1:])))


def _size(x, axis):
    """The size of an axis of the tensor that a stream carries; the batch counts as long."""
    return 2 if axis == 0 else x.shape[axis - 1]


MAP_MOVEMENT = (map_reshape, map_transpose)
"""Orders of numbers."""
