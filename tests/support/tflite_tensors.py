"""Parts of models of one operator: tensors, sizes, and values of inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tests.support.tflite_files import Node, T, model

__all__ = ["Case", "Rng", "activation", "case", "f", "inputs_of", "ints", "q", "scale", "sizes"]

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
