"""Values of a graph that depend on no input's values: shapes and sizes that exporters compute."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.graph import Value
from graphrewrite.lowering.exchange.symbols import as_number, greater, lesser, settled
from graphrewrite.types import Type, element_dtype, product

__all__ = ["StaticValues", "remove_consumed"]

_LARGEST = 1 << 16
"""Most entries of a static value: a corrupt header cannot make larger arrays."""

_SHAPES = ("shape", "size")
"""Ops that read the type of their operand only."""

_MOVES = frozenset(
    {
        *("concat", "expand", "flatten", "gather", "gather_elements", "gather_nd", "identity", "reshape"),
        *("scatter_elements", "scatter_nd", "slice", "split", "squeeze", "tile", "transpose", "unsqueeze", "where"),
    }
)
"""Ops that move entries of any kind."""


def _reduced(ufunc: np.ufunc) -> Callable[..., Any]:
    def reduce(x: np.ndarray, *, axes: Sequence[int] | None = None, keep_dims: bool = True) -> Any:
        for axis in sorted((a % x.ndim for a in (range(x.ndim) if axes is None else axes)), reverse=True):
            x = ufunc.reduce(x, axis=axis, keepdims=keep_dims)
        return x

    return reduce


_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "add": np.add,
    "cast": lambda x, **_: x,
    "ceil": np.ceil,
    "div": np.true_divide,
    "equal": np.equal,
    "floor": np.floor,
    "greater": np.greater,
    "greater_or_equal": np.greater_equal,
    "less": np.less,
    "less_or_equal": np.less_equal,
    "maximum": greater,
    "minimum": lesser,
    "mod": lambda x, y, **_: np.mod(x, y),
    "mul": np.multiply,
    "neg": np.negative,
    "reduce_max": _reduced(greater),
    "reduce_min": _reduced(lesser),
    "reduce_prod": _reduced(np.multiply),
    "reduce_sum": _reduced(np.add),
    "sub": np.subtract,
}
"""Meaning of ops on arrays of objects some of which are symbolic numbers."""


class StaticValues:
    """Evaluator of values that follow from constants and shapes; the graph may grow between queries."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.computed: dict[str, tuple[np.ndarray, ...] | None] = {}
        self.given: dict[str, np.ndarray] = {}  # inputs of a subgraph whose values are known around it

    def array(self, value: Value) -> np.ndarray | None:
        """Return the array of a value, symbolic sizes as objects; None where it depends on an input."""
        # Depth first with a stack of its own: exporters write chains of shapes that are longer than Python's stack.
        pending = [value.node]
        while pending:
            node = pending[-1]
            if node in self.computed:
                pending.pop()
                continue
            missing = [source for source in self._sources(node) if source not in self.computed]
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
                pending += self._sources(node)
        return [name for name in self.graph.inputs if name in upstream]

    def _sources(self, node: str) -> list[str]:
        return [] if self.graph.nodes[node]["type"] in _SHAPES else [o.node for o in self.graph.operands(node)]

    def _compute(self, node: str) -> tuple[np.ndarray, ...] | None:
        data = self.graph.nodes[node]
        if data["type"] == "constant":
            return (np.asarray(data["value"]),)
        if data["type"] == "input":
            return (self.given[node],) if node in self.given else None
        if data["type"] in _SHAPES:
            (operand,) = self.graph.operands(node)
            return (self._sizes(self.graph.result_type(*operand), data["type"], **self.graph.attributes(node)),)
        op = self.graph.op(node)
        if op.stateful or any(isinstance(each, Graph) for each in data.values()):
            return None  # a loop may take long
        if not all(map(_is_small, _results(data["result"]))):
            return None
        arrays = []
        for operand in self.graph.operands(node):
            values = self.computed[operand.node]
            if values is None:
                return None
            arrays.append(values[operand.result])
        attributes = self.graph.attributes(node)
        with np.errstate(all="ignore"), suppress(Exception):  # a symbolic size defies most ops: then it is not known
            if not any(array.dtype == object for array in arrays):
                return op.compute(arrays, attributes)
            if op.name in _ARITHMETIC:
                found: tuple[Any, ...] = (_ARITHMETIC[op.name](*arrays, **attributes),)
            elif op.name in _MOVES:
                found = op.compute(arrays, attributes)
            else:
                return None
            return tuple(
                settled(np.asarray(array), element_dtype(kind.element))
                for array, kind in zip(found, _results(data["result"]), strict=True)
            )
        return None

    @staticmethod
    def _sizes(kind: Type, what: str, *, start: int = 0, end: int | None = None) -> np.ndarray:
        sizes = [product(kind.shape)] if what == "size" else kind.shape[start:end]
        array = np.empty(len(sizes), object)
        array[:] = [as_number(size) for size in sizes]
        return settled(array.reshape(()) if what == "size" else array, np.dtype(np.int64))


def remove_consumed(graph: Graph, consumed: Iterable[str]) -> None:
    """Remove nodes that were only used to compute attributes, as exporters write shapes for a reshape."""
    pending = list(consumed)
    while pending:
        node = pending.pop()
        data = graph._node.get(node)
        if data is None or data["type"] == "input" or graph._succ[node]:
            continue
        pending += [operand.node for operand in graph.operands(node)]
        graph.remove_node(node)


def _results(kind: Type | tuple[Type, ...]) -> tuple[Type, ...]:
    return kind if isinstance(kind, tuple) else (kind,)


def _is_small(kind: Type) -> bool:
    sizes = [size for size in kind.shape if isinstance(size, int)]
    return len(sizes) == len(kind.shape) and math.prod(sizes) <= _LARGEST
