"""Ops that move entries, from reshapes and transposes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Annotated, Any

from graphrewrite import decline, op, rule
from graphrewrite.types import product

__all__ = [
    "RECOGNISE_MOVEMENT",
    "recognise_channel_shuffle",
    "recognise_channel_shuffle_behind_transpose",
    "recognise_pixel_shuffle",
]


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


def _is_image(x):
    return len(x.shape) == 4 and x.type.layout is None


@rule
def recognise_pixel_shuffle(x: Annotated[Any, rule.where(_is_image, "it is no image, or its axes have names")]):
    """Channels that become blocks of positions (Shi et al. 2016, PixelShuffle), or blocks channels as ONNX has it."""
    split = op.reshape(x)
    moved = op.transpose(split)
    joined = op.reshape(moved)
    yield joined
    if len(joined.shape) != 4:
        return decline(_NO_BLOCKS, at=joined)
    (n, c, h, w), (_, channels, *_) = x.shape, joined.shape
    if not (isinstance(c, int) and isinstance(channels, int)) or min(c, channels) < 1 or c == channels:
        return decline(_NO_BLOCKS, at=joined)
    is_up, size = c > channels, isqrt(max(c, channels) // min(c, channels))
    low_h, low_w = (h, w) if is_up else joined.shape[2:]
    high = (product((low_h, size)), product((low_w, size)))
    shapes = (
        ((n, channels * size**2, h, w), (n, channels, *high))
        if is_up
        else ((n, c, *high), (n, c * size**2, low_h, low_w))
    )
    if (x.shape, joined.shape) != shapes:
        return decline(_NO_BLOCKS, at=joined)
    done = _moves(split.shape, moved.perm)
    if len(done) == 1:
        return decline("it moves nothing", at=moved)
    for mode, (blocks, order) in _BLOCKS.items():
        sizes = {"n": n, "c": min(c, channels), "h": low_h, "w": low_w, "b": size, "d": size}
        there, back = (blocks, order) if is_up else (order, blocks)
        if done == _moves([sizes[axis] for axis in there], [there.index(axis) for axis in back]):
            if is_up:
                return op.depth_to_space(x, block_size=size, mode=mode)
            if mode == "DCR":
                return op.space_to_depth(x, block_size=size)
    return decline(_NO_BLOCKS, at=joined)


_NO_BLOCKS = "its channels do not become blocks of positions, nor blocks channels"
_BLOCKS = {"DCR": ("nbdchw", "nchbwd"), "CRD": ("ncbdhw", "nchbwd")}
"""By mode, the axes of channels and of positions: batch, channels, height, width, and the two of a block."""


def _moves(sizes: Sequence[Any], perm: Sequence[int]) -> list[tuple[int, Any]]:
    """What a transpose of some sizes does, without axes of size 1, and with those together that stay together."""
    order = [axis for axis in perm if sizes[axis] != 1]
    places = {axis: place for place, axis in enumerate(sorted(order))}
    runs: list[list[int]] = []
    for axis in order:
        if runs and places[axis] == places[runs[-1][-1]] + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    firsts = sorted(run[0] for run in runs)
    return [(firsts.index(run[0]), product([sizes[axis] for axis in run])) for run in runs]


RECOGNISE_MOVEMENT = (
    recognise_channel_shuffle,
    recognise_channel_shuffle_behind_transpose,
    recognise_pixel_shuffle,
)
"""Movement of entries from reshapes and transposes."""
