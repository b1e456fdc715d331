"""What a graph can be asked that modules above it answer; each is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import networkx as nx

from graphrewrite.data import IrData
from graphrewrite.op.op import Op

if TYPE_CHECKING:
    from graphrewrite.graph import Graph
    from graphrewrite.graph_view import GraphView
    from graphrewrite.node import Node

__all__ = ["Composed"]

D = TypeVar("D", bound=IrData)


class Composed:
    """Mixin of graphs: methods that delegate to the module of their subject."""

    def __eq__(self, other: object) -> bool:
        """Whether both have the same nodes, data, operands and graph attributes."""
        from graphrewrite.graph import Graph
        from graphrewrite.structure import equals

        return isinstance(self, Graph) and isinstance(other, Graph) and equals(self, other)

    def __copy__(self: Any) -> Any:
        return self.copy()

    __hash__ = nx.DiGraph.__hash__  # graphs are mutable: hashed by identity, as networkx does

    def equals(self: Any, other: nx.DiGraph, *, names: bool = True) -> bool:
        """Tell whether another graph is the same, with names or without; see `graphrewrite.structure.equals`."""
        from graphrewrite.structure import equals

        return equals(self, other, names=names)

    def structure_hash(self: Any, *, names: bool = True) -> str:
        """Return a hash that equal graphs share, on every machine; see `graphrewrite.structure`."""
        from graphrewrite.structure import structure_hash

        return structure_hash(self, names=names)

    def infer(self: Any, nodes: Iterable[str] | None = None) -> tuple[str, ...]:
        """Compute the types of nodes anew, in place; see `graphrewrite.infer.infer`."""
        from graphrewrite.infer import infer

        return infer(self, nodes)

    @classmethod
    def parse(cls, text: str, *, ops: Iterable[Op] = ()) -> Graph:
        """Return the graph that a text form writes; see `graphrewrite.parse.parse`."""
        from graphrewrite.parse import parse

        return parse(text, ops=ops)

    def save(self: Any, path: str | PathLike[str], *, arrays: Literal["inline", "npz"] = "inline") -> None:
        """Write the graph to a JSON file; see `graphrewrite.serial.save`."""
        from graphrewrite.serial import save

        save(self, path, arrays=arrays)

    @overload
    def node(self, name: str) -> Node: ...
    @overload
    def node(self, name: str, kind: type[D]) -> D: ...
    def node(self: Any, name: str, kind: Any = None) -> Any:
        """Return the typed view of a node, of a class of one's own if one is given; see `graphrewrite.node.Node`."""
        from graphrewrite.node import Node, node_view

        return node_view(self, name, Node if kind is None else kind)

    def view(self: Any, name: str, nodes: Any = None, *, inputs: Any = None, outputs: Any = None) -> GraphView:
        """Return the view of that name, made and stored if nodes are given; see `graphrewrite.graph_view.make_view`."""
        from graphrewrite.graph_view import make_view

        return make_view(self, name, nodes, inputs, outputs)

    @property
    def views(self: Any) -> tuple[str, ...]:
        """Names of the views that are stored."""
        return tuple(self.graph.get("views", ()))

    def views_of(self: Any, node: str) -> tuple[str, ...]:
        """Return the names of the views that a node is in."""
        return tuple(name for name in self.views if node in self.view(name))
