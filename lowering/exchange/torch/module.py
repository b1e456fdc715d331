"""Build a module of PyTorch from a graph: a `torch.fx` graph of functions, with parameters and buffers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.lowering.errors import ModelError, UnsupportedOpsError
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.torch.program import require_torch
from graphrewrite.lowering.exchange.torch.written import Written, written_ops
from graphrewrite.lowering.exchange.torch.written_images import written_images
from graphrewrite.lowering.exchange.torch.written_layers import written_layers
from graphrewrite.types import symbols

__all__ = ["Writer"]

_DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "bool": "bool",
    "u8": "uint8",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}
_FLOATS = ("f16", "f32", "f64", "bf16")
_FIXED = {"batch_norm": (3, 4), "lstm": (6,)}
"""Operands that are no weights: statistics, and peepholes, which PyTorch lacks."""
_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}


class Writer:
    """Writer of one graph."""

    def __init__(self, graph: Graph, trainable: Collection[str] | None) -> None:
        self.graph, self.trainable = graph, trainable
        self.torch = require_torch()
        self.table: Mapping[str, Written] = {
            **written_ops(self.torch),
            **written_layers(self.torch),
            **written_images(self.torch),
        }
        self.root = self.torch.nn.Module()
        self.fx = self.torch.fx.Graph()
        self.tracer = self.torch.fx.proxy.GraphAppendingTracer(self.fx)
        self.values: dict[tuple[str, int], Any] = {}
        self.symbols: dict[str, tuple[str, int]] = {}
        self.known_sizes: dict[str, Any] = {}

    def run(self) -> Any:
        """Return the module."""
        self.check()
        outputs = {}
        for name in self.graph.inputs:
            self.values[name, 0] = self.proxy(self.fx.placeholder(_identifier(name)))
            for axis, size in enumerate(self.graph.result_type(name).shape):
                if not isinstance(size, int) and str(size).isidentifier():
                    self.symbols.setdefault(str(size), (name, axis))
        for node in nx.topological_sort(self.graph):
            kind = self.graph.nodes[node]["type"]
            if kind == "constant":
                self.values[node, 0] = self.constant(node)
            elif kind == "output":
                (operand,) = self.graph.operands(node)
                outputs[node] = self.values[operand.node, operand.result].node
            elif kind != "input":
                self.write(node)
        named = [outputs[name] for name in self.graph.outputs]
        self.fx.output(named[0] if len(named) == 1 else dict(zip(self.graph.outputs, named, strict=True)))
        self.fx.lint()
        return self.torch.fx.GraphModule(self.root, self.fx, "Graph")

    def check(self) -> None:
        """Raise if there are ops without a form in PyTorch, with all of them."""
        missing: dict[str, list[str]] = {}
        for node in self.graph:
            kind = self.graph.nodes[node]["type"]
            if kind not in ("input", "output", "constant", *self.table):
                missing.setdefault(kind, []).append(node)
            elif kind != "output":
                for result in self.types(node):
                    if not isinstance(result, Tensor) or result.element not in _DTYPES:
                        missing.setdefault(f"{kind} of {result}", []).append(node)
        if missing:
            listed = "; ".join(f"{kind} ({', '.join(map(repr, each[:3]))})" for kind, each in sorted(missing.items()))
            raise UnsupportedOpsError(
                f"the graph has ops that have no form in PyTorch: {listed}; lower_composite writes many ops by others"
            )

    def types(self, node: str) -> tuple[Any, ...]:
        """Return the types of a node's results."""
        found = self.graph.nodes[node]["result"]
        return found if isinstance(found, tuple) else (found,)

    def proxy(self, node: Any) -> Any:
        """Return what functions take for a value and write down."""
        return self.torch.fx.Proxy(node, self.tracer)

    def constant(self, node: str) -> Any:
        """Add a parameter or a buffer; its name has the modules that are in the node's."""
        data = self.graph.nodes[node]
        element = data["result"].element
        tensor = self.torch.from_numpy(np.array(data["value"])).to(getattr(self.torch, _DTYPES[element]))
        *path, last = (
            [_identifier(part) for part in node.split(".")] if not node.startswith(".") else [_identifier(node)]
        )
        owner = self.root
        for part in path:
            if not hasattr(owner, part):
                owner.add_module(part, self.torch.nn.Module())
            owner = getattr(owner, part)
            if not isinstance(owner, self.torch.nn.Module):
                owner, last, path = self.root, _identifier(node), []
                break
        while hasattr(owner, last):
            last += "_"
        if self.is_trained(node, element, tensor.ndim):
            owner.register_parameter(last, self.torch.nn.Parameter(tensor))
        else:
            owner.register_buffer(last, tensor)
        return self.proxy(self.fx.get_attr(".".join((*path, last))))

    def is_trained(self, node: str, element: Any, rank: int) -> bool:
        """Tell whether a constant is a weight: floats with axes, but for buffers and statistics."""
        if self.trainable is not None:
            return node in self.trainable
        if not self.graph.nodes[node].get("trainable", True):
            return False
        readers = [
            (reader, slot)
            for reader in self.graph.successors(node)
            for slot, operand in enumerate(self.graph.operands(reader))
            if operand.node == node
        ]
        fixed = all(slot in _FIXED.get(self.graph.nodes[each]["type"], ()) for each, slot in readers)
        return element in _FLOATS and rank > 0 and bool(readers) and not fixed

    def write(self, node: str) -> None:
        """Write the functions of a node."""
        kind = self.graph.nodes[node]["type"]
        operands = [self.values[each.node, each.result] for each in self.graph.operands(node)]
        context = Context(self, node)
        try:
            found = self.table[kind](context, *operands, **self.graph.attributes(node))
        except (Unfit, KeyError, TypeError, ValueError, IndexError, GraphRewriteError) as error:
            raise ModelError(f"node {node!r} ({kind}) has no form in PyTorch: {error}") from error
        count = len(self.types(node))
        results = found if isinstance(found, tuple) else context.several(found, count) if count > 1 else (found,)
        for index, result in enumerate(results):
            self.values[node, index] = result

    def size(self, size: Any) -> Any:
        """Return a size as a number, or as what computes it from the sizes of inputs."""
        if isinstance(size, int | float):
            return size
        text = str(size)
        if text not in self.known_sizes:
            self.known_sizes[text] = self.computed(ast.parse(text, mode="eval").body, text)
        return self.known_sizes[text]

    def computed(self, tree: ast.AST, text: str) -> Any:
        """Return what computes a size."""
        match tree:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name) if name in self.symbols:
                node, axis = self.symbols[name]
                return self.values[node, 0].shape[axis]
            case ast.BinOp(left=left, op=kind, right=right) if type(kind) in _ARITHMETIC:
                return _ARITHMETIC[type(kind)](self.computed(left, text), self.computed(right, text))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.computed(operand, text)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[one, other]):
                function = self.torch.sym_min if name == "min" else self.torch.sym_max
                pair = (self.computed(one, text), self.computed(other, text))
                return self.proxy(self.fx.call_function(function, tuple(getattr(p, "node", p) for p in pair)))
        raise Unfit(f"the size {text} does not follow from sizes of inputs ({', '.join(symbols(text))})")


class Context:
    """What functions of the table know about the node that they write."""

    def __init__(self, writer: Writer, node: str) -> None:
        self.writer, self.node = writer, node

    @property
    def shape(self) -> tuple[Any, ...]:
        """Shape of the first result."""
        return tuple(self.writer.types(self.node)[0].shape)

    @property
    def dtype(self) -> Any:
        """Element type of the first result."""
        return getattr(self.writer.torch, _DTYPES[self.writer.types(self.node)[0].element])

    def is_float(self) -> bool:
        """Tell whether the first result has floats."""
        return self.writer.types(self.node)[0].element in _FLOATS

    def operand_shape(self, index: int) -> tuple[Any, ...]:
        """Return the shape of an operand."""
        operand = list(self.writer.graph.operands(self.node))[index]
        return tuple(self.writer.graph.result_type(*operand).shape)

    def rank(self, index: int) -> int:
        """Return the number of axes of an operand."""
        return len(self.operand_shape(index))

    def size(self, size: Any) -> Any:
        """Return a size as PyTorch takes it."""
        return self.writer.size(size)

    def sizes(self, sizes: Sequence[Any]) -> tuple[Any, ...]:
        """Return sizes as PyTorch takes them."""
        return tuple(self.writer.size(size) for size in sizes)

    def new(self, function: Any, *arguments: Any, **named: Any) -> Any:
        """Return a new tensor from a function that takes none."""
        lowered = self.writer.torch.fx.node.map_aggregate(arguments, lambda each: getattr(each, "node", each))
        return self.writer.proxy(self.writer.fx.call_function(function, lowered, named))

    def buffer(self, array: np.ndarray) -> Any:
        """Return a new buffer with floats in the element type of the first result."""
        name = _identifier(f"{self.node}_weights")
        while hasattr(self.writer.root, name):
            name += "_"
        self.writer.root.register_buffer(name, self.writer.torch.from_numpy(array).to(self.dtype))
        return self.writer.proxy(self.writer.fx.get_attr(name))

    def vector(self, numbers: Sequence[Any]) -> Any:
        """Return a vector of numbers, some perhaps computed."""
        return self.new(self.writer.torch.tensor, list(numbers), dtype=self.writer.torch.int64)

    def several(self, found: Any, count: int) -> tuple[Any, ...]:
        """Return the parts of a result."""
        return tuple(found[index] for index in range(count))

    def zero_operand(self, index: int | None) -> None:
        """Raise if an operand that PyTorch lacks is anything but zeros."""
        operands = list(self.writer.graph.operands(self.node))
        if index is None or index >= len(operands):
            return
        data = self.writer.graph.nodes[operands[index].node]
        if data["type"] != "constant" or np.any(data["value"]):
            raise Unfit("peepholes are not supported")


def _identifier(name: str) -> str:
    """Return a name as Python has them."""
    free = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)
    return free if free[:1].isalpha() or free.isdigit() or free.startswith("_") else f"_{free}"
