"""What an op of PyTorch is called with, as the table gets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph, op
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.types import Size, Tensor

__all__ = ["Call", "Row", "batched", "cast", "each_axis", "fixed_size"]


@dataclass(frozen=True)
class Call:
    """Call of an op.

    Attributes
    ----------
    graph : Graph
        Where the nodes are added.
    arguments : mapping
        All arguments by their names in PyTorch's schema, defaults included: values of the graph, sizes, numbers, texts,
        element types, lists of these, and None.
    results : tuple of Tensor
        Types of the results, as PyTorch says.
    common : str
        Element type in which PyTorch computes with the first two operands.
    known : callable
        Returns the array of a value, or None if it depends on inputs.
    """

    graph: Graph
    arguments: Mapping[str, Any]
    results: tuple[Tensor, ...]
    common: str
    known: Callable[[Value], np.ndarray | None]

    def __getitem__(self, key: int | str) -> Any:
        return self.arguments[key] if isinstance(key, str) else tuple(self.arguments.values())[key]

    def get(self, name: str, default: Any = None) -> Any:
        """Return an argument; the default where the op has none of this name."""
        return self.arguments.get(name, default)

    @property
    def element(self) -> Any:
        """Element type of the first result."""
        return self.results[0].element

    @property
    def shape(self) -> tuple[Any, ...]:
        """Shape of the first result."""
        return self.results[0].shape

    def first(self, result: Value) -> Any:
        """Return the results of an op of which the first one alone is known; others, such as statistics, are None."""
        return result if len(self.results) == 1 else (result, *[None] * (len(self.results) - 1))

    def value(self, given: Any, element: Any = None) -> Any:
        """Return a value, a number or a size as a value of an element type; of the result's where none is given."""
        wanted = self.element if element is None else element
        if isinstance(given, Value):
            return cast(given, wanted)
        if isinstance(given, Size):
            number = self.graph.add(op.range, [], {"start": given, "limit": given + 1})
            return cast(op.reshape(number, shape=()), wanted)
        if isinstance(given, bool | int | float):
            return self.graph.constant(given, type=Tensor(wanted, ()))
        raise Unfit(f"a tensor or a number is expected, and it has {given!r}")

    def constant(self, array: Any, element: Any = None) -> Value:
        """Return a new constant."""
        values = np.asarray(array)
        return self.graph.constant(values, type=Tensor(self.element if element is None else element, values.shape))

    def view_of(self, weight: Value, array: np.ndarray) -> Value:
        """Return a constant on the memory of a weight, which gets its name."""
        origin = self.graph.origin(weight.node)
        return self.graph.constant(array, type=Tensor(weight.type.element, array.shape), origin=origin)

    def array(self, given: Any, what: str) -> np.ndarray:
        """Return the array of a value that must be known."""
        found = self.known(given) if isinstance(given, Value) else None
        if found is None:
            raise Unfit(f"its {what} depends on inputs of the graph, and must be known on import")
        return found

    @property
    def keeps_axes(self) -> bool:
        """Whether axes that are reduced stay, with one entry; an op of all entries has none of this name."""
        return bool(self.get("keepdim", False))

    def axis(self, name: str) -> int:
        """Return an axis of the first operand, counted from the front."""
        return int(self[name]) % max(len(self.shape_of(self[0])), 1)

    def axes(self, name: str) -> tuple[int, ...]:
        """Return axes of the first operand, counted from the front; all of them where none are given."""
        rank = len(self.shape_of(self[0]))
        given = self.get(name)
        listed = () if given is None else given if isinstance(given, Sequence) else (given,)
        return tuple(sorted(int(axis) % max(rank, 1) for axis in listed)) if listed else tuple(range(rank))

    @staticmethod
    def shape_of(value: Value) -> tuple[Any, ...]:
        """Return the shape of a value."""
        return tuple(value.type.shape)

    def need(self, name: str, *allowed: Any) -> None:
        """Raise if an argument is not of those that are supported."""
        given = self[name]
        if not any(type(given) is type(each) and given == each for each in allowed):
            raise Unfit(f"{name}={given!r} is not supported; there {'is' if len(allowed) == 1 else 'are'} {allowed}")


Row = Callable[[Call], Any]


def cast(value: Value, element: Any) -> Any:
    """Return a value in another element type; as PyTorch does, floats lose what comes after the point."""
    return value if value.type.element == element else op.cast(value, element=element)


def each_axis(given: Any, count: int) -> tuple[int, ...]:
    """Return one number an axis; PyTorch takes one number for all."""
    listed = tuple(given) if isinstance(given, Sequence) else (given,)
    return listed * count if len(listed) == 1 else listed


def batched(compute: Callable[[Value], Any], value: Value, axes: int) -> Any:
    """Compute with a batch; PyTorch also takes one image alone."""
    if len(value.type.shape) == axes + 2:
        return compute(value)
    found = compute(op.unsqueeze(value, axes=(0,)))
    several = isinstance(found, tuple)
    alone = tuple(op.squeeze(each, axes=(0,)) for each in (found if several else (found,)))
    return alone if several else alone[0]


def fixed_size(size: Any) -> int:
    """Return a size that must be a number."""
    if not isinstance(size, int):
        raise Unfit(f"its axis has the open size {size}, and must have a fixed one")
    return size
