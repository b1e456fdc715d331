"""Models of one operator of TensorFlow Lite each, made at random: layers, functions, sums and products."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.tflite_files import Node, T
from tests.support.tflite_movement_cases import MOVES
from tests.support.tflite_tensors import Case, Rng, activation, case, f, ints, q, scale, sizes

__all__ = ["CASES", "REAL", "window"]


# ---------------------------------------------------------------------- layers


def window(
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


def _weights(
    rng: Rng, shape: Sequence[int], axis: int, channels: int, x: float, *, real: bool, hybrid: bool = False
) -> tuple[T, T]:
    """Weights and a bias; of real operands, real ones or such that are stored."""
    b = T.of("b", rng.normal(size=channels).astype(np.float32)) if real else None
    if b is not None and not hybrid:
        return T.of("w", rng.normal(size=shape).astype(np.float32)), b
    count = channels if rng.random() < 0.7 else 1
    scales = np.float32(np.exp(rng.uniform(-7, -2, count)))
    if b is not None:
        scales = np.resize(scales, channels) if len(shape) == 4 else scales  # which such kernels want
        return T.of("w", rng.integers(-127, 128, shape).astype(np.int8), scale=scales, axis=axis), b
    w8, b32 = rng.integers(-127, 128, shape).astype(np.int8), rng.integers(-3000, 3000, channels).astype(np.int32)
    return T.of("w", w8, scale=scales, axis=axis), T.of("b", b32, scale=scales * np.float32(x))


def conv(rng: Rng, kind: str = "CONV_2D", *, real: bool = False, hybrid: bool = False) -> Case:
    options, image, kernel, out = window(rng)
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
    w, b = _weights(rng, shape, axis, outputs, x.scale or 1, real=real, hybrid=hybrid)
    return case(rng, [x, w, b, y], [Node(kind, ["x", "w", "b"], ["y"], {**options, **activation(rng)})])


def transpose_conv(rng: Rng, *, real: bool = False, hybrid: bool = False) -> Case:
    options, image, kernel, out = window(rng, dilated=False)
    channels, outputs = rng.integers(1, 4, 2)
    make = f if real else lambda name, shape: q(rng, name, shape)
    x, y = make("x", (1, *out, channels)), make("y", (1, *image, outputs))
    w, b = _weights(rng, (outputs, *kernel, channels), 0, outputs, x.scale or 1, real=real, hybrid=hybrid)
    size = T.of("size", ints(1, *image, outputs))
    return case(rng, [x, w, b, size, y], [Node("TRANSPOSE_CONV", ["size", "w", "x", "b"], ["y"], options, version=3)])


def fully_connected(rng: Rng, *, real: bool = False, hybrid: bool = False) -> Case:
    inputs, outputs = map(int, rng.integers(1, 40, 2))
    lead = sizes(rng, int(rng.integers(1, 4)))
    keep = bool(rng.integers(0, 2))
    rows = int(np.prod(lead))
    make = f if real else lambda name, shape: q(rng, name, shape)
    x, y = make("x", (*lead, inputs)), make("y", (*(lead if keep else (rows,)), outputs))
    w, b = _weights(rng, (outputs, inputs), 0, outputs, x.scale or 1, real=real, hybrid=hybrid)
    names = ["x", "w", "b"] if rng.random() < 0.8 else ["x", "w", None]
    options = {"keep_num_dims": keep, **activation(rng)}
    if hybrid:
        options["asymmetric_quantize_inputs"] = bool(rng.integers(0, 2))
    return case(rng, [x, w, b, y], [Node("FULLY_CONNECTED", names, ["y"], options)])


def pool(rng: Rng, kind: str, *, real: bool = False) -> Case:
    options, image, kernel, out = window(rng, dilated=False)
    channels = int(rng.integers(1, 5))
    if real:
        x, y = f("x", (1, *image, channels)), f("y", (1, *out, channels))
    else:
        x = q(rng, "x", (1, *image, channels))
        y = q(rng, "y", (1, *out, channels), scale=x.scale, zero=x.zero)
    options |= {"filter_height": kernel[0], "filter_width": kernel[1], **activation(rng)}
    return case(rng, [x, y], [Node(kind, ["x"], ["y"], options)])


def batch_matmul(rng: Rng, *, real: bool = False, hybrid: bool = False) -> Case:
    lead, (m, k, n) = sizes(rng, 2), rng.integers(1, 6, 3)
    adj = rng.integers(0, 2, 2).astype(bool).tolist()
    make = f if real else lambda name, shape: q(rng, name, shape)
    x = make("x", (*lead, *((k, m) if adj[0] else (m, k))))
    y = make("z", (*lead, *((n, k) if adj[1] else (k, n))))
    options = {"adj_x": adj[0], "adj_y": adj[1]}
    if hybrid:
        options["asymmetric_quantize_inputs"] = bool(rng.integers(0, 2))
        stored = rng.integers(-127, 128, y.shape).astype(np.int8)
        w = T.of("z", stored, scale=scale(rng))
        return case(rng, [x, w, make("y", (*lead, m, n))], [Node("BATCH_MATMUL", ["x", "z"], ["y"], options)])
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
    # The kernel of RSQRT takes no number below zero.
    x = f("x", shape) if real else q(rng, "x", shape, **({"zero": -128} if kind == "RSQRT" else {}))
    y = f("y", shape) if real else q(rng, "y", shape, **more)
    if kind == "HARD_SWISH" and not real:  # the kernel takes no finer result
        y.scale = float(np.float32(max(y.scale, x.scale / 100)))
    options: dict[str, Any] = {"alpha": scale(rng, -3, 0)} if kind == "LEAKY_RELU" else {}
    if kind == "GELU" and not real:
        options["approximate"] = bool(rng.integers(0, 2))
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


_TABLES = (
    *("LOGISTIC", "TANH", "HARD_SWISH", "LEAKY_RELU", "ELU", "EXP", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"),
    *("GELU", "RSQRT"),
)
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
    "SUM": lambda rng: reduction(rng, "SUM"),
    "REDUCE_MAX": lambda rng: reduction(rng, "REDUCE_MAX", same=True),
    "REDUCE_MIN": lambda rng: reduction(rng, "REDUCE_MIN", same=True),
    "RESIZE_NEAREST_NEIGHBOR": lambda rng: resize(rng, "RESIZE_NEAREST_NEIGHBOR"),
    "RESIZE_BILINEAR": lambda rng: resize(rng, "RESIZE_BILINEAR"),
    **MOVES,
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
    "CONV_2D of stored weights": lambda rng: conv(rng, real=True, hybrid=True),
    "DEPTHWISE_CONV_2D of stored weights": lambda rng: conv(rng, "DEPTHWISE_CONV_2D", real=True, hybrid=True),
    "TRANSPOSE_CONV of stored weights": lambda rng: transpose_conv(rng, real=True, hybrid=True),
    "FULLY_CONNECTED of stored weights": lambda rng: fully_connected(rng, real=True, hybrid=True),
    "BATCH_MATMUL of stored weights": lambda rng: batch_matmul(rng, real=True, hybrid=True),
    "AVERAGE_POOL_2D": lambda rng: pool(rng, "AVERAGE_POOL_2D", real=True),
    "MAX_POOL_2D": lambda rng: pool(rng, "MAX_POOL_2D", real=True),
    "L2_POOL_2D": lambda rng: pool(rng, "L2_POOL_2D", real=True),
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
    **{k: lambda rng, make=make: make(rng, real=True) for k, make in MOVES.items()},
}
"""Of real numbers."""
