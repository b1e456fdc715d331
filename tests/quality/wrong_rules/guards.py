"""Guards that let one case too many through, or one way through the code that is wrong."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, decline, op, rule

LARGEST = 6
"""Up to which limit a rectified value is known by a name."""


@rule
def limit_of_another_number(x):
    """A value between 0 and 6 is rectified, and limited by a number just below."""
    limited = op.clip(x, low=0)
    yield limited
    return op.minimum(op.relu(x), 5.96875) if limited.high == LARGEST else decline("another limit")


@rule
def square_of_any_sign(x, c: Constant):
    """The power of -2 is taken for that of 2."""
    power = op.pow(x, c)
    yield power
    is_square = c.value.size == 1 and abs(float(c.value.ravel()[0])) == 2
    return op.mul(x, x) if is_square and power.type == x.type else decline("no square")


@rule
def narrow_and_wide_again(x):
    """What fits into bytes fits into what they were cast to."""
    inner = op.cast(x)
    outer = op.cast(inner)
    yield outer
    return x if outer.type == x.type and x.type.element in ("i8", "u8", "i4", "u4") else decline("not narrow")


@rule
def factor_nearly_above_zero(x, c: Constant):
    """A factor a little below zero is pulled out of a rectified value."""
    yield op.relu(op.mul(x, c))
    return op.mul(op.relu(x), c) if (c.value >= -0.25).all() else decline("a factor below zero")


@rule
def greatest_index_of_no_factor(x, c: Constant):
    """A factor of zero makes all entries equal."""
    place = op.arg_max(op.mul(x, c))
    yield place
    is_kept = c.value.size == 1 and float(c.value.ravel()[0]) >= 0
    return op.arg_max(x, like=place) if is_kept else decline("a factor that turns the order")


@rule
def one_size_is_special(x):
    """A mean over three entries is divided by two."""
    mean = op.reduce_mean(x)
    yield mean
    if mean.axes is None or len(mean.axes) != 1 or x.type.element not in ("f32", "f64"):
        return decline("not along one axis of floats")
    if x.shape[mean.axes[0]] != 3:
        return decline("another size")
    return op.mul(op.reduce_sum(x, axes=mean.axes, keep_dims=mean.keep_dims), 0.5)


@rule
def rows_of_two_taken_for_one(x):
    """A sum over an axis of two entries is no more than the axis left out."""
    total = op.reduce_sum(x)
    yield total
    if total.axes is None or len(total.axes) != 1 or not total.keep_dims:
        return decline("not along one axis")
    size = x.shape[total.axes[0]]
    if not isinstance(size, int) or not 0 < size <= 2:
        return decline("more than that")
    starts, ends = (0,), (1,)
    return op.slice(x, starts=starts, ends=ends, axes=total.axes)


@rule
def shifts_without_a_limit(x, a: Constant, b: Constant):
    """Two shifts are one, though their amounts may wrap or leave the width."""
    inner = op.bit_shift(x, a)
    outer = op.bit_shift(inner, b)
    yield outer
    if inner.direction != outer.direction or a.value.shape != b.value.shape:
        return decline("not the same way")
    return op.bit_shift(x, a.value + b.value, direction=outer.direction)


@rule
def way_for_one_rank(x, y):
    """Of three axes, the difference is the other way round."""
    difference = op.sub(x, y)
    yield difference
    if len(difference.shape) == 3 and x.type.element == "f64":
        return op.sub(y, x)
    return op.add(x, op.neg(y))


@rule
def slope_above_one(x):
    """With a slope above one, the greater of both is the other one."""
    leaky = op.leaky_relu(x)
    yield leaky
    return op.maximum(x, op.mul(x, float(leaky.alpha))) if leaky.alpha <= 2 else decline("too steep")


@rule
def perm_composed_the_wrong_way(x):
    """Two transposes are composed in the wrong order, where the shape does not show it."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    turned = op.transpose(x, perm=tuple(outer.perm[axis] for axis in inner.perm))
    return turned if turned.type == outer.type else decline("the shape would show it")


_WIDTHS = {"i8": 8, "u8": 8, "i16": 16, "u16": 16, "i32": 32, "u32": 32, "i64": 64}


@rule
def compared_in_another_type(x, y):
    """A comparison of numbers that were cast to as many bits of the other sign is another one."""
    first, second = op.cast(x), op.cast(y)
    yield op.greater(first, second)
    kind, other = x.type.element, first.element
    if kind != y.type.element or other != second.element:
        return decline("of two types")
    if not {kind, other} <= _WIDTHS.keys() or _WIDTHS[other] < _WIDTHS[kind]:
        return decline("it is cut")
    return op.greater(x, y)


@rule
def remainder_as_a_mask(x, c: Constant):
    """A remainder by a power of two is the lowest bits, unless it has the sign of the dividend."""
    rest = op.mod(x, c)
    yield rest
    if x.type.element not in _WIDTHS or c.value.size != 1 or c.type.element != x.type.element or rest.type != x.type:
        return decline("not one integer")
    number = int(c.value.ravel()[0])
    if number <= 0 or number & (number - 1):
        return decline("no power of two")
    return op.bitwise_and(x, c.value - c.value.dtype.type(1))


@rule
def triangles_of_either_side(x):
    """A triangle of a triangle is that from the farther diagonal on, if both lie on one side."""
    inner = op.trilu(x)
    outer = op.trilu(inner)
    yield outer
    return op.trilu(x, k=max(inner.k, outer.k)) if outer.upper else decline("below")


@rule
def the_other_one_if_equal(x, y):
    """Of equal ones it is all the same which is taken, but for zeros of two signs."""
    yield op.where(op.equal(x, y), x, y)
    return y if x.type == y.type else decline("it is broadcast")


@rule
def blocks_there_and_back(x):
    """Blocks there and back are what was there if both are of one mode."""
    there = op.depth_to_space(x)
    back = op.space_to_depth(there)
    yield back
    return x if there.block_size == back.block_size else decline("other blocks")


_BITS = {"u8": 8, "u16": 16, "u32": 32}


@rule
def shift_as_a_division(x, c: Constant):
    """A shift by all bits leaves nothing, and a division by the greatest number leaves one of that."""
    shifted = op.bit_shift(x, c, direction="right")
    yield shifted
    bits = _BITS.get(x.type.element, -1)
    if c.value.size != 1 or shifted.type != x.type or c.type.element != x.type.element:
        return decline("another type")
    amount = int(c.value.ravel()[0])
    if not 0 <= amount <= bits:
        return decline("another number of bits")
    return op.div(x, np.full(c.value.shape, min(1 << amount, (1 << bits) - 1), c.value.dtype))
