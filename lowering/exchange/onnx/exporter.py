"""Build an ONNX model from a graph by the table of entries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, Tensor
from graphrewrite.graph import Operand
from graphrewrite.lowering.errors import UnsupportedOpsError
from graphrewrite.lowering.exchange.attribute_values import data_type, scalar
from graphrewrite.lowering.exchange.entry import Entry, Named, Unfit, written_as
from graphrewrite.lowering.exchange.onnx.control_flow import write_control_flow
from graphrewrite.lowering.exchange.onnx.external_data import LARGE
from graphrewrite.lowering.exchange.onnx.functions import OURS
from graphrewrite.lowering.exchange.onnx.generic_nodes import free_names
from graphrewrite.lowering.exchange.onnx.importer import COPY
from graphrewrite.lowering.exchange.onnx.metadata import (
    write_annotations,
    write_left_out,
    write_metadata,
    write_predicate,
)
from graphrewrite.lowering.exchange.onnx.model_output import little
from graphrewrite.lowering.exchange.onnx.size_nodes import SizeNodes, has_symbols
from graphrewrite.lowering.exchange.rulesets.described_ops import DescribedOp
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.op import Op
from graphrewrite.types import Element, Type, element_dtype, element_of

if TYPE_CHECKING:
    import onnx

__all__ = ["Exporter", "by_our_op"]

_PLAIN = ("f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")
"""Element types that numpy has."""


_VERSIONS = {"ai.onnx.ml": 3}
"""Versions of other domains than ONNX's own, where it is not the first."""


class Exporter:
    """Export of one graph of the level ``nn``, by a table from op name to entries; `around` exports what it is in."""

    def __init__(
        self, graph: Graph, table: Mapping[str, tuple[Entry, ...]], opset: int, around: Exporter | None = None
    ) -> None:
        import onnx

        self.onnx, self.graph, self.table, self.opset = onnx, graph, table, opset
        self.data = graph._node
        self.known: dict[str, frozenset[str] | None] = {} if around is None else around.known
        self.nodes: list[Any] = []
        self.predicates: dict[str, Operand] = {}
        self.constants: list[Any] = []
        self.large: dict[str, np.ndarray] = {}
        self.names: dict[tuple[str, int], str] = {}
        self.around = around
        self.domains: dict[str, int] = {"": opset} if around is None else around.domains
        self.functions: set[str] = set() if around is None else around.functions
        self.refused: list[str] = [] if around is None else around.refused
        self.taken: set[str] = set(graph) if around is None else around.taken
        self.sizes = SizeNodes(graph, self.name, self.fresh)

    def run(self) -> onnx.ModelProto:
        """Return the model, whose large constants are in `large`."""
        graph = self.subgraph([self.declared_input(name) for name in self.graph.inputs])
        if self.refused:
            raise UnsupportedOpsError(
                f"{len(self.refused)} nodes have no counterpart in ONNX: {', '.join(self.refused)}; replace them by "
                "rules first, or pass entries=[…] for ops of your own"
            )
        imports = [self.onnx.helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        model: onnx.ModelProto = self.onnx.helper.make_model(
            graph,
            producer_name="graphrewrite",
            opset_imports=imports,
            ir_version=self.onnx.helper.find_min_ir_version_for(imports[:1]),
            functions=[_FUNCTIONS[name](self.opset) for name in sorted(self.functions)],
        )
        write_metadata(self.graph, model)
        return model

    def child(self, body: Graph, names: Mapping[str, str]) -> Exporter:
        """Return the exporter of a body some inputs of which are values of this model, by their names in it."""
        child = Exporter(body, self.table, self.opset, self)
        child.names = {(name, 0): outer for name, outer in names.items()}
        return child

    def declared_input(self, name: str) -> Any:
        """Return the value info of an input."""
        return self.declared(self.name(name, 0), self.graph.result_type(name))

    def subgraph(self, inputs: list[Any]) -> Any:
        """Return the graph of the model, or a subgraph in it, with the value infos of its inputs."""
        # Outputs come first, since they name values; the copies that they need are the last nodes of the model.
        given = self.graph.outputs
        outputs = [self.output(name) for name in given]
        copies, self.nodes = self.nodes, []
        predicates = ((node, self.graph.predicate(node)) for node in self.data)
        self.predicates = {node: predicate for node, predicate in predicates if predicate is not None}
        for node in self.graph.in_order():
            self.add(node)
        nodes = _ordered([*self.nodes, *copies])
        read = {name for node in nodes for name in node.input}
        read |= {self.name(*predicate) for predicate in self.predicates.values()}
        every = [*self.constants, *self.sizes.constants]
        # A constant with readers none of which names it is omitted.
        readers = self.graph._succ
        left_out = {self.name(n, 0) for n, data in self.data.items() if data["type"] == "constant" and readers[n]}
        constants = [tensor for tensor in every if tensor.name in read or tensor.name not in left_out]
        if self.around is None:
            ports = [*zip(self.graph.inputs, inputs, strict=True), *zip(given, outputs, strict=True)]
            for node, info in ports:
                write_annotations(self.graph, node, info)
        return self.onnx.helper.make_graph(nodes, self.graph.name or "graph", inputs, outputs, constants)

    def declared(self, name: str, kind: Type) -> Any:
        """Return the value info of an input or output."""
        try:
            return self.onnx.helper.make_tensor_value_info(name, data_type(kind.element), list(kind.shape))
        except ValueError as error:
            self.refused.append(f"{self.data[name]['type']} ({name}: {error})")
            return self.onnx.ValueInfoProto(name=name)

    def output(self, name: str) -> Any:
        """Name a value after its output, or copy it where it already has a name."""
        ((source, result),) = self.graph.operands(name)
        kind = self.data[source]["type"]
        own = name if self.around is None else self.fresh(name)
        if kind in ("input", "constant") or (source, result) in self.names:
            copied = self.name(source, result)
            self.nodes.append(self.onnx.helper.make_node("Identity", [copied], [own], doc_string=COPY))
        else:
            self.names[source, result] = own
        return self.declared(own, self.graph.result_type(source, result))

    def name(self, node: str, result: int) -> str:
        """Return the name of a value in the model."""
        name = self.names.get((node, result))
        if name is None:
            name = node if self.around is None and result == 0 else self.fresh(f"{node}:{result}" if result else node)
            self.names[node, result] = name
        return name

    def fresh(self, name: str) -> str:
        """Return a name for a value or node of the model that is free, and take it."""
        free, count = name, 1
        while free in self.taken:
            free, count = f"{name}_{count}", count + 1
        self.taken.add(free)
        return free

    def add(self, node: str) -> None:
        """Add a node, or record why it cannot be exported."""
        kind = self.data[node]["type"]
        if kind in ("input", "output"):
            return
        try:
            if kind == "constant":
                name, kept = self.name(node, 0), self.data[node]["value"]
                self.constants.append(self.tensor(name, kept, self.graph.result_type(node)))
                write_annotations(self.graph, node, self.constants[-1])
            elif write_control_flow(self, node):
                return
            elif isinstance(self.graph.op(node), Generic) and kind not in self.table:
                self.add_generic(node)
            else:
                self.add_known(node, kind)
        except (Unfit, ValueError, TypeError) as error:
            self.refused.append(f"{kind} ({node}: {error})")

    def tensor(self, name: str, array: Any, kind: Type) -> Any:
        """Return a constant of the model; of a large one only the header, and keep its array aside."""
        number = data_type(kind.element)
        if self.around is None and kind.element in _PLAIN and np.size(array) > LARGE:
            self.large[name] = np.asarray(array, element_dtype(kind.element))
            return self.onnx.TensorProto(name=name, data_type=number, dims=np.shape(array))
        if kind.element in _PLAIN:
            own = np.asarray(array, element_dtype(kind.element))
            return self.onnx.TensorProto(name=name, data_type=number, dims=own.shape, raw_data=little(own).tobytes())
        return self.onnx.helper.make_tensor(name, number, np.shape(array), np.ravel(array).tolist())

    def add_generic(self, node: str) -> None:
        """Add a generic node as it was imported."""
        data = self.graph.attributes(node)
        kind = self.data[node]["type"]
        domain, _, name = kind.rpartition(".")
        left_out, operands = data.pop("left_out", ()), list(self.graph.operands(node))
        if data.pop("captured", 0) or any(isinstance(value, Graph) for value in data.values()):
            raise Unfit("it holds graphs")
        inputs = [self.name(*operand) for operand in operands]
        for index in left_out:
            inputs.insert(index, "")
        attributes = {key.rstrip("_"): self.plain(value) for key, value in data.items()}
        self.emit(node, name, domain, inputs, attributes)

    def add_known(self, node: str, kind: str) -> None:
        """Add a node by the first entry that fits."""
        entries = self.table.get(kind, ())
        if not entries:
            raise Unfit("ONNX has no such op")
        for entry in entries:
            try:
                self.add_by(entry, node)
                return
            except Unfit:
                if entry is entries[-1]:  # the most general one, whose reason is told
                    raise

    def add_by(self, entry: Entry, node: str) -> None:
        """Add a node by an entry."""
        operands = self.graph.operands(node)
        types = [self.graph.result_type(*operand) for operand in operands]
        own = self.graph.op(node)
        if own.arrangement(types) is not None:
            raise Unfit(f"its operand is {types[0]}, and ONNX has channels first; transpose it")
        tensors = [kind for kind in types if isinstance(kind, Tensor)]
        attributes = dict(self.graph.attributes(node))
        left_out = attributes.pop("left_out", ()) if isinstance(own, Generic) else ()
        reason = entry.fits(attributes, tensors) if entry.fits is not None else None
        if reason is not None:
            raise Unfit(reason)
        if entry.shown is not None:
            attributes = entry.shown(attributes, tensors)
        domain, _, name = entry.onnx.rpartition(".")
        known = self.attributes_of(name, domain)
        # From one opset to the next, attributes of ONNX became inputs, as the axes of a reduction: the schema decides.
        indices: Sequence[int] = entry.operands or range(len(operands) + len(left_out))
        if not entry.operands:
            indices = [i for i in range(len(indices) + len(entry.constants)) if i not in entry.constants]
        if left_out:
            indices = [index for at, index in enumerate(indices) if at not in left_out]
        inputs, left = dict[int, str](), dict[int, str]()
        for position, operand, neutral in zip(indices, operands, chain(entry.neutral, repeat(None)), strict=False):
            omitted = neutral is not None and self.is_neutral(operand.node)
            if not omitted and not (position in entry.zeros and self.is_spread(node, operand.node)):
                inputs[position] = self.name(*operand)
            elif self.graph.readers(operand.node)[1:]:  # which others read is not to become several constants
                left[position] = self.name(*operand)
        written: dict[str, Any] = {
            key: allowed[0] for key, allowed in entry.required.items() if known is None or key in known
        }
        static = {}
        for ours, value in attributes.items():
            if value is None:
                continue
            key = next((key for key in entry.written.get(ours, ()) if known is None or key in known), None)
            if key is not None:
                written[key] = self.plain(written_as(entry.attributes[key], value))
                continue
            index = next((i for i, (other, *_) in entry.constants.items() if other == ours), None)
            if index is not None:
                static[index] = ours, written_as(entry.constants[index], value)
            elif value != own.attributes.get(ours):
                raise Unfit(f"{ours}={value!r} cannot be expressed in ONNX")
        for index, (ours, value) in static.items():
            if has_symbols(value):
                inputs[index] = self.computed(node, value, attributes.get("element", "i64"))
            else:
                inputs[index] = self.fresh(f"{node}.{ours}")
                self.constants.append(self.static(inputs[index], value, entry.constants[index], tensors))
        row = [inputs.get(i, "") for i in range(max(inputs, default=-1) + 1)]
        self.emit(node, name, domain, row, written)
        write_left_out(self.nodes[-1], left)

    def is_entry(self, node: str, entry: Any) -> bool:
        """Tell whether a node is a constant with one given entry, which the import inserted for a missing input."""
        data = self.data[node]
        if data["type"] != "constant" or self.graph.origin(node):
            return False
        return bool(data["value"].size == 1 and data["value"].item() == entry)

    def is_neutral(self, node: str) -> bool:
        """Tell whether an operand is the neutral constant that the import inserted for a missing optional input."""
        data = self.data[node]
        return data["type"] == "constant" and not self.graph.origin(node) and not np.any(data["value"])

    def is_spread(self, node: str, state: str) -> bool:
        """Tell whether an operand is a state of zeros for a batch of one, which ONNX does not spread over any other."""
        data, first = self.data[state], self.graph.operands(node)[0]
        batch = 0 if self.graph.attributes(node).get("layout") else 1
        if data["type"] != "constant" or np.any(data["value"]):
            return False
        return bool(np.shape(data["value"])[batch] == 1 != self.graph.result_type(*first).shape[batch])

    def attributes_of(self, name: str, domain: str) -> frozenset[str] | None:
        """Return the names of an op's attributes by onnx's definition of it, None for an op of another domain."""
        if domain:
            return None
        if name not in self.known:
            try:
                schema = self.onnx.defs.get_schema(name, self.opset) if self.onnx.defs.has(name) else None
            except self.onnx.defs.SchemaError:
                raise Unfit(f"{name} is not in opset {self.opset}; give a later one") from None
            self.known[name] = None if schema is None else frozenset(schema.attributes)
        return self.known[name]

    def computed(self, node: str, sizes: Any, kind: Element) -> str:
        """Return the name of sizes that are computed from shapes; of a single one in an element type."""
        if isinstance(sizes, tuple):
            return self.sizes.vector(sizes, node)
        name = self.sizes.scalar(sizes, node)
        return name if kind == "i64" else self.sizes.add("Cast", [name], to=data_type(kind))

    def static(self, name: str, written: Any, named: Named, types: Sequence[Tensor]) -> Any:
        """Return a constant for an attribute that is an operand in ONNX."""
        array = np.asarray(written)
        kind: Element
        # A scalar beside an operand, such as the limit of a clip, has the type of that operand.
        if isinstance(written, np.generic):
            kind = element_of(written.dtype)
        elif named[1] is scalar and types:
            kind = types[0].element
        else:
            kind = "bool" if array.dtype.kind == "b" else "f32" if array.size and array.dtype.kind == "f" else "i64"
        return self.tensor(name, array, Tensor(kind, array.shape))

    @staticmethod
    def plain(value: Any) -> Any:
        """Return an attribute's value as onnx takes it."""
        if isinstance(value, bool | np.bool_):
            return int(value)
        return list(value) if isinstance(value, tuple) else value

    def emit(self, node: str, name: str, domain: str, inputs: list[str], attributes: dict[str, Any]) -> None:
        """Add a node of the model."""
        count = self.data[node]["result"]
        outputs = [self.name(node, i) for i in range(len(count) if isinstance(count, tuple) else 1)]
        if domain:
            self.domains.setdefault(domain, _VERSIONS.get(domain, 1))
        if domain == OURS:
            self.functions.add(name)
        self.nodes += self.sizes.nodes
        self.sizes.nodes.clear()
        made = self.onnx.NodeProto(op_type=name, input=inputs, output=outputs, name=node, domain=domain)
        made.attribute.extend([self.written(key, attributes[key]) for key in sorted(_typed(attributes))])
        self.nodes.append(made)
        write_annotations(self.graph, node, made)
        if node in self.predicates:
            write_predicate(made, self.name(*self.predicates[node]))

    def written(self, name: str, value: Any) -> Any:
        """Return an attribute of a node of the model."""
        if type(value) is int:  # as most are, of which onnx's function thinks last
            return self.onnx.AttributeProto(name=name, type=self.onnx.AttributeProto.INT, i=value)
        if type(value) is list and set(map(type, value)) == {int}:
            return self.onnx.AttributeProto(name=name, type=self.onnx.AttributeProto.INTS, ints=value)
        return self.onnx.helper.make_attribute(name, value)


def by_our_op(entries: Sequence[Entry]) -> dict[str, tuple[Entry, ...]]:
    """Return entries by the type of the nodes that they make, without those that compose several ops."""
    by_name: dict[str, tuple[Entry, ...]] = {}
    for entry in entries:
        if isinstance(entry.op, Op | DescribedOp):
            by_name[entry.op.name] = (*by_name.get(entry.op.name, ()), entry)
    return by_name


def _ordered(nodes: Sequence[Any]) -> list[Any]:
    """Return the nodes of a model in their order, but none before one whose result it reads."""
    # Sizes that data decides are read from the value that has them, which may come later than where they are needed.
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    placed: dict[int, Any] = {}
    for index in range(len(nodes)):
        pending = [index]
        while pending:
            node = nodes[pending[-1]]
            reads = (*node.input, *(name for attribute in node.attribute for name in free_names(attribute)))
            before = [makers[name] for name in reads if name in makers and makers[name] not in placed]
            if before and pending[-1] not in placed:
                pending += before
            else:
                placed.setdefault(pending.pop(), node)
    return list(placed.values())


def _typed(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out empty lists, whose type onnx cannot tell."""
    return {key: value for key, value in attributes.items() if not (isinstance(value, list) and not value)}


def _linear(opset: int) -> onnx.FunctionProto:
    from onnx import helper

    body = [helper.make_node("Gemm", ["x", "w", "b"], ["y"], transB=1)]
    return helper.make_function(OURS, "linear", ["x", "w", "b"], ["y"], body, [helper.make_opsetid("", opset)])


def _fma(opset: int) -> onnx.FunctionProto:
    from onnx import helper

    body = [helper.make_node("Mul", ["x", "y"], ["product"]), helper.make_node("Add", ["product", "z"], ["sum"])]
    return helper.make_function(OURS, "fma", ["x", "y", "z"], ["sum"], body, [helper.make_opsetid("", opset)])


def _softmin(opset: int) -> onnx.FunctionProto:
    from onnx import AttributeProto, helper

    softmax = helper.make_node("Softmax", ["negative"], ["y"])
    axis = AttributeProto(name="axis", type=AttributeProto.INT, ref_attr_name="axis")
    softmax.attribute.append(axis)
    body = [helper.make_node("Neg", ["x"], ["negative"]), softmax]
    return helper.make_function(OURS, "softmin", ["x"], ["y"], body, [helper.make_opsetid("", opset)], ["axis"])


_FUNCTIONS: dict[str, Callable[[int], onnx.FunctionProto]] = {"fma": _fma, "linear": _linear, "softmin": _softmin}
"""Function builders by name; each takes the opset of its body."""
