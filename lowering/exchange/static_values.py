"""Values of a graph that depend on no input: shapes and sizes that exporters compute."""

from __future__ import annotations

import math
from contextlib import suppress

import numpy as np

from graphrewrite import Graph
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.attribute_values import Symbol
from graphrewrite.types import Type

__all__ = ["StaticValues"]

_LARGEST = 1 << 16
"""Most entries of a static value: a corrupt header cannot make larger arrays."""


class StaticValues:
    """Evaluator of values that follow from constants and shapes; the graph may grow between queries."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.computed: dict[str, tuple[np.ndarray, ...] | None] = {}

    def array(self, value: Value) -> np.ndarray | None:
        """Return the array of a value, symbolic sizes as objects; None where it depends on an input."""
        # Depth first with a stack of its own: exporters write chains of shapes that are longer than Python's stack.
        pending = [value.node]
        while pending:
            node = pending[-1]
            if node in self.computed:
                pending.pop()
                continue
            sources = [] if self.graph.nodes[node]["type"] == "shape" else self._sources(node)
            missing = [source for source in sources if source not in self.computed]
            if missing:
                pending += missing
            else:
                self.computed[node] = self._compute(node)
                pending.pop()
        arrays = self.computed[value.node]
        return None if arrays is None else arrays[value.result]

    def inputs(self, value: Value) -> list[str]:
        """Return the inputs whose values a value depends on; where it depends on their shapes only, there are none."""
        pending, upstream = [value.node], set()
        while pending:
            node = pending.pop()
            if node not in upstream:
                upstream.add(node)
                pending += [] if self.graph.nodes[node]["type"] == "shape" else self._sources(node)
        return [name for name in self.graph.inputs if name in upstream]

    def _sources(self, node: str) -> list[str]:
        return [operand.node for operand in self.graph.operands(node)]

    def _compute(self, node: str) -> tuple[np.ndarray, ...] | None:
        data = self.graph.nodes[node]
        if data["type"] == "constant":
            return (np.asarray(data["value"]),)
        if data["type"] == "input":
            return None
        if data["type"] == "shape":
            (operand,) = self.graph.operands(node)
            return (self._shape(self.graph.result_type(*operand), **self.graph.attributes(node)),)
        op = self.graph.op(node)
        if op.stateful or any(isinstance(each, Graph) for each in data.values()):
            return None  # a loop may take long
        if any(_entries(kind) > _LARGEST for kind in _results(data["result"])):
            return None
        arrays = []
        for operand in self.graph.operands(node):
            values = self.computed[operand.node]
            if values is None:
                return None
            arrays.append(values[operand.result])
        with np.errstate(all="ignore"), suppress(Exception):  # a symbolic size defies arithmetic: then it is not known
            if data["type"] == "cast" and arrays[0].dtype == object:
                return (arrays[0],)
            return op.compute(arrays, self.graph.attributes(node))
        return None

    @staticmethod
    def _shape(kind: Type, *, start: int, end: int | None) -> np.ndarray:
        sizes = kind.shape[slice(start, end)]
        if all(isinstance(size, int) for size in sizes):
            return np.asarray(sizes, np.int64)
        array = np.empty(len(sizes), object)
        array[:] = [Symbol(size) if isinstance(size, str) else size for size in sizes]
        return array


def _results(kind: Type | tuple[Type, ...]) -> tuple[Type, ...]:
    return kind if isinstance(kind, tuple) else (kind,)


def _entries(kind: Type) -> int:
    return math.prod(size for size in kind.shape if isinstance(size, int))
