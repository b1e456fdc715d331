"""Operators of TensorFlow Lite that move entries: of stored numbers as of any others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.batch_blocks import batch_to_space, space_to_batch
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.strided_slices import LAST, strided_slice
from graphrewrite.lowering.exchange.tflite.operands import Operand, Result
from graphrewrite.lowering.exchange.tflite.windows import channels_last, channels_second
from graphrewrite.types import Quantised, element_dtype

__all__ = [
    "arg_extreme",
    "batch_to_blocks",
    "blocks_to_batch",
    "cast",
    "concatenated",
    "consecutive",
    "entries_along",
    "filled",
    "gathered",
    "mirrored",
    "one_hot",
    "packed",
    "padded",
    "padded_with",
    "places_from_front",
    "rank",
    "rearranged_channels",
    "reshaped",
    "reversed_along",
    "rows_at",
    "scattered",
    "shape",
    "sliced",
    "split_evenly",
    "split_sizes",
    "squeezed",
    "strided",
    "top",
    "unpacked",
    "zeros_like",
]

_MOST_INDICES = 1 << 20


def reshaped(
    x: Operand, shape: Operand | None = None, *, to: tuple[Result], new_shape: tuple[int, ...] | None = None
) -> Any:
    """RESHAPE: the shape is an operand, or an option in old files."""
    wanted = new_shape if shape is None or (shape.array is None and new_shape) else shape.numbers()
    if wanted is None:
        raise Unfit("it does not say its shape")
    return op.reshape(x.value, shape=wanted, allow_zero=0 in wanted)


def squeezed(x: Operand, *, to: tuple[Result], squeeze_dims: tuple[int, ...] = ()) -> Any:
    """SQUEEZE."""
    return op.squeeze(x.value, axes=squeeze_dims) if squeeze_dims else op.squeeze(x.value)


def _element(kind: Any) -> str:
    return kind.element.storage if isinstance(kind.element, Quantised) else str(kind.element)


def cast(x: Operand, *, to: tuple[Result]) -> Any:
    """CAST: of stored numbers the numbers that are stored."""
    element = _element(to[0].kind)
    return x.value if x.value.type.element == element else op.cast(x.value, element=element)


def _as(value: Any, to: Result) -> Any:
    element = _element(to.kind)
    return value if value.type.element == element else op.cast(value, element=element)


def shape(x: Operand, *, to: tuple[Result]) -> Any:
    """SHAPE."""
    return _as(op.shape(x.value), to[0])


def arg_extreme(name: str) -> Any:
    """Return ARG_MAX or ARG_MIN."""
    find = getattr(op, name)

    def found(x: Operand, *, to: tuple[Result], axis: int) -> Any:
        return _as(find(x.value, axis=axis, keep_dims=False), to[0])

    return found


def top(x: Operand, *, to: tuple[Result, ...], k: int) -> Any:
    """TOPK_V2."""
    values, indices = op.top_k(x.value, k=k)
    return values, _as(indices, to[1]) if len(to) > 1 else indices


def one_hot(indices: Operand, depth: Operand, on: Operand, off: Operand, *, to: tuple[Result], axis: int = -1) -> Any:
    """ONE_HOT."""
    values = np.stack([off.known().reshape(()), on.known().reshape(())])
    size = int(depth.known().reshape(()))
    return op.one_hot(places_from_front(indices.value, size), values, depth=size, axis=axis)


def places_from_front(indices: Any, depth: Any) -> Any:
    """Return indices of which a negative one is none, where ours counts from the end."""
    if str(indices.type.element).startswith("u"):
        return indices
    return op.where(op.less(indices, 0), depth, indices)


def gathered(x: Operand, indices: Operand, *, to: tuple[Result], axis: int = 0, batch_dims: int = 0) -> Any:
    """GATHER."""
    return entries_along(x.value, indices.value, axis, batch_dims)


def entries_along(x: Value, indices: Value, axis: int, batch_dims: int = 0) -> Any:
    """Return entries of a value along an axis, of which each sample of the first axes has its own."""
    rank, count = len(x.type.shape), len(indices.type.shape)
    axis, batch = axis + rank * (axis < 0), batch_dims + count * (batch_dims < 0)
    if not batch:
        return op.gather(x, indices, axis=axis)
    if not 0 < batch <= min(axis, count):
        raise Unfit(f"batch_dims={batch_dims} does not fit axis {axis} and indices of {count} axes")
    between = range(batch, axis)
    moved = op.transpose(x, perm=(*range(batch), axis, *between, *range(axis + 1, rank))) if between else x
    found = op.gather_nd(moved, op.unsqueeze(indices, axes=(-1,)), batch_dims=batch)
    if not between:
        return found
    last = count + len(between)
    return op.transpose(
        found, perm=(*range(batch), *range(count, last), *range(batch, count), *range(last, last + rank - 1 - axis))
    )


def rows_at(ids: Operand, table: Operand, *, to: tuple[Result]) -> Any:
    """EMBEDDING_LOOKUP."""
    return op.gather(table.value, ids.value, axis=0)


def blocks_to_batch(x: Operand, borders: Operand, *, to: tuple[Result], blocks: tuple[int, ...]) -> Any:
    """SPACE_TO_BATCH_ND: the border of stored numbers is the zero point."""
    fill = to[0].zero_point if isinstance(to[0].kind.element, Quantised) else 0
    return space_to_batch(x.value, blocks, borders.known(), fill)


def batch_to_blocks(x: Operand, crops: Operand, *, to: tuple[Result], blocks: tuple[int, ...]) -> Any:
    """BATCH_TO_SPACE_ND."""
    return batch_to_space(x.value, blocks, crops.known())


def zeros_like(x: Operand, *, to: tuple[Result]) -> Any:
    """ZEROS_LIKE."""
    return op.where(np.array(False), x.value, np.zeros((), element_dtype(x.value.type.element)))


def rank(x: Operand, *, to: tuple[Result]) -> Any:
    """RANK."""
    return x.value.graph.constant(np.array(len(x.shape), np.int32))


def consecutive(start: Operand, limit: Operand, delta: Operand, *, to: tuple[Result]) -> Any:
    """RANGE of known numbers."""
    first, last, step = (each.known().reshape(()) for each in (start, limit, delta))
    count = math.ceil((last.item() - first.item()) / step.item()) if step else 0
    if not step or count > _MOST_INDICES:
        raise Unfit(f"from {first} to {last} in steps of {step} there are too many numbers")
    return start.value.graph.constant(np.arange(first.item(), last.item(), step.item(), dtype=first.dtype))


def scattered(indices: Operand, updates: Operand, shape: Operand, *, to: tuple[Result]) -> Any:
    """SCATTER_ND: entries of equal positions are added."""
    sizes = shape.numbers()
    zero = np.zeros((1,) * len(sizes), element_dtype(updates.value.type.element))
    onto = op.expand(updates.value.graph.constant(zero), shape=sizes)
    return op.scatter_nd(onto, indices.value, updates.value, reduction="add")


def concatenated(*xs: Operand, to: tuple[Result], axis: int = 0) -> Any:
    """CONCATENATION: stored numbers have one format."""
    kinds = [*(x.kind for x in xs), *(each.kind for each in to)]
    formats = {kind.element for kind in kinds if isinstance(kind.element, Quantised)}
    if len(formats) > 1:
        raise Unfit(f"it has operands or a result of different formats: {', '.join(sorted(map(str, formats)))}")
    return op.concat(*(x.value for x in xs), axis=axis)


def packed(*xs: Operand, to: tuple[Result], values_count: int = 0, axis: int = 0) -> Any:
    """PACK: the operands along a new axis."""
    return op.concat(*(op.unsqueeze(x.value, axes=(axis,)) for x in xs), axis=axis)


def unpacked(x: Operand, *, to: tuple[Result, ...], num: int = 0, axis: int = 0) -> Any:
    """UNPACK."""
    parts = split_evenly(x, to=to, axis=axis, num_splits=num)
    return tuple(op.squeeze(part, axes=(axis,)) for part in parts)


def split_evenly(x: Operand, *, to: tuple[Result, ...], axis: int, num_splits: int = 0) -> Any:
    """SPLIT."""
    if num_splits != len(to) or not -len(x.shape) <= axis < len(x.shape) or x.shape[axis] % len(to):
        raise Unfit(f"{x.value.type} is not split into {num_splits} equal parts along axis {axis} by {len(to)} results")
    if num_splits == 1:
        return (x.value,)
    parts = op.split(x.value, axis=axis, sizes=(x.shape[axis] // num_splits,) * num_splits)
    return parts if isinstance(parts, tuple) else (parts,)


def split_sizes(x: Operand, *, to: tuple[Result, ...], axis: int, sizes: tuple[int, ...], num_splits: int = 0) -> Any:
    """SPLIT_V: one size may be -1, which is what is left."""
    if not -len(x.shape) <= axis < len(x.shape) or len(sizes) != len(to) or sizes.count(-1) > 1:
        raise Unfit(f"{x.value.type} is not split into {list(sizes)} along axis {axis} by {len(to)} results")
    rest = x.shape[axis] - sum(size for size in sizes if size >= 0)
    parts = op.split(x.value, axis=axis, sizes=tuple(rest if size < 0 else size for size in sizes))
    return parts if isinstance(parts, tuple) else (parts,)


def sliced(x: Operand, *, to: tuple[Result], begin: tuple[int, ...], size: tuple[int, ...]) -> Any:
    """SLICE: a size of -1 reaches to the end."""
    if not len(begin) == len(size) == len(x.shape):
        raise Unfit(f"it begins at {list(begin)} with sizes {list(size)}, and its operand is {x.value.type}")
    to[0].fix(x.value, [axis for axis, b in enumerate(begin) if (b, size[axis]) == (0, x.shape[axis])])
    cut = [
        axis for axis, (b, n) in enumerate(zip(begin, size, strict=True)) if (b, n) not in ((0, -1), (0, x.shape[axis]))
    ]
    for axis in cut:
        if begin[axis] < 0 or size[axis] < -1 or begin[axis] + max(size[axis], 0) > x.shape[axis]:
            raise Unfit(f"the part from {begin[axis]} of size {size[axis]} is outside of axis {axis} of {x.value.type}")
    ends = [LAST if size[axis] < 0 else begin[axis] + size[axis] for axis in cut]
    return (
        op.slice(x.value, starts=tuple(begin[axis] for axis in cut), ends=tuple(ends), axes=tuple(cut))
        if cut
        else x.value
    )


def strided(
    x: Operand,
    *,
    to: tuple[Result],
    begin: tuple[int, ...],
    end: tuple[int, ...],
    steps: tuple[int, ...],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    offset: bool = False,
) -> Any:
    """STRIDED_SLICE, in the way of numpy's indices: each is a slice, a number, a new axis or the ellipsis."""
    stops = tuple(first + last for first, last in zip(begin, end, strict=True)) if offset else end
    masks = {
        "begin": begin_mask,
        "end": end_mask,
        "ellipsis": ellipsis_mask,
        "new_axis": new_axis_mask,
        "shrink_axis": shrink_axis_mask,
    }
    return strided_slice(x.value, x.shape, begin, stops, steps, masks, lambda axis: to[0].fix(x.value, [axis]))


def _borders(pads: Operand, rank: int) -> tuple[int, ...]:
    table = np.reshape(pads.numbers(), (-1, 2))
    if len(table) != rank or (table < 0).any():
        raise Unfit(f"borders {table.tolist()} do not fit {rank} axes")
    return (*map(int, table[:, 0]), *map(int, table[:, 1]))


def padded(x: Operand, pads: Operand, *, to: tuple[Result]) -> Any:
    """PAD, with zero: of stored numbers with the zero point."""
    fill = to[0].zero_point if isinstance(to[0].kind.element, Quantised) else 0
    return op.pad(x.value, pads=_borders(pads, len(x.shape)), fill=fill)


def padded_with(x: Operand, pads: Operand, fill: Operand, *, to: tuple[Result]) -> Any:
    """PADV2, with a number that is given."""
    return op.pad(x.value, pads=_borders(pads, len(x.shape)), fill=fill.known().reshape(()).item())


def mirrored(x: Operand, pads: Operand, *, to: tuple[Result], mode: int = 0) -> Any:
    """MIRROR_PAD: reflected without the border itself (0), or with it (1)."""
    borders, y = _borders(pads, len(x.shape)), x.value
    rank = len(x.shape)
    for axis, size in enumerate(x.shape):
        before, after = borders[axis], borders[rank + axis]
        if max(before, after) > size - (mode == 0):
            raise Unfit(f"a border of {max(before, after)} is wider than axis {axis} of {x.value.type} can give")
        if before or after:
            if size > _MOST_INDICES:
                raise Unfit(f"axis {axis} of {x.value.type} is too long for a mirrored border")
            skip = mode == 0
            to[0].fix(x.value, [axis])
            index = [*range(before - 1 + skip, skip - 1, -1), *range(size)]
            index += range(size - 1 - skip, size - 1 - skip - after, -1)
            y = op.gather(y, np.array(index, np.int64), axis=axis)
    return y


def filled(dims: Operand, value: Operand, *, to: tuple[Result]) -> Any:
    """FILL."""
    return op.expand(value.value, shape=dims.numbers())


def reversed_along(x: Operand, *, to: tuple[Result], axes: tuple[int, ...]) -> Any:
    """REVERSE_V2."""
    count = len(axes)
    return op.slice(x.value, starts=(-1,) * count, ends=(-LAST,) * count, axes=axes, steps=(-1,) * count)


def rearranged_channels(name: str) -> Any:
    """Return DEPTH_TO_SPACE or SPACE_TO_DEPTH."""
    rearrange = getattr(op, name)

    def rearranged(x: Operand, *, to: tuple[Result], block_size: int) -> Any:
        return channels_last(rearrange(channels_second(x.value), block_size=block_size))

    return rearranged
