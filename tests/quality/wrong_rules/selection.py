"""Faults in what is selected, summed up or written where: ties, axes, running sums, windows, conversions."""

from __future__ import annotations

from graphrewrite import decline, op, rule


@rule
def ties_of_the_greatest(x):
    """Of several greatest entries, the last one is asked for."""
    place = op.arg_max(op.neg(x))
    yield place
    return op.arg_min(x, axis=place.axis, keep_dims=place.keep_dims)


@rule
def exclusive_sum_forgotten(x):
    """A running sum may leave out the entry itself."""
    total = op.cum_sum(x)
    yield op.neg(total)
    return op.cum_sum(op.neg(x), like=total, exclusive=False)


@rule
def least_of_the_last_axis(x):
    """The places of the greatest entries are looked for along the last axis, where the shape does not show it."""
    values, places = op.top_k(x)
    yield op.identity(places)
    again, found = op.top_k(x, k=values.k, largest=values.largest, sorted=values.sorted)
    return found if again.type == values.type else decline("the shape would show it")


@rule
def first_of_two_scatters_forgotten(x, i, u, v):
    """A scatter that adds does not overwrite what was scattered before."""
    scattered = op.scatter_nd(op.scatter_nd(x, i, u), i, v)
    yield scattered
    return op.scatter_nd(x, i, v, like=scattered)


@rule
def axis_of_the_classes(i, v):
    """The axis of a one-hot encoding is the last one only by default."""
    encoded = op.one_hot(i, v)
    yield op.identity(encoded)
    last = op.one_hot(i, v, depth=encoded.depth)
    return last if last.type == encoded.type else decline("the shape would show it")


@rule
def dilation_of_a_pool_ignored(x):
    """A dilated window reads entries that are apart, which its shape need not show."""
    pool = op.max_pool(x)
    yield op.identity(pool)
    dense = op.max_pool(x, kernel=pool.kernel, strides=pool.strides, pads=pool.pads, ceil_mode=pool.ceil_mode)
    return dense if dense.type == pool.type else decline("the shape would show it")


@rule
def nearest_below(x):
    """The nearest entry of a resized image is rounded as the mode says."""
    larger = op.resize(x)
    yield op.identity(larger)
    return op.resize(x, like=larger, nearest_mode="floor") if larger.mode == "nearest" else decline("another mode")


@rule
def saturation_of_a_cast_forgotten(x):
    """A cast to floats of 8 bits gives the greatest one or infinity, as is asked."""
    narrow = op.cast(x)
    yield op.identity(narrow)
    return op.cast(x, element=narrow.element, round_mode=narrow.round_mode)
