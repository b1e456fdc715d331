"""Build a graph from a model of TensorFlow Lite by the table of entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.graph import Value
from graphrewrite.lowering.errors import MOST_NAMED, ModelError, UnsupportedOpsError
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.static_values import StaticValues, remove_consumed
from graphrewrite.lowering.exchange.tflite.elementwise import ACTIVATIONS
from graphrewrite.lowering.exchange.tflite.model import Network, Operator, Stored
from graphrewrite.lowering.exchange.tflite.operands import MOST_NUMBERS, Operand, Result
from graphrewrite.lowering.exchange.tflite.schema import ACTIVATIONS as NUMBERED
from graphrewrite.op.op import Op
from graphrewrite.types import Quantised, handed_over, hold

__all__ = ["Importer"]

_ACTIVATION = "fused_activation_function"


class Importer:
    """Import of one subgraph."""

    def __init__(self, network: Network, table: Mapping[str, tuple[Entry, ...]]) -> None:
        self.network, self.table = network, table
        self.tensors = network.tensors
        self.graph = Graph(network.name or "model")
        self.values: dict[int, Value] = {}
        self.known = StaticValues(self.graph)
        self.consumed: list[str] = []
        self.fixed: list[tuple[Value, tuple[int, ...]]] = []
        """Values with axes whose sizes are numbers in the graph."""
        self.kept: dict[tuple[int, str], Value] = {}
        self.names: dict[Any, str] = {}
        """Names that nodes get at the end."""

    def run(self, operators: Iterable[Operator]) -> Graph:
        """Return the graph, whose nodes have the names of the tensors that they compute."""
        rows = self.rows()
        for index in self.network.inputs:
            tensor = self.tensors[index]
            if index in self.values:
                raise ModelError(f"{tensor.name!r} is an input twice")
            name = self.graph.fresh(tensor.name) if tensor.name in self.graph else tensor.name
            self.values[index] = self.graph.input(name, Tensor(self.element(tensor), tensor.shape))
            self.annotate(name, tensor)
        for operator, (entry, attributes) in zip(operators, rows, strict=True):
            self.translate(operator, entry, attributes)
        for index in self.network.outputs:
            tensor = self.tensors[index]
            name = self.graph.fresh(tensor.name) if tensor.name in self.graph else tensor.name
            self.graph.output(name, self.value(index))
            self.annotate(name, tensor)
        remove_consumed(self.graph, self.consumed)
        return self.named()

    def element(self, tensor: Stored) -> str:
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
        for index, value in self.values.items():
            tensor, node, result = self.tensors[index], value.node, value.result
            kind = self.graph.nodes[node]["type"] if node in self.graph else "constant"
            if kind in ("input", "constant") or result or node in self.names:
                continue
            self.annotate(node, tensor)
            if tensor.name not in taken:
                taken.add(tensor.name)
                self.names[node] = tensor.name
        return self.graph.renamed(self.names)

    def freed(self, graph: Graph, freed: Graph) -> Graph:
        """Return a graph for any batch, but where the size of the batch became a number in it: then the other one."""
        for value, axes in self.fixed:
            shape = freed.result_type(self.names.get(value.node, value.node), value.result).shape
            if any(isinstance(shape[axis], str) for axis in axes):
                return graph
        return freed

    # ---------------------------------------------------------------------- entries

    def rows(self) -> list[tuple[Entry, dict[str, Any]]]:
        """Return the entry of each operator with its attributes; an error names all operators that have none."""
        rows, missing = [], []
        for operator in self.network.operators:
            try:
                rows.append(self.row(operator))
            except Unfit as reason:
                missing.append(f"{operator.label!r} ({operator.kind}): {reason}")
        if missing:
            shown = "\n  ".join(missing[: 4 * MOST_NAMED])
            more = f"\n  and {len(missing) - 4 * MOST_NAMED} more" if len(missing) > 4 * MOST_NAMED else ""
            raise UnsupportedOpsError(
                f"{len(missing)} operators are not supported; entries=[Entry(...)] can give them a meaning:\n  {shown}{more}"
            )
        return rows

    def row(self, operator: Operator) -> tuple[Entry, dict[str, Any]]:
        """Return the first entry that fits an operator, and its attributes; raise why the last one does not."""
        options = {key: value for key, value in operator.options.items() if value is not None and key != "_"}
        options.pop(_ACTIVATION, None)
        reason = Unfit("the library has no entry for it")
        for entry in self.table.get(operator.kind, ()):
            try:
                attributes = entry.read_attributes(options, len(operator.outputs))
                indices = self.operands(entry, operator)
                kinds = [self.kind(index) for index in indices if index >= 0]
                to = tuple(self.kind(index) for index in operator.outputs)
                if needed := (entry.op.required if isinstance(entry.op, Op) else 0) - len(indices):
                    if needed > 0:
                        raise Unfit(f"{needed} of its operands are missing")
                if entry.fits is not None and (why := entry.fits({**attributes, "to": to}, kinds)) is not None:
                    raise Unfit(why)
            except (Unfit, ValueError, TypeError) as error:
                reason = error if isinstance(error, Unfit) else Unfit(str(error))
                continue
            return entry, attributes
        raise reason

    def operands(self, entry: Entry, operator: Operator) -> list[int]:
        """Return the tensors that are operands by an entry, without missing ones at the end."""
        places = entry.operands or [at for at in range(len(operator.inputs)) if at not in entry.constants]
        indices = [operator.inputs[at] if at < len(operator.inputs) else -1 for at in places]
        while indices and indices[-1] < 0:
            indices.pop()
        return indices

    def kind(self, index: int) -> Tensor:
        """Return the declared type of a tensor."""
        tensor = self.tensors[index]
        if not tensor.element:
            raise Unfit(f"tensor {tensor.name!r} is a text, a complex number or a resource")
        return Tensor(tensor.format or tensor.element, tensor.shape)

    # ---------------------------------------------------------------------- operators

    def translate(self, operator: Operator, entry: Entry, attributes: dict[str, Any]) -> None:
        """Add the nodes of an operator."""
        before = set(self.graph)
        try:
            attributes = {**attributes, **self.constants(entry, operator)}
            indices = self.operands(entry, operator)
            to = tuple(self.result(index, operator) for index in operator.outputs)
            if entry.complete is not None:
                attributes = entry.complete(attributes, [self.kind(index) for index in indices if index >= 0])
            if isinstance(entry.op, Op):
                values = [self.value(index) if index >= 0 else None for index in indices]
                results = self.graph.add(entry.op, values, attributes)
            else:
                results = entry.op(*map(self.operand, indices), to=to, **attributes)
            found = results if isinstance(results, tuple) else (results,)
            if not isinstance(to[0].kind.element if to else None, Quantised):
                found = tuple(self.activated(value, each) for value, each in zip(found, to, strict=False))
            self.check(found, operator)
        except (GraphRewriteError, Unfit, ValueError, TypeError, KeyError, IndexError, OverflowError) as error:
            if isinstance(error, ModelError):
                raise
            raise ModelError(f"operator {operator.label!r} ({operator.kind}): {error}") from error
        for new in self.graph.nodes - before:
            self.graph.nodes[new]["origin"] = (operator.label,)
        for index, value in zip(operator.outputs, found, strict=False):
            if index in self.values or self.tensors[index].array is not None:
                raise ModelError(f"operator {operator.label!r} writes {self.tensors[index].name!r}, which has a value")
            self.values[index] = value

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
        activation = operator.options.get(_ACTIVATION, 0)
        if not 0 <= activation < len(NUMBERED):
            raise Unfit(f"its fused activation {activation} is not known")
        return Result(self.kind(index), NUMBERED[activation], self.fix)

    def fix(self, value: Value, axes: Sequence[int]) -> None:
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
            if value.type.element != tensor.element or (tensor.shape and len(value.type.shape) != len(tensor.shape)) or differs:
                raise Unfit(
                    f"its result {tensor.name!r} is declared as {Tensor(tensor.element, tensor.shape)}, "
                    f"and is {value.type}"
                )

    # ---------------------------------------------------------------------- values

    def operand(self, index: int) -> Operand | None:
        if index < 0:
            return None
        get: Callable[[], Value] = partial(self.value, index)
        return Operand(self.kind(index), get, self.array(index), partial(self.keep, index))

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
        value = self.values[index]
        array = self.known.array(value)
        if array is not None:
            self.consumed.append(value.node)
        return array

    def value(self, index: int) -> Value:
        """Return the value of a tensor; a constant is added when it is read first."""
        if index not in self.values:
            tensor = self.tensors[index]
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
        ends = (*self.network.inputs, *self.network.outputs)
        return name in self.graph or any(self.tensors[index].name == name for index in ends)
