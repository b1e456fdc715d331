"""Models of one operator of TensorFlow Lite each that moves entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.tflite_files import Node, T
from tests.support.tflite_tensors import Case, Rng, case, f, ints, q, sizes

__all__ = ["MOVES", "moved"]


def moved(
    rng: Rng, kind: str, shape: Sequence[int], out: Sequence[int], *constants: np.ndarray, first: bool = False,
    options: Mapping[str, Any] = {}, real: bool = False, version: int = 1,
) -> Case:  # fmt: skip
    """An operator that moves entries, with constant operands after or before the first one."""
    x = f("x", shape) if real else q(rng, "x", shape)
    y = f("y", out) if real else q(rng, "y", out, scale=x.scale, zero=x.zero)
    held = [T.of(f"c{at}", each) for at, each in enumerate(constants)]
    names = [t.name for t in held]
    node = Node(kind, [*names, "x"] if first else ["x", *names], ["y"], options, version=version)
    return case(rng, [x, *held, y], [node])


def pad(rng: Rng, kind: str = "PAD", *, real: bool = False) -> Case:
    shape = sizes(rng, 4)
    borders = rng.integers(0, 3, (4, 2)) if kind != "MIRROR_PAD" else np.stack([rng.integers(0, n, 2) for n in shape])
    borders[0] = 0
    mode = int(rng.integers(0, 2))
    options = {"mode": mode} if kind == "MIRROR_PAD" else {}
    out = np.array(shape) + borders.sum(axis=1)
    return moved(rng, kind, shape, out, borders.astype(np.int32), options=options, real=real)


def concatenation(rng: Rng, *, real: bool = False) -> Case:
    shape, axis = sizes(rng, 4), int(rng.integers(1, 4))
    x = f("x", shape) if real else q(rng, "x", shape)
    other = tuple(int(rng.integers(1, 5)) if at == axis else size for at, size in enumerate(shape))
    z, y = (T(n, s, x.element, x.scale, x.zero) for n, s in (("z", other), ("y", ())))
    y.shape = tuple(a + b if at == axis else a for at, (a, b) in enumerate(zip(shape, other, strict=True)))
    node = Node("CONCATENATION", ["x", "z"], ["y"], {"axis": axis - 4 if rng.random() < 0.5 else axis})
    return case(rng, [x, z, y], [node], inputs=2)


def strided(rng: Rng, *, real: bool = False) -> Case:
    shape = sizes(rng, int(rng.integers(1, 5)))
    rank = len(shape)
    begin, end, steps, out = [], [], [], []
    masks = dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask"), 0)
    for at, size in enumerate(shape):
        step = int(rng.choice([1, 1, 2, -1]))
        low, high = sorted(int(v) for v in rng.integers(0, size + 1, 2))
        first, last = (low, high) if step > 0 else (max(high - 1, 0), low - 1)
        if step < 0 and last < 0:
            masks["end_mask"] |= 1 << at
        if at == 0:
            first, last, step = 0, size, 1
        if rng.random() < 0.3:
            masks["begin_mask"] |= 1 << at
            first = 0 if step > 0 else size - 1
        stop = last if not masks["end_mask"] >> at & 1 else (size if step > 0 else -1)
        if at and rng.random() < 0.2:
            masks["shrink_axis_mask"] |= 1 << at
            begin, end, steps = [*begin, min(first, size - 1)], [*end, min(first, size - 1) + 1], [*steps, 1]
            masks["begin_mask"] &= ~(1 << at)
            masks["end_mask"] &= ~(1 << at)
            continue
        out.append(len(range(first, stop, step)))
        begin, end, steps = [*begin, first], [*end, last], [*steps, step]
    if 0 in out:
        return strided(rng, real=real)
    assert len(begin) == rank
    return moved(rng, "STRIDED_SLICE", shape, out, ints(*begin), ints(*end), ints(*steps), options=masks, real=real)


def sliced(rng: Rng, *, real: bool = False) -> Case:
    shape = sizes(rng, 3)
    begin = [0, *(int(rng.integers(0, n)) for n in shape[1:])]
    size = [int(rng.integers(1, n - b + 1)) for n, b in zip(shape, begin, strict=True)]
    given = [-1 if b + s == n and rng.random() < 0.5 else s for n, b, s in zip(shape, begin, size, strict=True)]
    return moved(rng, "SLICE", shape, size, ints(*begin), ints(*given), real=real)


def transposed(rng: Rng, *, real: bool = False) -> Case:
    shape = sizes(rng, 4)
    perm = rng.permutation(4)
    return moved(rng, "TRANSPOSE", shape, [shape[p] for p in perm], perm.astype(np.int32), real=real)


def gathered(rng: Rng, *, real: bool = False) -> Case:
    shape, axis = sizes(rng, 3), int(rng.integers(1, 3))
    index = rng.integers(0, shape[axis], (2, 3)).astype(np.int32)
    out = (*shape[:axis], 2, 3, *shape[axis + 1 :])
    return moved(rng, "GATHER", shape, out, index, options={"axis": axis}, real=real)


def reshaped(rng: Rng, *, real: bool = False) -> Case:
    shape = sizes(rng, 3)
    out = (1, shape[1] * shape[2])
    return moved(rng, "RESHAPE", shape, out, ints(*((-1, out[1]) if rng.random() < 0.5 else out)), real=real)


def parts(rng: Rng, kind: str, *, real: bool = False) -> Case:
    shape, axis = sizes(rng, 4), int(rng.integers(1, 4))
    count = int(rng.integers(1, 4))
    lengths = [int(rng.integers(1, 4))] * count if kind != "SPLIT_V" else rng.integers(1, 4, count).tolist()
    lengths = [1] * count if kind == "UNPACK" else lengths
    x = f("x", shape) if real else q(rng, "x", shape)
    x.shape = tuple(sum(lengths) if at == axis else n for at, n in enumerate(shape))
    ends = []
    for at, length in enumerate(lengths):
        left = shape[:axis] + ((length,) if kind != "UNPACK" else ()) + shape[axis + 1 :]
        ends.append(T(f"y{at}", left, x.element, x.scale, x.zero))
    along = T.of("axis", np.array(axis, np.int32))
    names = [t.name for t in ends]
    if kind == "UNPACK":
        return case(rng, [x, *ends], [Node(kind, ["x"], names, {"num": count, "axis": axis})])
    if kind == "SPLIT":
        return case(rng, [x, along, *ends], [Node(kind, ["axis", "x"], names, {"num_splits": count})])
    by = T.of("sizes", ints(*lengths))
    return case(rng, [x, along, by, *ends], [Node(kind, ["x", "sizes", "axis"], names, {"num_splits": count})])


def packed(rng: Rng, *, real: bool = False) -> Case:
    shape, axis = sizes(rng, 3), int(rng.integers(1, 4))
    x = f("x", shape) if real else q(rng, "x", shape)
    z = T("z", shape, x.element, x.scale, x.zero)
    y = T("y", (*shape[:axis], 2, *shape[axis:]), x.element, x.scale, x.zero)
    return case(rng, [x, z, y], [Node("PACK", ["x", "z"], ["y"], {"values_count": 2, "axis": axis})], inputs=2)


def extreme(rng: Rng, kind: str, *, real: bool = False) -> Case:
    shape, axis = sizes(rng, 3), int(rng.integers(1, 3))
    x = f("x", shape) if real else q(rng, "x", shape)
    y = T("y", shape[:axis] + shape[axis + 1 :], "i32")
    return case(
        rng, [x, T.of("axis", np.array(axis, np.int32)), y], [Node(kind, ["x", "axis"], ["y"], {"output_type": 2})]
    )


def depth(rng: Rng, kind: str, *, real: bool = False) -> Case:
    h, w, c = map(int, rng.integers(1, 4, 3))
    small, large = (1, h, w, c * 4), (1, h * 2, w * 2, c)
    ends = (small, large) if kind == "DEPTH_TO_SPACE" else (large, small)
    return moved(rng, kind, *ends, options={"block_size": 2}, real=real)


MOVES: dict[str, Callable[..., Case]] = {
    "PAD": pad,
    "MIRROR_PAD": lambda rng, **k: pad(rng, "MIRROR_PAD", **k),
    "CONCATENATION": concatenation,
    "STRIDED_SLICE": strided,
    "SLICE": sliced,
    "TRANSPOSE": transposed,
    "GATHER": gathered,
    "RESHAPE": reshaped,
    "SPLIT": lambda rng, **k: parts(rng, "SPLIT", **k),
    "SPLIT_V": lambda rng, **k: parts(rng, "SPLIT_V", **k),
    "UNPACK": lambda rng, **k: parts(rng, "UNPACK", **k),
    "PACK": packed,
    "ARG_MAX": lambda rng, **k: extreme(rng, "ARG_MAX", **k),
    "ARG_MIN": lambda rng, **k: extreme(rng, "ARG_MIN", **k),
    "DEPTH_TO_SPACE": lambda rng, **k: depth(rng, "DEPTH_TO_SPACE", **k),
    "SPACE_TO_DEPTH": lambda rng, **k: depth(rng, "SPACE_TO_DEPTH", **k),
    "SQUEEZE": lambda rng, **k: moved(rng, "SQUEEZE", (1, 3, 1, 2), (1, 3, 2), options={"squeeze_dims": [2]}, **k),
    "EXPAND_DIMS": lambda rng, **k: moved(rng, "EXPAND_DIMS", (1, 3, 2), (1, 3, 1, 2), np.array(2, np.int32), **k),
    "TILE": lambda rng, **k: moved(rng, "TILE", (1, 3, 2), (1, 6, 6), ints(1, 2, 3), **k),
    "REVERSE_V2": lambda rng, **k: moved(rng, "REVERSE_V2", (1, 3, 2), (1, 3, 2), ints(1), **k),
}
"""Of stored numbers; with ``real=True`` of real ones."""
