"""Type inference: the types of all values from those of inputs and constants."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import networkx as nx
import numpy as np

from graphrewrite.errors import GraphError, GraphRewriteError, TypeMismatchError, not_there
from graphrewrite.graph.arguments import as_graph
from graphrewrite.graph.cycles import order_of, shown
from graphrewrite.graph.dataflow import Operand
from graphrewrite.graph.graph import Graph
from graphrewrite.graph.unknown_sizes import first_free_number, local_names, numbered, settled
from graphrewrite.op.generic_op import Generic
from graphrewrite.op.op import Op
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.types import Tensor, Type, element_of, one_object

__all__ = ["declared_types", "infer", "infer_node"]


def infer(graph: nx.DiGraph, nodes: Iterable[str] | None = None) -> tuple[str, ...]:
    """Compute the types of nodes and of their readers anew, in place.

    Inputs and constants keep their types, and so do generic nodes that state one; a constant without takes that of its
    array. On a cycle, nodes that hold state keep theirs, from which the others follow.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Any graph whose nodes have types; changed, or, if anything fails, left as it was.
    nodes : iterable of str, optional
        Nodes to infer; all if not given. Readers of values whose types change follow.

    Raises
    ------
    GraphError
        If a node is not in the graph, an input has no type, or a cycle has no state.

    Examples
    --------
    >>> from graphrewrite import op
    >>> g = Graph("g")
    >>> _ = g.output("y", -op.relu(g.input("x", Tensor("f32", ("N", 4)))))
    >>> g.nodes["x"]["result"] = Tensor("f16", ("N", 8))
    >>> infer(g)
    ('relu_1', 'neg_1')
    >>> print(g)
    graph g
    x = input() : f16[N,8]
    relu_1 = relu(x) : f16[N,8]
    neg_1 = neg(relu_1) : f16[N,8]
    y = output(neg_1)
    """
    typed = as_graph(graph, "whose types can be inferred")
    wanted = set(typed._node) if nodes is None else {*((nodes,) if isinstance(nodes, str) else nodes)}
    for node in sorted(wanted - typed._node.keys(), key=str):
        raise not_there(node, typed._node)
    changes = _Inference(typed, wanted).changes()
    for node, types in changes.items():
        graph.nodes[node]["result"] = types[0] if len(types) == 1 else types
    return tuple(changes)


def infer_node(
    graph: Graph, node: str, op: Op, operands: tuple[Operand, ...], types: tuple[Type, ...]
) -> tuple[Type, ...]:
    """Return the result types of a node; errors name the node and what it reads.

    An unknown size without a number is what the node declares in its place, if it declares as many axes.

    Examples
    --------
    >>> from graphrewrite import op
    >>> g = Graph("g")
    >>> _ = op.relu(g.input("x", Tensor("f32", ("N", 4))))
    >>> print(*infer_node(g, "relu_1", op.relu, g.operands("relu_1"), (Tensor("f16", ("N", 4)),)))
    f16[N,4]
    """
    attributes = attributes_in(graph._node[node], op)
    if isinstance(op, Generic):
        attributes["result"] = graph._node[node].get("result")
    try:
        inferred = op.result_types(types, attributes)
        return settled(inferred, declared_types(graph, node)) if any(t.unknowns for t in inferred) else inferred
    except GraphRewriteError as error:
        shown = [f"{o.node!r}:{o.result}" if o.result else repr(o.node) for o in operands]
        read = f"; it reads {', '.join(shown)}" if len(set(operands)) > 1 else ""
        raise TypeMismatchError(f"{error}{read}", node=node) from None
    except Exception as error:
        # An op's inference may fail in any way on an attribute of an unexpected type.
        raise TypeMismatchError(
            f"{op.name}({', '.join(map(str, types))}) cannot be typed with the attributes {attributes!r}: "
            f"{type(error).__name__}: {error}",
            node=node,
        ) from error


def declared_types(graph: Graph, node: str) -> tuple[Type, ...] | None:
    """Return the declared result types of a node."""
    types = graph._node[node].get("result")
    return types if types is None or isinstance(types, tuple) else (types,)


class _Inference:
    """One run over a graph; the graph itself is left as it is."""

    def __init__(self, graph: Graph, wanted: set[str]) -> None:
        self.graph, self.wanted = graph, wanted
        self.new: dict[str, tuple[Type, ...]] = {}

    def changes(self) -> dict[str, tuple[Type, ...]]:
        """Return the new result types of the nodes whose types change."""
        graph, new = self.graph, self.new
        # In one pass, operands first. Readers of values whose types change follow; all other types stay.
        order, held, cycles = order_of(graph)
        for cycle in cycles:
            raise GraphError(f"is on a cycle {shown(cycle)}; break it or put a register on it", node=cycle[0])
        for node in order:
            if node in held:  # its declared type breaks the cycle; it is checked against the inferred one below
                if self.declared(node) is None:
                    raise GraphError("is on a cycle and has no declared result type; declare it", node=node)
            elif node in self.wanted or (new and any(source in new for source in graph._pred[node])):
                self.visit(node)
        for node in sorted(held, key=str):
            if self.of(node) != self.declared(node):
                raise TypeMismatchError(
                    f"gives {_text(self.of(node))} on its cycle but is declared {_text(self.declared(node))}; "
                    "correct the declared type",
                    node=node,
                )
        return new

    def visit(self, node: str) -> None:
        """Infer a node; remember its types if they differ from the declared ones."""
        data = self.graph._node[node]
        if data.get("type") == "output" and data.get("result") is None:
            self.of(node)
            return
        types = self.of(node)
        if types != self.declared(node):
            self.new[node] = tuple(map(one_object, types))

    def declared(self, node: str) -> tuple[Type, ...] | None:
        """Return the declared result types of a node."""
        return declared_types(self.graph, node)

    def of(self, node: str) -> tuple[Type, ...]:
        """Return the result types of a node whose operands are done."""
        graph = self.graph
        data = graph._node[node]
        kind = data.get("type")
        declared = self.declared(node)
        if kind == "input":
            if declared is None:
                raise GraphError("inputs need a declared type as their `result`", node=node)
            return declared
        if kind == "constant" and "value" in data:
            if declared is not None:
                return declared
            array = np.asarray(data["value"])
            return (Tensor(element_of(array.dtype), array.shape),)
        operands = graph.operands(node)
        types = infer_node(graph, node, graph.op(node), operands, tuple([self.read(node, o) for o in operands]))
        if new := local_names(types):
            types = numbered(types, self.first_free)
            self.first_free += len(new)
        return types

    @cached_property
    def first_free(self) -> int:
        """The next number of an unknown size."""
        return first_free_number(self.graph)

    def read(self, node: str, operand: Operand) -> Type:
        """Return the type of an operand."""
        # The new type of this run, else the declared one.
        types = self.new.get(operand.node) or self.declared(operand.node)
        if types is None:
            raise GraphError("has no result type; give every node but the outputs one, or infer it", node=operand.node)
        if operand.result >= len(types):
            raise GraphError(f"reads result {operand.result} of {operand.node!r}, which has fewer", node=node)
        return types[operand.result]


def _text(types: tuple[Type, ...] | None) -> str:
    return ", ".join(map(str, types or ()))
