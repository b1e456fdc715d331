"""Structural equality and hashes of graphs, with or without the names of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.compare.isomorphism import Coloured, are_isomorphic, digest, reached_from
from graphrewrite.formats.text import format_exactly
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import as_graph
from graphrewrite.hierarchy.bound_sizes import with_data_sizes
from graphrewrite.hierarchy.graph_ops import innermost_first, nested_ops
from graphrewrite.op import find_op
from graphrewrite.types import Dimension, Type

__all__ = ["Describe", "NestedHashes", "describe_data", "describe_edge", "equal_graphs", "equals", "structure_hash"]

_NAMED = frozenset({"name", "views"})
"""Attributes of a graph that contain names."""


def equals(a: nx.DiGraph, b: nx.DiGraph, *, names: bool = True) -> bool:
    r"""Tell whether two graphs are equal: types, attributes bit for bit, operands, ports, order, graph attributes.

    Origins and the order in which nodes were added are ignored. Nested graphs are compared with their contents.

    Parameters
    ----------
    a, b : Graph or networkx.DiGraph
        Any graphs.
    names : bool
        Whether nodes must have the same names. If not, the graphs are equal if they are isomorphic; the graph's name
        and its views, which contain names, are ignored, and so are the numbers of unknown sizes.

    Notes
    -----
    Nodes that outputs depend on are compared in linear time, as operands are ordered. Dead nodes are compared by colour
    refinement and, where that is ambiguous, by search.

    Examples
    --------
    >>> a = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> b = Graph.parse("graph h\nu = input() : f32[N]\ns = relu(u)\nv = output(s)")
    >>> equals(a, b), equals(a, b, names=False)
    (False, True)
    """
    return _are_equal(_graph(a), _graph(b), NestedHashes(names=names))


def equal_graphs(a: Mapping[str, Graph], b: Mapping[str, Graph]) -> bool:
    """Tell whether two mappings have equal graphs; each graph that is nested in several of them is hashed once.

    Examples
    --------
    >>> equal_graphs({"main": Graph("main")}, {"main": Graph("main")})
    True
    """
    nested = NestedHashes()
    return a.keys() == b.keys() and all(_are_equal(graph, b[name], nested) for name, graph in a.items())


def _are_equal(a: Graph, b: Graph, nested: NestedHashes) -> bool:
    names = nested.names
    if a is b:
        return True
    if len(a) != len(b) or a.number_of_edges() != b.number_of_edges():
        return False
    if _own(a, names) != _own(b, names):
        return False
    if not names:
        return are_isomorphic(_Nameless(a, nested), _Nameless(b, nested))
    of_a, of_b = Describe(a, nested), Describe(b, nested)
    return all(node in b._node and of_a.line(node) == of_b.line(node) for node in a)


def structure_hash(graph: nx.DiGraph, *, names: bool = True) -> str:
    r"""Return a hash that equal graphs share, on every machine and in every run; see `equals`.

    Parameters
    ----------
    graph : Graph or networkx.DiGraph
        Any graph.
    names : bool
        Whether the names of nodes count.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> a = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> b = Graph.parse("graph g\nx = input() : f32[N]\nr = neg(x)\ny = output(r)")
    >>> structure_hash(a) == structure_hash(a.copy()), structure_hash(a) == structure_hash(b)
    (True, False)
    """
    return NestedHashes(names=names).hash(_graph(graph))


class NestedHashes:
    """Hashes of graphs and of those nested in them; each graph is hashed once, however often it occurs.

    Examples
    --------
    >>> nested = NestedHashes()
    >>> nested.hash(Graph("g")) == structure_hash(Graph("g")), nested.of(Graph("g"))
    (True, {})
    """

    def __init__(self, *, names: bool = True) -> None:
        self.names = names
        self.done: dict[int, tuple[str, Graph]] = {}  # with the graph, which keeps its identity from being reused
        self.entered: set[int] = set()

    def hash(self, graph: Graph) -> str:
        """Return the hash of a graph; inner graphs are hashed first, so that no depth of nesting recurses."""
        for each in innermost_first(graph, self.entered):
            self.done[id(each)] = self._hashed(each), each
        return self.done[id(graph)][0] if id(graph) in self.done else "contains itself"

    def of(self, graph: Graph) -> dict[str, str]:
        """Return the hashes of the graphs of a graph's ops, by name; missing ones are skipped."""
        bodies = ((op.name, op.library.get(op.name)) for op in nested_ops(graph))
        return {name: self.hash(body) for name, body in bodies if body is not None}

    def _hashed(self, graph: Graph) -> str:
        if self.names:
            lines = sorted(map(Describe(graph, self).line, graph))
        else:
            lines = _Nameless(graph, self).signature()
        return digest("\n".join([_own(graph, self.names), *lines]).encode("utf-8", "surrogatepass"))


class Describe:
    """Texts that describe the nodes of a graph, equal for equal nodes, with the hashes of nested graphs."""

    def __init__(self, graph: Graph, nested: NestedHashes) -> None:
        self.graph, self.nested = graph, nested
        self.inner = nested.of(graph)
        self.types: dict[Any, str] = {}

    def data(self, node: Any, hidden: frozenset[str] = frozenset({"origin"})) -> str:
        """Return the text of a node's data, without some of its keys."""
        data = self.graph._node[node]
        text = describe_data(data, hidden, self.types, self.nested)
        kind = data.get("type")
        return f"{text} {self.inner[kind]}" if self.inner and isinstance(kind, str) and kind in self.inner else text

    def line(self, node: Any) -> str:
        """Return the text of a node with its data and its incoming edges."""
        edges = sorted([f"{source!r}@{describe_edge(edge)}" for source, edge in self.graph._pred[node].items()])
        return f"{node!r}({', '.join(edges)}) {self.data(node)}"


def describe_data(
    data: Mapping[Any, Any],
    hidden: Iterable[str],
    types: dict[Any, str] | None = None,
    nested: NestedHashes | None = None,
) -> str:
    """Return a text that is equal if and only if the data of nodes are equal, arrays bit for bit.

    `types` and `nested` hold the texts of types and the hashes of graphs that are known already.

    Examples
    --------
    >>> describe_data({"type": "pad", "pads": (1, 2), "origin": ("a",)}, ["origin"])
    "pads=[1, 2]; type='pad'"
    """
    shown = []
    for key in sorted(data, key=repr):
        if key in hidden:
            continue
        value = data[key]
        if isinstance(value, str):
            text = repr(value)
        elif isinstance(value, np.ndarray) and value.dtype != object:
            text = f"{value.dtype}{value.shape}{digest(np.ascontiguousarray(value).tobytes())}"
        elif isinstance(value, Graph):
            text = f"body({(nested or NestedHashes()).hash(value)})"
        elif types is not None and isinstance(value, Type):
            text = types.get(value) or types.setdefault(value, format_exactly(value))
        else:
            text = format_exactly(value.tolist() if isinstance(value, np.ndarray) else value)
        shown.append(f"{key if isinstance(key, str) and key.isidentifier() else repr(key)}={text}")
    return "; ".join(shown)


def describe_edge(edge: Mapping[str, Any]) -> str:
    """Return a text that is equal if and only if the data of edges are equal, in any order of slots.

    Examples
    --------
    >>> describe_edge({"slots": ((1, 0), (0, 0))}), describe_edge({"slots": (), "kind": "control"})
    ('0:0 1:0', "kind='control'")
    """
    slots = edge.get("slots", ())
    try:
        text = " ".join([f"{slot}:{result}" for slot, result in (slots if len(slots) < 2 else sorted(slots))])
    except (TypeError, ValueError):  # malformed slots are compared as they are
        text = format_exactly(slots)
    if "slots" in edge:
        return text if len(edge) == 1 else f"{text} {describe_data(edge, ('slots',))}".strip()
    return f"- {describe_data(edge, ())}".strip()


class _Nameless(Coloured):
    """A graph compared without names."""

    def __init__(self, graph: Graph, nested: NestedHashes) -> None:
        graph = _with_canonical_unknowns(graph)
        describe = Describe(graph, nested)
        ports = {"input": frozenset({"origin", "index"}), "output": frozenset({"origin", "index"})}
        hidden = frozenset({"origin"})

        def node_text(node: Any) -> str:
            kind = graph._node[node].get("type")
            return describe.data(node, ports.get(kind, hidden) if isinstance(kind, str) else hidden)

        super().__init__(graph, _roots(graph), node_text, describe_edge)


def _with_canonical_unknowns(graph: Graph) -> Graph:
    """Return a graph whose unknown sizes are numbered in the order in which its outputs reach them."""
    if not any(kind.unknowns for node in graph._node for kind in _types(graph, node)):
        return graph
    sizes: dict[str, Dimension] = {}
    for node in reached_from(graph, _roots(graph)):
        for kind in _types(graph, node):
            for name in kind.unknowns:
                sizes.setdefault(name, f"?{len(sizes) + 1}")
    for node in graph._node:  # of a dead node, which is one of many, there is no order
        sizes.update({name: "?a" for kind in _types(graph, node) for name in kind.unknowns if name not in sizes})
    new = graph.copy()
    for node, data in graph._node.items():
        new._node[node] = with_data_sizes(data, find_op(data.get("type"), graph.ops), sizes)
    return new


def _types(graph: Graph, node: Any) -> list[Type]:
    result = graph._node[node].get("result")
    return [each for each in (result if isinstance(result, tuple) else (result,)) if isinstance(each, Type)]


def _roots(graph: Graph) -> list[Any]:
    """Return the inputs and outputs in the order of their indices, except ambiguous ones."""
    roots = []
    for kind in ("input", "output"):
        by_index: dict[Any, list[Any]] = {}
        for node, data in graph._node.items():
            if isinstance(data.get("type"), str) and data["type"] == kind and type(data.get("index", 0)) is int:
                by_index.setdefault(data.get("index", 0), []).append(node)
        roots += [nodes[0] for _, nodes in sorted(by_index.items()) if len(nodes) == 1]
    return roots


def _graph(graph: Any) -> Graph:
    return as_graph(graph, "that can be compared")


def _own(graph: Graph, names: bool) -> str:
    """Return the text of the attributes of a graph."""
    return describe_data(graph.graph, _NAMED if not names else () if graph.graph.get("name") else ("name",))
