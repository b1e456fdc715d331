"""Build an ONNX model from our graph, entry by entry of the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphrewrite import Graph, Tensor
from graphrewrite.lowering.errors import UnsupportedOpsError
from graphrewrite.lowering.exchange.conversions import data_type, scalar
from graphrewrite.lowering.exchange.entry import Entry, Named, Unfit, written_as
from graphrewrite.lowering.exchange.functions import FUNCTIONS
from graphrewrite.lowering.exchange.importing import COPY
from graphrewrite.lowering.exchange.loading import OURS
from graphrewrite.lowering.exchange.said import write_said
from graphrewrite.op.generic import Generic
from graphrewrite.op.op import Op
from graphrewrite.types import Element, Type, element_dtype, element_of

if TYPE_CHECKING:
    import onnx

__all__ = ["Exporter", "by_our_op", "opset_needed"]

_PLAIN = ("f16", "f32", "f64", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool")
"""Element types whose arrays are numpy's own."""


_SINCE = {"f4e2m1": 23, "f8e8m0": 24, "i2": 25, "u2": 25, "RMSNormalization": 23, "Swish": 24}
"""The first opsets with what is newer than what `to_onnx` writes."""


class Exporter:
    """One graph on its way out.

    Parameters
    ----------
    graph : Graph
        Of the level ``nn``.
    table : mapping of str to tuple of Entry
        By our op's name.
    opset : int
        Version of ONNX's ops.
    """

    def __init__(self, graph: Graph, table: Mapping[str, tuple[Entry, ...]], opset: int) -> None:
        import onnx

        self.onnx, self.graph, self.table, self.opset = onnx, graph, table, opset
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.names: dict[tuple[str, int], str] = {}
        self.domains: dict[str, int] = {"": opset}
        self.functions: set[str] = set()
        self.refused: list[str] = []

    def run(self) -> onnx.ModelProto:
        """Return the model.

        Raises
        ------
        UnsupportedOpsError
            If ONNX has nothing for some nodes: names all of them.
        """
        inputs = [self.declared(name, self.graph.result_type(name)) for name in self.graph.inputs]
        outputs = [self.output(name) for name in self.graph.outputs]
        copies, self.nodes = self.nodes, []
        for node in self.graph.in_order():
            self.add(node)
        if self.refused:
            raise UnsupportedOpsError(
                f"{len(self.refused)} nodes have no counterpart in ONNX: {', '.join(self.refused)}; replace them by "
                "rules first"
            )
        nodes = [*self.nodes, *copies]
        read = {name for node in nodes for name in node.input}
        kept = [tensor for tensor in self.constants if tensor.name in read or not self.is_left_out(tensor.name)]
        graph = self.onnx.helper.make_graph(nodes, self.graph.name or "graph", inputs, outputs, kept)
        imports = [self.onnx.helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        model: onnx.ModelProto = self.onnx.helper.make_model(
            graph,
            producer_name="graphrewrite",
            opset_imports=imports,
            ir_version=self.onnx.helper.find_min_ir_version_for(imports[:1]),
            functions=[FUNCTIONS[name](self.opset) for name in sorted(self.functions)],
        )
        write_said(self.graph, model)
        return model

    def declared(self, name: str, kind: Type) -> Any:
        """Return what a model says of an input or output."""
        try:
            return self.onnx.helper.make_tensor_value_info(name, data_type(kind.element), list(kind.shape))
        except ValueError as error:
            self.refused.append(f"{self.graph.nodes[name]['type']} ({name}: {error})")
            return self.onnx.ValueInfoProto(name=name)

    def output(self, name: str) -> Any:
        """Name a value after the output that it is, or copy it where it has another name."""
        ((source, result),) = self.graph.operands(name)
        kind = self.graph.nodes[source]["type"]
        if kind in ("input", "constant") or (source, result) in self.names:
            copied = self.name(source, result)
            self.nodes.append(self.onnx.helper.make_node("Identity", [copied], [name], doc_string=COPY))
        else:
            self.names[source, result] = name
        return self.declared(name, self.graph.result_type(source, result))

    def name(self, node: str, result: int) -> str:
        """Return what a value is called in the model."""
        found = self.names.get((node, result))
        if found is None:
            found = node if result == 0 else f"{node}:{result}"
            while result and found in self.graph:
                found += "_"
            self.names[node, result] = found
        return found

    def add(self, node: str) -> None:
        """Add a node, or note why that cannot be."""
        kind = self.graph.nodes[node]["type"]
        if kind in ("input", "output"):
            return
        try:
            if kind == "constant":
                self.constants.append(self.tensor(node, self.graph.nodes[node]["value"], self.graph.result_type(node)))
            elif isinstance(self.graph.op(node), Generic):
                self.add_generic(node)
            else:
                self.add_known(node, kind)
        except (Unfit, ValueError, TypeError) as error:
            self.refused.append(f"{kind} ({node}: {error})")

    def tensor(self, name: str, array: Any, kind: Type) -> Any:
        """Return a constant of the model."""
        number = data_type(kind.element)
        if kind.element in _PLAIN:
            return self.onnx.numpy_helper.from_array(np.asarray(array, element_dtype(kind.element)), name)
        return self.onnx.helper.make_tensor(name, number, np.shape(array), np.ravel(array).tolist())

    def add_generic(self, node: str) -> None:
        """Add a node of an op that is not known here, as it came."""
        data = self.graph.attributes(node)
        kind = self.graph.nodes[node]["type"]
        domain, _, name = kind.rpartition(".")
        left_out, operands = data.pop("left_out", ()), list(self.graph.operands(node))
        if data.pop("captured", 0) or any(isinstance(value, dict) for value in data.values()):
            raise Unfit("it holds graphs")
        inputs = [self.name(*operand) for operand in operands]
        for place in left_out:
            inputs.insert(place, "")
        attributes = {key.rstrip("_"): self.plain(value) for key, value in data.items()}
        self.emit(node, name, domain, inputs, attributes)

    def add_known(self, node: str, kind: str) -> None:
        """Add a node by the first entry that can say it."""
        entries = self.table.get(kind, ())
        if not entries:
            raise Unfit("ONNX has no such op")
        for entry in entries:
            try:
                self.add_by(entry, node)
                return
            except Unfit:
                if entry is entries[-1]:
                    raise

    def add_by(self, entry: Entry, node: str) -> None:
        """Add a node as an entry says."""
        operands = self.graph.operands(node)
        types = [self.graph.result_type(*operand) for operand in operands]
        if self.graph.op(node).arrangement(types) is not None:
            raise Unfit(f"its operand is {types[0]}, and ONNX has channels first; transpose it")
        tensors = [kind for kind in types if isinstance(kind, Tensor)]
        attributes = self.graph.attributes(node)
        reason = entry.fits(attributes, tensors) if entry.fits is not None else None
        if reason is not None:
            raise Unfit(reason)
        if entry.shown is not None:
            attributes = entry.shown(dict(attributes), tensors)
        domain, _, name = entry.onnx.rpartition(".")
        schema = self.schema(name, domain)
        places = entry.operands or tuple(
            i for i in range(len(operands) + len(entry.constants)) if i not in entry.constants
        )
        inputs = {
            place: self.name(*operand)
            for place, operand in zip(places, operands, strict=False)
            if not (place in entry.neutral and self.is_neutral(operand.node))
        }
        written: dict[str, Any] = {
            key: allowed[0] for key, allowed in entry.required.items() if schema is None or key in schema.attributes
        }
        made = []
        for ours, value in attributes.items():
            if value is None:
                continue
            key = self.attribute(entry, ours, schema)
            index = next((i for i, (other, *_) in entry.constants.items() if other == ours), None)
            if key is not None:
                written[key] = self.plain(written_as(entry.attributes[key], value))
            elif index is not None:
                inputs[index] = f"{node}.{ours}"
                made.append(self.static(inputs[index], value, entry.constants[index], tensors))
            elif value != self.graph.op(node).attributes.get(ours):
                raise Unfit(f"{ours}={value!r} cannot be said in ONNX")
        self.constants += made
        row = [inputs.get(i, "") for i in range(max(inputs, default=-1) + 1)]
        self.emit(node, name, domain, row, written)

    def is_left_out(self, name: str) -> bool:
        """Tell whether a constant was left out wherever it is an operand."""
        return name in self.graph and any(True for _ in self.graph.successors(name))

    def is_neutral(self, node: str) -> bool:
        """Tell whether an operand was put in on import for one that ONNX may leave out: then it is left out again."""
        data = self.graph.nodes[node]
        return data["type"] == "constant" and not self.graph.origin(node) and not np.any(data["value"])

    def schema(self, name: str, domain: str) -> Any:
        """Return onnx's definition of an op, None for one of another domain."""
        if domain or not self.onnx.defs.has(name):
            return None
        try:
            return self.onnx.defs.get_schema(name, self.opset, domain)
        except self.onnx.defs.SchemaError:
            raise Unfit(f"{name} is not in opset {self.opset}; give a later one") from None

    @staticmethod
    def attribute(entry: Entry, ours: str, schema: Any) -> str | None:
        """Return the name of the ONNX attribute that says one of ours, if the schema has it."""
        found = [key for key, (other, *_) in entry.attributes.items() if other == ours]
        return next((key for key in found if schema is None or key in schema.attributes), None)

    def static(self, name: str, value: Any, named: Named, types: Sequence[Tensor]) -> Any:
        """Return a constant for an attribute of ours that is an operand in ONNX."""
        written = written_as(named, value)
        if isinstance(written, tuple) and any(isinstance(size, str) for size in written):
            raise Unfit(f"the symbolic size in {written} cannot be said in ONNX")
        array = np.asarray(written)
        kind: Element
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
        count = self.graph.nodes[node]["result"]
        outputs = [self.name(node, i) for i in range(len(count) if isinstance(count, tuple) else 1)]
        if domain:
            self.domains.setdefault(domain, 1)
        if domain == OURS:
            self.functions.add(name)
        self.nodes.append(
            self.onnx.helper.make_node(name, inputs, outputs, name=node, domain=domain, **_typed(attributes))
        )


def by_our_op(entries: Sequence[Entry]) -> dict[str, tuple[Entry, ...]]:
    """Return entries by the name of our op; those that build several ops are not asked."""
    found: dict[str, tuple[Entry, ...]] = {}
    for entry in entries:
        if isinstance(entry.op, Op):
            found[entry.op.name] = (*found.get(entry.op.name, ()), entry)
    return found


def opset_needed(graph: Graph, table: Mapping[str, tuple[Entry, ...]]) -> int:
    """Return the first version of ONNX's ops that has the ops and the element types of a graph."""
    found = [1]
    for node in graph:
        kinds = graph.nodes[node].get("result", ())
        found += [_SINCE.get(str(k.element), 1) for k in (kinds if isinstance(kinds, tuple) else (kinds,))]
        entries = table.get(graph.nodes[node]["type"], ())
        found += [_SINCE.get(entry.onnx, 1) for entry in entries[:1]]
    return max(found)


def _typed(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out empty lists, whose type onnx cannot tell."""
    return {key: value for key, value in attributes.items() if not (isinstance(value, list) and not value)}
