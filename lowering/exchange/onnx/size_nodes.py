"""Nodes of an ONNX model that compute symbolic sizes from the shapes of values."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphrewrite import Graph
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.size_agreement import linear

__all__ = ["SizeNodes", "has_symbols"]

Axis = tuple[str, int, int]
"""A node, one of its results, and an axis of that."""

_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "Add",
    ast.Sub: "Sub",
    ast.Mult: "Mul",
    ast.FloorDiv: "Div",
    ast.Mod: "Mod",
}
_FUNCTIONS = {"min": "Min", "max": "Max"}
_NAME = r"\??\w+"
_UNKNOWN = "unknown_size_"
"""What stands for the question mark of an unknown size while an expression is read as Python's."""


def has_symbols(value: Any) -> bool:
    """Tell whether an attribute's value is or holds a symbolic size."""
    return any(isinstance(size, str) for size in (value if isinstance(value, tuple) else (value,)))


class SizeNodes:
    """Writer of nodes that compute sizes; each size, and each vector of sizes, is computed once.

    A size comes from an axis that has it: of an input, of an operand, or of the first value whose type has it. What no
    axis has is computed from the symbols in it.

    Parameters
    ----------
    graph : Graph
        The graph that is exported.
    name : callable
        Returns the name in the model of a node's result.
    fresh : callable
        Returns a free name like a given one.
    """

    def __init__(self, graph: Graph, name: Callable[[str, int], str], fresh: Callable[[str], str]) -> None:
        import onnx

        self.helper, self.numpy_helper = onnx.helper, onnx.numpy_helper
        self.graph, self.name, self.fresh = graph, name, fresh
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.written: dict[str, str] = {}
        self.vectors: dict[tuple[int | str, ...], str] = {}
        inputs = ((str(size), (node, 0, axis)) for node in graph.inputs for axis, size in _sizes(graph, node, 0))
        self.inputs: dict[str, Axis] = {}
        for size, axis in inputs:
            self.inputs.setdefault(size, axis)
        self.symbols: dict[str, Axis] | None = None

    def vector(self, sizes: Sequence[int | str], node: str) -> str:
        """Return the name of a vector of sizes that a node needs."""
        key = tuple(size if isinstance(size, int) else str(size) for size in sizes)
        if key not in self.vectors:
            self.vectors[key] = self.joined(key, node)
        return self.vectors[key]

    def joined(self, sizes: Sequence[int | str], node: str) -> str:
        """Add nodes that join sizes that a node needs."""
        parts: list[str] = []
        numbers: list[int] = []
        for size in (*sizes, None):
            if isinstance(size, int):
                numbers.append(size)
                continue
            if numbers:
                parts.append(self.constant(numbers))
                numbers = []
            if size is not None:
                parts.append(self.value(size, node))
        return parts[0] if len(parts) == 1 else self.add("Concat", parts, axis=0)

    def scalar(self, size: str, node: str) -> str:
        """Return the name of one size, without axes, that a node needs."""
        return self.add("Squeeze", [self.value(str(size), node)])

    def value(self, size: str, node: str) -> str:
        """Return the name of a vector of one size that a node needs."""
        if size not in self.written:
            axis = self.axis(size, node)
            self.written[size] = self.computed(size, node) if axis is None else self.of_axis(axis)
        return self.written[size]

    def axis(self, size: str, node: str) -> Axis | None:
        """Return an axis that has a size when a node is computed."""
        if size in self.inputs:
            return self.inputs[size]
        for source, result in self.graph.operands(node):
            for axis, other in _sizes(self.graph, source, result):
                if size == other:
                    return source, result, axis
        if self.symbols is None:
            self.symbols = dict(self.declared())
        return self.symbols.get(size)

    def declared(self) -> Iterator[tuple[str, Axis]]:
        """Yield the first axis of each symbol that some value has, but for values that are computed from the symbol."""
        found: set[str] = set()
        needed: dict[str, frozenset[str]] = {}
        for node in self.graph.in_order():
            data = self.graph.nodes[node]
            own = () if data["type"] == "output" else self.graph.attributes(node).values()
            before = (needed[source] for source in self.graph.predecessors(node))
            needed[node] = frozenset(name for value in own for name in _names_in(value)).union(*before)
            kinds = data.get("result", ())
            for result in range(len(kinds) if isinstance(kinds, tuple) else 1):
                for axis, size in _sizes(self.graph, node, result):
                    if _is_symbol(size) and size not in found | needed[node]:
                        found.add(str(size))
                        yield str(size), (node, result, axis)

    def of_axis(self, axis: Axis) -> str:
        """Add the node that gives the size of an axis."""
        node, result, index = axis
        return self.add("Shape", [self.name(node, result)], start=index, end=index + 1)

    def computed(self, size: str, node: str) -> str:
        """Add nodes that compute a size from the symbols in it."""
        tree = ast.parse(size.replace("?", _UNKNOWN), mode="eval").body
        return self.solved(size) if isinstance(tree, ast.Name) else self.expression(tree, node)

    def solved(self, symbol: str) -> str:
        """Add nodes that compute a symbol from an input's size that is a multiple of it, plus a number."""
        for size, axis in self.inputs.items():
            form = linear(size)
            if form is not None and form[0] == symbol:
                _, step, offset = form
                multiple = self.add("Sub", [self.value(size, axis[0]), self.constant([offset])])
                return self.add("Div", [multiple, self.constant([step])])
        raise Unfit(f"no value that is computed before it has an axis of the size {symbol!r}")

    def expression(self, tree: ast.expr, node: str) -> str:
        """Add nodes that compute an expression."""
        if isinstance(tree, ast.Constant):
            return self.constant([int(str(tree.value))])
        if isinstance(tree, ast.BinOp):
            operands = [tree.left, tree.right]
            kind = _OPERATORS[type(tree.op)]
        elif isinstance(tree, ast.UnaryOp):
            operands, kind = [tree.operand], "Neg"
        else:
            assert isinstance(tree, ast.Call)
            assert isinstance(tree.func, ast.Name)
            operands, kind = tree.args, _FUNCTIONS[tree.func.id]
        names = [
            self.expression(operand, node)
            if isinstance(operand, ast.Constant)
            else self.value(ast.unparse(operand).replace(_UNKNOWN, "?"), node)
            for operand in operands
        ]
        return self.add(kind, names)

    def constant(self, numbers: Sequence[int]) -> str:
        """Add a constant vector."""
        name = self.fresh("sizes")
        self.constants.append(self.numpy_helper.from_array(np.asarray(numbers, np.int64), name))
        return name

    def add(self, kind: str, operands: list[str], **attributes: Any) -> str:
        """Add a node; return the name of its result."""
        name = self.fresh(f"size_{kind.lower()}")
        self.nodes.append(self.helper.make_node(kind, operands, [name], name=name, **attributes))
        return name


def _sizes(graph: Graph, node: str, result: int) -> Iterator[tuple[int, int | str]]:
    return enumerate(getattr(graph.result_type(node, result), "shape", ()))


def _is_symbol(size: int | str) -> bool:
    return isinstance(size, str) and re.fullmatch(_NAME, size) is not None


def _names_in(value: Any) -> Iterator[str]:
    """Symbols and unknown sizes in an attribute's value."""
    for size in value if isinstance(value, tuple) else (value,):
        if isinstance(size, str):
            yield from re.findall(_NAME, size)
