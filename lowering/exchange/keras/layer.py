"""A layer of Keras, as the table gets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.keras.archive import Archive, Place
from graphrewrite.lowering.exchange.tensorflow.importer import Operands
from graphrewrite.lowering.exchange.tensorflow_import import TENSORFLOW
from graphrewrite.types import element_of, hold

__all__ = ["Layer", "Row"]


@dataclass(frozen=True)
class Layer:
    """What the table knows of a layer.

    Attributes
    ----------
    kind, name : str
        Its class and its name.
    config : mapping
        Its settings.
    graph : Graph
        The graph that is built.
    archive : Archive
        The file.
    place : Place
        Where its weights are.
    known : callable
        Returns the array of a value, or None if it depends on inputs.
    build : callable
        Adds a layer inside of this one: its stored form, its place, its operands.
    mask : callable
        Returns which steps of a value count, or None if all do.
    has_own_mask : bool
        Whether the mask of the first operand is an argument of the call.
    element : str
        Element type in which it computes.
    """

    kind: str
    name: str
    config: Mapping[str, Any]
    graph: Graph
    archive: Archive = field(repr=False)
    place: Place
    known: Callable[[Value], np.ndarray | None] = field(repr=False)
    build: Callable[..., Any] = field(repr=False)
    mask: Callable[[Value], Value | None] = field(repr=False)
    has_own_mask: bool = False
    element: str = "f32"

    def filled(self, shape: Sequence[Any], number: float, element: str) -> Value:
        """Return a value that has one number everywhere, of a shape that may be open."""
        attributes = {"shape": tuple(shape), "value": number, "element": element}
        filled: Value = self.graph.add(op.constant_of_shape, [], attributes)
        return filled

    def get(self, name: str, default: Any = None) -> Any:
        """Return a setting."""
        found = self.config.get(name, default)
        return default if found is None else found

    def has(self, name: str) -> bool:
        """Tell whether a switch is on; those of Keras are on by default."""
        return bool(self.get(name, True))

    def weights(self, *names: str, of: Place | None = None) -> list[Value]:
        """Return weights as constants."""
        stem = self.name.replace("/", "_")
        return [
            self.graph.constant(array, type=Tensor(kind, array.shape), name=self.graph.fresh(f"{stem}_{name}"))
            for name, (array, kind) in zip(names, self.arrays(*names, of=of), strict=True)
        ]

    def arrays(self, *names: str, of: Place | None = None) -> list[tuple[np.ndarray, str]]:
        """Return weights as arrays and their element types; floats in the one in which the layer computes."""
        arrays = self.archive.arrays(of or self.place, names)
        kinds = [self.element if array.dtype.kind == "f" else str(element_of(array.dtype)) for array in arrays]
        return [(hold(kind, array), kind) for array, kind in zip(arrays, kinds, strict=True)]

    def number(self, x: Value, number: float) -> Value:
        """Return a number in the element type of a value."""
        kind = x.type.element
        return self.graph.constant(hold(kind, np.asarray(number)), type=Tensor(kind, ()))

    def inner(self, path: str, name: str) -> Place:
        """Return the place of a part of this layer."""
        return self.place.inner(path, name)

    def tf(self, op: str, *values: Value | np.ndarray, **attributes: Any) -> Any:
        """Return what an op of TensorFlow gives."""
        operands = tuple(v if isinstance(v, Value) else self.graph.constant(np.asarray(v)) for v in values)
        return TENSORFLOW[op](Operands(operands, attributes, self.known))

    def last_axis(self, x: Value, name: str = "axis") -> bool:
        """Tell whether the axis of channels is the last one."""
        axis = self.get(name, -1)
        (axis,) = axis if isinstance(axis, Sequence) else (axis,)
        rank = len(x.type.shape)
        if axis % rank == rank - 1:
            return True
        if axis % rank == 1:
            return False
        raise Unfit(f"its axis {axis} is neither the second nor the last of {x.type}")


Row = Callable[..., Any]
"""Given the layer and its operands, returns its results."""
