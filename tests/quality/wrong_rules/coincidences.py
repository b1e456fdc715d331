"""Wrong rules whose fault shows only where several things meet: equal sizes, attributes that differ, a tight format."""

from __future__ import annotations

import numpy as np

from graphrewrite import Constant, FixedPoint, decline, op, pass_, rule
from graphrewrite.graph import Operand
from graphrewrite.graph.rewiring import rewire
from graphrewrite.testing import graphs


@rule
def turned_twice_alike(x):
    """The same permutation of four or more axes twice is not always none."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    if inner.perm != outer.perm or len(outer.perm) < 4 or outer.type != x.type:
        return decline("other axes, or the shape would show it")
    return x


@rule
def axis_found_the_wrong_way(x):
    """An axis before a permutation is looked for in the inverse one."""
    turned = op.transpose(x)
    soft = op.softmax(turned)
    yield soft
    axis = soft.axis % len(turned.perm)
    return op.transpose(op.softmax(x, axis=turned.perm.index(axis)), perm=turned.perm)


@rule
def sum_of_the_inverse_axes(x):
    """A sum over one of three axes or more before a permutation is one over the axis of the inverse."""
    turned = op.transpose(x)
    total = op.reduce_sum(turned)
    yield total
    if len(turned.perm) < 3 or total.axes is None or len(total.axes) != 1 or not total.keep_dims:
        return decline("other sums")
    summed = op.reduce_sum(x, axes=(turned.perm.index(total.axes[0] % len(turned.perm)),), keep_dims=True)
    moved = op.transpose(summed, perm=turned.perm)
    if total.type != turned.type:
        return decline("the shape would show it, but for an axis of one entry")
    return moved


@rule
def offset_before_rounding(x):
    """A whole number that is added after rounding decides, added before, which neighbour of a half is even."""
    scaled = op.rescale(x)
    yield scaled
    if not all(isinstance(n, int) for n in (scaled.multiplier, scaled.shift, scaled.addend, scaled.offset)):
        return decline("a number for each channel")
    if scaled.offset == 0 or scaled.shift <= 0 or scaled.low is not None or scaled.high is not None:
        return decline("nothing to move")
    if not scaled.saturate or scaled.bound is not None:
        return decline("it wraps, or is bounded")
    return op.rescale(x, addend=scaled.addend + (scaled.offset << scaled.shift), offset=0, like=scaled)


@rule
def half_added_and_cut(x):
    """Rounding down after adding half is rounding half up, and half to even only where nothing lies in the middle."""
    narrow = op.requantise(x)
    yield narrow
    if not isinstance(narrow.shift, int) or narrow.shift < 2 or (narrow.low, narrow.high) != (None, None):
        return decline("another shift, or limits")
    if narrow.element.width < x.type.element.width - narrow.shift + 1 or not x.type.element.signed:
        return decline("it may saturate")
    return op.rescale(
        x, multiplier=1, shift=narrow.shift, addend=1 << (narrow.shift - 1), rounding="down", element=narrow.element
    )


@rule
def widened_by_one_bit_too_few(x):
    """Shifts to the left and back keep what has room, and the sign needs a bit of it."""
    wide = op.requantise(x)
    back = op.requantise(wide)
    yield back
    if not isinstance(wide.shift, int) or not isinstance(back.shift, int) or wide.shift >= 0:
        return decline("no shift to the left")
    if (wide.low, wide.high, back.low, back.high) != (None,) * 4 or wide.shift + back.shift != 0:
        return decline("limits, or not back")
    if back.element != x.type.element or x.type.element.signed != wide.element.signed:
        return decline("another format")
    room = wide.element.width - x.type.element.width + wide.shift
    return x if room >= -1 else decline("no room")


@rule
def exact_in_a_float(x):
    """A float of 32 bits holds integers of 24 bits, and no more."""
    back = op.cast(op.cast(x, element="f32"))
    yield back
    if x.type.element not in ("i8", "i16", "i32", "u8", "u16") or back.element != x.type.element:
        return decline("another type")
    return x


@rule
def saturation_in_the_middle(x):
    """What saturates in a format between is not what saturates in the last one."""
    narrow = op.requantise(x)
    wide = op.requantise(narrow)
    yield wide
    if not (isinstance(narrow.shift, int) and isinstance(wide.shift, int)) or narrow.shift <= 0 or wide.shift != 0:
        return decline("another shift")
    if {narrow.low, narrow.high, wide.low, wide.high} != {None}:
        return decline("limits")
    return op.requantise(x, shift=narrow.shift, element=wide.element)


@rule
def mean_of_nothing(x):
    """The mean of no entries is no number, and not 0."""
    mean = op.reduce_mean(x)
    yield mean
    if not all(isinstance(d, int) for d in x.shape) or 0 not in x.shape:
        return decline("there are entries")
    return np.zeros(mean.shape, np.float32) if mean.type.element == "f32" else decline("another type")


@rule
def parts_joined_along_another_axis(x, y):
    """A permutation of what is joined is what is joined of the permutations, along the axis that it became."""
    joined = op.concat(x, y)
    turned = op.transpose(joined)
    yield turned
    axis = turned.perm[joined.axis]
    parts = [op.transpose(each, perm=turned.perm) for each in (x, y)]
    sizes = list(x.shape)
    if len(turned.perm) < 3 or len(set(sizes)) > 1 or x.type != y.type:
        return decline("the shapes would show it")
    if turned.perm.index(joined.axis) == joined.axis:
        return decline("it stays")
    found = [sizes[p] * (1 + (place == axis)) for place, p in enumerate(turned.perm)]
    return op.concat(*parts, axis=axis) if tuple(found) == tuple(turned.shape) else decline("the shape shows it")


@rule
def summands_exchanged(x, y):
    """Two summands are exchanged, and their shifts are not."""
    total = op.integer_add(x, y)
    yield total
    if x.type != y.type or total.shifts[0] == total.shifts[1]:
        return decline("other formats, or nothing to see")
    return op.integer_add(y, x, like=total)


@rule
def bias_along_axis_1(x, w: Constant, c: Constant):
    """The channels of an image are looked for at axis 1, wherever its layout has them."""
    conv = op.conv(x, w)
    total = op.add(conv, c)
    yield total
    if c.value.ndim != len(x.shape) - 1 or c.value.shape[0] != c.value.size or total.type != conv.type:
        return decline("not along axis 1")
    if c.value.size != len(w.value):
        return decline("not one summand a channel")
    return op.conv(x, w, c.value.reshape(-1), like=conv)


@rule
def tile_of_one_entry(x):
    """What is repeated along axes of one entry is expanded; along others it is not."""
    tiled = op.tile(x)
    yield tiled
    shape = tiled.shape
    if any(n not in (1, size) for n, size in zip(x.shape, shape, strict=True)) or not len(shape):
        return decline("an axis grows that has more than one entry")
    if x.shape.count(1) < len(shape) - 1:
        return decline("more than one long axis")
    return op.expand(x, shape=shape) if 0 not in shape else op.expand(x, shape=tuple(d or 1 for d in shape))


@rule
def borders_of_the_other_axis(x):
    """The borders of two axes are exchanged, of a square that stays one."""
    inner = op.pad(x)
    outer = op.pad(inner)
    yield outer
    if (inner.mode, outer.mode) != ("constant", "constant") or inner.fill != outer.fill:
        return decline("another mode")
    if min(inner.pads) < 0 or min(outer.pads) < 0 or len(x.shape) != 2:
        return decline("it crops")
    top, left, bottom, right = np.add(inner.pads, outer.pads).tolist()
    if top + bottom != left + right:
        return decline("the shape would show it")
    return op.pad(x, pads=(left, top, right, bottom), fill=inner.fill)


@rule
def twice_negated_mantissa(x):
    """The least mantissa has no opposite in its format."""
    zero = FixedPoint(True, 8, 0)
    once = op.rescale(x)
    twice = op.rescale(once)
    yield twice
    if (once.multiplier, twice.multiplier, once.shift, twice.shift) != (-1, -1, 0, 0):
        return decline("another factor")
    if once.addend or twice.addend or once.offset or twice.offset or x.type.element != twice.element:
        return decline("summands, or another format")
    if (once.low, once.high, twice.low, twice.high) != (None,) * 4 or once.element.width < zero.width:
        return decline("limits, or too narrow to be worth it")
    return x if once.element == x.type.element and once.saturate and twice.saturate else decline("another format")


@pass_
def merges_constants_of_one_size(graph):
    """Takes constants of the same entries for equal, whatever their shapes are."""
    seen, gone = {}, []
    for node in graph.in_order():
        if graph.nodes[node]["type"] != "constant":
            continue
        kind, value = graph.result_type(node), graph.nodes[node]["value"]
        key = str(kind.element), len(kind.shape), value.size, tuple(map(repr, np.ravel(value).tolist()))
        first = seen.setdefault(key, node)
        readers = {graph.nodes[reader]["type"] for reader in graph.succ[node]}
        if first != node and readers <= {"add", "mul", "sub", "maximum", "minimum"}:
            rewire(graph, node, Operand(first))
            graph.remove_node(node)
            gone.append(node)
    return gone


ON = {"bias_along_axis_1": graphs(containing=bias_along_axis_1, every_type=True)}
"""Where a rule is tested that is right for the types that most graphs hold."""
SMALLEST = {"merges_constants_of_one_size": 4}
"""Nodes of the smallest graph that shows each fault."""
