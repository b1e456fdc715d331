"""Strided slices of TensorFlow: indices in the way of numpy's, with masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit

__all__ = ["LAST", "strided_slice"]

LAST = 2**31 - 1
"""An end that reaches beyond any axis."""


def strided_slice(
    x: Value,
    sizes: Sequence[Any],
    begin: Sequence[Any],
    end: Sequence[Any],
    steps: Sequence[int],
    masks: Mapping[str, int],
    whole: Callable[[int], None] = lambda axis: None,
) -> Any:
    """Return parts of a value: each index is a slice, a number, a new axis or the ellipsis.

    ``masks`` are numbers of bits, one an index, by the names ``begin end ellipsis new_axis shrink_axis``. ``whole`` is
    called with an axis of which a slice says by its size that it takes all. An index may be a value of the graph.
    """
    if not len(begin) == len(end) == len(steps) or 0 in steps:
        raise Unfit(f"it begins at {list(begin)}, ends at {list(end)} and has steps {list(steps)}")
    has = {name: [bool(mask >> place & 1) for place in range(len(begin))] for name, mask in masks.items()}
    taken = sum(not (dots or new) for dots, new in zip(has["ellipsis"], has["new_axis"], strict=True))
    skipped = len(sizes) - taken
    if skipped < 0 or sum(has["ellipsis"]) > 1:
        raise Unfit(f"its {len(begin)} indices do not fit {x.type}")
    axis, starts, ends, axes, jumps = 0, [], [], [], []
    picked: dict[int, int | Value] = {}  # indices that are computed, or along axes of open sizes: a slice may be empty
    kept: list[str] = []  # what becomes of the result's axes, in order
    for place in range(len(begin)):
        if has["ellipsis"][place]:
            axis += skipped
            kept += ["axis"] * skipped
            continue
        if has["new_axis"][place]:
            kept.append("new")
            continue
        size, step = sizes[axis], steps[place]
        first = None if has["begin"][place] else begin[place]
        last = None if has["end"][place] else end[place]
        if has["shrink_axis"][place]:
            index = begin[place]
            if isinstance(index, int) and isinstance(size, int):
                if not -size <= index < size:
                    raise Unfit(f"index {index} is outside of axis {axis} of {x.type}")
                first, last, step = index, index + 1 if index != -1 else None, 1
            elif isinstance(index, int | Value):
                picked[axis], first, last, step = index, None, None, 1
            else:
                raise Unfit(f"index {index} of axis {axis} of {x.type} is no number")
        kept.append("dropped" if has["shrink_axis"][place] else "axis")
        if (first, last, step) == (0, size, 1):
            whole(axis)
        elif (first or 0, last, step) != (0, None, 1):
            starts.append((0 if step > 0 else -1) if first is None else first)
            ends.append((LAST if step > 0 else -LAST) if last is None else last)
            axes.append(axis)
            jumps.append(step)
        axis += 1
    y: Any = x
    if axes:
        y = op.slice(y, starts=tuple(starts), ends=tuple(ends), axes=tuple(axes), steps=tuple(jumps))
    old = [what for what in kept if what != "new"]
    for at in sorted(picked, reverse=True):
        index = picked[at]
        y = op.gather(y, index if isinstance(index, Value) else np.array(index, np.int64), axis=at)
        del old[at]
    if dropped := tuple(at for at, what in enumerate(old) if what == "dropped"):
        y = op.squeeze(y, axes=dropped)
    left = [what for what in kept if what != "dropped"]
    if added := tuple(at for at, what in enumerate(left) if what == "new"):
        y = op.unsqueeze(y, axes=added)
    return y
