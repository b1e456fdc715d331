"""Ops of Keras 3 that stand among layers, as numpy computes them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.support.keras_files import IMAGE, Case, T, X, Y, drawn, sigmoid, softmax

__all__ = ["operators"]


def operators() -> Iterator[Case]:
    """Ops that stand among layers, of arrays and of numbers."""
    whole, some = np.int32([[-7, 5, 3], [7, -5, 0]]), np.int32([[2, -2, 3]])
    pairs = {
        "Equal": np.equal, "Greater": np.greater, "GreaterEqual": np.greater_equal, "Less": np.less,
        "LessEqual": np.less_equal, "NotEqual": np.not_equal, "Add": np.add, "Divide": np.divide,
        "TrueDivide": np.divide, "FloorDivide": np.floor_divide, "Maximum": np.maximum, "Minimum": np.minimum,
        "Mod": np.mod, "Multiply": np.multiply, "Power": np.power, "Subtract": np.subtract,
    }  # fmt: skip
    close = np.where(X > 0, X, Y)
    positive = np.abs(X) + np.float32(0.5)
    for kind, compute in pairs.items():
        yield kind, (positive, np.abs(close)), {}, compute(positive, np.abs(close))
        yield kind, (positive, 1.5), {}, compute(positive, np.float32(1.5))
        if kind not in ("Power", "Divide", "TrueDivide"):
            yield kind, (whole, np.broadcast_to(some, (2, 3)).copy()), {}, compute(whole, some)
            yield kind, (whole, 2), {}, compute(whole, 2)
    yield "Subtract", (3, whole), {}, 3 - whole
    yield "Subtract", (1.5, X), {}, 1.5 - X
    yield "Multiply", (whole, 0.5), {}, whole * 0.5
    reals, square = drawn(2, 3), drawn(2, 4, 3)
    yield "Add", (whole, reals), {}, whole + reals
    yield "Multiply", (whole > 0, whole), {}, (whole > 0) * whole
    yield "Add", (whole > 0, 3), {}, (whole > 0) + np.int32(3)
    functions = {
        "Absolute": np.abs, "Abs": np.abs, "Arctan": np.arctan, "Ceil": np.ceil, "Cos": np.cos, "Exp": np.exp,
        "Expm1": np.expm1, "Floor": np.floor, "Negative": np.negative, "Reciprocal": np.reciprocal,
        "Sign": np.sign, "Sin": np.sin, "Square": np.square, "Tanh": np.tanh, "Sigmoid": sigmoid,
        "Relu": lambda x: np.maximum(x, 0), "Silu": lambda x: x * sigmoid(x),
    }  # fmt: skip
    for kind, compute in functions.items():
        yield kind, (X,), {}, compute(X)
    for kind, compute in {"Log": np.log, "Log1p": np.log1p, "Sqrt": np.sqrt, "Rsqrt": lambda x: x**-0.5}.items():
        yield kind, (positive,), {}, compute(positive)
    yield "Isfinite", (np.float32([[1, np.inf], [np.nan, -np.inf]]),), {}, [[True, False], [False, False]]
    yes = [X > 0, Y > 0]
    yield "LogicalNot", yes[:1], {}, ~yes[0]
    yield "LogicalAnd", yes, {}, yes[0] & yes[1]
    yield "LogicalOr", yes, {}, yes[0] | yes[1]
    folds = {
        "Max": np.max, "Mean": np.mean, "Min": np.min, "Prod": np.prod, "Sum": np.sum, "Std": np.std, "Var": np.var,
        "Logsumexp": lambda x, **how: np.log(np.exp(x).sum(**how)),
    }  # fmt: skip
    for kind, compute in folds.items():
        yield kind, (T,), {"axis": 1}, compute(T, axis=1)
        yield kind, (T,), {"axis": [-1, 1], "keepdims": True}, compute(T, axis=(1, 2), keepdims=True)
        yield kind, (T,), {}, compute(T, axis=None)
    yield "Norm", (T,), {"axis": 1}, np.sqrt((T**2).sum(1))
    yield "Norm", (T,), {}, np.sqrt((T**2).sum())
    yield "Norm", (T,), {"axis": [0, -1]}, np.sqrt((T**2).sum((0, -1)))
    yield "Norm", (T,), {"ord": 2, "axis": [1]}, np.sqrt((T**2).sum(1))
    yield "Norm", (T,), {"ord": 2, "axis": -1, "keepdims": True}, np.sqrt((T**2).sum(-1, keepdims=True))
    zeros = np.float32([[0, 2, 0], [0, 0, 0], [1, -1, 3]])
    yield "All", (zeros,), {"axis": 1}, zeros.all(1)
    yield "Any", (zeros,), {"axis": 1, "keepdims": True}, zeros.any(1, keepdims=True)
    yield "All", (-np.abs(X),), {}, np.array(True)
    for kind, find in (("Argmax", np.argmax), ("Argmin", np.argmin)):
        yield kind, (T,), {"axis": 1}, find(T, 1)
        yield kind, (T,), {"axis": -1, "keepdims": True}, find(T, 2)[..., None]
    yield "Cast", (X,), {"dtype": "int32"}, X.astype(np.int32)
    yield "ConvertToTensor", (whole,), {}, whole
    yield "ConvertToTensor", (whole,), {"dtype": "float32"}, whole.astype(np.float32)
    yield "Clip", (X,), {"x_min": -0.5, "x_max": 0.25}, np.clip(X, -0.5, 0.25)
    yield "Concatenate", ([T, 2 * T],), {"axis": 1}, np.concatenate([T, 2 * T], 1)
    yield "Concatenate", ([X, Y],), {}, np.concatenate([X, Y])
    yield "Stack", ([X, Y],), {"axis": 1}, np.stack([X, Y], 1)
    yield "Stack", ([X, Y],), {}, np.stack([X, Y])
    yield "Cumsum", (T,), {"axis": 1}, T.cumsum(1)
    yield "Cumprod", (T,), {"axis": -1}, T.cumprod(2)
    yield "Einsum", (T, square), {"subscripts": "abc,acd->adb"}, (T @ square).swapaxes(1, 2)
    elu = np.where(X > 0, X, 0.5 * np.expm1(X))
    yield "Elu", (X,), {"alpha": 0.5}, elu
    yield "Elu", (X,), {}, np.where(X > 0, X, np.expm1(X))
    yield "Celu", (X,), {"alpha": 0.5}, np.where(X > 0, X, 0.5 * np.expm1(X / 0.5))
    yield "LeakyRelu", (X,), {}, np.where(X > 0, X, 0.2 * X)
    yield "LeakyRelu", (X,), {"negative_slope": 0.5}, np.where(X > 0, X, 0.5 * X)
    inner = np.sqrt(2 / np.pi) * (4 * X + 0.044715 * (4 * X) ** 3)
    yield "Gelu", (4 * X,), {}, 2 * X * (1 + np.tanh(inner))
    exact = np.array([[0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in row] for row in X.tolist()])
    yield "Gelu", (X,), {"approximate": False}, exact
    yield "Erf", (X,), {}, [[math.erf(v) for v in row] for row in X.tolist()]
    yield "Softmax", (T,), {"axis": 1}, softmax(T, 1)
    yield "LogSoftmax", (T,), {"axis": 1}, np.log(softmax(T, 1))
    yield "LogSoftmax", (T,), {}, np.log(softmax(T))
    yield "ExpandDims", (X,), {"axis": 1}, X[:, None]
    yield "Squeeze", (X[:, :1],), {"axis": 1}, X[:, 0]
    yield "Flip", (T,), {"axis": 1}, T[:, ::-1]
    yield "Flip", (T,), {"axis": [0, 2]}, T[::-1, :, ::-1]
    yield "Matmul", (T, square), {}, T @ square
    yield "Swapaxes", (T,), {"axis1": 1, "axis2": -1}, T.swapaxes(1, 2)
    yield "Moveaxis", (IMAGE,), {"source": -1, "destination": 1}, np.moveaxis(IMAGE, -1, 1)
    yield "Transpose", (IMAGE,), {"axes": [0, 2, 3, 1]}, IMAGE.transpose(0, 2, 3, 1)
    yield "Transpose", (T,), {}, T.transpose()
    marks = np.int32([[2, -1, 0], [1, 5, 2]])
    ones = np.where(marks[..., None] == np.arange(3), 1, 0)
    yield "OneHot", (marks,), {"num_classes": 3}, ones
    yield "OneHot", (marks,), {"num_classes": 3, "axis": 1, "dtype": "int32"}, ones.transpose(0, 2, 1)
    yield "OnesLike", (T,), {}, np.ones_like(T)
    yield "OnesLike", (T,), {"dtype": "int32"}, np.ones(T.shape, np.int32)
    yield "ZerosLike", (whole,), {}, 0 * whole
    yield "Pad", (T,), {"pad_width": [[0, 0], [1, 2], [0, 1]]}, np.pad(T, [(0, 0), (1, 2), (0, 1)])
    said = {"pad_width": [[1, 2]], "call": {"constant_values": 3.0}}
    yield "Pad", (X,), said, np.pad(X, [(1, 2), (1, 2)], constant_values=3)
    yield "Reshape", (X,), {"newshape": [-1, 2, 2]}, X.reshape(-1, 2, 2)
    yield "Repeat", (T,), {"repeats": 3, "axis": -2}, T.repeat(3, 1)
    for shift in (2, -1, 5, 0):
        yield "Roll", (T,), {"shift": shift, "axis": 1}, np.roll(T, shift, 1)
    yield "Sort", (T,), {}, np.sort(T)
    yield "Sort", (T,), {"axis": 1}, np.sort(T, 1)
    yield "TopK", (X,), {"k": 2}, (-np.sort(-X)[:, :2], np.argsort(-X)[:, :2])
    yield "Split", (T,), {"indices_or_sections": 2, "axis": 2}, (T[..., :2], T[..., 2:])
    yield "Split", (T,), {"indices_or_sections": [1, 3], "axis": 1}, (T[:, :1], T[:, 1:3], T[:, 3:])
    yield "Take", (T, [2, 0]), {"axis": 1}, T[:, [2, 0]]
    yield "Tile", (X,), {"repeats": [1, 2]}, np.tile(X, (1, 2))
    yield "Tril", (T,), {}, np.tril(T)
    yield "Tril", (T,), {"k": -1}, np.tril(T, -1)
    yield "Triu", (T,), {"k": 1}, np.triu(T, 1)
    yield "Where", (yes[0], X, Y), {}, np.where(yes[0], X, Y)
    yield "Where", (yes[0], X, 2), {}, np.where(yes[0], X, 2)

    def part(*bounds: int | None) -> dict[str, Any]:
        return {"class_name": "__slice__", "config": dict(zip(("start", "stop", "step"), bounds, strict=True))}

    rest = {"class_name": "__ellipsis__", "config": {}}
    every = part(None, None, None)
    yield "GetItem", (T, [every, part(1, 4, 2)]), {}, T[:, 1:4:2]
    yield "GetItem", (T, [every, part(None, None, -1), part(-3, None, None)]), {}, T[:, ::-1, -3:]
    yield "GetItem", (IMAGE, [every, 2, None, rest, -1]), {}, IMAGE[:, 2, None, ..., -1]
    yield "GetItem", (IMAGE, [rest, part(None, 2, None)]), {}, IMAGE[..., :2]
    yield "GetItem", (X, part(None, None, 2)), {}, X[::2]
