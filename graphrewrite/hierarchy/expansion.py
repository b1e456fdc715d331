"""Expansion: the nodes of a graph in place of a node of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphrewrite.errors import GraphError, TypeMismatchError
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import EFFECT, Operand, predicate_edge, predicate_in
from graphrewrite.graph.edit import Edit, apply_edit
from graphrewrite.graph.storage import own
from graphrewrite.graph.type_inference import declared_types, infer_node
from graphrewrite.graph.unknown_sizes import first_free_number
from graphrewrite.hierarchy.border import free_name, view_of_copies
from graphrewrite.hierarchy.bound_sizes import bind_sizes, with_data_sizes
from graphrewrite.hierarchy.graph_ops import GraphOp, check_nesting, nested_once, nested_ops
from graphrewrite.hierarchy.implementations import graph_op_of, implemented
from graphrewrite.hierarchy.region_tracking import tracking_regions
from graphrewrite.op import find_op
from graphrewrite.op.reserved_keys import inherited
from graphrewrite.types import Dimension, Type, pairs_of, solved

__all__ = ["expand", "flatten"]

_INHERITED = ("backend",)
"""Annotations of a node that its inner nodes inherit, unless they have their own."""


def flatten(graph: Graph, keep: Callable[[Graph, str], bool] | None = None) -> Graph:
    r"""Return a graph in which nodes of graph ops are replaced by the nodes of their graphs, at any depth.

    A node that names an implementation is replaced by that; see `graphrewrite.hierarchy.implemented`.

    Parameters
    ----------
    graph : Graph
        Any graph; untouched.
    keep : callable, optional
        Called with a graph and a node; true if the node is not to be expanded.

    Returns
    -------
    Graph
        The graph itself if it contains no graph ops.

    Raises
    ------
    GraphError
        If a graph contains itself, or is missing from its library.
    TypeMismatchError
        If the types of a graph have changed since nodes of it were made.

    Examples
    --------
    >>> from graphrewrite import op
    >>> from graphrewrite.hierarchy.graph_ops import graph_op
    >>> block = Graph.parse("graph block\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> g = Graph.parse("graph g\nx = input() : f32[8]")
    >>> _ = g.output("y", graph_op(block)(graph_op(block)(g.value("x"))))
    >>> print(flatten(g))
    graph g
    x = input() : f32[8]
    block_1.r = relu(x) : f32[8]
    block_2.r = relu(block_1.r) : f32[8]
    y = output(block_2.r)
    """
    graph = implemented(graph)
    if not nested_ops(graph):
        return graph
    flat, new = graph.copy(), list(graph)
    regions = tracking_regions(flat)
    with nested_once():
        check_nesting(graph)
        while True:
            # Expansion brings the graph ops of the inner graph along: until none is left but those to keep.
            nested = [n for n in new if isinstance(flat.ops.get(flat._node[n].get("type", "")), GraphOp)]
            work = [n for n in sorted(nested, key=str) if keep is None or not keep(flat, n)]
            if not work:
                if regions is not None:
                    regions.settle()
                return flat
            new = []
            for node in work:
                edit = expand(flat, node)
                apply_edit(flat, edit)
                if regions is not None:
                    regions.follow(edit)
                new += [name for name, _ in edit.added]


def expand(graph: Graph, node: str, fresh: Callable[[str], str] | None = None) -> Edit:
    """Plan the replacement of a node by the nodes of its graph: that of its op, or one that implements it.

    New nodes, and views of them, are named ``node.inner``. They have the origin of the node and keep their annotations.
    Those that readers read in the node's place take those of its annotations that they do not have, and all of them its
    backend. Arrays are not copied; a constant that graphs of a module share becomes one node.

    Parameters
    ----------
    graph : Graph
        Only its registered ops change.
    node : str
        A node of a graph op.
    fresh : callable, optional
        Returns a free name for a stem.

    Raises
    ------
    GraphError
        If the node is not of a graph op, or its graph is missing from the library.
    TypeMismatchError
        If the types of the graph have changed since the node was made.
    """
    op = graph_op_of(graph, node)
    if op is None:
        raise GraphError(f"is of the op {graph.op(node).name}, which is not a graph and cannot be expanded", node=node)
    return _Expansion(graph, node, op, graph.fresh if fresh is None else fresh).edit()


class _Expansion:
    def __init__(self, graph: Graph, node: str, op: GraphOp, fresh: Callable[[str], str]) -> None:
        self.graph, self.node, self.body, self.fresh = graph, node, op.body, fresh
        self.operands = graph.operands(node)
        # The declared type tells whether the graph has changed since the node was made.
        types = tuple(graph.result_type(*operand) for operand in self.operands)
        self.bound = dict(zip(self.body.inputs, self.operands, strict=False))  # `op.infer` checks their number
        inferred, declared = infer_node(graph, node, op, self.operands, types), declared_types(graph, node)
        if inferred != declared:
            shown, stated = (", ".join(map(str, of or ())) for of in (inferred, declared))
            raise TypeMismatchError(
                f"its graph {op.name!r} gives {shown} now, and the node is declared {stated}; infer types again",
                node=node,
            )
        self.sizes = self.all_sizes(types, inferred)
        kinds = {data.get("type") for data in self.body._node.values()}
        for inner in self.body.ops.values():
            if inner.name in kinds:
                graph.adopt(inner)
        self.roots = {self.body.operands(output)[0].node for output in self.body.outputs}
        self.names: dict[str, str] = {}
        self.taken: set[str] = set()
        self.added: list[tuple[str, dict[str, Any]]] = []
        self.links: dict[tuple[str, str], dict[str, Any]] = {}

    def all_sizes(self, types: tuple[Type, ...], results: tuple[Type, ...]) -> dict[str, Dimension]:
        """Return what sizes of the body are here: those of operands and results, and new numbers of unknown ones."""
        sizes, body = bind_sizes(self.body, types), self.body
        kinds = [kind for n in body._node for kind in declared_types(body, n) or ()]
        unknown = dict.fromkeys(name for kind in kinds for name in kind.unknowns if name not in sizes)
        if unknown:
            outputs = [body.result_type(*body.operands(output)[0]) for output in body.outputs]
            sizes.update(solved(pairs_of(outputs, results), unknown))
            new = [name for name in unknown if name not in sizes]
            first = first_free_number(self.graph) if new else 0
            sizes.update({name: f"?{number}" for number, name in enumerate(new, start=first)})
        return sizes

    def edit(self) -> Edit:
        """Return the whole change."""
        body, graph, node = self.body, self.graph, self.node
        inside = [n for n in body.in_order() if body._node[n].get("type") not in ("input", "output")]
        for inner in inside:
            self.add(inner)
        # Edges within the body, then those of the node's readers, then its control edges.
        for inner in inside:
            for slot, operand in enumerate(body.operands(inner)):
                self.link(self.value_of(operand), self.names[inner], slot)
            for source, kind in body.controls(inner):
                for first in self.firsts(source):
                    self.order(first, self.names[inner], kind)
            # Where the node is not needed, nor is anything in it.
            if (inside_it := body.predicate(inner)) is not None:
                self.predicate(self.value_of(inside_it), self.names[inner])
            elif (whole := graph.predicate(node)) is not None and body._node[inner].get("type") != "constant":
                self.predicate(whole, self.names[inner])
        effects = [self.names[inner] for inner in body.effects]
        results = [self.value_of(body.operands(output)[0]) for output in body.outputs]
        for reader, edge in graph._succ[node].items():
            for slot, result in edge.get("slots", ()):
                self.link(results[result], reader, slot)
            # A node that must come after the graph op comes after the last nodes of the body.
            if (result := predicate_in(edge)) is not None:
                self.predicate(results[result], reader)
            elif "kind" in edge:
                for last in effects[-1:] if edge["kind"] == EFFECT else self.ends(body._succ, inside):
                    self.order(last, reader, edge["kind"])
        for source, kind in graph.controls(node):
            for first in effects[:1] if kind == EFFECT else self.ends(body._pred, inside):
                self.order(source, first, kind)
        linked = [(source, destination, data) for (source, destination), data in self.links.items()]
        return Edit(added=self.added, linked=linked, removed=[node], matched=(node,), views=self.views())

    def views(self) -> dict[str, Any]:
        """Return the views of the body, of the new nodes."""
        taken, found = self.graph.graph.get("views", {}), dict[str, Any]()
        for view, data in self.body.graph.get("views", {}).items():
            name = free_name(f"{self.node}.{view}", {**taken, **found})
            found[name] = view_of_copies(data, self.names, self.bound)
        return found

    def add(self, inner: str) -> None:
        """Add a node of the body, or reuse the shared constant that is in the graph already."""
        op = find_op(self.body._node[inner].get("type"), self.body.ops)
        data = own(with_data_sizes(self.body._node[inner], op, self.sizes))
        shared = data.get("shared") if data.get("type") == "constant" else None
        if shared is not None and (present := self.shared_as(shared, data["value"])) is not None:
            self.names[inner] = present
            return
        above = self.graph._node[self.node]
        taken = {key: above[key] for key in _INHERITED if key in above}
        if inner in self.roots and shared is None and op is not None:
            taken |= own(inherited(above, self.graph.op(self.node), op))
        data.update({key: value for key, value in taken.items() if key not in data})
        data["origin"] = self.graph.origin(self.node)
        name = stem = f"{self.node}.{inner}" if shared is None else str(shared)
        while name in self.graph or name in self.taken:
            name = self.fresh(stem)
        self.names[inner] = name
        self.taken.add(name)
        self.added.append((name, data))

    def shared_as(self, name: Any, value: Any) -> str | None:
        """Return the node that holds a constant of the module, if there is one."""
        nodes = self.graph._node
        for node in (name, *nodes) if name in nodes else nodes:
            if nodes[node].get("shared") == name and nodes[node].get("value") is value:
                return str(node)
        return None

    def value_of(self, operand: Operand) -> Operand:
        """Return the value of the graph for one of the body: an operand of the node, or a result of a new node."""
        return self.bound.get(operand.node) or Operand(self.names[operand.node], operand.result)

    def link(self, source: Operand, destination: str, slot: int) -> None:
        """Add an operand to a node."""
        data = self.edge(source.node, destination)
        data["slots"] = (*data.get("slots", ()), (slot, source.result))

    def order(self, source: str, destination: str, kind: str) -> None:
        """Add a control edge."""
        if source != destination:
            self.edge(source, destination).setdefault("kind", kind)

    def predicate(self, source: Operand, destination: str) -> None:
        """Add a predicate."""
        edge = self.edge(source.node, destination)
        edge |= predicate_edge(source.result, edge["slots"])

    def edge(self, source: str, destination: str) -> dict[str, Any]:
        """Return the data of an edge of the edit, which includes the edge's present data."""
        if (source, destination) not in self.links:
            present = self.graph._succ.get(source, {}).get(destination, {})
            self.links[source, destination] = {"slots": (), **present}
        return self.links[source, destination]

    def firsts(self, source: str) -> list[str]:
        """Return the nodes that represent the source of a control edge of the body."""
        if source in self.names:
            return [self.names[source]]
        return [self.bound[source].node] if source in self.bound else []

    def ends(self, neighbours: Mapping[str, Any], inside: list[str]) -> list[str]:
        """Return the new nodes, except constants, without new neighbours: the first or the last ones of the body."""
        left = {n for n in inside if self.body._node[n].get("type") != "constant"}
        return [self.names[n] for n in inside if n in left and not any(other in left for other in neighbours[n])]
