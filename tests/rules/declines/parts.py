"""Parts of the graphs that rules leave as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphrewrite import Tensor, op

__all__ = [
    "COLUMN",
    "SMALL",
    "Case",
    "again",
    "constant",
    "cut",
    "layer",
    "normed",
    "ones",
    "row",
    "rows",
    "stored",
    "whole",
]

Case = tuple[Callable[..., Any], *tuple[str, ...]]
"""An expression in some inputs, and their types."""

COLUMN = np.ones((2, 1), np.float32)
"""It broadcasts rows."""
SMALL = "f8e4m3fn[N,4]"
"""Of floats that need not have a negative."""


def row(*numbers: float) -> np.ndarray:
    return np.array(numbers, np.float32)


def whole(*numbers: int) -> np.ndarray:
    return np.array(numbers, np.int32)


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def constant(x: Any, value: np.ndarray) -> Any:
    """A node, which several may read."""
    return x.graph.constant(value)


def named(x: Any, value: np.ndarray) -> Any:
    """A node whose axes are a batch and channels."""
    return x.graph.constant(value, type=Tensor("f32", value.shape, "NC"))


def cut(x: Any, start: int, end: int) -> Any:
    return op.slice(x, starts=(start,), ends=(end,), axes=(1,))


def rows(x: Any, start: int, end: int | str) -> Any:
    return op.slice(x, starts=(start,), ends=(end,), axes=(0,))


def layer(x: Any, results: int = 3) -> Any:
    return op.linear(x, ones(results, x.shape[1]), ones(results))


def normed(x: Any, gain: float = 1.0, **attributes: Any) -> Any:
    one = ones(x.shape[1])
    return op.batch_norm(x, gain * one, 0 * one, 0 * one, 0 * one, **attributes)


def stored(x: Any, scale: float, **attributes: Any) -> Any:
    return op.quantize_linear(x, np.float32(scale), np.int8(0), **attributes)


def again(x: Any, scale: float) -> Any:
    """A stored number, read and stored again."""
    same = constant(x, np.array(scale, np.float32))
    return op.quantize_linear(op.dequantize_linear(x, same), same)
