"""Build a graph from the nodes of a graph of TensorFlow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Value
from graphrewrite.graph.provenance import give_origin
from graphrewrite.lowering.errors import ModelError, OpenSizesError, UnsupportedOpsError
from graphrewrite.lowering.exchange.attribute_values import integers, sizes
from graphrewrite.lowering.exchange.declared_sizes import DeclaredSizes
from graphrewrite.lowering.exchange.entry import Unfit
from graphrewrite.lowering.exchange.hooks import Hooks, ModelNode
from graphrewrite.lowering.exchange.rulesets.definitions import element_of_type
from graphrewrite.lowering.exchange.size_agreement import SizeUnifier
from graphrewrite.lowering.exchange.static_values import StaticValues, remove_consumed
from graphrewrite.lowering.exchange.tensorflow.control_flow import CONTROL_FLOW, EmptyList, written
from graphrewrite.lowering.exchange.tensorflow.functions import FunctionBody, Functions, source_of
from graphrewrite.lowering.exchange.tensorflow.model import StoredModel
from graphrewrite.lowering.exchange.tensorflow.node import Node, array_of

__all__ = ["Importer", "Operands", "read_outputs"]

_MOST_LISTED = 50
_SILENT = ("NoOp", "Assert")
"""Nodes without results that matter."""
_OWN = ("Const", "Placeholder", *_SILENT)
"""Ops that are no rows of the table."""
_PASSING = ("Identity", "IdentityN")
_BODIES = ("cond", "body", "then_branch", "else_branch")
"""Attributes that name functions."""


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
        self,
        name: str,
        table: Mapping[str, Row],
        functions: Functions,
        shapes: Mapping[str, Sequence[int | str]],
        batch: str,
        hooks: Hooks | None = None,
    ) -> None:
        self.hooks = hooks
        self.graph, self.table, self.functions = Graph(name), table, functions
        self.shapes, self.batch = shapes, batch
        self.values: dict[str, tuple[Value | EmptyList, ...]] = {}
        self.static, self.sizes = StaticValues(self.graph), DeclaredSizes()
        self.agreement = SizeUnifier(self.graph, self.sizes, self.static, keeps_names=True)
        self.consumed: list[str] = []
        self.counts: dict[str, int] = {}
        """How many results of a node are read, at least."""

    def run(self, nodes: Iterable[Node], ends: Mapping[str, tuple[str, int]]) -> Graph:
        """Return the graph of the nodes on which results depend, which become outputs with names."""
        every = {node.name: node for node in nodes}
        needed = _upstream(every, [name for name, _ in ends.values()])
        self.check(every[name] for name in every if name in needed)
        self.count(every.values(), ends.values())
        inputs = [node.name for node in every.values() if node.op == "Placeholder" and node.name in needed]
        for name in self.shapes:
            if name not in inputs:
                raise ModelError(f"shapes are given for {name!r}, which is no input; inputs: {inputs}")
        for node in every.values():
            if node.name in needed:
                self.translate(node)
        for label, (name, index) in ends.items():
            results = self.values[name]
            if index >= len(results):
                raise ModelError(f"{name!r} has {len(results)} results, and result {index} is asked for")
            self.graph.output(self.graph.fresh(label) if label in self.graph else label, written(results[index]))
        return self.finished()

    def finished(self) -> Graph:
        """Return the graph without what computed known values only."""
        remove_consumed(self.graph, self.consumed)
        return self.graph

    def child(self, name: str) -> Importer:
        """Return the importer of a graph that is an attribute."""
        return Importer(name, self.table, self.functions, {}, self.batch, self.hooks)

    def port(self, name: str, value: Value | EmptyList) -> Value | EmptyList:
        """Add an input for a value of another graph; an empty list is one here, too."""
        if isinstance(value, EmptyList):
            return EmptyList(self.graph, value.element, value.length)
        return self.graph.input(self.graph.fresh(name), value.type)

    def called(self, body: FunctionBody, values: Sequence[Value | EmptyList]) -> list[Value | EmptyList]:
        """Add the nodes of a function for values, and return its results."""
        if len(values) != len(body.parameters):
            raise Unfit(f"a function takes {len(body.parameters)} values, and {len(values)} are passed")
        outer = self.values
        self.values = {name: (value,) for name, value in zip(body.parameters, values, strict=True)}
        try:
            needed = _upstream({node.name: node for node in body.nodes}, [name for name, _ in body.results])
            self.count(body.nodes, body.results)
            for node in body.nodes:
                if node.name in needed:
                    self.translate(node)
            return [self.values[name][index] for name, index in body.results]
        finally:
            self.values = outer

    def count(self, nodes: Iterable[Node], ends: Iterable[tuple[str, int]]) -> None:
        """Note how many results of nodes are read."""
        for source, index in (*(read for node in nodes for read in node.inputs), *ends):
            self.counts[source] = max(self.counts.get(source, 1), index + 1)

    def check(self, nodes: Iterable[Node]) -> None:
        """Raise if there are ops that the table lacks, with all of them, those in bodies of control flow too."""
        pending, seen = deque(nodes), set[str]()
        named: dict[str, list[str]] = {}
        while pending:
            node = pending.popleft()
            is_known = node.op in self.table or node.op in CONTROL_FLOW or node.op in _OWN
            if not is_known and not (self.hooks and self.hooks.are_for(node.op, node.name, before=True)):
                named.setdefault(node.op, []).append(node.name)
            for key in _BODIES if node.op in CONTROL_FLOW else ():
                name = node.attributes[key].name if key in node.message else ""
                if name and name not in seen:
                    seen.add(name)
                    body = self.functions.body(name)
                    every = {each.name: each for each in body.nodes}
                    needed = _upstream(every, [name for name, _ in body.results])
                    pending += [each for each in body.nodes if each.name in needed]
        if named:
            listed = "; ".join(
                f"{op} ({', '.join(map(repr, each[:3]))})" for op, each in sorted(named.items())[:_MOST_LISTED]
            )
            raise UnsupportedOpsError(f"the graph has ops that are not supported: {listed}; {_remedy(named)}")

    def translate(self, node: Node) -> None:
        """Add the nodes of the graph for one of TensorFlow."""
        before = len(self.graph)
        try:
            results = self.meaning(node)
        except (GraphRewriteError, Unfit, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            if isinstance(error, OpenSizesError):
                raise
            reason = f"its attribute {error} is missing" if isinstance(error, KeyError) else self.sizes.hint(str(error))
            raise ModelError(f"node {node.name!r} ({node.op}): {reason}") from error
        give_origin(self.graph, before, node.name)
        self.values[node.name] = results if isinstance(results, tuple) else (results,)

    def meaning(self, node: Node) -> Any:
        """Return the results of a node."""
        if node.op in _SILENT:
            return ()
        if node.op == "Placeholder":
            return self.graph.input(node.name, self.input_type(node))
        if node.op == "Const":
            array, element = node.held or array_of(node.attributes["value"])
            # A bfloat16 is the upper half of a float32.
            held = (array.astype(np.uint32) << 16).view(np.float32) if element == "bf16" else array
            return self.graph.constant(held, type=Tensor(element, array.shape), name=self.graph.fresh(node.name))
        values: list[Value | EmptyList] = []
        for source, index in node.inputs:
            if index >= len(self.values[source]):
                raise Unfit(f"it reads result {index} of {source!r}, which is not supported")
            values.append(self.values[source][index])
        if node.op in CONTROL_FLOW:
            return CONTROL_FLOW[node.op](self, node, values)
        if self.hooks is None or not self.hooks.are_for(node.op, node.name):
            operands = self.operands(node, values)
            return self.agreement.reached(operands.values, lambda: self.table[node.op](operands))
        self.operands(node, values)  # checks them
        count = self.counts.get(node.name, 1)
        seen = ModelNode(node.op, node.name, tuple(values), node.attributes, count, self.hooks.model)
        return self.hooks.around(seen, self.graph, self.translated)

    def translated(self, node: ModelNode) -> tuple[Value, ...]:
        """Return the results of a node as a hook has left it."""
        if node.op not in self.table:
            near = did_you_mean(node.op, self.table)
            raise Unfit(f"the library has no op {node.op!r}{near}; let the hook return values")
        found = self.table[node.op](Operands(node.inputs, node.attributes, self.known))
        return found if isinstance(found, tuple) else (found,)

    def operands(self, node: Node, values: Sequence[Value | EmptyList]) -> Operands:
        """Return what a row of the table gets; lists that are empty pass through those that return what they read."""
        if node.op not in _PASSING and any(isinstance(each, EmptyList) for each in values):
            raise Unfit("it reads a list that nothing was written to")
        return Operands(tuple(values), node.attributes, self.known)  # type: ignore[arg-type]  # checked above

    def known(self, value: Value) -> np.ndarray | None:
        """Return the array of a value that does not depend on inputs; what computes it may be without readers then."""
        found = self.static.array(value)
        if found is not None:
            self.consumed.append(value.node)
        return found

    def input_type(self, node: Node) -> Tensor:
        """Return the type of an input; its first size, if it is open, is the batch, and others are unknown ones."""
        element = element_of_type(node.attributes["dtype"])
        shape = self.shapes.get(node.name, node.attributes.get("shape"))
        if shape is None:
            raise OpenSizesError(f"the shape of input {node.name!r} is open; pass shapes={{{node.name!r}: (…)}}")
        return Tensor(element, self.sizes.open_shape((None if size == -1 else size for size in shape), self.batch))


def _remedy(missing: Iterable[str]) -> str:
    """Return what to do about ops that are not supported."""
    if any("Random" in name for name in missing):
        return "random layers are for training: a file of Keras (model.save('model.keras')) is read without them"
    if any(part in name for name in missing for part in ("Table", "Hash", "Regex", "String", "Sparse")):
        return "look texts and numbers up before the network: save a model of the layers behind these"
    return "give them a meaning by from_tensorflow(…, entries=[Entry('…', …)]) or hooks=[Hook(before=…, op='…')]"


def read_outputs(model: StoredModel, outputs: Sequence[str] | None) -> dict[str, tuple[str, int]]:
    """Return the results that become outputs: those that are named, or of nodes that nobody reads."""
    if outputs is None:
        read = {source for node in model.nodes for source in (*(name for name, _ in node.inputs), *node.after)}
        idle = [n.name for n in model.nodes if n.name not in read and n.op not in _OWN]
        if not idle:
            raise ModelError("no node gives a result that nobody reads; name the outputs: outputs=['node']")
        return {name: (name, 0) for name in idle}
    known, found = {node.name for node in model.nodes} | model.calls.keys(), {}
    for each in outputs:
        name, place = source_of(each)
        if name not in known:
            raise ModelError(f"there is no node {name!r}{did_you_mean(name, known)}")
        results = model.calls.get(name, ())
        found[f"{name}_{place}" if place else name] = results[place] if place < len(results) else (name, place)
    return found


def _upstream(nodes: Mapping[str, Node], ends: Sequence[str]) -> set[str]:
    """Return the names of nodes on which others depend, with these."""
    pending, found = list(ends), set(ends)
    while pending:
        name = pending.pop()
        for source, _ in nodes[name].inputs if name in nodes else ():
            if source not in found:
                found.add(source)
                pending.append(source)
    return found
