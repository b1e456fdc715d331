"""Generic nodes for ONNX ops that the import table lacks; a rule can replace them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from graphrewrite import Graph, Tensor, op
from graphrewrite.graph import Value
from graphrewrite.hierarchy.graph_ops import nested_graphs
from graphrewrite.lowering.errors import ModelError, UnsupportedOpsError
from graphrewrite.lowering.exchange.attribute_values import element
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.reserved_keys import RESERVED

if TYPE_CHECKING:
    import onnx

__all__ = ["GenericNodes", "free_names", "free_names_of", "is_known", "kind_of", "refuse_unknown"]


def kind_of(node: Any) -> str:
    """Return the name of an ONNX node's op, with its domain where that is not ONNX's own."""
    return node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"


def is_known(node: Any, table: Container[str]) -> bool:
    """Tell whether an import table has an entry for an ONNX node."""
    kind = kind_of(node)
    return kind == "Constant" or kind in table


Inner = Callable[[Any, list[str]], Graph]
"""Imports a GraphProto that reads values of those names from around it."""


class GenericNodes:
    """Builder of generic nodes that tracks whether the type of each value is declared or assumed."""

    def __init__(self, proto: onnx.ModelProto, table: Container[str], inner: Inner) -> None:
        import onnx

        self.onnx, self.inner = onnx, inner
        self.assumed: set[str] = set()
        self.types: dict[str, Tensor] = {}
        if all(is_known(node, table) for node in proto.graph.node):
            return
        with suppress(Exception):  # onnx raises what its C++ side throws; then the model says what it says
            proto = onnx.shape_inference.infer_shapes(proto)
        for value in (*proto.graph.value_info, *proto.graph.output):
            declared = self._declared_type(value.type.tensor_type)
            if declared is not None:
                self.types[value.name] = declared

    def _declared_type(self, tensor_type: Any) -> Tensor | None:
        if not tensor_type.elem_type or not tensor_type.HasField("shape"):
            return None
        shape: list[int | str] = []
        # A batch without a name is called N; any other size without a name makes the type unknown.
        for axis, d in enumerate(tensor_type.shape.dim):
            if d.HasField("dim_value"):
                shape.append(d.dim_value)
            elif d.dim_param.isidentifier():
                shape.append(d.dim_param)
            elif axis == 0:
                shape.append("N")
            else:
                return None
        try:
            return Tensor(element(tensor_type.elem_type), tuple(shape))
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
        attributes = dict(self._attributes(node))
        left_out = tuple(i for i, x in enumerate(inputs) if x is None)
        if left_out:
            attributes["left_out"] = left_out
        if captured:
            attributes["captured"] = len(captured)
        operands = [x for x in (*inputs, *captured) if x is not None]
        types = [self._type(output, operands, node) for output in node.output]
        results = graph.add(
            op.generic(kind, len(types)),
            operands,
            {**attributes, "result": types[0] if len(types) == 1 else tuple(types)},
            name=name,
            origin=(node.name or node.output[0],),
        )
        values = results if isinstance(results, tuple) else (results,)
        return {output: value for output, value in zip(node.output, values, strict=True) if output}

    def _type(self, output: str, operands: list[Value], node: Any) -> Tensor:
        if output in self.types:
            return self.types[output]
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
