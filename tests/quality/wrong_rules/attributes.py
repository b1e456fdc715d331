"""Rules that forget an attribute or an operand, or take it for another one: it seldom is what it is by default."""

from __future__ import annotations

from graphrewrite import decline, op, rule


@rule
def mode_of_blocks_ignored(x):
    """The order in which blocks of channels go to places is not passed on."""
    moved = op.depth_to_space(x)
    yield op.neg(moved)
    return op.depth_to_space(op.neg(x), block_size=moved.block_size)


@rule
def four_axes_turned_the_other_way(x):
    """The product of two permutations of four axes is taken in the wrong order."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    if len(outer.perm) != 4:
        return decline("other axes")
    perm = tuple(outer.perm[axis] for axis in inner.perm)
    found = tuple(x.shape[axis] for axis in perm)
    return op.transpose(x, perm=perm) if found == outer.shape else decline("the shapes would show it")


@rule
def ends_beyond_the_inner_slice(x):
    """The end of a slice of a slice is counted from the beginning, and may lie beyond the end of the inner one."""
    inner = op.slice(x)
    outer = op.slice(inner)
    yield outer
    if any((inner.axes, inner.steps, outer.axes, outer.steps)) or min(*inner.starts, *outer.starts, *outer.ends) < 0:
        return decline("not from the beginning")
    starts = tuple(a + b for a, b in zip(inner.starts, outer.starts, strict=True))
    ends = tuple(a + b for a, b in zip(inner.starts, outer.ends, strict=True))
    return op.slice(x, starts=starts, ends=ends)


@rule
def channels_shuffled_back(x):
    """Shuffling twice gives back what was there only where there are as many groups as channels in each."""
    inner = op.channel_shuffle(x)
    outer = op.channel_shuffle(inner)
    yield outer
    return x if inner.groups == outer.groups else decline("other groups")


@rule(keeps="rounding")
def border_counted_no_more(x):
    """Whether a mean counts the border is not passed on."""
    pool = op.average_pool(x)
    yield op.neg(pool)
    if pool.ceil_mode:
        return decline("of whole windows only")
    given = {name: getattr(pool, name) for name in ("kernel", "strides", "pads", "dilations")}
    return op.neg(op.identity(op.average_pool(x, **given)))


@rule
def zero_point_forgotten(x, scale, zero):
    """Codes without their zero point are those of other numbers."""
    codes = op.quantize_linear(x, scale, zero)
    yield codes
    return op.quantize_linear(x, scale, axis=codes.axis, block_size=codes.block_size, element=codes.type.element)


@rule
def least_place_of_equals(x):
    """Which of several greatest entries counts is not passed on."""
    found = op.arg_max(x)
    yield found
    if not found.select_last_index:
        return decline("the first")
    return op.arg_max(x, axis=found.axis, keep_dims=found.keep_dims)


@rule
def sums_without_the_first(x):
    """Whether a sum holds its own entry is not passed on."""
    total = op.cum_sum(x)
    yield op.neg(total)
    return op.cum_sum(op.neg(x), axis=total.axis, reverse=total.reverse)
