"""Build a graph from the nodes of a graph of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Value
from graphrewrite.lowering.errors import ModelError, OpenSizesError, UnsupportedOpsError
from graphrewrite.lowering.exchange.attribute_values import integers, sizes
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.static_values import StaticValues, remove_consumed
from graphrewrite.lowering.exchange.tensorflow.model import Node, array_of, element_of_type
from graphrewrite.types import hold

__all__ = ["Importer", "Operands"]

_MOST_LISTED = 50
_SILENT = ("NoOp", "Assert")
"""Nodes without results that matter."""


@dataclass(frozen=True)
class Operands:
    """What an op of TensorFlow reads, as the table gets it.

    Attributes
    ----------
    values : tuple of Value
        Its inputs in the graph.
    attributes : mapping
        Its attributes.
    known : callable
        Returns the array of a value, or None if it depends on inputs.
    """

    values: tuple[Value, ...]
    attributes: Mapping[str, Any]
    known: Callable[[Value], np.ndarray | None]

    def __getitem__(self, index: int) -> Value:
        return self.values[index]

    def __len__(self) -> int:
        return len(self.values)

    def array(self, index: int) -> np.ndarray:
        """Return the array of an input that must be known."""
        found = self.known(self.values[index])
        if found is None:
            raise Unfit(f"its input {index} is computed from inputs of the graph, and must be known on import")
        return found

    def integers(self, index: int) -> tuple[int, ...]:
        """Return an input as integers."""
        return integers(self.array(index))

    def sizes(self, index: int) -> tuple[Any, ...]:
        """Return an input as sizes, some perhaps symbolic."""
        return sizes(self.array(index))

    def get(self, name: str, default: Any = None) -> Any:
        """Return an attribute."""
        return self.attributes.get(name, default)


Row = Callable[[Operands], Any]


class Importer:
    """Import of one graph."""

    def __init__(
        self, name: str, table: Mapping[str, Row], shapes: Mapping[str, Sequence[int | str]], batch: str
    ) -> None:
        self.graph, self.table, self.shapes, self.batch = Graph(name), table, shapes, batch
        self.values: dict[str, tuple[Value, ...]] = {}
        self.static = StaticValues(self.graph)
        self.consumed: list[str] = []

    def run(self, nodes: Iterable[Node], outputs: Sequence[str] | None) -> Graph:
        """Return the graph of the nodes on which outputs depend."""
        every = {node.name: node for node in nodes}
        ends = self.ends(every, outputs)
        needed = _upstream(every, [name for name, _ in ends])
        inputs = [node for node in every.values() if node.op == "Placeholder" and node.name in needed]
        self.check({node.op for node in every.values() if node.name in needed}, every, needed)
        for name in self.shapes:
            if name not in {node.name for node in inputs}:
                raise ModelError(
                    f"shapes are given for {name!r}, which is no input; inputs: {[n.name for n in inputs]}"
                )
        for node in every.values():
            if node.name in needed:
                self.translate(node)
        for name, index in ends:
            results = self.values[name]
            if index >= len(results):
                raise ModelError(f"{name!r} has {len(results)} results, and result {index} is asked for")
            label = f"{name}_{index}" if index else name
            self.graph.output(self.graph.fresh(label) if label in self.graph else label, results[index])
        remove_consumed(self.graph, self.consumed)
        return self.graph

    def ends(self, nodes: Mapping[str, Node], outputs: Sequence[str] | None) -> list[tuple[str, int]]:
        """Return the results that become outputs: those that are named, or of nodes that nobody reads."""
        if outputs is None:
            read = {source for node in nodes.values() for source, _ in node.inputs}
            idle = [n for n in nodes.values() if n.name not in read and n.op not in (*_SILENT, "Const", "Placeholder")]
            found = [(node.name, 0) for node in idle]
            if not found:
                raise ModelError("no node gives a result that nobody reads; name the outputs: outputs=['node']")
            return found
        found = []
        for each in outputs:
            name, _, index = each.partition(":")
            if name not in nodes:
                raise ModelError(f"there is no node {name!r}{did_you_mean(name, nodes)}")
            found.append((name, int(index or 0)))
        return found

    def check(self, ops: set[str], nodes: Mapping[str, Node], needed: set[str]) -> None:
        """Raise if there are ops that the table lacks, with all of them."""
        missing = sorted(op for op in ops if op not in self.table and op not in ("Const", "Placeholder", *_SILENT))
        if missing:
            named = {op: [n.name for n in nodes.values() if n.op == op and n.name in needed] for op in missing}
            listed = "; ".join(
                f"{op} ({', '.join(map(repr, each[:3]))})" for op, each in list(named.items())[:_MOST_LISTED]
            )
            raise UnsupportedOpsError(f"the graph has ops that are not supported: {listed}")

    def translate(self, node: Node) -> None:
        """Add the nodes of the graph for one of TensorFlow."""
        before = set(self.graph)
        try:
            results = self.meaning(node)
        except (GraphRewriteError, Unfit, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            if isinstance(error, OpenSizesError):
                raise
            reason = f"its attribute {error} is missing" if isinstance(error, KeyError) else str(error)
            raise ModelError(f"node {node.name!r} ({node.op}): {reason}") from error
        for new in self.graph.nodes - before:
            self.graph.nodes[new]["origin"] = (node.name,)
        self.values[node.name] = results if isinstance(results, tuple) else (results,)

    def meaning(self, node: Node) -> Any:
        """Return the results of a node."""
        if node.op in _SILENT:
            return ()
        if node.op == "Placeholder":
            return self.graph.input(node.name, self.input_type(node))
        if node.op == "Const":
            array, element = array_of(node.attributes["value"])
            held = hold(element, array.view("u2")) if element == "bf16" else array
            return self.graph.constant(held, type=Tensor(element, array.shape), name=self.graph.fresh(node.name))
        values = []
        for source, index in node.inputs:
            if index >= len(self.values[source]):
                raise Unfit(f"it reads result {index} of {source!r}, which is not supported")
            values.append(self.values[source][index])
        return self.table[node.op](Operands(tuple(values), node.attributes, self.known))

    def known(self, value: Value) -> np.ndarray | None:
        """Return the array of a value that does not depend on inputs; what computes it may be without readers then."""
        found = self.static.array(value)
        if found is not None:
            self.consumed.append(value.node)
        return found

    def input_type(self, node: Node) -> Tensor:
        """Return the type of an input; its first size, if it is open, is the batch."""
        element = element_of_type(node.attributes["dtype"])
        shape = self.shapes.get(node.name, node.attributes.get("shape"))
        if shape is None:
            raise OpenSizesError(f"the shape of input {node.name!r} is open; pass shapes={{{node.name!r}: (…)}}")
        named = [self.batch if at == 0 and size == -1 else size for at, size in enumerate(shape)]
        if any(size == -1 for size in named):
            raise OpenSizesError(
                f"input {node.name!r} has open sizes {list(shape)}; pass them: shapes={{{node.name!r}: (…)}}"
            )
        return Tensor(element, tuple(named))


def _upstream(nodes: Mapping[str, Node], ends: Sequence[str]) -> set[str]:
    """Return the names of nodes on which others depend, with these."""
    pending, found = list(ends), set(ends)
    while pending:
        for source, _ in nodes[pending.pop()].inputs:
            if source not in found:
                found.add(source)
                pending.append(source)
    return found
