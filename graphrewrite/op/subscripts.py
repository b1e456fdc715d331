"""Subscripts as ops: ``x[:, 0, ::-1]`` of a value is a slice, a squeeze, …."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite.errors import TypeMismatchError
from graphrewrite.op.library import LIBRARY
from graphrewrite.op.tensor.slice_sizes import FAR
from graphrewrite.types import Dimension, Size

__all__ = ["subscripted"]


def subscripted(x: Any, index: Any) -> Any:
    """Return what a subscript picks of a symbolic operand, as numpy has it: whole numbers, slices, None, Ellipsis.

    Examples
    --------
    >>> from graphrewrite import Graph, Tensor
    >>> g = Graph("g")
    >>> x = g.input("x", Tensor("f32", ("N", 4, 6)))
    >>> print(subscripted(x, (Ellipsis, None, slice(None, None, -2))).type, x[0, :, 1:].type)
    f32[N,4,1,3] f32[4,5]
    """
    entries, added = _by_axis(x.shape, index if isinstance(index, tuple) else (index,))
    sizes = dict(enumerate(x.shape))
    counts = {axis: at for axis, at in entries.items() if not isinstance(at, slice)}
    # A number on an axis of unknown size is looked up; elsewhere it is a slice of one entry.
    looked_up = {axis: at for axis, at in counts.items() if not isinstance(sizes[axis], int)}
    cuts = [
        (axis, *_bounds(at, sizes[axis])) for axis, at in entries.items() if axis not in looked_up and at != slice(None)
    ]
    if cuts:
        axes, starts, ends, steps = zip(*cuts, strict=True)
        attributes = {"starts": starts, "ends": ends, "axes": axes, "steps": steps}
        x = x.apply_op(LIBRARY["slice"], (x,), attributes)
    for axis, at in sorted(looked_up.items(), reverse=True):
        x = x.apply_op(LIBRARY["gather"], (x, np.array(at, np.int64)), {"axis": axis})
    if gone := [axis - sum(other < axis for other in looked_up) for axis in counts if axis not in looked_up]:
        x = x.apply_op(LIBRARY["squeeze"], (x,), {"axes": tuple(gone)})
    return x.apply_op(LIBRARY["unsqueeze"], (x,), {"axes": tuple(added)}) if added else x


def _by_axis(shape: Sequence[Dimension], index: tuple[Any, ...]) -> tuple[dict[int, Any], list[int]]:
    """Return the number or slice of each axis, and the places of new axes in the result."""
    given = [at for at in index if at is not None and at is not ...]
    if sum(at is ... for at in index) > 1 or len(given) > len(shape):
        raise TypeMismatchError(f"the subscript has {len(given)} entries, and the value {len(shape)} axes")
    entries: dict[int, Any] = {}
    added: list[int] = []
    place = 0
    for at in index if any(at is ... for at in index) else (*index, ...):
        if at is None:
            added.append(place)
            place += 1
            continue
        for one in [slice(None)] * (len(shape) - len(given)) if at is ... else [at]:
            entries[len(entries)] = found = one if isinstance(one, slice) else _number(one)
            place += isinstance(found, slice)
    return entries, added


def _number(at: Any) -> int:
    try:
        if isinstance(at, bool):
            raise TypeError
        return operator.index(at)
    except TypeError:
        raise TypeMismatchError(
            f"a subscript of a value is made of whole numbers, slices, None and ..., got {at!r}; "
            "for others take op.gather, op.compress or op.where"
        ) from None


def _bounds(at: Any, size: Dimension) -> tuple[Any, Any, int]:
    """Return the start, the end and the step of a slice, as the op has them."""
    if not isinstance(at, slice):
        if not isinstance(size, int) or not -size <= at < size:
            raise TypeMismatchError(f"{at} lies outside of an axis of size {size}")
        start = at % size
        return start, start + 1, 1
    step = 1 if at.step is None else _number(at.step)
    if step == 0:
        raise TypeMismatchError("the step of a slice must not be 0; give a positive or negative one")
    start, stop = (
        bound if isinstance(bound, str | Size) or bound is None else _number(bound) for bound in (at.start, at.stop)
    )
    if isinstance(size, int) and not isinstance(start, str | Size) and not isinstance(stop, str | Size):
        first, last, _ = slice(start, stop, step).indices(size)
        return first, last if last >= 0 else -size - 1, step
    ends = (0, FAR) if step > 0 else (-1, -FAR)
    return ends[0] if start is None else start, ends[1] if stop is None else stop, step
