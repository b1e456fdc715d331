"""Further models of one operator each: those whose operands are indices, conditions and sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tests.support.tflite_cases import CASES, REAL
from tests.support.tflite_files import Node, T
from tests.support.tflite_movement_cases import moved
from tests.support.tflite_state_cases import branch, loop
from tests.support.tflite_tensors import Case, Rng, case, f, ints, q, scale, sizes
from tests.support.tflite_wide_cases import WIDE

__all__ = ["PLAIN", "STORED"]


def _of(rng: Rng, name: str, shape: Sequence[int], *, real: bool, like: T | None = None) -> T:
    if real:
        return f(name, shape)
    return q(rng, name, shape, **({} if like is None else {"scale": like.scale, "zero": like.zero}))


def padded_with(rng: Rng, *, real: bool = False) -> Case:
    shape, borders = sizes(rng, 4), rng.integers(0, 3, (4, 2)).astype(np.int32)
    borders[0] = 0
    x = _of(rng, "x", shape, real=real)
    y = _of(rng, "y", np.array(shape) + borders.sum(axis=1), real=real, like=x)
    fill = np.float32(1.5) if real else np.int8(rng.integers(-128, 128))
    fixed = T.of("fill", fill, **({} if real else {"scale": x.scale, "zero": x.zero}))
    return case(rng, [x, T.of("pads", borders), fixed, y], [Node("PADV2", ["x", "pads", "fill"], ["y"])])


def chosen(rng: Rng, kind: str, *, real: bool = False) -> Case:
    shape = sizes(rng, 3)
    x = _of(rng, "x", shape, real=real)
    z, y = (_of(rng, name, shape, real=real, like=x) for name in ("z", "y"))
    return case(rng, [T("c", shape, "bool"), x, z, y], [Node(kind, ["c", "x", "z"], ["y"])], inputs=3)


def gathered_at(rng: Rng, *, real: bool = False) -> Case:
    shape = (1, 3, 4, 2)
    index = np.stack([np.zeros(5), rng.integers(0, 3, 5), rng.integers(0, 4, 5)], axis=-1).astype(np.int32)
    return moved(rng, "GATHER_ND", shape, (5, 2), index, real=real)


def blocked(rng: Rng, kind: str, *, real: bool = False) -> Case:
    """Blocks of one or two axes that become samples, with a border, or the other way."""
    rank = int(rng.integers(3, 5))
    blocks, inner = rng.integers(1, 4, rank - 2), rng.integers(1, 4, rank - 2)
    borders = rng.integers(0, 3, (rank - 2, 2))
    borders = np.where(borders.sum(axis=1, keepdims=True) < inner[:, None] * blocks[:, None], borders, 0)
    image = tuple(map(int, inner * blocks - borders.sum(axis=1)))
    batch, channels = int(rng.integers(1, 3)), int(rng.integers(1, 4))
    whole, split = (batch, *image, channels), (batch * int(blocks.prod()), *map(int, inner), channels)
    ends = (whole, split) if kind == "SPACE_TO_BATCH_ND" else (split, whole)
    return moved(rng, kind, *ends, ints(*blocks), borders.astype(np.int32), real=real)


def gathered_by_sample(rng: Rng, *, real: bool = False) -> Case:
    shape, axis = (*map(int, rng.integers(1, 4, 4)),), int(rng.integers(1, 4))
    batch = int(rng.integers(1, axis + 1))
    lead, (low, *rest) = shape[:batch], shape[axis:]
    index = rng.integers(0, low, (*lead, 3)).astype(np.int32)
    options = {"axis": axis, "batch_dims": batch}
    return moved(rng, "GATHER", shape, (*shape[:axis], 3, *rest), index, options=options, real=real)


def best(rng: Rng) -> Case:
    shape, k = (*sizes(rng, 2), 7), int(rng.integers(1, 7))
    ends = [f("y", (*shape[:2], k)), T("i", (*shape[:2], k), "i32")]
    return case(rng, [f("x", shape), T.of("k", np.int32(k)), *ends], [Node("TOPK_V2", ["x", "k"], ["y", "i"])])


def one_hot(rng: Rng) -> Case:
    shape, depth, axis = sizes(rng, 2), int(rng.integers(1, 5)), int(rng.integers(-1, 2))
    at = len(shape) if axis < 0 else axis
    held = [T.of("depth", np.int32(depth)), T.of("on", np.float32(2)), T.of("off", np.float32(-1))]
    y = f("y", (*shape[:at], depth, *shape[at:]))
    return case(
        rng, [T("x", shape, "i32"), *held, y], [Node("ONE_HOT", ["x", "depth", "on", "off"], ["y"], {"axis": axis})]
    )


def scattered(rng: Rng) -> Case:
    index = rng.integers(0, 4, (5, 1)).astype(np.int32)
    held = [T.of("i", index), T.of("shape", ints(4, 3))]
    return case(rng, [f("x", (5, 3)), *held, f("y", (4, 3))], [Node("SCATTER_ND", ["i", "x", "shape"], ["y"])])


def reversed_sequence(rng: Rng) -> Case:
    shape = (3, 5, 2)
    lengths = rng.integers(1, 6, 3).astype(np.int32)
    options = {"seq_dim": 1, "batch_dim": 0}
    return moved(rng, "REVERSE_SEQUENCE", shape, shape, lengths, options=options, real=True)


def cast(rng: Rng, source: str, target: str) -> Case:
    shape = sizes(rng, 3)
    return case(rng, [T("x", shape, source), T("y", shape, target)], [Node("CAST", ["x"], ["y"])])


def positive(rng: Rng, kind: str) -> Case:
    """A function of positive numbers: those of a square."""
    shape = sizes(rng, 3)
    square = Node("SQUARE", ["x"], ["s"])
    return case(rng, [f("x", shape), f("s", shape), f("y", shape)], [square, Node(kind, ["s"], ["y"])])


def power(rng: Rng) -> Case:
    shape = sizes(rng, 3)
    node = Node("POW", ["s", "z"], ["y"])
    tensors = [f("x", shape), f("z", shape), f("s", shape), f("y", shape)]
    return case(rng, tensors, [Node("SQUARE", ["x"], ["s"]), node], inputs=2)


def logical(rng: Rng, kind: str) -> Case:
    shape = sizes(rng, 3)
    names = ["x"] if kind == "LOGICAL_NOT" else ["x", "z"]
    tensors = [T(name, shape, "bool") for name in (*names, "y")]
    return case(rng, tensors, [Node(kind, names, ["y"])], inputs=len(names))


def whole(rng: Rng, kind: str) -> Case:
    """Of integers; the second operand is not zero."""
    shape = sizes(rng, 3)
    other = (rng.integers(1, 5, shape) * rng.choice([-1, 1], shape)).astype(np.int32)
    tensors = [T("x", shape, "i32"), T.of("z", other), T.of("m", rng.integers(-9, 9, shape).astype(np.int32))]
    tensors += [T("s", shape, "i32"), T("y", shape, "i32")]
    return case(rng, tensors, [Node("ADD", ["x", "m"], ["s"]), Node(kind, ["s", "z"], ["y"])])


def summed(rng: Rng) -> Case:
    shape = sizes(rng, 3)
    tensors = [f(name, shape) for name in ("x", "z", "y")]
    return case(rng, tensors, [Node("ADD_N", ["x", "z", "x"], ["y"])], inputs=2)


def cumulated(rng: Rng) -> Case:
    shape = sizes(rng, 3)
    options = {"exclusive": bool(rng.integers(0, 2)), "reverse": bool(rng.integers(0, 2))}
    axis = T.of("axis", np.int32(rng.integers(1, 3)))
    return case(rng, [f("x", shape), axis, f("y", shape)], [Node("CUMSUM", ["x", "axis"], ["y"], options)])


def filled(rng: Rng) -> Case:
    tensors = [f("x", ()), T.of("dims", ints(2, 3)), f("y", (2, 3))]
    return case(rng, tensors, [Node("FILL", ["dims", "x"], ["y"])])


def shape_of(rng: Rng) -> Case:
    shape = sizes(rng, 4)
    return case(rng, [f("x", shape), T("y", (4,), "i32")], [Node("SHAPE", ["x"], ["y"], {"out_type": 2})])


def counted(rng: Rng) -> Case:
    """A range beside an input, which models have."""
    first, step, count = (int(v) for v in rng.integers(1, 4, 3))
    held = [T.of(n, np.int32(v)) for n, v in (("a", first), ("b", first + step * count - step + 1), ("c", step))]
    nodes = [Node("RANGE", ["a", "b", "c"], ["r"]), Node("ADD", ["x", "r"], ["y"])]
    return case(rng, [T("x", (count,), "i32"), *held, T("r", (count,), "i32"), T("y", (count,), "i32")], nodes)


def every(rng: Rng, kind: str) -> Case:
    shape, axis = sizes(rng, 3), int(rng.integers(1, 3))
    ends = [T.of("axes", ints(axis)), T("y", shape[:axis] + shape[axis + 1 :], "bool")]
    return case(rng, [T("x", shape, "bool"), *ends], [Node(kind, ["x", "axes"], ["y"], {"keep_dims": False})])


def rows(rng: Rng) -> Case:
    table = T.of("table", rng.normal(size=(4, 3)).astype(np.float32))
    return case(rng, [T("x", (5,), "i32"), table, f("y", (5, 3))], [Node("EMBEDDING_LOOKUP", ["x", "table"], ["y"])])


def stored_rows(rng: Rng) -> Case:
    table = T.of("table", rng.integers(-127, 128, (4, 3)).astype(np.int8), scale=0.03)
    return case(rng, [T("x", (5,), "i32"), table, f("y", (5, 3))], [Node("EMBEDDING_LOOKUP", ["x", "table"], ["y"])])


def response(rng: Rng) -> Case:
    shape = sizes(rng, 4)
    options = {
        "radius": int(rng.integers(0, 4)),
        "bias": 1.5,
        "alpha": scale(rng),
        "beta": float(rng.choice([0.5, 0.75])),
    }
    return case(rng, [f("x", shape), f("y", shape)], [Node("LOCAL_RESPONSE_NORMALIZATION", ["x"], ["y"], options)])


def zeros(rng: Rng) -> Case:
    shape = sizes(rng, 3)
    tensors = [f(name, shape) for name in ("x", "z", "y")]
    return case(rng, tensors, [Node("ZEROS_LIKE", ["x"], ["z"]), Node("SUB", ["z", "x"], ["y"])])


def axes(rng: Rng) -> Case:
    return case(rng, [f("x", sizes(rng, 3)), T("y", (), "i32")], [Node("RANK", ["x"], ["y"])])


def _signs(rng: Rng) -> Case:
    shape = sizes(rng, 3)
    return case(rng, [f("x", shape), f("y", shape)], [Node("SIGN", ["x"], ["y"])])


_ANY: Mapping[str, Callable[..., Case]] = {
    "PADV2": padded_with,
    "SELECT": lambda rng, **k: chosen(rng, "SELECT", **k),
    "SELECT_V2": lambda rng, **k: chosen(rng, "SELECT_V2", **k),
    "GATHER_ND": gathered_at,
    "GATHER by sample": gathered_by_sample,
    "SPACE_TO_BATCH_ND": lambda rng, **k: blocked(rng, "SPACE_TO_BATCH_ND", **k),
    "BATCH_TO_SPACE_ND": lambda rng, **k: blocked(rng, "BATCH_TO_SPACE_ND", **k),
    "BROADCAST_TO": lambda rng, **k: moved(rng, "BROADCAST_TO", (1, 3, 1), (2, 3, 4), ints(2, 3, 4), version=2, **k),
}
"""Of stored and of real numbers."""

_WHOLE: Mapping[str, Callable[[Rng], Case]] = {
    "REVERSE_SEQUENCE": reversed_sequence,
    "TOPK_V2": best,
    "ONE_HOT": one_hot,
    "SCATTER_ND": scattered,
    "CAST": lambda rng: cast(rng, "i32", "f32"),
    "CAST to i32": lambda rng: cast(rng, "f32", "i32"),
    "CAST to bool": lambda rng: cast(rng, "i32", "bool"),
    **{kind: lambda rng, kind=kind: positive(rng, kind) for kind in ("SQRT", "RSQRT", "LOG")},
    "POW": power,
    **{kind: lambda rng, kind=kind: logical(rng, kind) for kind in ("LOGICAL_AND", "LOGICAL_OR", "LOGICAL_NOT")},
    **{f"{kind} of i32": lambda rng, kind=kind: whole(rng, kind) for kind in ("DIV", "FLOOR_DIV", "FLOOR_MOD", "MUL")},
    "BITWISE_XOR": lambda rng: whole(rng, "BITWISE_XOR"),
    "ADD_N": summed,
    "CUMSUM": cumulated,
    "FILL": filled,
    "SHAPE": shape_of,
    "SIGN": _signs,
    "RANGE": counted,
    "REDUCE_ALL": lambda rng: every(rng, "REDUCE_ALL"),
    "REDUCE_ANY": lambda rng: every(rng, "REDUCE_ANY"),
    "EMBEDDING_LOOKUP": rows,
    "EMBEDDING_LOOKUP of stored rows": stored_rows,
    "LOCAL_RESPONSE_NORMALIZATION": response,
    "IF": branch,
    "WHILE": loop,
    "WHILE of other sizes in each step": lambda rng: loop(rng, by_step=True),
    "ZEROS_LIKE": zeros,
    "RANK": axes,
}
"""Of plain numbers."""

STORED: Mapping[str, Callable[[Rng], Case]] = {
    **CASES,
    **_ANY,
    **{f"{kind} of 16 bits": make for kind, make in WIDE.items()},
}
"""Every case of stored numbers."""
PLAIN: Mapping[str, Callable[[Rng], Case]] = {
    **REAL,
    **{kind: lambda rng, make=make: make(rng, real=True) for kind, make in _ANY.items()},
    **_WHOLE,
}
"""Every case of plain ones."""
