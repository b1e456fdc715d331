"""Ops that move entries, from reshapes and transposes."""

from __future__ import annotations

from typing import Any

from graphrewrite import decline, op, rule
from graphrewrite.types import product

__all__ = ["RECOGNISE_MOVEMENT", "recognise_channel_shuffle", "recognise_channel_shuffle_behind_transpose"]


_SWAPPED: Any = {
    (*range(first), first + 1, first, *range(first + 2, rank)) for rank in range(2, 7) for first in range(rank - 1)
}
"""Groups and their channels, which lie beside each other, change places."""


@rule
def recognise_channel_shuffle(x):
    """Channels in groups, transposed, and in one row again: one of each group after the other (Zhang et al. 2018)."""
    grouped = op.reshape(x)
    swapped = op.transpose(grouped, perm=_SWAPPED)
    shuffled = op.reshape(swapped)
    yield shuffled
    groups = _groups(x, grouped, swapped, shuffled, 1)
    return decline(_NOT_CHANNELS, at=shuffled) if groups is None else op.channel_shuffle(x, groups=groups)


@rule
def recognise_channel_shuffle_behind_transpose(x):
    """So they are where a transpose has moved the channels, as networks with channels last are exported."""
    moved = op.transpose(x)
    grouped = op.reshape(moved)
    swapped = op.transpose(grouped, perm=_SWAPPED)
    shuffled = op.reshape(swapped)
    yield shuffled
    groups = _groups(moved, grouped, swapped, shuffled, moved.perm.index(1)) if len(x.shape) > 1 else None
    if groups is None or x.type.layout is not None:
        return decline(_NOT_CHANNELS, at=shuffled)
    return op.transpose(op.channel_shuffle(x, groups=groups), like=moved)


_NOT_CHANNELS = "it does not split the axis of the channels in two and join them again, or its axes have names"


def _groups(x, grouped, swapped, shuffled, axis):
    """The number of groups in which an axis is split, or None if something else is done."""
    if x.type != shuffled.type or x.type.layout is not None or len(x.shape) <= axis:
        return None
    first = next(place for place, source in enumerate(swapped.perm) if place != source)
    groups, size = grouped.shape[first : first + 2]
    if isinstance(groups, str) or isinstance(size, str) or x.shape[axis] != groups * size or not groups:
        return None
    # What comes before may be on other axes: a batch and groups, or rows of positions.
    return groups if product(grouped.shape[:first]) == product(x.shape[:axis]) else None


RECOGNISE_MOVEMENT = (recognise_channel_shuffle, recognise_channel_shuffle_behind_transpose)
"""Movement of entries from reshapes and transposes."""
