"""Models of one operator each, made at random, as files of TensorFlow Lite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.tflite_files import Node, T, model

__all__ = ["CASES", "REAL", "inputs_of"]

Rng = np.random.Generator
Case = tuple[bytes, dict[str, np.ndarray]]


def scale(rng: Rng, low: float = -5, high: float = 1) -> float:
    return float(np.float32(np.exp(rng.uniform(low, high))))


def q(rng: Rng, name: str, shape: Sequence[int], **more: Any) -> T:
    """A quantised tensor."""
    return T(name, tuple(map(int, shape)), **{"scale": scale(rng), "zero": int(rng.integers(-128, 128)), **more})


def f(name: str, shape: Sequence[int], element: str = "f32") -> T:
    return T(name, tuple(map(int, shape)), element)


def sizes(rng: Rng, rank: int = 0) -> tuple[int, ...]:
    return (1, *map(int, rng.integers(1, 6, (rank or int(rng.integers(1, 5))) - 1)))


def inputs_of(rng: Rng, tensors: Sequence[T]) -> dict[str, np.ndarray]:
    """Values for inputs."""
    found = {}
    for t in tensors:
        if t.element == "i8":
            values: Any = rng.integers(-128, 128, t.shape)
        elif t.element == "bool":
            values = rng.integers(0, 2, t.shape)
        elif t.element == "u8":
            values = rng.integers(0, 256, t.shape)
        elif t.element == "i16":
            values = rng.integers(-(2**15), 2**15, t.shape)
        elif t.element == "f32":
            values = rng.normal(size=t.shape) * 3
        else:
            values = rng.integers(0, 3, t.shape)
        kinds = {"i8": np.int8, "bool": bool, "f32": np.float32, "i32": np.int32, "i64": np.int64, "i16": np.int16}
        kinds |= {"u8": np.uint8}
        found[t.name] = np.asarray(values).astype(kinds[t.element])
    return found


def case(rng: Rng, tensors: Sequence[T], nodes: Sequence[Node], *, inputs: int = 1) -> Case:
    """A model whose first tensors are inputs, and whose last one is its output."""
    outputs = nodes[-1].outputs
    return (
        model(tensors, nodes, [t.name for t in tensors[:inputs]], outputs),
        inputs_of(rng, tensors[:inputs]),
    )


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def activation(rng: Rng) -> dict[str, int]:
    return {"fused_activation_function": int(rng.integers(0, 4))}


# ---------------------------------------------------------------------- layers


def _window(
    rng: Rng, *, dilated: bool = True
) -> tuple[dict[str, int], tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Options, height and width of the image, the kernel and the result."""
    kernel, strides = rng.integers(1, 4, 2), rng.integers(1, 4, 2)
    dilations = rng.integers(1, 3, 2) if dilated and rng.random() < 0.4 else np.array([1, 1])
    reach = (kernel - 1) * dilations + 1
    image = reach + rng.integers(0, 5, 2)
    padding = int(rng.integers(0, 2))
    out = (image + strides - reach) // strides if padding else -(-image // strides)
    options = {"padding": padding, "stride_h": int(strides[0]), "stride_w": int(strides[1])}
    if dilated:
        options |= {"dilation_h_factor": int(dilations[0]), "dilation_w_factor": int(dilations[1])}
    return options, *(tuple(map(int, pair)) for pair in (image, kernel, out))  # type: ignore[return-value]


def _weights(rng: Rng, shape: Sequence[int], axis: int, channels: int, x: float, *, real: bool) -> tuple[T, T]:
    """Weights and a bias."""
    if real:
        w, b = rng.normal(size=shape), rng.normal(size=channels)
        return T.of("w", w.astype(np.float32)), T.of("b", b.astype(np.float32))
    count = channels if rng.random() < 0.7 else 1
    scales = np.float32(np.exp(rng.uniform(-7, -2, count)))
    w8, b32 = rng.integers(-127, 128, shape).astype(np.int8), rng.integers(-3000, 3000, channels).astype(np.int32)
    return T.of("w", w8, scale=scales, axis=axis), T.of("b", b32, scale=scales * np.float32(x))


def conv(rng: Rng, kind: str = "CONV_2D", *, real: bool = False) -> Case:
    options, image, kernel, out = _window(rng)
    channels, more = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    if kind == "CONV_2D":
        groups = int(rng.integers(1, 3))
        outputs, per_group, channels = more * groups, channels, channels * groups
        shape, axis = (outputs, *kernel, per_group), 0
    else:
        outputs = channels * more
        shape, axis = (1, *kernel, outputs), 3
        options["depth_multiplier"] = more
    make = f if real else lambda name, shape: q(rng, name, shape)
    x, y = make("x", (1, *image, channels)), make("y", (1, *out, outputs))
    w, b = _weights(rng, shape, axis, outputs, x.scale or 1, real=real)
    return case(rng, [x, w, b, y], [Node(kind, ["x", "w", "b"], ["y"], {**options, **activation(rng)})])


def transpose_conv(rng: Rng, *, real: bool = False) -> Case:
    options, image, kernel, out = _window(rng, dilated=False)
    channels, outputs = rng.integers(1, 4, 2)
    make = f if real else lambda name, shape: q(rng, name, shape)
    x, y = make("x", (1, *out, channels)), make("y", (1, *image, outputs))
    w, b = _weights(rng, (outputs, *kernel, channels), 0, outputs, x.scale or 1, real=real)
    size = T.of("size", ints(1, *image, outputs))
    return case(rng, [x, w, b, size, y], [Node("TRANSPOSE_CONV", ["size", "w", "x", "b"], ["y"], options, version=3)])


def fully_connected(rng: Rng, *, real: bool = False) -> Case:
    inputs, outputs = map(int, rng.integers(1, 40, 2))
    lead = sizes(rng, int(rng.integers(1, 4)))
    keep = bool(rng.integers(0, 2))
    rows = int(np.prod(lead))
    make = f if real else lambda name, shape: q(rng, name, shape)
    x, y = make("x", (*lead, inputs)), make("y", (*(lead if keep else (rows,)), outputs))
    w, b = _weights(rng, (outputs, inputs), 0, outputs, x.scale or 1, real=real)
    names = ["x", "w", "b"] if rng.random() < 0.8 else ["x", "w", None]
    options = {"keep_num_dims": keep, **activation(rng)}
    return case(rng, [x, w, b, y], [Node("FULLY_CONNECTED", names, ["y"], options)])


def pool(rng: Rng, kind: str, *, real: bool = False) -> Case:
    options, image, kernel, out = _window(rng, dilated=False)
    channels = int(rng.integers(1, 5))
    if real:
        x, y = f("x", (1, *image, channels)), f("y", (1, *out, channels))
    else:
        x = q(rng, "x", (1, *image, channels))
        y = q(rng, "y", (1, *out, channels), scale=x.scale, zero=x.zero)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1], **activation(rng)}
    return case(rng, [x, y], [Node(kind, ["x"], ["y"], options)])


def batch_matmul(rng: Rng, *, real: bool = False) -> Case:
    lead, (m, k, n) = sizes(rng, 2), rng.integers(1, 6, 3)
    adj = rng.integers(0, 2, 2).astype(bool).tolist()
    make = f if real else lambda name, shape: q(rng, name, shape)
    x = make("x", (*lead, *((k, m) if adj[0] else (m, k))))
    y = make("z", (*lead, *((n, k) if adj[1] else (k, n))))
    options = {"adj_x": adj[0], "adj_y": adj[1]}
    return case(rng, [x, y, make("y", (*lead, m, n))], [Node("BATCH_MATMUL", ["x", "z"], ["y"], options)], inputs=2)


def softmax(rng: Rng, *, real: bool = False) -> Case:
    shape = (1, *rng.integers(1, 9, int(rng.integers(1, 3))))
    beta = float(np.float32(rng.choice([1.0, 1.0, 0.5, 2.0])))
    make = f if real else lambda name, shape: q(rng, name, shape)
    y = f("y", shape) if real else q(rng, "y", shape, scale=1 / 256, zero=-128)
    return case(rng, [make("x", shape), y], [Node("SOFTMAX", ["x"], ["y"], {"beta": beta})])


# ---------------------------------------------------------------------- one or two operands


def unary(rng: Rng, kind: str, *, real: bool = False, **more: Any) -> Case:
    shape = sizes(rng)
    x = f("x", shape) if real else q(rng, "x", shape)
    y = f("y", shape) if real else q(rng, "y", shape, **more)
    if kind == "HARD_SWISH" and not real:  # the kernel takes no finer result
        y.scale = float(np.float32(max(y.scale, x.scale / 100)))
    options = {"alpha": scale(rng, -3, 0)} if kind == "LEAKY_RELU" else {}
    return case(rng, [x, y], [Node(kind, ["x"], ["y"], options)])


def binary(rng: Rng, kind: str, *, real: bool = False, result: str = "", same: bool = False) -> Case:
    shape = sizes(rng)
    other = tuple(size if rng.random() < 0.7 else 1 for size in shape)[int(rng.integers(0, len(shape))) :]
    make = f if real else lambda name, shape: q(rng, name, shape)
    x, z = make("x", shape), make("z", other)
    if same and not real:
        x.scale = min(x.scale, 0.9) if result else x.scale  # which the kernels of comparisons need
        z.scale, z.zero = x.scale, x.zero
    if rng.random() < 0.3 and kind in ("ADD", "SUB", "MUL"):
        x.name, z.name = z.name, x.name
        x, z = z, x
    y = f("y", shape, "bool") if result else make("y", shape)
    if same and not real and not result:
        y.scale, y.zero = x.scale, x.zero
    if kind == "ADD" and not real:
        y.scale = float(np.float32(max(y.scale, max(x.scale, z.scale) / 2**18)))
    options = activation(rng) if kind in ("ADD", "SUB", "MUL", "DIV") else {}
    return case(rng, [x, z, y], [Node(kind, ["x", "z"], ["y"], options)], inputs=2)


def prelu(rng: Rng) -> Case:
    shape = sizes(rng, 4)
    slope = rng.integers(-128, 128, (1, 1, shape[3])).astype(np.int8)
    tensors = [
        q(rng, "x", shape),
        T.of("s", slope, scale=scale(rng), zero=int(rng.integers(-9, 9))),
        q(rng, "y", shape),
    ]
    return case(rng, tensors, [Node("PRELU", ["x", "s"], ["y"])])


def reduction(rng: Rng, kind: str, *, real: bool = False, same: bool = False) -> Case:
    shape = sizes(rng, int(rng.integers(2, 5)))
    axes = sorted(rng.choice(len(shape), int(rng.integers(1, len(shape) + 1)), replace=False).tolist())
    keep = bool(rng.integers(0, 2))
    out = [1 if at in axes else size for at, size in enumerate(shape) if keep or at not in axes]
    make = f if real else lambda name, shape: q(rng, name, shape)
    x, y = make("x", shape), make("y", out)
    if same and not real:
        y.scale, y.zero = x.scale, x.zero
    return case(rng, [x, T.of("axes", ints(*axes)), y], [Node(kind, ["x", "axes"], ["y"], {"keep_dims": keep})])


def quantise(rng: Rng) -> Case:
    shape = sizes(rng)
    return case(rng, [f("x", shape), q(rng, "y", shape)], [Node("QUANTIZE", ["x"], ["y"])])


def converted(rng: Rng, source: str, target: str) -> Case:
    """QUANTIZE or DEQUANTIZE between types."""
    shape, tensors = sizes(rng), []
    for name, element in (("x", source), ("y", target)):
        low, high = {"u8": (0, 256), "i8": (-128, 128)}.get(element, (0, 1))
        held = {"scale": scale(rng), "zero": int(rng.integers(low, high))}
        tensors.append(T(name, shape, element, **({} if element == "f32" else held)))
    return case(rng, tensors, [Node("DEQUANTIZE" if target == "f32" else "QUANTIZE", ["x"], ["y"])])


def dequantise(rng: Rng) -> Case:
    shape = sizes(rng)
    return case(rng, [q(rng, "x", shape), f("y", shape)], [Node("DEQUANTIZE", ["x"], ["y"])])


def resize(rng: Rng, kind: str, *, real: bool = False) -> Case:
    n, m, c = rng.integers(1, 9, 2), rng.integers(1, 15, 2), int(rng.integers(1, 4))
    corners, half = [(False, False), (True, False), (False, True)][int(rng.integers(0, 3))]
    x = f("x", (1, *n, c)) if real else q(rng, "x", (1, *n, c))
    y = f("y", (1, *m, c)) if real else q(rng, "y", (1, *m, c), scale=x.scale, zero=x.zero)
    options = {"align_corners": corners, "half_pixel_centers": half}
    return case(rng, [x, T.of("size", ints(*m)), y], [Node(kind, ["x", "size"], ["y"], options)])


# ---------------------------------------------------------------------- movement


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


_TABLES = ("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "ELU", "EXP", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1")
_MOVES: dict[str, Callable[..., Case]] = {
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

CASES: Mapping[str, Callable[[Rng], Case]] = {
    "CONV_2D": conv,
    "DEPTHWISE_CONV_2D": lambda rng: conv(rng, "DEPTHWISE_CONV_2D"),
    "TRANSPOSE_CONV": transpose_conv,
    "FULLY_CONNECTED": fully_connected,
    "AVERAGE_POOL_2D": lambda rng: pool(rng, "AVERAGE_POOL_2D"),
    "MAX_POOL_2D": lambda rng: pool(rng, "MAX_POOL_2D"),
    "BATCH_MATMUL": batch_matmul,
    "SOFTMAX": softmax,
    **{k: lambda rng, k=k: unary(rng, k) for k in _TABLES if k != "LOGISTIC"},
    "LOGISTIC": lambda rng: unary(rng, "LOGISTIC", scale=1 / 256, zero=-128),
    "QUANTIZE": quantise,
    "QUANTIZE of i8": lambda rng: unary(rng, "QUANTIZE"),
    "DEQUANTIZE": dequantise,
    **{
        f"QUANTIZE {a} as {b}": lambda rng, a=a, b=b: converted(rng, a, b)
        for a, b in (
            ("u8", "i8"),
            ("i8", "u8"),
            ("i16", "i8"),
            ("i8", "i16"),
            ("f32", "u8"),
            ("u8", "f32"),
            ("i16", "f32"),
        )
    },
    "PRELU": prelu,
    **{k: lambda rng, k=k: binary(rng, k) for k in ("ADD", "SUB", "MUL")},
    **{k: lambda rng, k=k: binary(rng, k, same=True) for k in ("MINIMUM", "MAXIMUM")},
    **{
        k: lambda rng, k=k: binary(rng, k, same=True, result="bool")
        for k in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    },
    "SQUARED_DIFFERENCE": lambda rng: binary(rng, "SQUARED_DIFFERENCE"),
    "ABS": lambda rng: unary(rng, "ABS"),
    "MEAN": lambda rng: reduction(rng, "MEAN"),
    "REDUCE_MAX": lambda rng: reduction(rng, "REDUCE_MAX", same=True),
    "REDUCE_MIN": lambda rng: reduction(rng, "REDUCE_MIN", same=True),
    "RESIZE_NEAREST_NEIGHBOR": lambda rng: resize(rng, "RESIZE_NEAREST_NEIGHBOR"),
    "RESIZE_BILINEAR": lambda rng: resize(rng, "RESIZE_BILINEAR"),
    **_MOVES,
}
"""Of stored numbers."""

_REAL_UNARY = (
    *("ABS", "NEG", "SIN", "COS", "EXP", "FLOOR", "CEIL", "ROUND", "LOGISTIC", "TANH", "ELU", "HARD_SWISH", "RELU"),
    *("RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "SQUARE", "LEAKY_RELU", "LOG_SOFTMAX", "L2_NORMALIZATION", "GELU"),
)
REAL: Mapping[str, Callable[[Rng], Case]] = {
    "CONV_2D": lambda rng: conv(rng, real=True),
    "DEPTHWISE_CONV_2D": lambda rng: conv(rng, "DEPTHWISE_CONV_2D", real=True),
    "TRANSPOSE_CONV": lambda rng: transpose_conv(rng, real=True),
    "FULLY_CONNECTED": lambda rng: fully_connected(rng, real=True),
    "AVERAGE_POOL_2D": lambda rng: pool(rng, "AVERAGE_POOL_2D", real=True),
    "MAX_POOL_2D": lambda rng: pool(rng, "MAX_POOL_2D", real=True),
    "BATCH_MATMUL": lambda rng: batch_matmul(rng, real=True),
    "SOFTMAX": lambda rng: softmax(rng, real=True),
    **{k: lambda rng, k=k: unary(rng, k, real=True) for k in _REAL_UNARY},
    **{
        k: lambda rng, k=k: binary(rng, k, real=True)
        for k in ("ADD", "SUB", "MUL", "DIV", "MINIMUM", "MAXIMUM", "SQUARED_DIFFERENCE", "FLOOR_DIV", "FLOOR_MOD")
    },
    **{
        k: lambda rng, k=k: binary(rng, k, real=True, result="bool")
        for k in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
    },
    **{
        k: lambda rng, k=k: reduction(rng, k, real=True)
        for k in ("MEAN", "SUM", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN")
    },
    "RESIZE_NEAREST_NEIGHBOR": lambda rng: resize(rng, "RESIZE_NEAREST_NEIGHBOR", real=True),
    "RESIZE_BILINEAR": lambda rng: resize(rng, "RESIZE_BILINEAR", real=True),
    **{k: lambda rng, make=make: make(rng, real=True) for k, make in _MOVES.items()},
}
"""Of real numbers."""


def svdf(rng: Rng, *, real: bool = False) -> Case:
    """SVDF, whose state is a variable."""
    inputs, units, rank, steps = map(int, rng.integers(1, 5, 4))
    filters = units * rank
    if real:
        x, y, state = f("x", (1, inputs)), f("y", (1, units)), f("state", (1, filters * steps))
        feature = T.of("f", rng.normal(size=(filters, inputs)).astype(np.float32))
        time = T.of("t", rng.normal(size=(filters, steps)).astype(np.float32))
        bias = T.of("b", rng.normal(size=units).astype(np.float32))
    else:
        x, y = q(rng, "x", (1, inputs)), q(rng, "y", (1, units))
        state = T("state", (1, filters * steps), "i16", scale=scale(rng, -9, -5))
        feature = T.of("f", rng.integers(-127, 128, (filters, inputs)).astype(np.int8), scale=scale(rng, -6, -3))
        time = T.of("t", rng.integers(-3000, 3000, (filters, steps)).astype(np.int16), scale=scale(rng, -9, -6))
        bias = T.of("b", ints(*rng.integers(-3000, 3000, units)), scale=state.scale * time.scale)
    state.variable = True
    node = Node("SVDF", ["x", "f", "t", "b", "state"], ["y"], {"rank": rank, "fused_activation_function": 1})
    return case(rng, [x, feature, time, bias, state, y], [node])


def lstm(rng: Rng, *, real: bool = False) -> Case:
    """UNIDIRECTIONAL_SEQUENCE_LSTM with four gates, whose two states are variables."""
    inputs, size, steps = map(int, rng.integers(1, 5, 3))
    is_major = bool(rng.integers(0, 2))
    lead = (steps, 1) if is_major else (1, steps)
    if real:
        x, y, h, c = f("x", (*lead, inputs)), f("y", (*lead, size)), f("h", (1, size)), f("c", (1, size))
        shapes = [(size, inputs)] * 4 + [(size, size)] * 4 + [(size,)] * 4
        held = [T.of(f"w{at}", rng.normal(size=shape).astype(np.float32)) for at, shape in enumerate(shapes)]
        inner = []
    else:
        x, h = q(rng, "x", (*lead, inputs), scale=scale(rng, -4, -2)), q(rng, "h", (1, size), scale=scale(rng, -5, -4))
        y = q(rng, "y", (*lead, size), scale=h.scale, zero=h.zero)
        c = T("c", (1, size), "i16", scale=2.0 ** -int(rng.integers(10, 14)))
        held = []
        for at, shape in enumerate([(size, inputs)] * 4 + [(size, size)] * 4):
            held.append(T.of(f"w{at}", rng.integers(-127, 128, shape).astype(np.int8), scale=scale(rng, -6, -4)))
        held += [T.of(f"w{at}", ints(*rng.integers(-900, 900, size)), scale=0.01) for at in range(8, 12)]
        inner = [T(f"i{at}", (0,), "i16", scale=2.0**-12) for at in range(4)]
        inner.append(T("i4", (0,), "i8", scale=h.scale, zero=h.zero))
    h.variable = c.variable = True
    names = ["x", *(f"w{at}" for at in range(8)), *[None] * 3, *(f"w{at}" for at in range(8, 12)), None, None, "h", "c"]
    clip = float(rng.choice([0.0, 0.0, 0.75])) if not real else 0.0
    options = {"fused_activation_function": 4, "time_major": is_major, "cell_clip": clip}
    node = Node(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", [*names, *[None] * 4], ["y"], options, intermediates=[t.name for t in inner]
    )
    return case(rng, [x, *held, h, c, *inner, y], [node])
