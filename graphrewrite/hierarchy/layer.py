"""Layer: an op with fresh weights, as a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

import numpy as np

from graphrewrite.errors import GraphError, TypeMismatchError
from graphrewrite.graph.undoing import undone_on_error
from graphrewrite.graph.value import Value
from graphrewrite.op.op import Op
from graphrewrite.types import Tensor

__all__ = ["Layer", "Weight"]


@dataclass(frozen=True)
class Weight:
    """Weight of a layer: its shape, and what fills it.

    Attributes
    ----------
    shape : tuple of int
        Its shape.
    fill : float or None
        The number in all of its entries; None where it is drawn.
    fans : tuple of int
        Number of inputs and of outputs that an entry connects, where it is drawn.
    """

    shape: tuple[int, ...]
    fill: float | None = None
    fans: tuple[int, int] = (1, 1)

    def array(self, element: str, seed: int, name: str) -> np.ndarray:
        """Return its array.

        Parameters
        ----------
        element : str
            A float element type.
        seed : int
            Seed of all weights.
        name : str
            Name of the node; it decides, with the seed, what is drawn.
        """
        dtype = {"f64": np.float64, "f16": np.float16}.get(element, np.float32)
        if self.fill is not None:
            return np.full(self.shape, self.fill, dtype)
        limit = np.sqrt(6 / sum(self.fans))
        draw = np.random.default_rng([seed, crc32(name.encode())])
        return draw.uniform(-limit, limit, self.shape).astype(dtype)


Weights = Callable[[Tensor], Mapping[str, Weight | None]]
"""From the type that a layer reads to its weights by the names of the op's operands; None for an operand left out."""


@dataclass(frozen=True)
class Layer:
    """An op with fresh weights; made by the functions of `graphrewrite.hierarchy.layers`.

    Attributes
    ----------
    op : Op
        The op of its node.
    weights : callable
        From the type that it reads to its weights, by operand.
    attributes : mapping
        Attributes of its node.
    name : str, optional
        Name of the node; a fresh one where not given.
    seed : int
        Seed of its weights.
    element : str, optional
        Element type of its weights; that of the value which it reads where not given.
    reads : int
        Position of that value among the operands.
    """

    op: Op
    weights: Weights = field(repr=False)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    name: str | None = None
    seed: int = 0
    element: str | None = None
    reads: int = 0

    @property
    def __name__(self) -> str:
        return self.name or self.op.name

    def __call__(self, x: Any) -> Any:
        """Add the layer's node and its weights to the graph of a value; return its value or values."""
        if not isinstance(x, Value):
            raise GraphError(
                f"the layer {self.__name__} has weights in a graph only; make one with sequential(…).graph(type)"
            )
        kind, graph = x.type, x.graph
        if not isinstance(kind, Tensor):
            raise TypeMismatchError(f"the layer {self.__name__} reads a tensor, got {kind}")
        if self.op.axes is not None:
            kind = self.op.axes.of_a_batch(kind) or kind
            order = self.op.arrangement([kind])
            kind = kind if order is None else kind.permuted(order.operand)
        weights = self.weights(kind)
        with undone_on_error([x.graph], repr(self)):
            name = graph.fresh(self.op.name) if self.name is None or self.name in graph else self.name
            stem = self.name or name
            operands: list[Any] = [self._weight(x, f"{stem}.{key}", weight) for key, weight in weights.items()]
            operands.insert(self.reads, x)
            return self.op(*operands, **self.attributes, name=name)

    def _weight(self, x: Value, name: str, weight: Weight | None) -> Value | None:
        """Return the constant of a weight; the one that is there where a layer of that name was used before."""
        if weight is None:
            return None
        graph, element = x.graph, self.element or str(x.type.element)
        if name in graph:
            there = graph.result_type(name)
            if there.shape != weight.shape:
                raise TypeMismatchError(
                    f"the layer {self.__name__} shares its weights, and {name!r} is {there}, not of the shape "
                    f"{list(weight.shape)} that {x.type} needs; use a layer of another name",
                    node=name,
                )
            return graph.value(name)
        return graph.constant(weight.array(element, self.seed, name), name=name)
