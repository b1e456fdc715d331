"""Value: a handle on one result of a node, on which ops and operators build."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from graphrewrite.errors import GraphError
from graphrewrite.graph.undoing import undone_on_error
from graphrewrite.op.library import LIBRARY
from graphrewrite.op.op import Op
from graphrewrite.op.operators import TypedOperators
from graphrewrite.types import Tensor, Type

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

        A `name` is that of the node, unless the op has such an attribute. Of an operand whose layout has no batch, such
        as ``"LC"``, an op of batches takes a batch of this one.
        """
        if op.axes is not None and isinstance(operands[0], Value):
            batch = op.axes.of_a_batch(operands[0].type)
            if batch is not None:
                return operands[0]._as_batch(op, batch, operands, attributes)
        if op.any_attributes or "name" in op.attributes:
            return self.graph.add(op, operands, attributes)
        name = attributes.pop("name", None)
        return self.graph.add(op, operands, attributes, name=name)

    def _as_batch(self, op: Op, batch: Tensor, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
        """Apply an op to a batch of this value, and take the one result of each."""
        with self.undone_on_error(f"{op.name} of {self.type}"):
            one = self.apply_op(LIBRARY["unsqueeze"], (self,), {"axes": (0,)})
            one = one if one.type == batch else one.apply_op(LIBRARY["name_axes"], (one,), {"layout": batch.layout})
            made = self.apply_op(op, (one, *operands[1:]), attributes)
            results = made if isinstance(made, tuple) else (made,)
            first = tuple(self.apply_op(LIBRARY["squeeze"], (each,), {"axes": (0,)}) for each in results)
            return first if isinstance(made, tuple) else first[0]

    def undone_on_error(self, what: str) -> AbstractContextManager[None]:
        """Return a context at the end of which the graph is as it was if an error has been raised."""
        return undone_on_error([self.graph], what)

    def __iter__(self) -> Iterator[Value]:
        raise GraphError("has one result, which cannot be unpacked", node=self.node)

    def __repr__(self) -> str:
        return f"<value {self.node}{f':{self.result}' if self.result else ''}>"
