"""Indices: one choice of entries instead of two, and 32 bits where they fit, which small processors count in."""

from __future__ import annotations

import math

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.op.tensor.slice_sizes import picked
from graphrewrite.rules.slices import taken
from graphrewrite.types import integer_limits

__all__ = [
    "drop_cast_of_indices",
    "merge_gathers",
    "narrow_constant_indices",
    "reshape_indices",
    "slice_as_gather",
    "slice_of_gather",
]

_INDICES = ("i32", "i64")
_WIDE = ("i64", "u64")
_LIMITS = (-(2**31), 2**31 - 1)


@rule
def merge_gathers(x, j: Constant, i: Constant | None = None):
    """Entries of entries, at known places along one axis, are entries at other places; a slice has places, too."""
    inner = op.gather(x, i) | op.slice(x)
    outer = op.gather(inner, j)
    yield outer
    return _chosen(x, inner, i, outer, j)


@rule
def slice_of_gather(x, i: Constant):
    """So is a slice of entries at known places."""
    inner = op.gather(x, i)
    outer = op.slice(inner)
    yield outer
    return _chosen(x, inner, i, outer)


@rule
def reshape_indices(x, i: Constant):
    """Entries at known places that are put into another shape are those at places in that shape."""
    chosen = op.gather(x, i)
    shaped = op.reshape(chosen)
    yield shaped
    axis = chosen.axis % len(x.shape)
    if not x.shape[axis]:
        return decline("there are no entries to choose", at=chosen)
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    shape = shaped.shape[axis : len(shaped.shape) - len(after)]
    if shaped.shape != (*before, *shape, *after) or any(isinstance(size, str) for size in shape):
        return decline("the reshape concerns other axes as well", at=shaped)
    if math.prod(shape) != i.value.size:
        return decline("the axes are put into others", at=shaped)
    result = op.gather(x, i.value.reshape(shape), axis=axis)
    return result if result.type == shaped.type else decline("its axes have other names", at=shaped)


@rule
def slice_as_gather(x):
    """One entry of an axis, which is then left out, is taken by its index: one op, where a target has it."""
    part = op.slice(x)
    entry = op.reshape(part)
    yield entry
    bounds = taken(part, x.shape)
    if len(bounds) != 1:
        return decline("it cuts several axes, or none", at=part)
    ((axis, (place, *_)),) = bounds.items()
    if not isinstance(x.shape[axis], int) or part.shape[axis] != 1:
        return decline("it takes several entries, or of an axis of symbolic size", at=part)
    if entry.shape != (*part.shape[:axis], *part.shape[axis + 1 :]):
        return decline("the reshape does not leave out that axis, or not it alone", at=entry)
    result = op.gather(x, np.int64(place), axis=axis)
    return result if result.type == entry.type else decline("its axes have names or channels", at=entry)


def _chosen(x, inner, i, outer, j=None):
    """The entries that two ops in a row take, as a gather."""
    if 0 in outer.shape:
        return decline("nothing is taken", at=outer)
    first, second = _places(inner, x.shape, i), _places(outer, inner.shape, j)
    if first is None or second is None or first[0] != second[0] or first[1].ndim != 1:
        return decline("they do not choose along the same axis, of known size", at=outer)
    (axis, places), (_, chosen) = first, second
    size = x.shape[axis]
    if _is_outside(chosen, len(places)) or (isinstance(size, int) and _is_outside(places, size)):
        return decline("an index is outside of the axis", at=outer)
    found = places[chosen]
    if isinstance(size, int):  # as those of a slice are
        found = np.where(found < 0, found + size, found)
    return op.gather(x, found, axis=axis)


def _is_outside(places, size):
    """Whether an index is outside of an axis."""
    return bool(((places < -size) | (places >= size)).any())


def _places(node, shape, indices):
    """The axis along which entries are taken, and which ones; None where it is not known, or there are several."""
    if node.op is op.gather:
        return node.axis % len(shape), indices.value
    bounds = taken(node, shape)
    sizes = {shape[axis] for axis in bounds}.union(*bounds.values())
    if len(bounds) != 1 or not all(isinstance(size, int) for size in sizes):
        return None
    ((axis, ends),) = bounds.items()
    return axis, np.arange(shape[axis])[picked(shape[axis], *ends)]


@rule
def narrow_constant_indices(x, c: Constant):
    """Constant indices of 64 bits that fit in 32 are stored in these."""
    taken = (op.gather | op.gather_elements | op.gather_nd)(x, c)
    yield taken
    if x.is_constant:
        return decline("what is taken is known", at=taken)
    if c.type.element not in _WIDE:
        return decline(f"indices of {c.type.element} are no wider than 32 bits", at=taken)
    if not c.fact().is_within(*_LIMITS):
        return decline("an index does not fit in 32 bits", at=taken)
    return taken.op(x, op.cast(c, element="i32"), like=taken)


@rule(shared="keep")
def drop_cast_of_indices(x, i):
    """Indices that were cast are used as they were, where the cast holds all of them."""
    cast = op.cast(i)
    taken = (op.gather | op.gather_elements | op.gather_nd)(x, cast)
    yield taken
    if x.is_constant and i.is_constant:
        return decline("what is taken is known", at=taken)
    if i.type.element not in _INDICES:
        return decline(f"indices are of {' or '.join(_INDICES)}, as ONNX has them", at=cast)
    limits = integer_limits(cast.type.element)
    if limits is None or not i.fact().is_within(*limits):
        return decline(f"{cast.type.element} does not hold every index", at=cast)
    return taken.op(x, i, like=taken)
