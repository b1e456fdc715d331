"""Ops that move entries, from reshapes and transposes."""

from __future__ import annotations

from typing import Any

from graphrewrite import decline, op, rule

__all__ = ["RECOGNISE_MOVEMENT", "recognise_channel_shuffle"]


_SWAPPED: Any = {(0, 2, 1, *range(3, rank)) for rank in range(3, 7)}
"""Groups and their channels change places."""


@rule
def recognise_channel_shuffle(x):
    """Channels in groups, transposed, and in one row again: one of each group after the other (Zhang et al. 2018)."""
    grouped = op.reshape(x)
    swapped = op.transpose(grouped, perm=_SWAPPED)
    shuffled = op.reshape(swapped)
    yield shuffled
    if x.type != shuffled.type or x.type.layout is not None or len(x.shape) < 2:
        return decline("its shape is another one afterwards, or its axes have names", at=shuffled)
    batch, _, *positions = x.shape
    groups, size = grouped.shape[1:3]
    if grouped.shape != (batch, groups, size, *positions) or any(isinstance(n, str) for n in (groups, size)):
        return decline("it does not split the axis of the channels in two", at=grouped)
    return op.channel_shuffle(x, groups=groups)


RECOGNISE_MOVEMENT = (recognise_channel_shuffle,)
"""Movement of entries from reshapes and transposes."""
