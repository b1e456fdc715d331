"""Value: a handle on one result of a node, on which ops and operators build."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import GraphError
from graphrewrite.op.op import Op
from graphrewrite.op.operators import TypedOperators
from graphrewrite.types import Type

if TYPE_CHECKING:
    from graphrewrite.graph.graph import Graph

__all__ = ["Value"]


class Value(TypedOperators):
    """One result of a node of a graph; ops applied to it add nodes to that graph.

    Examples
    --------
    >>> from graphrewrite import Graph, Tensor, op
    >>> g = Graph("double")
    >>> x = g.input("x", Tensor("f32", ("N", 4)))
    >>> y = x + x
    >>> y.node, str(y.type), str((y[:, 0] ** 2).type)
    ('add_1', 'f32[N,4]', 'f32[N]')
    >>> op.relu(y, name="positive")
    <value positive>
    """

    __slots__ = ("graph", "node", "result")

    def __init__(self, graph: Graph, node: str, result: int = 0) -> None:
        self.graph, self.node, self.result = graph, node, result

    @property
    def type(self) -> Type:
        """Type of the value."""
        return self.graph.result_type(self.node, self.result)

    def apply_op(self, op: Op, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Add a node of that op to the graph; return its value, or its values.

        A `name` is that of the node, unless the op has such an attribute.
        """
        if op.any_attributes or "name" in op.attributes:
            return self.graph.add(op, operands, attributes)
        name = attributes.pop("name", None)
        return self.graph.add(op, operands, attributes, name=name)

    def __iter__(self) -> Iterator[Value]:
        raise GraphError("has one result, which cannot be unpacked", node=self.node)

    def __repr__(self) -> str:
        return f"<value {self.node}{f':{self.result}' if self.result else ''}>"
