"""Ops of TensorFlow that move entries: shapes, parts, joins, indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.batch_blocks import batch_to_space, space_to_batch
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.rulesets.definitions import element_of_type
from graphrewrite.lowering.exchange.strided_slices import LAST, strided_slice
from graphrewrite.lowering.exchange.tensorflow.importer import Operands, Row
from graphrewrite.lowering.exchange.tflite.movement import entries_along, places_from_front

__all__ = ["MOVEMENT"]


def _same(x: Operands) -> Any:
    return x.values[0] if len(x) == 1 else x.values


def _reshape(x: Operands) -> Any:
    return op.reshape(x[0], shape=x.sizes(1))


def _squeeze(x: Operands) -> Any:
    axes = x.get("squeeze_dims") or x.get("axis") or None
    return op.squeeze(x[0], axes=axes)


def _expand_dims(x: Operands) -> Any:
    (axis,) = x.integers(1)
    return op.unsqueeze(x[0], axes=(axis,))


def _transpose(x: Operands) -> Any:
    return op.transpose(x[0], perm=x.integers(1))


def _concat_last(x: Operands) -> Any:
    (axis,) = x.integers(len(x) - 1)
    return op.concat(*x.values[:-1], axis=axis)


def _concat_first(x: Operands) -> Any:
    (axis,) = x.integers(0)
    return op.concat(*x.values[1:], axis=axis)


def _pack(x: Operands) -> Any:
    axis = int(x.get("axis", 0))
    return op.concat(*(op.unsqueeze(each, axes=(axis,)) for each in x.values), axis=axis)


def _parts(value: Value, axis: int, sizes: tuple[Any, ...]) -> Any:
    parts = op.split(value, axis=axis, sizes=sizes) if len(sizes) > 1 else value
    return parts if isinstance(parts, tuple) else (parts,)


def _number(value: Value, axis: int) -> int:
    size = value.type.shape[axis]
    if not isinstance(size, int):
        raise Unfit(f"axis {axis} of {value.type} is split, and its size is open")
    return size


def _unpack(x: Operands) -> Any:
    axis = int(x.get("axis", 0))
    count = _number(x[0], axis)
    return tuple(op.squeeze(part, axes=(axis,)) for part in _parts(x[0], axis, (1,) * count))


def _split(x: Operands) -> Any:
    (axis,), count = x.integers(0), int(x.get("num_split"))
    size = _number(x[1], axis)
    if count < 1 or size % count:
        raise Unfit(f"{x[1].type} is not split into {count} equal parts along axis {axis}")
    return _parts(x[1], axis, (size // count,) * count)


def _split_sizes(x: Operands) -> Any:
    sizes, (axis,) = x.integers(1), x.integers(2)
    if -1 in sizes:
        rest = _number(x[0], axis) - sum(size for size in sizes if size >= 0)
        sizes = tuple(rest if size < 0 else size for size in sizes)
    return _parts(x[0], axis, sizes)


def _slice(x: Operands) -> Any:
    begin, size = x.integers(1), x.sizes(2)
    cut = [axis for axis, (b, n) in enumerate(zip(begin, size, strict=True)) if (b, n) != (0, -1)]
    if not cut:
        return op.identity(x[0])
    ends = tuple(LAST if size[axis] == -1 else begin[axis] + size[axis] for axis in cut)
    return op.slice(x[0], starts=tuple(begin[axis] for axis in cut), ends=ends, axes=tuple(cut))


def _strided(x: Operands) -> Any:
    masks = {name: int(x.get(f"{name}_mask", 0)) for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    if x.known(x[1]) is not None:
        return strided_slice(x[0], x[0].type.shape, x.sizes(1), x.sizes(2), x.integers(3), masks)
    # Of computed indices, those that pick one entry are values, and others must not matter.
    steps = x.integers(3)
    has = {name: [bool(mask >> place & 1) for place in range(len(steps))] for name, mask in masks.items()}
    without = [any(each) for each in zip(has["shrink_axis"], has["ellipsis"], has["new_axis"], strict=True)]
    begin, end = (
        (0,) * len(steps) if all(map(any, zip(without, has[name], strict=True))) else x.sizes(at)
        for at, name in ((1, "begin"), (2, "end"))
    )
    places = [
        op.gather(x[1], np.int64(at), axis=0) if has["shrink_axis"][at] else each for at, each in enumerate(begin)
    ]
    return strided_slice(x[0], x[0].type.shape, places, end, steps, masks)


def _gather(x: Operands) -> Any:
    axis = int(x.integers(2)[0]) if len(x) > 2 else 0
    return entries_along(x[0], x[1], axis, int(x.get("batch_dims", 0)))


def _gather_rows(x: Operands) -> Any:
    batch_dims = int(x.get("batch_dims", 0))
    return entries_along(x[0], x[1], batch_dims, batch_dims)


def _gather_nd(x: Operands) -> Any:
    return op.gather_nd(x[0], x[1])


def _one_hot(x: Operands) -> Any:
    (depth,) = x.sizes(1)
    values = op.concat(op.reshape(x[3], shape=(1,)), op.reshape(x[2], shape=(1,)), axis=0)
    return op.one_hot(places_from_front(x[0], depth), values, depth=depth, axis=int(x.get("axis", -1)))


def _shape(x: Operands) -> Any:
    found = op.shape(x[0])
    element = element_of_type(x.get("out_type", "DT_INT32"))
    return found if found.type.element == element else op.cast(found, element=element)


def _count(x: Operands) -> Any:
    return op.cast(op.size(x[0]), element=element_of_type(x.get("out_type", "DT_INT32")))


def _rank(x: Operands) -> Any:
    return x[0].graph.constant(np.int32(len(x[0].type.shape)))


def _fill(x: Operands) -> Any:
    return op.expand(x[1], shape=x.sizes(0))


def _expand(x: Operands) -> Any:
    return op.expand(x[0], shape=x.sizes(1))


def _range(x: Operands) -> Any:
    start, limit, delta = (x.array(at) for at in range(3))
    element = str(x[0].type.element)
    if any(array.dtype == object for array in (start, limit, delta)):
        (first,), (last,), (step,) = x.sizes(0), x.sizes(1), x.integers(2)
        attributes = {"start": first, "limit": last, "delta": step, "element": element}
        return x[0].graph.add(op.range, [], attributes)
    return x[0].graph.constant(np.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype))


def _tile(x: Operands) -> Any:
    return op.tile(x[0], repeats=x.sizes(1))


def _zeros(number: int) -> Row:
    def like(x: Operands) -> Any:
        value = x[0].graph.constant(np.array(number), type=x[0].type.element)
        return op.expand(value, shape=x[0].type.shape)

    return like


def _reversed(x: Operands) -> Any:
    axes = x.integers(1)
    count = len(axes)
    return op.slice(x[0], starts=(-1,) * count, ends=(-LAST,) * count, axes=axes, steps=(-1,) * count)


def _space_to_batch(x: Operands) -> Any:
    return space_to_batch(x[0], x.integers(1), x.array(2))


def _batch_to_space(x: Operands) -> Any:
    return batch_to_space(x[0], x.integers(1), x.array(2))


MOVEMENT: dict[str, Row] = {
    **dict.fromkeys(
        ("CheckNumerics", "EnsureShape", "Identity", "PlaceholderWithDefault", "PreventGradient", "ReadVariableOp"),
        _same,
    ),
    **dict.fromkeys(("Snapshot", "StopGradient"), _same),
    "BatchToSpaceND": _batch_to_space,
    "BroadcastTo": _expand,
    "Concat": _concat_first,
    "ConcatV2": _concat_last,
    "ExpandDims": _expand_dims,
    "Fill": _fill,
    "Gather": _gather,
    "GatherNd": _gather_nd,
    "GatherV2": _gather,
    "IdentityN": _same,
    "OneHot": _one_hot,
    "OnesLike": _zeros(1),
    "Pack": _pack,
    "Range": _range,
    "Rank": _rank,
    "Reshape": _reshape,
    "ResourceGather": _gather_rows,
    "ReverseV2": _reversed,
    "Shape": _shape,
    "Size": _count,
    "Slice": _slice,
    "SpaceToBatchND": _space_to_batch,
    "Split": _split,
    "SplitV": _split_sizes,
    "Squeeze": _squeeze,
    "StridedSlice": _strided,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unpack": _unpack,
    "ZerosLike": _zeros(0),
}
"""What each op means."""
