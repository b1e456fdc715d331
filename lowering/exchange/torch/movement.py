"""Ops of PyTorch that move entries or make new ones: shapes, parts, joins, indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.strided_slices import LAST
from graphrewrite.lowering.exchange.torch.call import Call, Row, cast, fixed_size

__all__ = ["MOVEMENT"]


def _same(x: Call) -> Any:
    return x.value(x[0])


def _reshape(x: Call) -> Any:
    return _shaped(x[0], x.shape)


def _viewed(x: Call) -> Any:
    """The same entries in another shape, or the same bits as numbers of another type."""
    if "dtype" not in x.arguments:
        return _reshape(x)
    if x.shape != x.shape_of(x[0]):
        raise Unfit(f"{x[0].type} is read as {x.element}, of another width, which is not supported")
    return op.bit_cast(x[0], element=x.element) if x[0].type.element != x.element else x[0]


def _of_each(compute: Row) -> Row:
    """Compute with each of a list of tensors, or with one."""

    def all_of(x: Call) -> Any:
        if isinstance(x[0], Value):
            return compute(x)
        pairs = zip(x[0], x.results, strict=True)
        return tuple(_shaped(value, kind.shape) for value, kind in pairs)

    return all_of


def _shaped(value: Value, shape: Sequence[Any]) -> Any:
    """Return a value in another shape; of open sizes one at most is taken from what is left."""
    if tuple(value.type.shape) == tuple(shape):
        return value
    return op.reshape(value, shape=tuple(shape), allow_zero=0 in shape)


def _permuted(x: Call, order: Sequence[int]) -> Any:
    return op.transpose(x[0], perm=tuple(order)) if list(order) != sorted(order) else x[0]


def _transpose(x: Call) -> Any:
    order = list(range(len(x.shape)))
    if order:
        one, other = (int(axis) % len(order) for axis in (x[1], x[2]))  # each op has other names for them
        order[one], order[other] = order[other], order[one]
    return _permuted(x, order)


def _permute(x: Call) -> Any:
    return _permuted(x, [axis % max(len(x.shape), 1) for axis in x["dims"]])


def _turned(x: Call) -> Any:
    rank = len(x.shape)
    return _permuted(x, (*range(rank - 2), rank - 1, rank - 2)) if rank >= 2 else x[0]


def _moved(x: Call) -> Any:
    rank = len(x.shape)
    sources, targets = ([axis % rank for axis in _listed(x[name])] for name in ("source", "destination"))
    order = [axis for axis in range(rank) if axis not in sources]
    for target, source in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source)
    return _permuted(x, order)


def _listed(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Sequence) else (given,)


def _squeeze(x: Call) -> Any:
    shape = x.shape_of(x[0])
    axes = [axis for axis in x.axes("dim") if shape[axis] == 1] if shape else []
    return op.squeeze(x[0], axes=tuple(axes)) if axes else x[0]


def _unsqueeze(x: Call) -> Any:
    return op.unsqueeze(x[0], axes=(x["dim"] % len(x.shape),))


def _expand(x: Call) -> Any:
    return op.expand(x[0], shape=x.shape) if x.shape_of(x[0]) != x.shape else x[0]


def _copied(x: Call) -> Any:
    """The numbers of the second operand in the shape of the first."""
    value = x.value(x["src"])
    return op.expand(value, shape=x.shape) if x.shape_of(value) != x.shape else value


def _cat(x: Call) -> Any:
    # An empty vector joins anything in PyTorch.
    parts = [x.value(each) for each in x["tensors"] if each.type.shape != (0,) or len(x.shape) == 1]
    return op.concat(*parts, axis=x["dim"] % max(len(x.shape), 1)) if len(parts) > 1 else parts[0]


def _stack(x: Call) -> Any:
    axis = x["dim"] % len(x.shape)
    parts = [op.unsqueeze(x.value(each), axes=(axis,)) for each in x["tensors"]]
    return op.concat(*parts, axis=axis) if len(parts) > 1 else parts[0]


def _parts(x: Call) -> Any:
    """Parts of an axis, whose sizes follow from the results."""
    axis = x.axis("dim")
    sizes = tuple(each.shape[axis] for each in x.results)
    if len(sizes) == 1:
        return (x[0],)
    return op.split(x[0], axis=axis, sizes=sizes)


def _unbind(x: Call) -> Any:
    axis, count = x.axis("dim"), len(x.results)
    parts = op.split(x[0], axis=axis, sizes=(1,) * count) if count > 1 else (x[0],)
    return tuple(op.squeeze(each, axes=(axis,)) for each in parts)


def _select(x: Call) -> Any:
    axis, index = x.axis("dim"), x["index"]
    size = x.shape_of(x[0])[axis]
    if isinstance(index, int) and not isinstance(size, int):  # of an open axis no slice is known to have one entry
        return op.gather(x[0], x.constant(index, "i64"), axis=axis)
    index = index % size if isinstance(index, int) else index
    return op.squeeze(op.slice(x[0], starts=(index,), ends=(index + 1,), axes=(axis,)), axes=(axis,))


def _slice(x: Call) -> Any:
    axis, start, end, step = x.axis("dim"), x["start"], x["end"], x["step"]
    size = x.shape_of(x[0])[axis]
    start = 0 if start is None else start
    whole = end is None or end == size or (isinstance(end, int) and end >= LAST)
    if whole and start == 0 and step == 1:
        return x[0]
    return op.slice(x[0], starts=(start,), ends=(LAST if whole else end,), axes=(axis,), steps=(step,))


def _narrow(x: Call) -> Any:
    axis, start = x.axis("dim"), x["start"]
    return op.slice(x[0], starts=(start,), ends=(start + x["length"],), axes=(axis,))


def _roll(x: Call) -> Any:
    value = x[0]
    shifts, axes = _listed(x["shifts"]), _listed(x["dims"])
    if not axes:
        value, axes = op.reshape(value, shape=(-1,)), (0,)
    for shift, axis in zip(shifts, axes, strict=True):
        size = fixed_size(value.type.shape[axis])
        cut = (-shift) % size if size else 0
        if cut:
            first, last = op.split(value, axis=axis % len(value.type.shape), sizes=(cut, size - cut))
            value = op.concat(last, first, axis=axis % len(value.type.shape))
    return _shaped(value, x.shape)


def _flip(x: Call) -> Any:
    axes = tuple(axis % len(x.shape) for axis in x["dims"])
    count = len(axes)
    if not count:
        return x[0]
    return op.slice(x[0], starts=(-1,) * count, ends=(-LAST,) * count, axes=axes, steps=(-1,) * count)


def _repeat(x: Call) -> Any:
    repeats = tuple(x.get("repeats", x.get("dims")))
    value, rank = x[0], len(x.shape)
    missing = rank - len(x.shape_of(value))
    value = op.unsqueeze(value, axes=tuple(range(missing))) if missing else value
    repeats = (1,) * (rank - len(repeats)) + repeats
    return op.tile(value, repeats=repeats) if any(each != 1 for each in repeats) else value


def _repeat_interleave(x: Call) -> Any:
    count = x["repeats"]
    if not isinstance(count, int) or x.get("dim") is None:
        raise Unfit("how often entries are repeated must be one number, along an axis")
    axis, shape = x.axis("dim"), x.shape_of(x[0])
    wide = op.expand(op.unsqueeze(x[0], axes=(axis + 1,)), shape=(*shape[: axis + 1], count, *shape[axis + 1 :]))
    return _shaped(wide, x.shape)


def _triangle(upper: bool) -> Row:
    def compute(x: Call) -> Any:
        of_bools = x.element == "bool"
        found = op.trilu(cast(x[0], "i32") if of_bools else x[0], k=x["diagonal"], upper=upper)
        return cast(found, x.element)

    return compute


def _filled(number: Any) -> Row:
    """One number everywhere."""

    def compute(x: Call) -> Any:
        fill = (
            next((x[name] for name in ("fill_value", "value") if name in x.arguments), 0) if number is None else number
        )
        if isinstance(fill, Value) or not isinstance(fill, bool | int | float):
            return op.expand(x.value(fill), shape=x.shape) if x.shape else x.value(fill)
        if not x.shape:
            return x.value(fill)
        return x.graph.add(op.constant_of_shape, [], {"shape": x.shape, "value": fill, "element": x.element})

    return compute


def _arange(x: Call) -> Any:
    start, end, step = x.get("start", 0), x["end"], x.get("step", 1)
    if all(isinstance(each, int | float) for each in (start, end, step)):
        numbers = np.arange(start, end, step)
        return x.constant(numbers[: fixed_size(x.shape[0])].astype("i8" if x.element == "i64" else "f8"))
    found = x.graph.add(op.range, [], {"start": start, "limit": end, "delta": step})
    return cast(found, x.element)


def _linspace(x: Call) -> Any:
    return x.constant(np.linspace(x["start"], x["end"], fixed_size(x["steps"])))


def _eye(x: Call) -> Any:
    return x.constant(np.eye(fixed_size(x.shape[0]), fixed_size(x.shape[-1])))


def _blocks(name: str, factor: str) -> Row:
    def compute(x: Call) -> Any:
        found = getattr(op, name)
        return found(x[0], block_size=x[factor], mode="CRD")

    return compute


def _meshgrid(x: Call) -> Any:
    tensors, found = x["tensors"], []
    swapped = x.get("indexing") == "xy" and len(tensors) > 1
    order = [1, 0, *range(2, len(tensors))] if swapped else list(range(len(tensors)))
    shape = x.results[0].shape
    for at, each in enumerate(tensors):
        sizes = [1] * len(tensors)
        sizes[order[at]] = -1
        found.append(op.expand(op.reshape(each, shape=tuple(sizes)), shape=shape))
    return tuple(found)


MOVEMENT: dict[str, Row] = {
    **dict.fromkeys(
        (
            *(
                "aten._to_copy",
                "aten._conj",
                "aten.alias",
                "aten.clone",
                "aten.contiguous",
                "aten.detach",
                "aten.float",
            ),
            *("aten.detach_", "aten.lift_fresh_copy", "aten.lift_fresh", "aten.positive", "aten.to", "aten.type_as"),
            *("aten.resolve_conj", "aten.resolve_neg", "aten._to_cpu"),
        ),
        _same,
    ),
    **dict.fromkeys(
        (
            *("aten._unsafe_view", "aten.reshape", "aten.view_as", "aten.reshape_as", "aten.flatten"),
            *("aten.unflatten", "aten.ravel", "aten.view_copy", "aten._reshape_alias"),
        ),
        _reshape,
    ),
    **dict.fromkeys(("aten.atleast_1d", "aten.atleast_2d", "aten.atleast_3d"), _of_each(_reshape)),
    **dict.fromkeys(("aten.expand", "aten.expand_as", "aten.broadcast_to", "aten.expand_copy"), _expand),
    **dict.fromkeys(("aten.permute", "aten.permute_copy"), _permute),
    **dict.fromkeys(("aten.transpose", "aten.swapaxes", "aten.transpose_copy"), _transpose),
    **dict.fromkeys(("aten.t", "aten.mT", "aten.numpy_T", "aten.adjoint", "aten.t_copy"), _turned),
    **dict.fromkeys(("aten.movedim", "aten.moveaxis"), _moved),
    **dict.fromkeys(("aten.squeeze", "aten.squeeze_copy"), _squeeze),
    **dict.fromkeys(("aten.unsqueeze", "aten.unsqueeze_copy"), _unsqueeze),
    **dict.fromkeys(
        ("aten.split", "aten.split_with_sizes", "aten.chunk", "aten.tensor_split", "aten.unsafe_split"), _parts
    ),
    **dict.fromkeys(("aten.unbind", "aten.unbind_copy"), _unbind),
    **dict.fromkeys(("aten.cat", "aten.concat", "aten.concatenate"), _cat),
    **dict.fromkeys(("aten.select", "aten.select_copy"), _select),
    **dict.fromkeys(("aten.slice", "aten.slice_copy"), _slice),
    **dict.fromkeys(("aten.repeat", "aten.tile"), _repeat),
    **dict.fromkeys(("aten.ones", "aten.ones_like", "aten.new_ones"), _filled(1)),
    **dict.fromkeys(("aten.zeros", "aten.zeros_like", "aten.new_zeros"), _filled(0)),
    **dict.fromkeys(("aten.empty", "aten.new_empty", "aten.empty_like", "aten.empty_strided"), _filled(0)),
    **dict.fromkeys(("aten.full", "aten.full_like", "aten.new_full", "aten.fill"), _filled(None)),
    "aten.arange": _arange,
    "aten.copy": _copied,
    "aten.eye": _eye,
    "aten.flip": _flip,
    "aten.linspace": _linspace,
    "aten.meshgrid": _meshgrid,
    "aten.narrow": _narrow,
    "aten.pixel_shuffle": _blocks("depth_to_space", "upscale_factor"),
    "aten.pixel_unshuffle": _blocks("space_to_depth", "downscale_factor"),
    "aten.repeat_interleave": _repeat_interleave,
    "aten.roll": _roll,
    "aten.scalar_tensor": lambda x: x.value(x[0]),
    "aten.stack": _stack,
    "aten.tril": _triangle(upper=False),
    "aten.triu": _triangle(upper=True),
    "aten.view": _viewed,
}
"""What each op means."""
