"""What the calls of layers in an architecture of Keras read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from graphrewrite.graph import Value
from graphrewrite.lowering.errors import ModelError
from graphrewrite.types import as_element, element_dtype

__all__ = ["Read", "call_of", "ends_of", "reads_of", "resolved"]


def ends_of(stored: Any) -> list[tuple[str, int, int]]:
    """Return results that a model names, however they are nested."""
    if isinstance(stored, Mapping):
        return [end for each in stored.values() for end in ends_of(each)]
    if len(stored) >= 3 and isinstance(stored[0], str):
        return [(stored[0], int(stored[1]), int(stored[2]))]
    return [end for each in stored for end in ends_of(each)]


class Read(tuple[str, int, int]):
    """A result that a layer reads: the layer, its call, and the index of the result."""


def call_of(stored: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return what a call of a layer reads; Keras 3 stores arguments, Keras 2 lists of layers."""
    if isinstance(stored, Mapping):
        return [_argument(each) for each in stored["args"]], {k: _argument(v) for k, v in stored["kwargs"].items()}
    if stored and isinstance(stored[0], str):
        stored = [stored]
    keywords = stored[0][3] if stored and len(stored[0]) > 3 else {}
    return [[Read((each[0], int(each[1]), int(each[2]))) for each in stored]], {
        key: Read((v[0], int(v[1]), int(v[2]))) if isinstance(v, list) and len(v) == 3 and isinstance(v[0], str) else v
        for key, v in keywords.items()
    }


def _argument(stored: Any) -> Any:
    if isinstance(stored, Mapping) and stored.get("class_name") == "__keras_tensor__":
        name, node, at = stored["config"]["keras_history"]
        return Read((name, int(node), int(at)))
    if isinstance(stored, Mapping) and stored.get("class_name") in ("__tensor__", "__numpy__"):
        return np.asarray(stored["config"]["value"], element_dtype(as_element(stored["config"]["dtype"])))
    if isinstance(stored, Mapping):
        return {key: _argument(each) for key, each in stored.items()}
    return [_argument(each) for each in stored] if isinstance(stored, list) else stored


def reads_of(argument: Any) -> Iterator[Read]:
    """Yield the results that an argument has, however they are nested."""
    if isinstance(argument, Read):
        yield argument
    elif isinstance(argument, Mapping):
        for each in argument.values():
            yield from reads_of(each)
    elif isinstance(argument, list | tuple):
        for each in argument:
            yield from reads_of(each)


def resolved(argument: Any, done: Mapping[tuple[str, int], tuple[Value, ...]]) -> Any:
    """Return an argument with the values of the results that it has."""
    if isinstance(argument, Read):
        name, node, at = argument
        results = done[name, node]
        if at >= len(results):
            raise ModelError(f"layer {name!r} has {len(results)} results, and result {at} is read")
        return results[at]
    if isinstance(argument, list):
        return [resolved(each, done) for each in argument]
    return np.float32(argument) if isinstance(argument, float) else argument
