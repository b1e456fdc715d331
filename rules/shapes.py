"""Reshapes and transposes: merged, and in one form."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import Constant, decline, op, rule
from graphrewrite.types import Quantised, symbols

__all__ = [
    "MOVEMENTS",
    "add_ones_before_transpose",
    "drop_names_there_and_back",
    "drop_ones_behind_transpose",
    "drop_reshape",
    "drop_transpose",
    "merge_reshape_into_transpose",
    "merge_reshapes",
    "merge_transpose_into_reshape",
    "merge_transposes",
    "merge_transposes_around_names",
    "order_ones_of_transpose",
    "permute_linear_weights",
    "reshaped",
    "transpose_as_reshape",
    "write_as_reshape",
    "write_sizes_of_reshape",
]


_IN_ORDER: Any = rule.where(lambda perm: list(perm) == sorted(perm), "the axes keep their order")


def reshaped(x, result):
    """Return a reshape to the shape of a result, if evaluation knows its sizes one by one."""
    open_sizes = [size for size in result.shape if isinstance(size, str)]
    if len(open_sizes) > 1 and any(len(symbols(size)) > 1 for size in open_sizes):
        return decline("several of its sizes are open, and one of them has several names", at=result)
    if 0 in result.shape:
        return op.reshape(x, shape=result.shape, allow_zero=True)
    return op.reshape(x, shape=result.shape)


@rule
def write_as_reshape(x):
    """A flatten, a squeeze and an unsqueeze are reshapes to their result's shape."""
    other = (op.flatten | op.squeeze | op.unsqueeze)(x)
    yield other
    if other.type.layout is not None or other.type.element != x.type.element:
        return decline("its axes have names or channels, which a reshape forgets", at=other)
    return reshaped(x, other)


@rule
def drop_reshape(x):
    """A reshape to the shape that is there already does nothing."""
    same = op.reshape(x)
    yield same
    return x if x.type == same.type else decline("the shape changes from {} to {}", x.type, same.type, at=same)


@rule
def write_sizes_of_reshape(x):
    """A reshape says the sizes of its result, rather than by -1 and 0 how they are found."""
    same = op.reshape(x)
    yield same
    sizes = same.type.shape
    if tuple(same.data["shape"]) == sizes and same.data.get("allow_zero", False) == (0 in sizes):
        return decline("it says its sizes", at=same)
    return reshaped(x, same)


@rule(shared="keep")
def merge_reshapes(x):
    """Of two reshapes in a row only the last shape counts."""
    first = op.reshape(x)
    last = op.reshape(first)
    yield last
    if last.type == first.type:
        return decline("the last one does nothing", at=last)
    return reshaped(x, last)


@rule
def drop_transpose(x):
    """A transpose that leaves the axes in their order does nothing."""
    yield op.transpose(x, perm=_IN_ORDER)
    return x


@rule(shared="keep")
def merge_transposes(x):
    """Two transposes in a row are one."""
    inner = op.transpose(x)
    outer = op.transpose(inner)
    yield outer
    return op.transpose(x, perm=tuple(inner.perm[p] for p in outer.perm))


@rule(shared="keep")
def merge_transposes_around_names(x):
    """So are two between which axes get or lose their names, which they may do behind the other one."""
    inner = op.transpose(x)
    outer = op.transpose(rule.repeated(inner, op.name_axes))
    yield outer
    once, names = op.transpose(x, perm=tuple(inner.perm[p] for p in outer.perm)), outer.type.layout
    if once.type.layout not in (None, names):
        once = op.name_axes(once, layout=None)
    return op.name_axes(once, layout=names)


@rule(shared="keep")
def drop_names_there_and_back(x):
    """Axes that lose their names and get them again, or get names and lose them, are as they were."""
    again = op.name_axes(op.name_axes(x))
    yield again
    return x if x.type == again.type else decline("they get other names", at=again)


@rule
def order_ones_of_transpose(x):
    """Axes of size 1 keep their order, as it does not matter which of them is where."""
    transposed = op.transpose(x)
    yield transposed
    ones = [p for p in transposed.perm if x.shape[p] == 1]
    if ones == sorted(ones):
        return decline("they keep their order", at=transposed)
    in_order = iter(sorted(ones))
    result = op.transpose(x, perm=tuple(next(in_order) if p in ones else p for p in transposed.perm))
    return result if result.type == transposed.type else decline("the axes have names or channels", at=transposed)


@rule
def transpose_as_reshape(x):
    """A transpose that moves only axes of size 1 keeps the order of the entries: it is a reshape."""
    transposed = op.transpose(x)
    yield transposed
    long = [p for p in transposed.perm if x.shape[p] != 1]
    if long != sorted(long):
        return decline("axes longer than 1 change their order", at=transposed)
    element = x.type.element
    is_of_one_channel = isinstance(element, Quantised) and element.axis is not None and x.shape[element.axis] == 1
    if transposed.type.layout is not None or transposed.type.element != element or is_of_one_channel:
        return decline("its axes have names or channels, which a reshape forgets", at=transposed)
    return reshaped(x, transposed)


@rule(shared="keep")
def merge_reshape_into_transpose(x):
    """A transpose whose axes of size 1 are moved by a reshape is another transpose."""
    transposed = op.transpose(x)
    moved = op.reshape(transposed)
    yield moved
    axes = _moved_ones(transposed.shape, moved.shape)
    if axes is None:
        return decline("it does more than move axes of size 1", at=moved)
    result = op.transpose(x, perm=tuple(transposed.perm[axis] for axis in axes))
    return result if result.type == moved.type else decline("the axes have names or channels", at=moved)


@rule(shared="keep")
def merge_transpose_into_reshape(x):
    """So is one of a value whose axes of size 1 were moved."""
    moved = op.reshape(x)
    transposed = op.transpose(moved)
    yield transposed
    axes = _moved_ones(x.shape, moved.shape)
    if axes is None:
        return decline("it does more than move axes of size 1", at=moved)
    result = op.transpose(x, perm=tuple(axes[axis] for axis in transposed.perm))
    return result if result.type == transposed.type else decline("the axes have names or channels", at=transposed)


def _moved_ones(before, after):
    """The axes of a shape in the order that they have in another one, if only those of size 1 are elsewhere."""
    if [size for size in before if size != 1] != [size for size in after if size != 1] or len(before) != len(after):
        return None
    ones, others = ([axis for axis, size in enumerate(before) if (size == 1) is is_one] for is_one in (True, False))
    return [(ones if size == 1 else others).pop(0) for size in after]


@rule
def add_ones_before_transpose(x):
    """Axes of size 1 that a reshape adds behind a transpose of a reshape are added by that one."""
    first = op.reshape(x)
    transposed = op.transpose(first)
    last = op.reshape(transposed)
    yield last
    if len(last.shape) <= len(transposed.shape) or not _are_alike(last.shape, transposed.shape):
        return decline("it does more than add axes of size 1", at=last)
    if 1 in transposed.shape or 0 in transposed.shape:
        return decline("there are no entries, or which of its axes of size 1 are new is not known", at=last)
    # The new axes come last at first, where they are in nobody's way.
    rank = len(transposed.shape)
    old, new = iter(transposed.perm), iter(range(rank, len(last.shape)))
    whole = op.reshape(x, shape=(*first.shape, *[1] * (len(last.shape) - rank)))
    return op.transpose(whole, perm=tuple(next(new if size == 1 else old) for size in last.shape))


@rule
def drop_ones_behind_transpose(x):
    """Axes of size 1 that a reshape drops before a transpose are dropped by the reshape behind it."""
    first = op.reshape(x)
    transposed = op.transpose(first)
    last = op.reshape(transposed)
    yield last
    if last.type == transposed.type:
        return decline("the last one does nothing", at=last)
    if len(first.shape) >= len(x.shape) or not _are_alike(first.shape, x.shape):
        return decline("it does more than drop axes of size 1", at=first)
    if 1 in first.shape:
        return decline("which of the axes of size 1 are gone is not known", at=first)
    if x.type.layout is not None or x.type.element != last.type.element:
        return decline("its axes have names or channels", at=x)
    long, ones = ([axis for axis, size in enumerate(x.shape) if (size == 1) is one] for one in (False, True))
    whole = op.transpose(x, perm=(*(long[axis] for axis in transposed.perm), *ones))
    return reshaped(whole, last)


def _are_alike(one, other):
    """Whether two shapes are the same but for sizes of 1."""
    return [size for size in one if size != 1] == [size for size in other if size != 1]


@rule(keeps="rounding")
def permute_linear_weights(x, w: Constant, b):
    """A fully-connected layer after transpose and flatten reads the untransposed entries through permuted weights."""
    transposed = op.transpose(x)
    layer = op.linear(op.reshape(transposed), w, b)
    yield layer
    if transposed.perm[:1] != (0,):
        return decline("the transpose moves the batch, or there is none", at=transposed)
    if any(isinstance(d, str) for d in x.shape[1:]):
        return decline("a size besides the batch is symbolic", at=transposed)
    # The numbers of the columns in the order after the transpose, put back into that before.
    columns = np.arange(int(np.prod(transposed.shape[1:]))).reshape(transposed.shape[1:])
    back = np.argsort([p - 1 for p in transposed.perm[1:]])
    if not columns.size or columns.size != w.shape[1] or transposed.shape[0] != layer.shape[0]:
        return decline("the reshape between does more than flatten", at=layer)
    return op.linear(op.reshape(x, shape=(x.shape[0], columns.size)), w.value[:, columns.transpose(back).ravel()], b)


MOVEMENTS = (
    write_as_reshape,
    drop_reshape,
    write_sizes_of_reshape,
    merge_reshapes,
    drop_transpose,
    merge_transposes,
    merge_transposes_around_names,
    drop_names_there_and_back,
    order_ones_of_transpose,
    transpose_as_reshape,
    merge_reshape_into_transpose,
    merge_transpose_into_reshape,
    add_ones_before_transpose,
    drop_ones_behind_transpose,
)
"""Reshapes and transposes in one form: a part of `RULES`."""
