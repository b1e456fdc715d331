"""Build our graph from a valid ONNX model, entry by entry of the table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.errors import did_you_mean
from graphrewrite.graph import Value
from graphrewrite.lowering.errors import ModelError, OpenSizesError
from graphrewrite.lowering.exchange.conversions import element
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.known import Known
from graphrewrite.lowering.exchange.said import keep_said
from graphrewrite.lowering.exchange.unknown import Unknown, is_known, kind_of
from graphrewrite.op.op import Op
from graphrewrite.types import Type, hold

if TYPE_CHECKING:
    import onnx

__all__ = ["COPY", "Importer"]

COPY = "another name of its operand"
"""The doc string of an Identity that `to_onnx` writes for an output that has a name more."""


class Importer:
    """One model on its way in.

    Parameters
    ----------
    proto : onnx.ModelProto
        A valid model.
    shapes : mapping of str to sequence of int or str
        Of inputs.
    constants : mapping of str to array-like
        Values of inputs that are then none.
    table : mapping of str to tuple of Entry
        What ONNX ops mean.
    weights : mapping of str to TensorProto, optional
        Constants that the model has as inputs.
    around : mapping of str to Type, optional
        For a graph inside a node: the values that it reads from around itself, which become inputs.
    """

    def __init__(
        self,
        proto: onnx.ModelProto,
        shapes: Mapping[str, Sequence[int | str]],
        constants: Mapping[str, Any],
        table: Mapping[str, tuple[Entry, ...]],
        weights: Mapping[str, Any] | None = None,
        around: Mapping[str, Type] | None = None,
    ) -> None:
        import onnx

        self.onnx, self.proto, self.shapes, self.constants, self.table = onnx, proto, shapes, constants, table
        self.weights, self.around = weights or {}, around or {}
        self.graph = Graph(proto.graph.name or "model")
        self.values: dict[str, Value] = {}
        self.unknown = Unknown(proto, table, self.inner)
        self.known = Known(self.graph)
        held = {*self.weights, *(tensor.name for tensor in proto.graph.initializer)}
        self.reserved = ({i.name for i in proto.graph.input} - held) | {o.name for o in proto.graph.output}
        self.consumed: list[str] = []

    def run(self, nodes: Iterable[Any]) -> Graph:
        """Return the graph.

        Parameters
        ----------
        nodes : iterable of NodeProto
            Those of the model, in order, perhaps with a progress display around them.

        Returns
        -------
        Graph
        """
        for tensor in (*self.proto.graph.initializer, *self.weights.values()):
            self.constant(tensor.name, self.tensor(tensor), element(tensor.data_type))
        inputs = [given.name for given in self.proto.graph.input if given.name not in self.values]
        for name, kind in self.around.items():
            self.values[name] = self.graph.input(name, kind)
        for name in (*self.shapes, *self.constants):
            if name not in inputs:
                raise ModelError(
                    f"there is no input {name!r} to give a {'shape' if name in self.shapes else 'value'}"
                    f"{did_you_mean(name, inputs)}; inputs are {', '.join(inputs)}"
                )
        for given in self.proto.graph.input:
            if given.name in self.constants:
                self.bind(given)
            elif given.name not in self.values:
                self.values[given.name] = self.graph.input(given.name, self.input_type(given))
        for node in nodes:
            self.node(node)
        for wanted in self.proto.graph.output:
            name = wanted.name if wanted.name not in self.graph else self.graph.fresh(wanted.name)
            self.graph.output(name, self.value(wanted.name, "the output"))
        self.remove_consumed()
        keep_said(self.proto, self.graph, COPY)
        return self.graph

    def tensor(self, tensor: Any) -> np.ndarray:
        """Return the array of a constant, if its numbers are as many as it says."""
        try:
            return np.asarray(self.onnx.numpy_helper.to_array(tensor))
        except ValueError as error:
            raise ModelError(
                f"the constant {tensor.name!r} of shape {list(tensor.dims)} does not hold as many numbers ({error})"
            ) from None

    def constant(self, name: str, array: np.ndarray, kind: str) -> None:
        """Add a constant; arrays of types that numpy has not are held in wider ones."""
        held = hold(kind, array.astype(np.float32) if array.dtype.kind == "V" and "f" in kind else array)
        self.values[name] = self.graph.constant(
            held, type=Tensor(kind, held.shape), name=self.free(name), origin=(name,)
        )

    def bind(self, given: Any) -> None:
        """Make a constant of an input."""
        kind = element(given.type.tensor_type.elem_type)
        self.reserved.discard(given.name)
        self.constant(given.name, np.asarray(self.constants[given.name]), kind)

    def free(self, name: str) -> str:
        """Return a name for a node: the given one, if nothing else has or will have it."""
        return (
            name if name and name not in self.graph and name not in self.reserved else self.graph.fresh(name or "node")
        )

    def input_type(self, given: Any) -> Tensor:
        """Return the type of an input, of the shape that was given for it or that the model says."""
        kind = given.type.tensor_type
        if not given.type.HasField("tensor_type"):
            raise ModelError(f"the input {given.name!r} is no tensor; sequences, maps and optionals are not supported")
        shape: list[int | str] = [
            d.dim_value if d.HasField("dim_value") else _open_size(d.dim_param) if i == 0 else d.dim_param or "?"
            for i, d in enumerate(kind.shape.dim)
        ]
        if given.name in self.shapes:
            shape = list(self.shapes[given.name])
        elif not kind.HasField("shape"):
            shape = ["?", "?"]
        open_sizes = [str(d) for d in shape[1:] if isinstance(d, str) or d < 0]
        if open_sizes:
            raise ModelError(
                f"the input {given.name!r} has the shape {shape}, whose sizes {', '.join(open_sizes)} are open; "
                f"export the model with fixed sizes, or give them as from_onnx(..., shapes={{{given.name!r}: [...]}})"
            )
        return Tensor(element(kind.elem_type), tuple(shape))

    def value(self, name: str, reader: str) -> Value:
        """Return what has a name in the model."""
        if name not in self.values:
            raise ModelError(
                f"{reader} reads {name!r}, which nothing in the model gives{did_you_mean(name, self.values)}"
            )
        return self.values[name]

    def node(self, node: Any) -> None:
        """Add what a node of the model means."""
        label = node.name or next(filter(None, node.output), node.op_type)
        given = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            self.constant(node.output[0], *self.constant_array(label, given))
            return
        inputs = [self.value(name, f"node {label!r}") if name else None for name in node.input]
        if node.op_type == "Identity" and node.doc_string == COPY and inputs[0] is not None:
            self.values[node.output[0]] = inputs[0]
            return
        if not is_known(node, self.table):
            self.add_unknown(node, inputs, label)
            return
        try:
            made = self.meaning(node, given, inputs, label)
        except (GraphRewriteError, Unfit, ValueError) as error:
            if self.unknown.is_assumed(node) and not isinstance(error, Unfit):
                # It may be right, and the assumed type of its operand wrong.
                self.add_unknown(node, inputs, label)
                return
            if isinstance(error, OpenSizesError):
                raise OpenSizesError(f"node {label!r} ({node.op_type}): {error}", error.inputs) from None
            raise ModelError(f"node {label!r} ({node.op_type}): {error}") from error
        results = made if isinstance(made, tuple) else (made,)
        self.values.update({name: value for name, value in zip(node.output, results, strict=False) if name})

    def add_unknown(self, node: Any, inputs: list[Value | None], label: str) -> None:
        """Add a generic node; one that holds graphs reads what these read as well."""
        captured = [self.values[name] for name in self.unknown.captured(node) if name in self.values]
        self.values.update(self.unknown.add(self.graph, node, inputs, captured, self.free(label)))

    def inner(self, graph: Any, captured: list[str]) -> Graph:
        """Import a graph that a node holds."""
        proto = self.onnx.helper.make_model(graph, opset_imports=self.proto.opset_import)
        around = {name: self.values[name].type for name in captured if name in self.values}
        return Importer(proto, {}, {}, self.table, around=around).run(graph.node)

    def meaning(self, node: Any, given: dict[str, Any], inputs: list[Value | None], label: str) -> Any:
        """Build what the first entry that fits says; if none does, raise what hinders the last one, or open sizes."""
        used = max((i + 1 for i, name in enumerate(node.output) if name), default=0)
        hindrance: Exception | None = None
        for entry in self.table[kind_of(node)]:
            try:
                attributes, operands = self.arguments(entry, given, inputs, used)
            except (Unfit, OpenSizesError) as error:
                hindrance = hindrance if isinstance(hindrance, OpenSizesError) else error
                continue
            if isinstance(entry.op, Op):
                return self.graph.add(entry.op, operands, attributes, name=self.free(label), origin=(label,))
            before = set(self.graph)
            made = entry.op(*operands, **attributes)
            for new in self.graph.nodes - before:
                self.graph.nodes[new]["origin"] = (label,)
            return made
        assert hindrance is not None  # an op of the table has an entry
        raise hindrance

    def constant_array(self, label: str, given: dict[str, Any]) -> tuple[np.ndarray, str]:
        """Return what a Constant node holds, and its element type."""
        if "value" in given:
            return self.onnx.numpy_helper.to_array(given["value"]), element(given["value"].data_type)
        for key, kind in (("value_float", "f32"), ("value_floats", "f32"), ("value_int", "i64"), ("value_ints", "i64")):
            if key in given:
                return np.asarray(given[key], np.float32 if kind == "f32" else np.int64), kind
        raise ModelError(f"node {label!r} (Constant): only numbers are supported, not {', '.join(given)}")

    def arguments(
        self, entry: Entry, given: dict[str, Any], inputs: list[Value | None], used: int
    ) -> tuple[dict[str, Any], list[Value | np.ndarray]]:
        """Return our attributes and operands of a node by an entry, or raise `Unfit`."""
        attributes = entry.read_attributes(given, used)
        for index, (ours, convert, *_) in entry.constants.items():
            value = inputs[index] if index < len(inputs) else None
            if value is not None:
                attributes[ours] = convert(self.static(value, index, ours))
        attributes = {ours: value for ours, value in attributes.items() if value is not None}
        chosen = entry.operands or tuple(i for i in range(len(inputs)) if i not in entry.constants)
        operands: list[Any] = [inputs[i] if i < len(inputs) else None for i in chosen]
        types = [None if x is None else x.type for x in (inputs[i] if i < len(inputs) else None for i in chosen)]
        given_types = [kind if isinstance(kind, Tensor) else None for kind in types]
        known = [kind for kind in given_types if kind is not None]
        if entry.complete is not None:
            attributes = entry.complete(attributes, known)
        reason = entry.fits(attributes, known) if entry.fits is not None else None
        if reason is not None:
            raise Unfit(reason)
        for place, index in enumerate(chosen):
            if operands[place] is None and index in entry.neutral:
                operands[place] = entry.neutral[index](attributes, given_types)
        while operands and operands[-1] is None:
            operands.pop()
        needed = entry.op.required if isinstance(entry.op, Op) else 0
        if needed > len(operands):
            raise Unfit(f"it has {len(operands)} operands and needs {needed}")
        return attributes, operands

    def static(self, value: Value, index: int, ours: str) -> np.ndarray:
        """Return a value that decides shapes; remember its node, which nothing else may read."""
        array = self.known.array(value)
        if array is None:
            inputs = self.known.inputs(value)
            if not inputs:
                shapes = ", ".join(
                    f"{name!r}: {list(kind.shape)}"
                    for name in self.graph.inputs
                    if isinstance(kind := self.graph.result_type(name), Tensor)
                    and any(isinstance(size, str) for size in kind.shape)
                )
                raise Unfit(
                    f"its input {index} ({ours}) is computed from sizes that are open; give all sizes as numbers by "
                    f"from_onnx(..., shapes=...) for {shapes or 'the inputs'}"
                )
            told = f"from_onnx(..., constants={{{', '.join(f'{name!r}: ...' for name in inputs)}}})"
            raise OpenSizesError(
                f"its input {index} ({ours}) must be known on import, and it depends on {', '.join(map(repr, inputs))}"
                f"; give values by {told}",
                tuple(inputs),
            )
        self.consumed.append(value.node)
        return array

    def remove_consumed(self) -> None:
        """Remove what served to compute attributes and nothing else."""
        pending = list(self.consumed)
        while pending:
            node = pending.pop()
            if node not in self.graph or node in self.graph.inputs or any(True for _ in self.graph.successors(node)):
                continue
            pending += [operand.node for operand in self.graph.operands(node)]
            self.graph.remove_node(node)


def _open_size(name: str) -> str:
    """The name of an open batch; one that is an expression, such as ``2*batch``, says no more than any other."""
    return name if name.isidentifier() else "N"
