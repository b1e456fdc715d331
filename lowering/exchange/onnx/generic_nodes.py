"""Generic nodes for ONNX ops that the import table lacks; a rule can replace them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value
from graphrewrite.hierarchy.graph_ops import nested_graphs
from graphrewrite.lowering.errors import ModelError, UnsupportedOpsError
from graphrewrite.lowering.exchange.attribute_values import element
from graphrewrite.lowering.exchange.declared_sizes import DeclaredSizes
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.reserved_keys import RESERVED
from graphrewrite.types import Size

if TYPE_CHECKING:
    import onnx

__all__ = [
    "WITHOUT_GRAPHS",
    "GenericNodes",
    "free_names",
    "free_names_of",
    "is_known",
    "kind_of",
    "one_of_each",
    "refuse_unknown",
]


WITHOUT_GRAPHS = frozenset((1, 2, 3, 4, 6, 7, 8))
"""Kinds of attributes, as `AttributeProto` numbers them, that are no graphs: numbers, texts, tensors and lists of them.

Those of old files have none.
"""


def kind_of(node: Any) -> str:
    """Return the name of an ONNX node's op, with its domain where that is not ONNX's own."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def is_known(kind: str, table: Container[str]) -> bool:
    """Tell whether an import table has an entry for an ONNX op, by its name and domain."""
    return kind == "Constant" or kind in table


def one_of_each(nodes: Iterable[Any]) -> Iterable[Any]:
    """Return the last node of each op, in the order of the first ones."""
    return {(node.domain, node.op_type): node for node in nodes}.values()


Inner = Callable[[Any, list[str]], Graph]
"""Imports a GraphProto that reads values of those names from around it."""


class GenericNodes:
    """Builder of generic nodes that tracks whether the type of each value is declared or assumed."""

    def __init__(self, proto: onnx.ModelProto, table: Container[str], inner: Inner, sizes: DeclaredSizes) -> None:
        import onnx

        self.onnx, self.inner, self.sizes = onnx, inner, sizes
        self.assumed: set[str] = set()
        self.declared: dict[str, Any] = {}
        if all(is_known(kind_of(node), table) for node in one_of_each(proto.graph.node)):
            return
        with suppress(Exception):  # onnx raises what its C++ side throws; then the model says what it says
            proto = onnx.shape_inference.infer_shapes(proto)
        for value in (*proto.graph.value_info, *proto.graph.output):
            self.declared[value.name] = value.type.tensor_type

    def _declared_type(self, name: str, unknown: Iterator[Size]) -> Tensor | None:
        kind = self.declared.get(name)
        if kind is None or not kind.elem_type or not kind.HasField("shape"):
            return None
        try:
            return Tensor(element(kind.elem_type), self.sizes.shape(kind.shape.dim, unknown))
        except ValueError:  # a type that no tensor here has, such as text
            return None

    def is_assumed(self, node: Any) -> bool:
        """Tell whether a node reads a value whose type is assumed."""
        return any(name in self.assumed for name in node.input)

    def captured(self, node: Any) -> list[str]:
        """Return the names of outer values that the subgraphs of a node read, each once, in order."""
        names = (name for attribute in node.attribute for name in free_names(attribute))
        return list(dict.fromkeys(names))

    def add(
        self, graph: Graph, node: Any, inputs: list[Value | None], captured: list[Value], name: str
    ) -> dict[str, Value]:
        """Add a generic node; return its results by their names in the model.

        Missing operands are listed in the attribute ``left_out``. Captured values follow the node's own operands; the
        attribute ``captured`` counts them.
        """
        kind = kind_of(node)
        self._check_tensors(node)
        attributes = dict(self._attributes(node))
        left_out = tuple(i for i, x in enumerate(inputs) if x is None)
        if left_out:
            attributes["left_out"] = left_out
        if captured:
            attributes["captured"] = len(captured)
        operands = [x for x in (*inputs, *captured) if x is not None]
        unknown = map(Size.unknown, count())
        types = [self._type(output, operands, node, unknown) for output in node.output]
        results = graph.add(
            op.generic(kind, len(types)),
            operands,
            {**attributes, "result": types[0] if len(types) == 1 else tuple(types)},
            name=name,
            origin=(node.name or node.output[0],),
        )
        values = results if isinstance(results, tuple) else (results,)
        return {output: value for output, value in zip(node.output, values, strict=True) if output}

    def _check_tensors(self, node: Any) -> None:
        """Raise if all that an op of onnx can take or give somewhere are no tensors."""
        if not self.onnx.defs.has(node.op_type, node.domain):
            return
        schema = self.onnx.defs.get_schema(node.op_type, node.domain)
        for formal in (*schema.inputs, *schema.outputs):
            kinds = {kind.partition("(")[0] for kind in formal.types}
            if kinds and "tensor" not in kinds:
                raise ModelError(
                    f"node {node.name or node.output[0]!r} ({node.op_type}): its {formal.name!r} is no tensor; "
                    "sequences, maps and optionals are not supported"
                )

    def _type(self, output: str, operands: list[Value], node: Any, unknown: Iterator[Size]) -> Tensor:
        declared = self._declared_type(output, unknown)
        if declared is not None:
            return declared
        self.assumed.add(output)
        like = next((x.type for x in operands if isinstance(x.type, Tensor)), None)
        if like is None:
            raise ModelError(
                f"node {node.name or output!r} ({node.op_type}): the type of {output!r} is unknown; "
                "add it to the model's value_info"
            )
        return like

    def _attributes(self, node: Any) -> Iterator[tuple[str, Any]]:
        for attribute in node.attribute:
            value = self.onnx.helper.get_attribute_value(attribute)
            label = f"node {node.name or node.output[0]!r} ({node.op_type})"
            # Names that nodes reserve get an underscore, which the export takes off again.
            name = f"{attribute.name}_" if attribute.name in RESERVED | {"left_out", "captured"} else attribute.name
            if isinstance(value, self.onnx.GraphProto):
                yield name, self.inner(value, list(dict.fromkeys(free_names(attribute))))
            else:
                yield name, self._plain(value, f"{label}: its attribute {attribute.name!r}")

    def _plain(self, value: Any, label: str) -> Any:
        if isinstance(value, bytes):
            return value.decode("utf-8", "backslashreplace")
        if isinstance(value, self.onnx.TensorProto):
            return self.onnx.numpy_helper.to_array(value)
        if isinstance(value, str | int | float):
            return value
        if hasattr(value, "__iter__"):
            return tuple(self._plain(v, label) for v in value)
        raise UnsupportedOpsError(f"{label} is a {type(value).__name__}, which a node here cannot hold")


def free_names(attribute: Any) -> Iterator[str]:
    """Names that subgraphs in an attribute read and do not define."""
    if attribute.type in WITHOUT_GRAPHS:
        return
    for graph in (attribute.g, *attribute.graphs):
        yield from free_names_of(graph)


def free_names_of(graph: Any) -> Iterator[str]:
    """Names that a subgraph reads before it defines them."""
    defined = {*(i.name for i in graph.input), *(t.name for t in graph.initializer)}
    for node in graph.node:
        inside = (name for inner in node.attribute for name in free_names(inner))
        yield from (name for name in (*node.input, *inside) if name and name not in defined)
        defined.update(node.output)
    yield from (o.name for o in graph.output if o.name and o.name not in defined)


def refuse_unknown(graph: Graph) -> None:
    """Raise `UnsupportedOpsError` if a graph has generic nodes, naming all of them."""
    unknown = [
        f"{each.nodes[node]['type']} ({node})"
        for each in nested_graphs(graph)
        for node in each.in_order()
        if isinstance(each.ops.get(each.nodes[node].get("type", "")), Generic)
    ]
    if unknown:
        raise UnsupportedOpsError(
            f"{len(unknown)} nodes have ops that are not known here: {', '.join(unknown)}; replace them by rules, or "
            "export the model without them"
        )
