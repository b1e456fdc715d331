"""Inputs of a model, and what they give: onnxruntime on the model as it came, or numbers that are stored beside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx

from graphrewrite import Graph
from tests.support.sessions import session_of

__all__ = ["Reference", "reference_of", "stored_beside"]

Arrays = dict[str, np.ndarray]
SIZES = {"batch": (2, 3), "height": (16, 20), "width": (16, 12)}
"""Sizes of named dimensions in the two rounds; those of other names are 5 and 7."""
BELOW = 8
"""Integers of an input lie below."""
TYPES = {"float": "f4", "double": "f8", "float16": "f2"}


class Reference(Protocol):
    """What a model is compared with."""

    runs: bool
    """Whether onnxruntime knows the model's ops."""

    def rounds(
        self, graph: Graph, sizes: Mapping[str, Sequence[int]], below: Mapping[str, int]
    ) -> Iterator[Arrays]: ...

    def outputs(self, graph: Graph, given: Arrays) -> Sequence[Any] | None:
        """The outputs; None where there is no way to have them for a batch that the model does not have."""


def reference_of(file: Path, *, optimise: bool = True) -> Reference:
    stored = stored_beside(file)
    return Stored(stored) if stored.is_file() else Run(file, optimise)


def stored_beside(file: Path) -> Path:
    return file.with_suffix(".outputs.npz")


class Stored:
    """Numbers that the maker of a model stored, where onnxruntime does not know its ops."""

    runs = False

    def __init__(self, file: Path) -> None:
        with np.load(file) as arrays:
            self.given = {key: arrays[key] for key in arrays if not key.startswith("output.")}
            self.made = [arrays[key] for key in arrays if key.startswith("output.")]

    def rounds(self, graph: Graph, sizes: Mapping[str, Sequence[int]], below: Mapping[str, int]) -> Iterator[Arrays]:
        yield self.given

    def outputs(self, graph: Graph, given: Arrays) -> Sequence[Any]:
        return self.made


class Run:
    """onnxruntime on random inputs of two sizes, where some size is free."""

    runs = True

    def __init__(self, file: Path, optimise: bool) -> None:
        self.file, self.optimise, self.session = file, optimise, session_of(file, optimise=optimise)

    def rounds(self, graph: Graph, sizes: Mapping[str, Sequence[int]], below: Mapping[str, int]) -> Iterator[Arrays]:
        known = {**SIZES, **sizes}
        declared = [graph.result_type(name).shape for name in graph.inputs]
        free = any(not isinstance(size, int) for shape in declared for size in shape)
        for turn in range(2 if free else 1):
            random = np.random.default_rng(turn)
            given = {}
            for one, ours in zip(self.session.get_inputs(), declared, strict=True):
                shape = [
                    mine  # the import fixed it, where the model works for no other
                    if isinstance(mine, int)
                    else known.get(size or f"{one.name}.{axis}", (5, 7))[turn]
                    if not isinstance(size, int)
                    else size * (3 if turn else 1)  # the import freed it
                    for axis, (size, mine) in enumerate(zip(one.shape, ours, strict=True))
                ]
                given[one.name] = values(random, one.type[len("tensor(") : -1], shape, below.get(one.name, BELOW))
            yield given

    def outputs(self, graph: Graph, given: Arrays) -> Sequence[Any] | None:
        declared = [one.shape[0] if one.shape else None for one in self.session.get_inputs()]
        times = {len(x) // n for x, n in zip(given.values(), declared, strict=True) if isinstance(n, int)}
        if max(times, default=1) == 1:
            return self.session.run(None, given)
        try:
            model = with_open_batch(self.file).SerializeToString()
            return session_of(model, optimise=self.optimise).run(None, given)
        except Exception:  # the model knows its batch elsewhere, as in a Reshape: then batch by batch
            axes = [free_axis(graph, name) for name in graph.outputs]
            if len(times) > 1 or None in axes:
                return None
        (count,) = times
        parts = [self.session.run(None, {k: np.split(x, count)[i] for k, x in given.items()}) for i in range(count)]
        return [np.concatenate(pieces, axis) for axis, pieces in zip(axes, zip(*parts, strict=True), strict=True)]


def free_axis(graph: Graph, output: str) -> int | None:
    """The axis of an output that has no fixed size."""
    ((node, result),) = graph.operands(output)
    shape = graph.result_type(node, result).shape
    return next((axis for axis, size in enumerate(shape) if not isinstance(size, int)), None)


def with_open_batch(file: Path) -> onnx.ModelProto:
    """The model with inputs of any first size."""
    model = onnx.load(file)
    del model.graph.value_info[:]
    for one in (*model.graph.input, *model.graph.output):
        for dim in one.type.tensor_type.shape.dim[:1] if one in model.graph.input else one.type.tensor_type.shape.dim:
            dim.ClearField("dim_value")
    return model


def values(random: np.random.Generator, kind: str, shape: Sequence[int], below: int) -> np.ndarray:
    """Random numbers of a type as onnxruntime names it."""
    dtype = np.dtype(TYPES.get(kind, kind))
    if dtype.kind == "f":
        return random.standard_normal(shape).astype(dtype)
    return random.integers(0, 2 if dtype.kind == "b" else below, shape).astype(dtype)
