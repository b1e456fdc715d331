"""Build a graph from a valid ONNX model by the table of entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, GraphRewriteError, Tensor
from graphrewrite.errors import GraphError, TypeMismatchError, did_you_mean
from graphrewrite.graph import Value
from graphrewrite.graph.provenance import give_origin
from graphrewrite.lowering.errors import ModelError, OpenSizesError
from graphrewrite.lowering.exchange.attribute_values import element, word, words
from graphrewrite.lowering.exchange.declared_sizes import DeclaredSizes, NegativeSizeError
from graphrewrite.lowering.exchange.entry import Entry, Unfit
from graphrewrite.lowering.exchange.hooks import Hooks, ModelNode
from graphrewrite.lowering.exchange.onnx.control_flow import add_control_flow, is_control_flow
from graphrewrite.lowering.exchange.onnx.external_data import array_of
from graphrewrite.lowering.exchange.onnx.functions import all_nodes
from graphrewrite.lowering.exchange.onnx.generic_nodes import GenericNodes, is_known, kind_of
from graphrewrite.lowering.exchange.onnx.metadata import keep_annotations, keep_metadata, left_out_of, predicate_of
from graphrewrite.lowering.exchange.onnx.node_hooks import hooked_node, node_of_hook
from graphrewrite.lowering.exchange.onnx.sequences import add_sequence_node, is_about_sequences
from graphrewrite.lowering.exchange.size_agreement import SizeUnifier
from graphrewrite.lowering.exchange.static_values import StaticValues, remove_consumed
from graphrewrite.lowering.exchange.symbols import holds_symbols
from graphrewrite.op.op import Op
from graphrewrite.types import TEXT, element_of, handed_over, hold, symbols

if TYPE_CHECKING:
    import onnx

__all__ = ["COPY", "Importer"]

COPY = "another name of its operand"
"""Doc string of an Identity that `to_onnx` writes for a second name of an output."""
_REPEATS = 20
"""How often nodes are imported on average: those in loops within loops are tried with several sizes."""
_FEW = 5_000
"""Nodes of a model that may be imported more often."""


class Importer:
    """Import of one valid model.

    ``weights`` are constants that the model has as inputs. A subgraph's importer is a `child`, to which the values are
    given that it reads from around it.
    """

    def __init__(
        self,
        proto: onnx.ModelProto,
        shapes: Mapping[str, Sequence[int | str]],
        constants: Mapping[str, Any],
        table: Mapping[str, tuple[Entry, ...]],
        weights: Mapping[str, tuple[np.ndarray, int]] | None = None,
        hooks: Hooks | None = None,
        root: Importer | None = None,
    ) -> None:
        import onnx

        self.onnx, self.proto, self.shapes, self.constants, self.table = onnx, proto, shapes, constants, table
        self.weights, self.root, self.hooks = weights or {}, root or self, hooks
        self.left = 0 if root else _FEW + _REPEATS * len(list(all_nodes(proto.graph.node)))
        self.graph = Graph(proto.graph.name or "model")
        self.values: dict[str, Value] = {}
        self.neutrals: dict[str, Value] = {}
        self.sequences: dict[str, tuple[Value, ...]] = {}
        weight_names = {*self.weights, *(tensor.name for tensor in proto.graph.initializer)}
        self.inputs = [info for info in proto.graph.input if info.name not in weight_names]
        self.sizes = DeclaredSizes(info.type.tensor_type.shape for info in self.inputs)
        self.unknown = GenericNodes(proto, table, self.inner, self.sizes)
        self.known = StaticValues(self.graph)
        self.agreement = SizeUnifier(self.graph, self.sizes, self.known)
        # Nodes leave the names of inputs and outputs free: these are the interface that callers know.
        self.reserved = {i.name for i in self.inputs} | {o.name for o in proto.graph.output}
        self.consumed: list[str] = []
        self.predicates: dict[str, str] = {}

    def run(self, nodes: Iterable[Any]) -> Graph:
        """Return the graph."""
        self.inputs = [info for info in self.inputs if info.name not in self.values]
        for name in self.graph.inputs:  # those of a subgraph, which its node knows, and so are their sizes
            self.sizes.known.update(name for size in self.graph.result_type(name).shape for name in symbols(size))
        infos = {info.name: info for info in self.proto.graph.input}
        for tensor in self.proto.graph.initializer:
            self.constant(tensor.name, array_of(tensor), element(tensor.data_type))
            keep_annotations(self.graph, self.values[tensor.name].node, tensor)
        for name, (array, number) in self.weights.items():
            self.constant(name, array, element(number))
            keep_annotations(self.graph, self.values[name].node, infos[name])
        inputs = [info.name for info in self.inputs]
        for name in (*self.shapes, *self.constants):
            if name not in inputs:
                raise ModelError(
                    f"there is no input {name!r} to give a {'shape' if name in self.shapes else 'value'}"
                    f"{did_you_mean(name, inputs)}; inputs are {', '.join(inputs)}"
                )
        types = self.input_types()
        for info in self.inputs:
            if info.name in self.constants:
                self.bind(info)
            else:
                self.values[info.name] = self.graph.input(info.name, types[info.name])
                keep_annotations(self.graph, info.name, info)
        for node in nodes:
            self.node(node)
        for output in self.proto.graph.output:
            name = output.name if output.name not in self.graph else self.graph.fresh(output.name)
            self.graph.output(name, self.value(output.name, "the output"))
            keep_annotations(self.graph, name, output)
        for name, predicate in self.predicates.items():
            try:
                self.graph.set_predicate(name, self.value(predicate, f"the predicate of {name!r}"))
            except GraphError as error:
                raise ModelError(f"node {name!r}: {predicate!r} cannot be its predicate: {error}") from error
        remove_consumed(self.graph, self.consumed)
        if self.root is self:
            keep_metadata(self.proto, self.graph, COPY)
        return self.graph

    def constant(self, name: str, array: np.ndarray, kind: str) -> None:
        """Add a constant; element types that numpy lacks are stored in wider ones."""
        if array.dtype.kind in "iufb" and array.dtype.isnative and element_of(array.dtype) == kind:
            self.values[name] = self.graph.constant(array, name=self.free(name), origin=(name,))
            return
        # Of the floats that numpy lacks, onnx gives arrays of the kind V.
        values = hold(kind, array.astype(np.float32) if array.dtype.kind == "V" and "f" in kind else array)
        self.values[name] = self.graph.constant(
            values if values is array else handed_over(values),
            type=Tensor(kind, values.shape),
            name=self.free(name),
            origin=(name,),
        )

    def bind(self, info: Any) -> None:
        """Replace an input by a constant."""
        kind = element(info.type.tensor_type.elem_type)
        self.reserved.discard(info.name)
        self.constant(info.name, np.asarray(self.constants[info.name]), kind)

    def free(self, name: str) -> str:
        """Return the given name for a node if it is free, else a fresh one."""
        return self.graph.fresh(name) if name in self.graph._node or name in self.reserved else name

    def input_types(self) -> dict[str, Tensor]:
        """Return the types of the inputs, shapes from ``shapes`` or the model; an error names all that lack one."""
        types, without = {}, []
        for info in self.inputs:
            if info.name in self.constants:
                continue
            if not info.type.HasField("tensor_type"):
                raise ModelError(
                    f"the input {info.name!r} is not a tensor; sequences, maps and optionals are not supported"
                )
            kind = info.type.tensor_type
            if info.name not in self.shapes and not kind.HasField("shape"):
                without.append(info.name)
                continue
            try:
                shape = self.shapes.get(info.name) or self.sizes.shape(kind.shape.dim)
                types[info.name] = Tensor(element(kind.elem_type), tuple(shape))
            except (TypeMismatchError, NegativeSizeError) as error:
                raise ModelError(
                    f"the shape of the input {info.name!r}: {error}; give another by "
                    f"from_onnx(..., shapes={{{info.name!r}: [...]}})"
                ) from None
        if without:
            example = ", ".join(f"{name!r}: ['N', ...]" for name in without)
            raise ModelError(
                f"the model does not say how many axes its inputs have: {', '.join(map(repr, without))}; "
                f"give shapes, of numbers and names of open sizes, by from_onnx(..., shapes={{{example}}})"
            )
        return types

    def value(self, name: str, reader: str) -> Value:
        """Return the value of a name in the model."""
        if name in self.sequences:
            raise ModelError(f"{reader} reads the sequence {name!r}; ops of sequences do, none is carried by loops")
        if name not in self.values:
            raise ModelError(
                f"{reader} reads {name!r}, which nothing in the model computes{did_you_mean(name, self.values)}"
            )
        return self.values[name]

    def node(self, node: Any) -> None:
        """Add the translation of a node of the model, with its annotations."""
        label = node.name or next(filter(None, node.output), node.op_type)
        self.translate(node, label)
        if not getattr(node, "metadata_props", ()):
            return
        made = self.values.get(next(filter(None, node.output), ""))
        if made is not None and self.graph.origin(made.node) == (label,):
            keep_annotations(self.graph, made.node, node)
            if (predicate := predicate_of(node)) is not None:
                self.predicates[made.node] = predicate

    def translate(self, node: Any, label: str) -> None:
        """Add the translation of a node of the model."""
        self.root.left -= 1
        if self.root.left < 0:
            raise ModelError(f"node {label!r} ({node.op_type}) is in too many loops within loops; unroll some of them")
        attributes = {a.name: self.onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            self.constant(node.output[0], *self.constant_array(label, attributes))
            return
        if is_about_sequences(self, node):
            add_sequence_node(self, node, label)
            return
        inputs = [self.value(name, f"node {label!r}") if name else None for name in node.input]
        if node.op_type == "Identity" and node.doc_string == COPY and inputs[0] is not None:
            self.values[node.output[0]] = inputs[0]
            return
        if self.hooks is None or not self.hooks.are_for(kind_of(node), label):
            self.translate_as(node, attributes, inputs, label)
            return
        seen = hooked_node(node, attributes, inputs, label, self.hooks.model)

        def translated(changed: ModelNode) -> tuple[Value, ...]:
            other = node if changed is seen else node_of_hook(node, changed)
            own = {a.name: self.onnx.helper.get_attribute_value(a) for a in other.attribute}
            self.translate_as(other, own, list(changed.inputs), label)
            return tuple(self.values[name] for name in node.output if name)

        before = len(self.graph)
        found = self.hooks.around(seen, self.graph, translated)
        give_origin(self.graph, before, label, keep=True)
        self.values.update(zip(filter(None, node.output), found, strict=True))

    def translate_as(self, node: Any, attributes: dict[str, Any], inputs: list[Value | None], label: str) -> None:
        """Add the translation of a node that reads values."""
        kind = kind_of(node)
        if is_control_flow(kind):
            self.control_flow(node, inputs, label)
            return
        if not is_known(kind, self.table):
            self.add_unknown(node, inputs, label)
            return
        try:
            meaning = self.agreement.reached(inputs, lambda: self.meaning(node, kind, attributes, inputs, label))
        except (GraphRewriteError, Unfit, ValueError) as error:
            if self.unknown.is_assumed(node) and not isinstance(error, Unfit):
                # It may be right, and the assumed type of its operand wrong.
                self.add_unknown(node, inputs, label)
                return
            if isinstance(error, OpenSizesError):
                raise OpenSizesError(f"node {label!r} ({node.op_type}): {error.reason}", error.inputs) from None
            raise ModelError(f"node {label!r} ({node.op_type}): {error}") from error
        results = meaning if isinstance(meaning, tuple) else (meaning,)
        self.values.update({name: value for name, value in zip(node.output, results, strict=False) if name})

    def add_unknown(self, node: Any, inputs: list[Value | None], label: str) -> None:
        """Add a generic node; one with subgraphs also reads their outer values."""
        captured = [self.values[name] for name in self.unknown.captured(node) if name in self.values]
        self.values.update(self.unknown.add(self.graph, node, inputs, captured, self.free(label)))

    def control_flow(self, node: Any, inputs: list[Value | None], label: str) -> None:
        """Add an If, Loop or Scan; a generic node where its subgraphs have no bodies here."""
        try:
            captured = [self.values[name] for name in self.unknown.captured(node) if name in self.values]
            results = self.agreement.reached([*inputs, *captured], lambda: add_control_flow(self, node, inputs, label))
        except (GraphRewriteError, Unfit, ValueError) as error:
            if isinstance(error, OpenSizesError) and error.inputs:
                raise OpenSizesError(f"node {label!r} ({node.op_type}): {error.reason}", error.inputs) from None
            try:
                self.add_unknown(node, inputs, label)
            except GraphRewriteError:
                raise ModelError(f"node {label!r} ({node.op_type}): {error}") from error
            return
        self.values.update({name: value for name, value in zip(node.output, results, strict=False) if name})

    def child(self, graph: Any) -> Importer:
        """Return the importer of a subgraph."""
        proto = self.onnx.helper.make_model(graph, opset_imports=self.proto.opset_import)
        return Importer(proto, {}, {}, self.table, hooks=self.hooks, root=self.root)

    def inner(self, graph: Any, captured: list[str]) -> Graph:
        """Import a subgraph of a generic node, with the values that it captures as its first inputs."""
        child = self.child(graph)
        for name in captured:
            if name in self.values:
                child.values[name] = child.graph.input(name, self.values[name].type)
        return child.run(graph.node)

    def inlined(self, graph: Any, given: Mapping[str, Value] | None = None) -> tuple[Value, ...]:
        """Import the nodes of a subgraph in place of its node, with values for its inputs; return its results."""
        outer, self.values = self.values, {**self.values, **(given or {})}
        for tensor in graph.initializer:
            self.constant(tensor.name, array_of(tensor), element(tensor.data_type))
        for node in graph.node:
            self.node(node)
        results = tuple(self.value(output.name, "the output") for output in graph.output)
        self.values = outer
        return results

    def meaning(
        self, node: Any, kind: str, onnx_attributes: dict[str, Any], inputs: list[Value | None], label: str
    ) -> Any:
        """Translate a node by the first entry that fits; if none does, raise why the last one does not."""
        used = max([i for i, name in enumerate(node.output, 1) if name], default=0)
        # Values that must be known on import are the reason that helps most: another entry would not need them.
        hindrance: Exception | None = None
        for entry in self.table[kind]:
            try:
                attributes, operands = self.arguments(entry, onnx_attributes, inputs, used, left_out_of(node))
            except (Unfit, OpenSizesError) as error:
                hindrance = hindrance if isinstance(hindrance, OpenSizesError) else error
                continue
            if isinstance(entry.op, Op):
                return self.graph.add(entry.op, operands, attributes, name=self.free(label), origin=(label,))
            before = len(self.graph)
            results = entry.op(*operands, **attributes)
            give_origin(self.graph, before, label)
            return results
        assert hindrance is not None  # an op of the table has an entry
        raise hindrance

    def constant_array(self, label: str, attributes: dict[str, Any]) -> tuple[np.ndarray, str]:
        """Return the array of a Constant node, and its element type."""
        if "value" in attributes:
            return array_of(attributes["value"]), element(attributes["value"].data_type)
        for key, kind in (("value_float", "f32"), ("value_floats", "f32"), ("value_int", "i64"), ("value_ints", "i64")):
            if key in attributes:
                return np.asarray(attributes[key], np.float32 if kind == "f32" else np.int64), kind
        for key, texts in (("value_string", word), ("value_strings", words)):
            if key in attributes:
                return np.asarray(texts(attributes[key])), TEXT
        raise ModelError(
            f"node {label!r} (Constant): only numbers and texts are supported, not {', '.join(attributes)}"
        )

    def arguments(
        self,
        entry: Entry,
        onnx_attributes: dict[str, Any],
        inputs: list[Value | None],
        used: int,
        left_out: Mapping[int, str],
    ) -> tuple[dict[str, Any], list[Value | np.ndarray]]:
        """Return the attributes and operands of a node by an entry, or raise `Unfit`."""
        attributes = entry.read_attributes(onnx_attributes, used)
        count = len(inputs)
        for index, (ours, convert, *_) in entry.constants.items():
            value = inputs[index] if index < count else None
            if value is not None:
                attributes[ours] = convert(self.static(value, index, ours))
                if holds_symbols(attributes[ours]):
                    raise Unfit(f"its input {index} ({ours}) must be a number, and is the open size {attributes[ours]}")
        if attributes:
            attributes = {ours: value for ours, value in attributes.items() if value is not None}
        indices = entry.operands or [i for i in range(count) if i not in entry.constants]
        operands: list[Any] = [inputs[i] if i < count else None for i in indices]
        types: list[Tensor | None] = []
        if entry.reads_types:
            kinds = [None if x is None else x.type for x in operands]
            types = [kind if isinstance(kind, Tensor) else None for kind in kinds]
            present = [kind for kind in types if kind is not None]
            if entry.complete is not None:
                attributes = entry.complete(attributes, present)
            reason = entry.fits(attributes, present) if entry.fits is not None else None
            if reason is not None:
                raise Unfit(reason)
        for position, (index, neutral_of) in enumerate(zip(indices, entry.neutral, strict=False)):
            operand = operands[position]
            if neutral_of is None or (operand is not None and index not in entry.zeros):
                continue
            neutral = neutral_of(types, attributes)
            if operand is None:
                operands[position] = self.shared(left_out[index], neutral) if index in left_out else neutral
            elif self.is_zero(operand) and not self.is_constant_of(operand, neutral.shape):
                self.consumed.append(operand.node)
                operands[position] = neutral
        while operands and operands[-1] is None:
            operands.pop()
        needed = entry.op.required if isinstance(entry.op, Op) else 0
        if needed > len(operands):
            raise Unfit(f"it has {len(operands)} operands and needs {needed}")
        return attributes, operands

    def shared(self, name: str, neutral: np.ndarray) -> Value | np.ndarray:
        """Return the constant of a name that `to_onnx` left out of several nodes; the neutral one if it is another."""
        value = self.values.get(name, self.neutrals.get(name))
        if value is None:
            value = self.neutrals[name] = self.graph.constant(neutral, name=self.free(name))
        data = self.graph.nodes[value.node]
        same = (
            data["type"] == "constant"
            and np.array_equal(data["value"], neutral)
            and data["value"].dtype == neutral.dtype
        )
        return value if same else neutral

    def is_constant_of(self, value: Value, shape: tuple[int, ...]) -> bool:
        """Tell whether a value is a constant of a shape."""
        return self.graph.nodes[value.node]["type"] == "constant" and value.type.shape == shape

    def is_zero(self, value: Value) -> bool:
        """Tell whether a value is known to be zeros."""
        array = self.known.array(value)
        return array is not None and array.dtype != object and not array.any()

    def static(self, value: Value, index: int, ours: str) -> np.ndarray:
        """Return a static value that determines shapes, and remember its node for removal."""
        array = self.known.array(value)
        if array is None:
            inputs = self.known.inputs(value)
            if not inputs:
                kinds = {name: self.graph.result_type(name) for name in self.graph.inputs}
                shapes = ", ".join(
                    f"{name!r}: {list(map(str, kind.shape))}"
                    for name, kind in kinds.items()
                    if any(isinstance(size, str) for size in kind.shape)
                )
                raise Unfit(
                    f"its input {index} ({ours}) is computed from sizes that are open, in a way that no expression of "
                    f"sizes says; give numbers by from_onnx(..., shapes=...) for {shapes or 'the inputs'}"
                )
            raise OpenSizesError(f"its input {index} ({ours}) must be known on import", tuple(inputs))
        self.consumed.append(value.node)
        return array
