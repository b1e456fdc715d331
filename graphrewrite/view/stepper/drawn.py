"""Boxes of single nodes of a graph that is being rewritten, each described once for as long as it stays as it is."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import networkx as nx

from graphrewrite.graph import Graph
from graphrewrite.graph.edit import Edit
from graphrewrite.view.scene import Arrow, Box, scene_of

__all__ = ["Drawn", "Node", "concerned"]


class Node(NamedTuple):
    """A node as it is drawn, and its incoming arrows, each with its source."""

    box: Box
    inlets: tuple[tuple[Any, Arrow], ...]


class Drawn:
    r"""The nodes of a graph as they are drawn; None for constants that are tucked into their readers.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nc = constant(value=2.0) : f32[]\nm = mul(x, c)\ny = output(m)")
    >>> drawn = Drawn(g)
    >>> drawn["c"], drawn["m"].box.notes, [source for source, _ in drawn["m"].inlets]
    (None, ('y: 2.0',), ['x'])
    """

    def __init__(self, graph: nx.DiGraph, earlier: Drawn | None = None, moved: Collection[Any] = ()) -> None:
        # Nodes outside of `moved` are drawn as a step earlier.
        self.graph, self.earlier, self.moved = graph, earlier, moved
        self.known: dict[Any, Node | None] = {}
        self.deciding: dict[Any, tuple[Any, ...]] = {}

    def __getitem__(self, node: Any) -> Node | None:
        if self.earlier is not None and node not in self.moved:
            return self.earlier[node]
        if node not in self.known:
            self.known[node] = self._described(node)
        return self.known[node]

    def follow(self, later: Drawn) -> None:
        """Draw nodes as they are a step later; the graph has been changed likewise."""
        for node in later.moved:
            self.known.pop(node, None)
            self.deciding.pop(node, None)
        self.known.update(later.known)

    def neighbours(self, node: Any, most: int) -> list[Any]:
        """Return the drawn nodes next to a node, its operands first."""
        here = self[node]
        above = list(dict.fromkeys(source for source, _ in here.inlets)) if here is not None else []
        nodes = above[:most]
        for count, reader in enumerate(self.graph.succ[node]):
            if count == most:
                break
            nodes.append(reader)
        return [each for each in nodes if self[each] is not None]

    def _described(self, node: Any) -> Node | None:
        """Draw the part of a graph on which the drawing of a node depends: it, its operands, readers of constants."""
        graph = self.graph
        part: nx.DiGraph = Graph(ops=graph.ops.values()) if isinstance(graph, Graph) else nx.DiGraph()
        constants = [n for n in (node, *graph.pred[node]) if graph.nodes[n].get("type") == "constant"]
        edges = dict.fromkeys((a, node) for a in graph.pred[node])
        edges.update(dict.fromkeys((c, b) for c in constants for b in self._deciders(c)))
        for each in dict.fromkeys([node, *(end for edge in edges for end in edge)]):
            part.add_node(each)
            part.nodes[each].update(graph.nodes[each])
        for a, b in edges:
            part.add_edge(a, b)
            part.edges[a, b].update(graph.edges[a, b])
        # In the part, the node looks as in the whole graph; drawing it does not take longer in a larger graph.
        scene = scene_of(part)
        name = str(node)
        at = next((i for i, box in enumerate(scene.boxes) if box.name == name), None)
        if at is None:
            return None
        sources = {str(each): each for each in graph.pred[node]}
        inlets = [(sources[scene.boxes[a.source].name], a) for a in scene.arrows if a.destination == at]
        return Node(scene.boxes[at], tuple(inlets))

    def _deciders(self, constant: Any) -> tuple[Any, ...]:
        """Return a reader that decides whether a constant is tucked: one that cannot hold it, or else any."""
        if constant not in self.deciding:
            readers, nodes = self.graph.succ[constant], self.graph.nodes
            cannot = (b for b, data in readers.items() if "kind" in data or nodes[b].get("type") == "output")
            decider = next(cannot, next(iter(readers), None))
            self.deciding[constant] = () if decider is None else (decider,)
        return self.deciding[constant]


def concerned(edit: Edit, *graphs: nx.DiGraph) -> set[Any]:
    """Return the nodes that may be drawn otherwise after an edit."""
    nodes = {name for name, _ in (*edit.added, *edit.changed)} | set(edit.removed)
    ends: list[tuple[Any, Any]] = [(a, b) for a, b, *_ in (*edit.linked, *edit.unlinked)]
    for graph in graphs:
        ends += [(a, node) for node in edit.removed if node in graph for a in graph.pred[node]]
        # The type of a changed node is written on its readers' operands.
        ends += [(node, b) for node in nodes if node in graph for b in graph.succ[node]]
    sources = {a for a, _ in ends}
    nodes.update(b for _, b in ends)
    for graph in graphs:
        # Whether a constant is tucked into its readers depends on all of them.
        for node in sources:
            if node in graph and graph.nodes[node].get("type") == "constant":
                nodes.add(node)
                nodes.update(graph.succ[node])
    return nodes
