"""Files of Keras, written by hand: one layer or op, with its operands, settings and weights."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import h5py
import numpy as np

from graphrewrite import evaluate, verify
from graphrewrite.formats import to_text
from graphrewrite.lowering import from_keras

__all__ = ["IMAGE", "Case", "T", "X", "Y", "computed", "drawn", "sigmoid", "softmax"]

Case = tuple[str, tuple[Any, ...], dict[str, Any], Any]
"""A layer, its operands, its settings and weights, and what it gives: one result or several."""
RNG = np.random.default_rng(8)


def drawn(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


X, Y = drawn(3, 4), drawn(3, 4)
T = drawn(2, 5, 4)
IMAGE = drawn(2, 5, 6, 3)


def sigmoid(x: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray, axis: int = -1) -> Any:
    powers = np.exp(x)
    return powers / powers.sum(axis, keepdims=True)


def read_of(name: str, shape: Sequence[int]) -> dict[str, Any]:
    return {"class_name": "__keras_tensor__", "config": {"shape": [None, *shape[1:]], "keras_history": [name, 0, 0]}}


def snake_case(name: str) -> str:
    return re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)).lower()


def computed(
    kind: str,
    *inputs: Any,
    weights: Sequence[np.ndarray] | Mapping[str, Sequence[np.ndarray]] = (),
    op: bool = False,
    call: Mapping[str, Any] | None = None,
    as_list: bool = False,
    version: str = "3.0.0",
    results: int = 1,
    told: list[str] | None = None,
    **config: Any,
) -> list[np.ndarray]:
    """What a layer gives for arrays, which become inputs, and for numbers, which stand in its call.

    The text of its graph is added to ``told``.

    Its weights are those of its own, or of the parts that it has, by their paths.
    """
    given = {**{f"x{i}": each for i, each in enumerate(inputs)}, **(call or {})}
    arrays = {name: each for name, each in given.items() if isinstance(each, np.ndarray)}
    layers: list[dict[str, Any]] = [
        {
            "class_name": "InputLayer",
            "name": name,
            "config": {"name": name, "batch_shape": [None, *x.shape[1:]], "dtype": str(x.dtype)},
            "inbound_nodes": [],
        }
        for name, x in arrays.items()
    ]
    read = {name: read_of(name, each.shape) if name in arrays else each for name, each in given.items()}
    operands = [read[f"x{i}"] for i in range(len(inputs))]
    calls = [{"args": [operands] if as_list else operands, "kwargs": {name: read[name] for name in call or ()}}]
    module = "keras.src.ops.numpy" if op else "keras.layers"
    layers.append(
        {"class_name": kind, "name": "y", "module": module, "config": {"name": "y", **config}, "inbound_nodes": calls}
    )
    ends = {"input_layers": [[name, 0, 0] for name in arrays], "output_layers": [["y", 0, i] for i in range(results)]}
    content, stored = io.BytesIO(), io.BytesIO()
    with h5py.File(stored, "w") as file:
        for path, those in (weights if isinstance(weights, Mapping) else {"": weights}).items():
            group = file.create_group("/".join(filter(None, ("layers", snake_case(kind), path, "vars"))))
            for number, array in enumerate(those):
                group.create_dataset(str(number), data=array)
    with zipfile.ZipFile(content, "w") as archive:
        model = {"class_name": "Functional", "config": {"name": "m", "layers": layers, **ends}}
        archive.writestr("config.json", json.dumps(model))
        archive.writestr("metadata.json", json.dumps({"keras_version": version}))
        archive.writestr("model.weights.h5", stored.getvalue())
    with TemporaryDirectory() as folder:
        path = Path(folder) / "m.keras"
        path.write_bytes(content.getvalue())
        graph = from_keras(path)
    verify(graph)
    if told is not None:
        told.append(to_text(graph, whole=True))
    found = evaluate(graph, arrays)
    return [found[name] for name in graph.outputs]
