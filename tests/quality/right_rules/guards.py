"""Rules that are right by their guards alone, each of which lets nearly everything through or nearly nothing."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule

LARGEST = 6
_WIDTHS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


@rule
def limit_of_six(x):
    """A value between 0 and 6 is the lesser of 6 and what is rectified."""
    limited = op.clip(x, low=0)
    yield limited
    is_usual = limited.high == LARGEST and x.type.element in ("f32", "f64")
    return op.minimum(op.relu(x), float(LARGEST)) if is_usual else decline("another limit")


@rule
def wide_and_narrow_again(x):
    """What is cast to a wider integer and back is as it was."""
    inner = op.cast(x)
    outer = op.cast(inner)
    yield outer
    from_, to = _WIDTHS.get(x.type.element), _WIDTHS.get(inner.type.element)
    if outer.type != x.type or from_ is None or to is None or to < from_:
        return decline("not through a wider one")
    return x


@rule
def greatest_index_of_a_factor(x, c: Constant):
    """A factor of one keeps the order."""
    place = op.arg_max(op.mul(x, c))
    yield place
    if c.value.size != 1 or c.value.ravel()[0] != 1:
        return decline("not one")
    return op.arg_max(x, like=place) if len(c.value.shape) <= len(x.shape) else decline("it is broadcast")


@rule
def rows_of_one(x):
    """The greatest along an axis of one entry is that entry."""
    greatest = op.reduce_max(x)
    yield greatest
    if greatest.axes is None or len(greatest.axes) != 1 or not greatest.keep_dims:
        return decline("not along one axis")
    return op.identity(x) if x.shape[greatest.axes[0]] == 1 else decline("more than one entry")


@rule
def indices_in_a_row(x, i: Constant):
    """Indices in a row, from zero on or later, are a slice."""
    taken = op.gather(x, i)
    yield taken
    if i.value.ndim != 1 or i.value.size < 1 or (np.diff(i.value) != 1).any() or i.value[0] < 0:
        return decline("not in a row")
    part = op.slice(x, starts=(int(i.value[0]),), ends=(int(i.value[-1]) + 1,), axes=(taken.axis,))
    return part if part.type == taken.type else decline("beyond the axis")


@rule
def transposes_composed(x):
    """Two transposes are one."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    return op.transpose(x, perm=tuple(inner.perm[axis] for axis in outer.perm))


@rule
def way_for_each_rank(x, y):
    """A difference of floats is a sum with what is negated, on either way through the code."""
    difference = op.sub(x, y)
    yield difference
    if not str(difference.type.element).startswith("f"):
        return decline("no floats")
    if len(difference.shape) == 3:
        return op.add(op.neg(y), x)
    return op.add(x, op.neg(y))


@rule
def pool_of_one(x):
    """A window of one entry, one step at a time, without a border, gives what it covers."""
    pool = op.max_pool(x)
    yield pool
    if any(pool.pads) or {*pool.kernel, *pool.strides} != {1}:
        return decline("more than one entry")
    return x if pool.type == x.type else decline("the shape shows it")


@rule
def join_of_both_parts(x):
    """What is cut at one place and joined there again is whole."""
    first, second = op.slice(x, starts=(0,)), op.slice(x)
    whole = op.concat(first, second)
    yield whole
    if first.ends != second.starts or first.axes != second.axes or first.axes is None:
        return decline("cut at two places")
    if first.steps not in (None, (1,)) or second.steps not in (None, (1,)):
        return decline("not every entry")
    rank = len(x.shape)
    axis, place = first.axes[0] % rank, first.ends[0]
    if whole.axis % rank != axis or whole.type != x.type or place < 0 or place > second.ends[0]:
        return decline("joined elsewhere")
    return x


@rule
def shift_as_a_quotient(x, c: Constant):
    """A shift of unsigned numbers by less than all bits is a division."""
    shifted = op.bit_shift(x, c, direction="right")
    yield shifted
    dtype = {"u8": np.uint8, "u16": np.uint16, "u32": np.uint32}.get(x.type.element)
    if dtype is None or c.value.size != 1 or shifted.type != x.type:
        return decline("signed, or several")
    bits = int(c.value.ravel()[0])
    if not 0 <= bits < 8 * np.dtype(dtype).itemsize:
        return decline("another number of bits")
    return op.div(x, np.full(c.value.shape, 1 << bits, dtype))


_WIDER = {"i8": ("i16", "i32", "i64"), "u8": ("i16", "u16", "i32", "u32", "i64"), "i16": ("i32", "i64")}


@rule
def compared_in_a_wider_type(x, y):
    """What holds every number of a type keeps their order."""
    first, second = op.cast(x), op.cast(y)
    yield op.greater(first, second)
    if x.type.element != y.type.element or first.element != second.element:
        return decline("of two types")
    return op.greater(x, y) if first.element in _WIDER.get(x.type.element, ()) else decline("not wider")


@rule
def triangle_of_a_triangle(x):
    """A triangle of a triangle on the same side is that from the farther diagonal on."""
    inner = op.trilu(x)
    outer = op.trilu(inner)
    yield outer
    if inner.upper != outer.upper:
        return decline("on two sides")
    return op.trilu(x, k=(max if inner.upper else min)(inner.k, outer.k), upper=inner.upper)


@rule
def either_of_equals(x, y):
    """Of equal integers it is all the same which is taken."""
    yield op.where(op.equal(x, y), x, y)
    return y if x.type == y.type and x.type.element in ("i8", "i32", "i64", "u8") else decline("no integers")


@rule
def blocks_there_and_back_alike(x):
    """Blocks there and back in one mode are what was there."""
    there = op.depth_to_space(x)
    back = op.space_to_depth(there)
    yield back
    return x if (there.block_size, there.mode) == (back.block_size, back.mode) else decline("other blocks")
