"""Build a graph from a model of TensorFlow Lite by the table of entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.graph import Value
from graphrewrite.graph.provenance import give_origin
from graphrewrite.lowering.errors import ModelError
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.hooks import ModelNode
from graphrewrite.lowering.exchange.static_values import StaticValues, remove_consumed
from graphrewrite.lowering.exchange.tflite.control_flow import CONTROL_FLOW
from graphrewrite.lowering.exchange.tflite.elementwise import ACTIVATIONS
from graphrewrite.lowering.exchange.tflite.matching import ACTIVATION, Matching, Row, operands
from graphrewrite.lowering.exchange.tflite.model import Operator, Stored
from graphrewrite.lowering.exchange.tflite.operands import MOST_NUMBERS, Operand, Result
from graphrewrite.lowering.exchange.tflite.schema import ACTIVATIONS as NUMBERED
from graphrewrite.lowering.exchange.tflite.variables import Variables
from graphrewrite.op.op import Op
from graphrewrite.types import Quantised, element_dtype, handed_over, hold

__all__ = ["Importer"]

_MOST_RUN = 1 << 14
"""Operators of further subgraphs that are written out, at most: a short file cannot ask for more."""
_LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"


class Importer:
    """Import of a subgraph of a model: of the first one, or of one that an operator of another runs."""

    def __init__(self, matching: Matching, graph: Graph | None = None) -> None:
        self.matching, self.hooks = matching, matching.hooks
        self.network = network = matching.network
        self.tensors = network.tensors
        self.graph = Graph(network.name or "model") if graph is None else graph
        self.within: list[Importer] = []
        """Subgraphs whose nodes stand in the same graph."""
        self.budget = [_MOST_RUN]
        """Operators of further subgraphs that may still be written out."""
        self.values: dict[int, Value] = {}
        ends = {self.tensors[index].name for index in (*network.inputs, *network.outputs)}
        self.variables = Variables(self.graph, matching.networks, ends)
        self.known = StaticValues(self.graph)
        self.consumed: list[str] = []
        self.fixed: list[tuple[Value, tuple[int, ...]]] = []
        """Values with axes whose sizes are numbers in the graph."""
        self.kept: dict[tuple[int, str], Value] = {}
        self.names: dict[Any, str] = {}
        """Names that nodes get at the end."""

    def run(self, operators: Iterable[Operator]) -> Graph:
        """Return the graph, whose nodes have the names of the tensors that they compute."""
        rows = self.matching.rows()
        for index in self.network.inputs:
            tensor = self.tensors[index]
            if index in self.values:
                raise ModelError(f"{tensor.name!r} is an input twice")
            name = self.graph.fresh(tensor.name) if tensor.name in self.graph else tensor.name
            self.values[index] = self.graph.input(name, Tensor(self.element(tensor), tensor.shape))
            self.annotate(name, tensor)
        self.translate_all(operators, rows)
        for index in self.network.outputs:
            tensor = self.tensors[index]
            name = self.graph.fresh(tensor.name) if tensor.name in self.graph else tensor.name
            self.graph.output(name, self.value(index))
            self.annotate(name, tensor)
        self.variables.finish()
        remove_consumed(self.graph, self.consumed)
        return self.named()

    def translate_all(self, operators: Iterable[Operator], rows: Sequence[Row | None]) -> None:
        """Add the nodes of operators."""
        for operator, row in zip(operators, rows, strict=True):
            if self.hooks is not None and self.hooks.are_for(operator.kind, operator.label):
                self.hooked(operator)
            elif row is not None:
                self.translate(operator, *row)
            elif operator.kind in CONTROL_FLOW:
                self.branch(operator)
            else:
                self.vary(operator)

    def element(self, tensor: Stored) -> str:
        """Return the element type of a tensor that has one."""
        if not tensor.element:
            raise ModelError(f"tensor {tensor.name!r} is of a type that is not supported (text, complex or a resource)")
        return tensor.element

    def annotate(self, node: str, tensor: Stored) -> None:
        """Say on a node in which format its numbers are stored."""
        if tensor.format is not None:
            self.graph.nodes[node]["quantisation"] = tensor.format

    def named(self) -> Graph:
        """Give nodes the names of the tensors that they compute, where these are free."""
        taken = set(self.graph)
        for tensor, value in self.computed():
            node, result = value.node, value.result
            kind = self.graph.nodes[node]["type"] if node in self.graph else "constant"
            if kind in ("input", "constant") or result or node in self.names:
                continue
            self.annotate(node, tensor)
            if tensor.name not in taken:
                taken.add(tensor.name)
                self.names[node] = tensor.name
        return self.graph.renamed(self.names)

    def computed(self) -> Iterator[tuple[Stored, Value]]:
        """Yield tensors with their values, those of further subgraphs last."""
        yield from ((self.tensors[index], value) for index, value in self.values.items())
        for child in self.within:
            yield from child.computed()

    def freed(self, graph: Graph, freed: Graph) -> Graph:
        """Return a graph for any batch, but where the size of the batch became a number in it: then the other one.

        Graphs of branches and loops are written for one size.
        """
        if any(data["type"] in ("cond", "loop") for data in graph._node.values()):
            return graph
        for value, axes in self.fixed:
            node = self.names.get(value.node, value.node)
            shape = freed.result_type(node, value.result).shape if node in freed else ()
            if any(isinstance(size, str) for axis, size in enumerate(shape) if axis in axes):
                return graph
        return freed

    # ---------------------------------------------------------------------- operators

    def hooked(self, operator: Operator) -> None:
        """Add an operator with the hooks before and after it."""
        assert self.hooks is not None  # else there is nothing to call
        read = tuple(self.value(index) if index >= 0 else None for index in operator.inputs)
        options = {key: value for key, value in operator.options.items() if key != "_"}
        seen = ModelNode(operator.kind, operator.label, read, options, len(operator.outputs), self.hooks.model)

        def translated(changed: ModelNode) -> tuple[Value, ...]:
            if changed.inputs != read:
                raise ModelError(
                    f"operator {operator.label!r} ({operator.kind}): its operands are tensors of the file, and a hook "
                    "gave it others; let the hook return values"
                )
            other = replace(operator, kind=changed.op, options=dict(changed.attributes))
            try:
                row = self.matching.row(other)
            except Unfit as error:
                raise ModelError(
                    f"operator {operator.label!r} ({other.kind}): {error}; let the hook return values"
                ) from None
            self.translate(other, *row)
            return tuple(self.values.pop(index) for index in operator.outputs)

        before = len(self.graph)
        found = self.hooks.around(seen, self.graph, translated)
        self.check(found, operator)
        give_origin(self.graph, before, operator.label)
        for index, value in zip(operator.outputs, found, strict=False):
            self.write(index, value, operator)

    def translate(self, operator: Operator, entry: Entry, attributes: dict[str, Any]) -> None:
        """Add the nodes of an operator."""
        before = len(self.graph)
        try:
            attributes = {**attributes, **self.constants(entry, operator)}
            indices = operands(entry, operator)
            to = tuple(self.result(index, operator) for index in operator.outputs)
            if entry.complete is not None:
                attributes = entry.complete(attributes, [self.matching.kind(index) for index in indices if index >= 0])
            if isinstance(entry.op, Op):
                values = [self.value(index) if index >= 0 else None for index in indices]
                results = self.graph.add(entry.op, values, attributes)
            else:
                results = entry.op(*map(self.operand, indices), to=to, **attributes)
            found = results if isinstance(results, tuple) else (results,)
            if not isinstance(to[0].kind.element if to else None, Quantised):
                activated = (self.activated(value, each) for value, each in zip(found, to, strict=False))
                found = (*activated, *found[len(to) :])
            self.check(found, operator)
            self.keep_states(found[len(to) :], operator)
        except (GraphRewriteError, Unfit, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"operator {operator.label!r} ({operator.kind}): {error}") from error
        for data in islice(reversed(self.graph._node.values()), len(self.graph) - before):  # nodes are in order
            data["origin"] = (operator.label,)
        for index, value in zip(operator.outputs, found, strict=False):
            self.write(index, value, operator)

    def write(self, index: int, value: Value, operator: Operator) -> None:
        """Give a tensor its value, which it gets once."""
        if index in self.values or self.tensors[index].array is not None:
            raise ModelError(f"operator {operator.label!r} writes {self.tensors[index].name!r}, which has a value")
        self.values[index] = value

    def vary(self, operator: Operator) -> None:
        """Carry out an operator on variables."""
        try:
            read = self.variables.run(operator, self.tensors, self.value)
            if read is not None:
                self.check((read,), operator)
        except (GraphRewriteError, Unfit, ValueError) as error:
            raise ModelError(f"operator {operator.label!r} ({operator.kind}): {error}") from error
        if read is not None:
            self.write(operator.outputs[0], read, operator)

    # ---------------------------------------------------------------------- further subgraphs

    def branch(self, operator: Operator) -> None:
        """Add the nodes of an operator that runs further subgraphs."""
        before = len(self.graph)
        try:
            values = [self.value(index) for index in operator.inputs]
            found = CONTROL_FLOW[operator.kind](self, operator, values)
            self.check(found, operator)
        except (GraphRewriteError, Unfit, ValueError, TypeError, OverflowError) as error:
            raise ModelError(f"operator {operator.label!r} ({operator.kind}): {error}") from error
        for data in islice(reversed(self.graph._node.values()), len(self.graph) - before):  # nodes are in order
            data.setdefault("origin", (operator.label,))
        for index, value in zip(operator.outputs, found, strict=False):
            self.write(index, value, operator)

    def child(self, index: int, graph: Graph) -> Importer:
        """Return the import of a further subgraph into a graph."""
        child = Importer(self.matching.within(index), graph)
        child.budget = self.budget
        return child

    def called(self, index: int, values: Sequence[Value]) -> list[Value]:
        """Return the results of a subgraph whose nodes are added to this graph."""
        child = self.child(index, self.graph)
        self.within.append(child)
        found = child.results(values)
        self.fixed += child.fixed
        self.consumed += child.consumed
        return found

    def results(self, values: Sequence[Value]) -> list[Value]:
        """Return the results of the subgraph for values of its inputs."""
        if len(values) != len(self.network.inputs):
            raise Unfit(
                f"{len(values)} values are passed to {self.network.name!r}, which takes {len(self.network.inputs)}"
            )
        self.budget[0] -= len(self.network.operators) + 1
        if self.budget[0] < 0:
            raise Unfit(f"its branches and loops have more than {_MOST_RUN} operators, written out")
        for index, value in zip(self.network.inputs, values, strict=True):
            if value.type.element != self.element(self.tensors[index]):
                raise Unfit(f"{value.type} is passed for {self.tensors[index].name!r} of {self.network.name!r}")
            self.values[index] = value
        self.translate_all(self.network.operators, self.matching.rows())
        return [self.value(index) for index in self.network.outputs]

    def static(self, value: Value) -> np.ndarray | None:
        """Return the array of a value that does not depend on inputs; what computes it may be without readers then."""
        array = self.known.array(value)
        if array is not None:
            self.consumed.append(value.node)
        return array

    def keep_states(self, states: Sequence[Value], operator: Operator) -> None:
        """Note what the variables that an operator reads become."""
        names = [self.tensors[index] for index in operator.inputs if index >= 0 and self.tensors[index].is_variable]
        for tensor, value in zip(names, states, strict=False):
            self.variables.current[tensor.name] = value

    def constants(self, entry: Entry, operator: Operator) -> dict[str, Any]:
        """Return attributes that are operands of the operator, whose values must be known."""
        found = {}
        for at, (ours, convert, *_) in entry.constants.items():
            index = operator.inputs[at] if at < len(operator.inputs) else -1
            if index < 0:
                raise Unfit(f"its operand {at} ({ours}) is missing")
            array = self.array(index)
            if array is None:
                raise Unfit(f"its operand {at} ({ours}) is computed from inputs, and must be known on import")
            if array.size > MOST_NUMBERS:
                raise Unfit(f"its operand {at} ({ours}) has {array.size} entries; at most {MOST_NUMBERS} are supported")
            found[ours] = convert(array)
        return found

    def result(self, index: int, operator: Operator) -> Result:
        """Return what an entry is told of a result."""
        # Recurrent layers have theirs inside.
        activation = 0 if operator.kind == _LSTM else operator.options.get(ACTIVATION, 0)
        if not 0 <= activation < len(NUMBERED):
            raise Unfit(f"its fused activation {activation} is not known")
        inner = tuple(map(self.matching.kind, operator.intermediates))
        return Result(self.matching.kind(index), NUMBERED[activation], self.fix, inner)

    def fix(self, value: Value, axes: Sequence[int]) -> None:
        """Note that sizes of a value became numbers."""
        self.fixed.append((value, tuple(axes)))

    def activated(self, value: Value, to: Result) -> Value:
        """Apply the activation that is fused into an operator on plain numbers."""
        if to.activation not in ACTIVATIONS:
            raise Unfit(f"the fused activation {to.activation} is not supported")
        activated: Value = ACTIVATIONS[to.activation](value)
        return activated

    def check(self, values: Sequence[Value], operator: Operator) -> None:
        """Raise unless results have the types that the model declares."""
        if len(values) < len(operator.outputs):
            raise Unfit(f"it has {len(operator.outputs)} results, and gives {len(values)}")
        for value, index in zip(values, operator.outputs, strict=False):
            tensor = self.tensors[index]
            sizes = zip(tensor.shape, tensor.signature, value.type.shape, strict=False)
            differs = any(open_ >= 0 and declared != own for declared, open_, own in sizes)
            if (
                value.type.element != tensor.element
                or (tensor.shape and len(value.type.shape) != len(tensor.shape))
                or differs
            ):
                raise Unfit(
                    f"its result {tensor.name!r} is declared as {Tensor(tensor.element, tensor.shape)}, "
                    f"and is {value.type}"
                )

    # ---------------------------------------------------------------------- values

    def operand(self, index: int) -> Operand | None:
        """Return what an entry is told of an operand."""
        if index < 0:
            return None
        get: Callable[[], Value] = partial(self.value, index)
        return Operand(self.matching.kind(index), get, self.array(index), partial(self.keep, index), self.fix)

    def keep(self, index: int, what: str, make: Callable[[], np.ndarray]) -> Value:
        """Return a constant that is made of a tensor, the same for all that read it."""
        if (index, what) not in self.kept:
            self.kept[index, what] = self.graph.constant(handed_over(make()))
        return self.kept[index, what]

    def array(self, index: int) -> np.ndarray | None:
        """Return the values of a tensor, if they are known; what computes them may be without readers then."""
        tensor = self.tensors[index]
        if tensor.array is not None or index not in self.values:
            return tensor.array
        return self.static(self.values[index])

    def value(self, index: int) -> Value:
        """Return the value of a tensor; a constant is added when it is read first."""
        if index not in self.values:
            tensor = self.tensors[index]
            if tensor.is_variable:
                zero = 0 if tensor.format is None else tensor.format.channels[0][1]
                self.variables.initial.setdefault(tensor.name, np.array(zero, element_dtype(self.element(tensor))))
                return self.variables.read(tensor.name, tensor)
            if tensor.array is None:
                raise Unfit(f"it reads {tensor.name!r}, which is no input and has no value at this place")
            held = hold(tensor.element, tensor.array)
            self.values[index] = self.graph.constant(
                held if held is tensor.array else handed_over(held),
                type=Tensor(tensor.element, tensor.shape),
                name=self.graph.fresh(tensor.name) if self.is_taken(tensor.name) else tensor.name,
                origin=(tensor.name,),
            )
        return self.values[index]

    def is_taken(self, name: str) -> bool:
        """Tell whether a name is that of a node, an input or an output."""
        return name in self.graph or name in self.variables.reserved
