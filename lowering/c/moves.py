"""Ops that only move entries: where each comes from is asked of the op itself, and written as loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.lowering.c.arrays import Array, Reference, literal
from graphrewrite.lowering.c.kernel import Kernel, Step, Unfit
from graphrewrite.lowering.c.loops import counted, nest, runs

__all__ = ["MOVES", "copied_part", "moved"]

_FILLED = {"pad": "fill", "trilu": ""}
"""Ops with entries that come from nowhere, and the attribute that says what they are; 0 without one."""


def moved(step: Step) -> list[str]:
    """Copy the entries of each operand to where the op brings numbers that stand for their places."""
    sources = step.operands if step.op.name == "concat" else step.operands[:1]
    lines: list[str] = []
    for x in sources:
        for target, source in zip(step.results, _sources(step, _places(step, x)), strict=True):
            if (source < 0).any() and step.op.name in _FILLED and x is sources[0]:
                lines += _filled(step, target)
            own = source.ravel() >= 0
            lines += _copied(step, target, x, target.positions().ravel()[own], source.ravel()[own])
    return lines


def _places(step: Step, source: Array) -> list[np.ndarray | None]:
    """Return what stands for each operand: the places of the one that is moved, nothing, or what says where to."""
    if step.op.name == "concat":
        return [x.positions() if x is source else np.full(x.shape, -1, np.int64) for x in step.operands]
    return [source.positions(), *(x.value for x in step.operands[1:])]


def _sources(step: Step, places: list[np.ndarray | None]) -> list[np.ndarray]:
    if any(each is None for each in places):
        raise Unfit("what says where entries go is not constant")
    attributes = dict(step.attributes)
    if step.op.name == "pad":
        attributes["fill"] = -1
    shifted = [np.asarray(each) for each in places]
    if step.op.name == "trilu":  # what it leaves out is 0
        shifted[0] = shifted[0] + 1
    try:
        computed = step.op.function(*shifted, **attributes)
    except (GraphRewriteError, ValueError, IndexError) as error:
        raise Unfit(str(error)) from None
    found = computed if isinstance(computed, tuple) else (computed,)
    less = int(step.op.name == "trilu")
    return [np.asarray(each, np.int64) - less for each in found]


def _filled(step: Step, target: Array) -> list[str]:
    number = step.attributes.get(_FILLED[step.op.name], 0)
    text = literal(target.dtype.type(number), target.dtype)
    return nest(target.shape, [target], lambda y: [f"{y} = {text};"])


def _copied(step: Step, target: Array, x: Array, to: np.ndarray, of: np.ndarray) -> list[str]:
    """Return loops that copy entries between places."""
    if not len(to):
        return []
    found = runs(to, of)
    if found is None:
        return _by_table(step, target, x, to, of)
    names = [f"i{axis}" for axis in range(len(found))]
    y, source = (
        replace(array, offset=int(first), strides=(), shape=()).entry(
            [(name, strides[which]) for name, (_, strides) in zip(names, found, strict=True)]
        )
        for which, (array, first) in enumerate(((target, to[0]), (x, of[0])))
    )
    lines = [f"{y} = {source};"]
    for name, (count, _) in zip(reversed(names), reversed(found), strict=True):
        lines = counted(name, count, lines)
    return lines


def copied_part(kind: str, out: Array, x: Array, starts: Sequence[int]) -> list[str]:
    """Return loops that copy a value into a region, into a box of it, or a box of the value."""
    if kind == "insert":
        out = out.part(starts, x.shape)
    elif kind == "extract":
        x = x.part(starts, out.shape)
    return nest(out.shape, [out, x], lambda y, entry: [f"{y} = {entry};"])


def _by_table(step: Step, target: Array, x: Array, to: np.ndarray, of: np.ndarray) -> list[str]:
    """Return a loop over entries whose places have no pattern; tables say where they come from and go."""
    order = np.argsort(to, kind="stable")
    to, of = to[order], of[order]
    index = step.table("from", of, np.int32)
    y = f"{target.name}[i0]"
    if (np.diff(to) != 1).any() or to[0]:
        y = f"{target.name}[{step.table('to', to, np.int32).name}[i0]]"
    source = x.number or f"{x.name}[{index.name}[i0]]"
    return counted("i0", len(to), [f"{y} = {source};"])


def _gather(step: Step) -> list[str]:
    """Copy entries at indices that are known at run time only; an index beyond an end is that end."""
    x, indices = step.operands
    if indices.value is not None:
        return moved(step)
    rank, at, many = len(x.shape), step.attributes["axis"] % len(x.shape), len(indices.shape)
    result = step.result.shape
    index = indices.with_ones([*range(at)]).with_ones([*range(at + many, at + many + rank - at - 1)])
    others = [*range(at), *range(at + 1, rank)]
    part = x.along(others)
    spread = Array(x.name, x.dtype, part.shape, part.strides, x.offset).with_ones([*range(at, at + many)])

    def body(y: Reference, place: Reference, entry: Reference) -> list[str]:
        return [f"{y} = {entry.plus(_index(place, indices, x, at))};"]

    return nest(result, [step.result, index, spread], body)


def _index(place: Reference, indices: Array, x: Array, axis: int) -> str:
    """Return how far an index along an axis leads; an index beyond an end is that end."""
    size, stride = x.shape[axis], x.strides[axis]
    if not size:
        raise Unfit("there is nothing to gather from")
    if indices.dtype.kind == "u":
        own = f"({place} > {size - 1} ? {size - 1} : (int64_t){place})"
    else:
        own = f"limited({place} < 0 ? (int64_t){place} + {size} : (int64_t){place}, 0, {size - 1})"
    return own if stride == 1 else f"{own} * {stride}"


def _gather_elements(step: Step) -> list[str]:
    x, indices = step.operands
    if indices.value is not None:
        return moved(step)
    at = step.attributes["axis"] % len(x.shape)
    # All but the axis itself advance together.
    rows = Array(x.name, x.dtype, indices.shape, tuple(0 if a == at else s for a, s in enumerate(x.strides)), x.offset)

    def body(y: Reference, place: Reference, entry: Reference) -> list[str]:
        return [f"{y} = {entry.plus(_index(place, indices, x, at))};"]

    return nest(indices.shape, [step.result, indices, rows], body)


def _gather_nd(step: Step) -> list[str]:
    x, indices = step.operands
    if indices.value is not None:
        return moved(step)
    batch, many, last = step.attributes["batch_dims"], len(indices.shape) - 1, indices.shape[-1]
    rest = len(x.shape) - batch - last
    first = indices.along([*range(many)]).with_ones([*range(many, many + rest)])
    kept = [*range(batch), *range(batch + last, len(x.shape))]
    part = x.along(kept).with_ones([*range(batch, many)])

    def body(y: Reference, place: Reference, entry: Reference) -> list[str]:
        for axis in range(last):
            own = place if axis == 0 else place.plus(str(axis * indices.strides[-1]))
            entry = entry.plus(_index(own, indices, x, batch + axis))
        return [f"{y} = {entry};"]

    return nest(step.result.shape, [step.result, first, part], body)


def _one_hot(step: Step) -> list[str]:
    indices, values = step.operands
    depth, rank = int(step.attributes["depth"]), len(step.result.shape)
    at = step.attributes["axis"] % rank
    others = [axis for axis in range(rank) if axis != at]
    off, on = (str(values.at(i)) if values.number is None else values.number for i in (0, 1))

    def body(y: Reference, index: Reference) -> list[str]:
        own = y.plus("k" if step.result.strides[at] == 1 else f"k * {step.result.strides[at]}")
        whole = f"int64_of({index})" if indices.dtype.kind == "f" else f"(int64_t){index}"
        place = f"{whole} < 0 ? {whole} + {depth} : {whole}"
        if indices.dtype.kind == "u":
            place = f"{index} < {depth} ? (int64_t){index} : -1"
        return [f"const int64_t found = {place};", *counted("k", depth, [f"{own} = k == found ? {on} : {off};"])]

    return nest(indices.shape, [step.result.along(others), indices], body)


MOVES = {
    **{
        name: Kernel(moved, short=True)
        for name in (
            *("channel_shuffle", "concat", "depth_to_space", "dropout", "expand", "flatten", "identity", "name_axes"),
            *(
                "pad",
                "reshape",
                "reverse_sequence",
                "slice",
                "space_to_depth",
                "split",
                "squeeze",
                "tile",
                "transfer",
                "transpose",
                "trilu",
                "unsqueeze",
            ),
        )
    },
    "gather": Kernel(_gather, short=True),
    "gather_elements": Kernel(_gather_elements, short=True),
    "gather_nd": Kernel(_gather_nd, short=True),
    "one_hot": Kernel(_one_hot),
}
"""Kernels of ops that move entries."""
