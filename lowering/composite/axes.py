"""Named axes and symbolic sizes where one op is written as several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphrewrite import op

__all__ = ["bare", "channel_entries", "disordered", "named", "per_channel", "positions", "reshaped", "unsaid"]


def positions(x: Any) -> tuple[int, ...]:
    """Return the axes of an image that are neither batch nor channels."""
    layout = x.type.layout or "NC"
    return tuple(i for i in range(len(x.shape)) if i not in (layout.index("N"), layout.index("C")))


def per_channel(entries: Any, x: Any) -> Any:
    """Return a vector with an entry a channel, shape [C], reshaped to broadcast against an image."""
    channels = (x.type.layout or "NC").index("C")
    return op.unsqueeze(bare(entries), axes=tuple(i for i in range(len(x.shape)) if i != channels))


def channel_entries(shape: Sequence[int], rank: int) -> int | None:
    """Return how many numbers along the channels (axis 1) a constant broadcasts; None if it differs along other axes.

    Examples
    --------
    >>> [channel_entries(shape, 4) for shape in ((), (3, 1, 1), (1, 3, 1, 1), (3,))]
    [1, 3, 3, None]
    """
    aligned = (1,) * (rank - len(shape)) + tuple(shape)
    differs = len(shape) > rank or any(size != 1 for axis, size in enumerate(aligned) if axis != 1)
    return None if differs else math.prod(shape)


def bare(x: Any) -> Any:
    """Return a value without axis names, where those of another operand count."""
    return x if x.type.layout is None else op.name_axes(x, layout=None)


def named(x: Any, root: Any) -> Any:
    """Return a value with the axis names of the node that it replaces."""
    return x if x.type.layout == root.type.layout else op.name_axes(x, layout=root.type.layout)


def disordered(root: Any, *operands: Any) -> str | None:
    """Return why the axes of a node are not in the order of its op; None if they are."""
    if root.op.arrangement(tuple(x.type for x in operands)) is None:
        return None
    return "its axes are in another order than those of its op; transpose them first"


def unsaid(shape: Sequence[int | str]) -> str | None:
    """Return why no reshape gives a shape; None if one does."""
    symbols = sum(isinstance(d, str) for d in shape)
    if symbols > 1:
        return "several of its sizes are symbolic, and a reshape leaves one open"
    return "it has no entries, which do not tell its symbolic size" if symbols and 0 in shape else None


def reshaped(x: Any, shape: Sequence[int | str]) -> Any:
    """Return a value in another shape, in which 0 is a size."""
    return op.reshape(x, shape=tuple(shape), allow_zero=True) if 0 in shape else op.reshape(x, shape=tuple(shape))
