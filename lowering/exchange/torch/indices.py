"""Ops of PyTorch that read and write entries at indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphrewrite import op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.call import Call, Row, cast, fixed_size

__all__ = ["INDICES"]


def _index_select(x: Call) -> Any:
    if not x.shape_of(x[0]):
        return x[0]
    index = x["index"] if x.shape_of(x["index"]) else op.unsqueeze(x["index"], axes=(0,))
    return op.gather(x[0], index, axis=x.axis("dim"))


def _gather(x: Call) -> Any:
    """Indices may have fewer entries than the operand along other axes, of which the first ones are meant."""
    axis, value, index = x.axis("dim"), x[0], x["index"]
    if not x.shape_of(index):
        return value
    sizes = zip(x.shape_of(value), x.shape_of(index), strict=True)
    cut = [at for at, (have, want) in enumerate(sizes) if at != axis and have != want]
    if cut:
        ends = tuple(x.shape_of(index)[at] for at in cut)
        value = op.slice(value, starts=(0,) * len(cut), ends=ends, axes=tuple(cut))
    return op.gather_elements(value, index, axis=axis)


def _embedding(x: Call) -> Any:
    return op.gather(x["weight"], x["indices"])


def _bags(x: Call) -> Any:
    """Sums, means or maxima of bags of rows of a table, bags of one size."""
    for name, *usual in (("per_sample_weights", None), ("include_last_offset", False), ("padding_idx", -1)):
        x.need(name, *usual)
    indices, starts = x["indices"], x.array(x["offsets"], "offsets")
    count, total = len(starts), indices.type.shape[0]
    size = total // count if count and isinstance(total, int) else 0
    if not size or starts.tolist() != list(range(0, total, size)):
        raise Unfit("its bags are of several sizes, or empty")
    rows = op.gather(x["weight"], op.reshape(indices, shape=(count, size)))
    reduce = (op.reduce_sum, op.reduce_mean, op.reduce_max)[int(x["mode"])]
    return x.first(reduce(rows, axes=(1,), keep_dims=False))


def _index(x: Call) -> Any:
    """Indices by tensors: those of several axes belong together, entry by entry."""
    value, indices = x[0], x["indices"]
    at = [axis for axis, each in enumerate(indices) if each is not None]
    if not at:
        return value
    if any(indices[axis].type.element == "bool" for axis in at):
        raise Unfit("how many entries a mask chooses depends on its values; use torch.where")
    if len(at) == 1:
        return op.gather(value, indices[at[0]], axis=at[0])
    rank = len(x.shape_of(value))
    rest = [axis for axis in range(rank) if axis not in at]
    moved = op.transpose(value, perm=(*at, *rest)) if [*at, *rest] != list(range(rank)) else value
    found = op.gather_nd(moved, _positions(x, [indices[axis] for axis in at]))
    count = len(found.type.shape) - len(rest)
    if at[0] and at == list(range(at[0], at[-1] + 1)):  # axes side by side: the new ones take their place
        new, old = range(count), range(count, count + len(rest))
        found = op.transpose(found, perm=(*old[: at[0]], *new, *old[at[0] :]))
    return found


def _positions(x: Call, indices: Sequence[Value]) -> Any:
    """Return indices of several axes as vectors along a new last axis."""
    shape = indices[0].type.shape
    for each in indices[1:]:
        shape = _broadcast(shape, each.type.shape)
    wide = [each if each.type.shape == shape else op.expand(each, shape=shape) for each in indices]
    return op.concat(*(op.unsqueeze(cast(each, "i64"), axes=(len(shape),)) for each in wide), axis=len(shape))


def _broadcast(one: Sequence[Any], other: Sequence[Any]) -> tuple[Any, ...]:
    rank = max(len(one), len(other))
    pairs = zip((1,) * (rank - len(one)) + tuple(one), (1,) * (rank - len(other)) + tuple(other), strict=True)
    return tuple(b if a == 1 else a for a, b in pairs)


def _index_put(x: Call) -> Any:
    indices = x["indices"]
    if any(each is None or each.type.element == "bool" for each in indices):
        (mask,) = indices if len(indices) == 1 else (None,)
        if mask is not None and mask.type.element == "bool" and not x["values"].type.shape and not x["accumulate"]:
            more = tuple(range(len(mask.type.shape), len(x.shape)))
            mask = op.unsqueeze(mask, axes=more) if more else mask
            return op.where(mask, x.value(x["values"]), x[0])
        raise Unfit("it writes where a mask, or a slice beside indices, says so; use torch.where")
    positions = _positions(x, indices)
    shape = (*positions.type.shape[:-1], *x.shape[len(indices) :])
    values = x.value(x["values"])
    values = values if values.type.shape == shape else op.expand(values, shape=shape)
    return op.scatter_nd(x[0], positions, values, reduction="add" if x["accumulate"] else "none")


def _scatter(reduction: str = "none") -> Row:
    kinds = {
        None: reduction,
        "add": "add",
        "multiply": "mul",
        "sum": "add",
        "prod": "mul",
        "amax": "max",
        "amin": "min",
    }

    def compute(x: Call) -> Any:
        index = x["index"]
        given = x.get("src", x.get("value"))
        if isinstance(given, Value):
            if given.type.shape != index.type.shape:
                rank = len(index.type.shape)
                given = op.slice(given, starts=(0,) * rank, ends=index.type.shape, axes=tuple(range(rank)))
            updates = given
        else:
            updates = op.expand(x.value(given), shape=index.type.shape)
        if x.get("include_self", True) is False or x.get("reduce") not in kinds:
            raise Unfit(f"reduce={x.get('reduce')!r}, include_self={x.get('include_self')} is not supported")
        return op.scatter_elements(x[0], index, x.value(updates), axis=x.axis("dim"), reduction=kinds[x.get("reduce")])

    return compute


def _slice_scatter(x: Call) -> Any:
    axis, size = x.axis("dim"), x.shape[x.axis("dim")]
    start, end, step = x["start"], x["end"], x["step"]
    return _written(x, axis, range(*slice(start, end, step).indices(fixed_size(size))), x.value(x["src"]))


def _select_scatter(x: Call) -> Any:
    axis = x.axis("dim")
    index = x["index"] % fixed_size(x.shape[axis])
    return _written(x, axis, range(index, index + 1), op.unsqueeze(x.value(x["src"]), axes=(axis,)))


def _written(x: Call, axis: int, places: Any, part: Value) -> Any:
    """Return the operand with some entries of an axis replaced."""
    size = fixed_size(x.shape[axis])
    if places.step == 1:
        sizes = (places.start, len(places), size - places.start - len(places))
        kept = [at for at, n in enumerate(sizes) if n]
        old = dict(zip(kept, _split(x[0], axis, [sizes[at] for at in kept]), strict=True))
        return _joined([part if at == 1 else old[at] for at in kept], axis)
    rank = len(x.shape)
    index = np.asarray(places).reshape(-1, *[1] * (rank - 1 - axis))
    wide = op.expand(x.constant(index, "i64"), shape=part.type.shape)
    return op.scatter_elements(x[0], wide, part, axis=axis)


def _split(value: Value, axis: int, sizes: Sequence[int]) -> tuple[Any, ...]:
    return tuple(op.split(value, axis=axis, sizes=tuple(sizes))) if len(sizes) > 1 else (value,)


def _joined(parts: Sequence[Value], axis: int) -> Any:
    return op.concat(*parts, axis=axis) if len(parts) > 1 else parts[0]


def _one_hot(x: Call) -> Any:
    values = x.constant([0, 1])
    return op.one_hot(x[0], values, depth=fixed_size(x.shape[-1]))


def _top(x: Call) -> Any:
    axis = x.axis("dim")
    return op.top_k(x[0], k=x["k"], axis=axis, largest=bool(x["largest"]))


def _sorted(x: Call) -> Any:
    axis = x.axis("dim")
    found = op.top_k(x[0], k=x.shape_of(x[0])[axis], axis=axis, largest=bool(x["descending"]))
    return found if len(x.results) == 2 else found[1]


def _diagonal(x: Call) -> Any:
    one, other = x.axis("dim1"), x.axis("dim2")
    sizes, offset = x.shape_of(x[0]), x["offset"]
    count = fixed_size(x.shape[-1])
    rows, columns = np.arange(count) - min(offset, 0), np.arange(count) + max(offset, 0)
    rest = [axis for axis in range(len(sizes)) if axis not in (one, other)]
    moved = op.transpose(x[0], perm=(one, other, *rest))
    found = op.gather_nd(moved, x.constant(np.transpose([rows, columns]), "i64"))
    return op.transpose(found, perm=(*range(1, len(rest) + 1), 0)) if rest else found


def _windows(x: Call) -> Any:
    """Windows along an axis, their entries along a new last one."""
    axis, size, step = x.axis("dimension"), x["size"], x["step"]
    count = fixed_size(x.shape[axis])
    places = np.arange(count)[:, None] * step + np.arange(size)
    found = op.gather(x[0], x.constant(places, "i64"), axis=axis)
    rank = len(found.type.shape)
    order = [at for at in range(rank) if at != axis + 1]
    return op.transpose(found, perm=(*order, axis + 1)) if axis + 1 != rank - 1 else found


INDICES: dict[str, Row] = {
    **dict.fromkeys(("aten.scatter", "aten.scatter_reduce"), _scatter()),
    **dict.fromkeys(("aten.index_put", "aten._unsafe_index_put"), _index_put),
    **dict.fromkeys(("aten.index", "aten._unsafe_index"), _index),
    "aten.argsort": _sorted,
    "aten.diagonal": _diagonal,
    "aten._embedding_bag": _bags,
    "aten._embedding_bag_forward_only": _bags,
    "aten.embedding": _embedding,
    "aten.gather": _gather,
    "aten.index_select": _index_select,
    "aten.one_hot": _one_hot,
    "aten.scatter_add": _scatter("add"),
    "aten.select_scatter": _select_scatter,
    "aten.slice_scatter": _slice_scatter,
    "aten.sort": _sorted,
    "aten.topk": _top,
    "aten.unfold": _windows,
}
"""What each op means."""
