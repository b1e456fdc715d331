"""Differences of two graphs, or two modules, node by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, overload

import networkx as nx

from graphrewrite.compare.equality import Describe, NestedHashes, describe_data, describe_edge
from graphrewrite.compare.node_pairing import pair
from graphrewrite.compare.result import Diff, Entry, ModuleDiff, NodeDiff
from graphrewrite.errors import GraphError
from graphrewrite.formats.text import format_attribute, line_of_data
from graphrewrite.formats.text.node_order import in_writing_order
from graphrewrite.graph import Graph
from graphrewrite.graph.arguments import check_digraph
from graphrewrite.hierarchy.border import free_name
from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.hierarchy.module import Module
from graphrewrite.op import find_op

__all__ = ["diff"]

_WITHOUT = frozenset({"origin"})
_PORTS = frozenset({"origin", "index"})


@overload
def diff(before: Graph, after: Graph) -> Diff: ...  # first: without stubs of networkx, a graph may be anything
@overload
def diff(before: Module, after: Module) -> ModuleDiff: ...
@overload
def diff(before: nx.DiGraph, after: nx.DiGraph) -> Diff: ...
def diff(before: Any, after: Any) -> Diff | ModuleDiff:
    r"""Return the differences between two graphs, or between the graphs of two modules.

    Nodes are paired by name; nodes of different names are paired if they have equal data and equal operands, equal data
    and equal readers, or data that is unique on both sides.

    Parameters
    ----------
    before, after : Graph, networkx.DiGraph or Module
        Both graphs, or both modules.

    Returns
    -------
    Diff or ModuleDiff
        False if they are equal; ``str`` gives a readable text.

    Raises
    ------
    GraphError
        If they are neither two graphs nor two modules.

    Examples
    --------
    >>> a = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> b = Graph.parse("graph g\nx = input() : f32[N]\nn = neg(x)\nr = relu(n)\ny = output(r)")
    >>> print(diff(a, b))
    + n = neg(x) : f32[N]
    > r = relu(x) : f32[N]
    >   -> r = relu(n) : f32[N]
    (2 kept, 1 inserted, 1 moved)
    >>> diff(a, b).inserted[0].name, bool(diff(a, a))
    ('n', False)
    """
    if isinstance(before, Module) and isinstance(after, Module):
        return _modules(before, after)
    if isinstance(before, Module) != isinstance(after, Module):
        raise GraphError("a graph and a module cannot be compared; pass two graphs, or two modules")
    for graph in (before, after):
        check_digraph(graph, "that can be compared")
    comparison = _Comparison(before, after, hashes := NestedHashes())
    return comparison.result(_within(comparison, hashes))


class _Comparison:
    """Two graphs with paired nodes."""

    def __init__(self, before: nx.DiGraph, after: nx.DiGraph, nested: NestedHashes) -> None:
        self.a, self.b = (g if isinstance(g, Graph) else Graph(g) for g in (before, after))
        # If ports are numbered consistently, their order is compared instead of their indices.
        regular = _is_regular(self.a) and _is_regular(self.b)
        self.hidden = {"input": _PORTS, "output": _PORTS} if regular else {}
        self.of_a, self.of_b = (Describe(g, nested) for g in (self.a, self.b))
        self.order_b = in_writing_order(self.b)
        self.new = pair(
            self.a,
            self.b,
            self.order_b,
            lambda node: self.of_a.data(node, _WITHOUT),
            lambda node: self.of_b.data(node, _WITHOUT),
        )
        self.old = {theirs: ours for ours, theirs in self.new.items()}

    def inside(self) -> Iterator[tuple[str, Graph, Graph]]:
        """Yield the graphs of ops, and those that nodes hold, that both have and that differ, with their names."""
        for name, known in self.of_a.inner.items():
            if self.of_b.inner.get(name, known) != known:
                ours, theirs = (graph.ops[name] for graph in (self.a, self.b))
                if isinstance(ours, GraphOp) and isinstance(theirs, GraphOp):
                    yield name, ours.body, theirs.body
        for was, key, body in self.a.bodies():
            other = self.b._node.get(self.new.get(was), {}).get(key)
            hashed = self.of_a.nested.hash
            if isinstance(other, Graph) and hashed(other) != hashed(body):
                yield f"{was}.{key}", body, other

    def result(self, nested: Mapping[str, Diff] = MappingProxyType({})) -> Diff:
        """Return the differences, with those of nested graphs."""
        sorted_in: dict[str, list[NodeDiff]] = {mark: [] for mark in " +-~>"}
        order: list[tuple[str, NodeDiff]] = []
        gone = self.gone()

        def add(mark: str, node: NodeDiff) -> None:
            sorted_in[mark].append(node)
            if mark != " ":
                order.append((mark, node))

        for node in [None, *self.order_b]:
            if node is not None:
                add(*self.entry(node))
            for lost in gone.get(node, ()):
                add("-", NodeDiff(lost, lost, before=_line(self.a, lost)))
        kept, inserted, removed, changed, moved = (tuple(sorted_in[mark]) for mark in " +-~>")
        attributes = _entries(*({k: v for k, v in g.graph.items() if (k, v) != ("name", "")} for g in (self.a, self.b)))
        ports = tuple(self.ports())
        graphs = self.a, self.b
        return Diff(kept, inserted, removed, changed, moved, attributes, ports, nested, tuple(order), graphs)

    def gone(self) -> dict[Any, list[Any]]:
        """Return the removed nodes, by the node after which they are listed."""
        gone: dict[Any, list[Any]] = {}
        if len(self.new) == len(self.a):
            return gone
        last = None
        for node in in_writing_order(self.a):
            if node in self.new:
                last = self.new[node]
            else:
                gone.setdefault(last, []).append(node)
        return gone

    def entry(self, node: Any) -> tuple[str, NodeDiff]:
        """Return the mark and the entry of a node of the second graph."""
        after = _line(self.b, node)
        if node not in self.old:
            return "+", NodeDiff(node, after=after)
        was = self.old[node]
        if was == node and self.is_untouched(node):
            return " ", NodeDiff(node, was, after, after)
        before = _line(self.a, was)
        kind = self.b._node[node].get("type")
        hidden = self.hidden.get(kind, _WITHOUT) if isinstance(kind, str) else _WITHOUT
        if self.of_a.data(was, hidden) != self.of_b.data(node, hidden):
            return "~", NodeDiff(node, was, before, after, self.keys(was, node, hidden))
        if was != node or not self.reads_the_same(was, node):
            return ">", NodeDiff(node, was, before, after)
        return " ", NodeDiff(node, was, before, after)

    def is_untouched(self, node: Any) -> bool:
        """Tell whether a node's data and edges consist of identical objects in both graphs, so that its line is equal.

        This holds for most nodes of a copied or rewritten graph; describing the others takes most of the time.
        """
        if self.of_a.inner or self.of_b.inner:
            return False  # graphs of the same name may differ
        ours, theirs = self.a._pred[node], self.b._pred[node]
        return (
            _is_same(self.a._node[node], self.b._node[node])
            and ours.keys() == theirs.keys()
            and all(self.new.get(source) == source and _is_same(ours[source], theirs[source]) for source in ours)
        )

    def keys(self, was: Any, node: Any, hidden: frozenset[str]) -> tuple[str, ...]:
        """Return the keys of a node's data that differ."""
        ours, theirs = self.a._node[was], self.b._node[node]
        different = [
            key
            for key in {**ours, **theirs}
            if key not in hidden
            and (key not in ours or key not in theirs or _text(key, ours[key]) != _text(key, theirs[key]))
        ]
        # Graphs of the same name may differ.
        return tuple(sorted(map(str, different))) or ("type",)

    def reads_the_same(self, was: Any, node: Any) -> bool:
        """Tell whether the edges into a node have the same sources and data."""
        ours, theirs = self.a._pred[was], self.b._pred[node]
        return len(ours) == len(theirs) and all(
            (read := self.new.get(source)) in theirs and describe_edge(edge) == describe_edge(theirs[read])
            for source, edge in ours.items()
        )

    def ports(self) -> list[Entry]:
        """Return the differences in the order of inputs and outputs."""
        entries = []
        for name in ("inputs", "outputs"):
            ours, theirs = getattr(self.a, name), getattr(self.b, name)
            if tuple(self.new.get(port) for port in ours) != theirs:
                entries.append(Entry(name, ", ".join(map(str, ours)) or "none", ", ".join(map(str, theirs)) or "none"))
        return entries


def _is_regular(graph: Graph) -> bool:
    """Tell whether inputs and outputs are numbered 0, 1, …."""
    return all(
        [graph._node[node].get("index") for node in ports] == list(range(len(ports)))
        for ports in (graph.inputs, graph.outputs)
    )


def _is_same(ours: Mapping[Any, Any], theirs: Mapping[Any, Any]) -> bool:
    """Tell whether two dictionaries have identical values and the same order, except for origins."""
    if list(ours) != list(theirs):
        return False
    return all(value is theirs[key] or key == "origin" for key, value in ours.items())


def _line(graph: Graph, node: Any) -> str:
    data = graph._node[node]
    return line_of_data(node, data, graph._pred[node], find_op(data.get("type"), graph.ops))


def _text(key: Any, value: Any) -> str:
    return describe_data({key: value}, ())


def _entries(before: Mapping[Any, Any], after: Mapping[Any, Any]) -> tuple[Entry, ...]:
    """Return the attributes that differ."""
    return tuple(
        Entry(
            str(key),
            format_attribute(before[key]) if key in before else None,
            format_attribute(after[key]) if key in after else None,
        )
        for key in sorted({**before, **after}, key=repr)
        if (key in before, key in after) != (True, True) or _text(key, before[key]) != _text(key, after[key])
    )


def _within(whole: _Comparison, hashes: NestedHashes, known: Iterable[tuple[int, int]] = ()) -> dict[str, Diff]:
    """Return the differences of graphs nested in two graphs, at any depth, but for known pairs; each pair once."""
    found: dict[str, Diff] = {}
    seen, work = set(known), list(whole.inside())
    for name, ours, theirs in work:  # grows as it goes
        if (id(ours), id(theirs)) not in seen:
            seen.add((id(ours), id(theirs)))
            inner = _Comparison(ours, theirs, hashes)
            found[free_name(name, found)] = inner.result()
            work += inner.inside()
    return found


def _modules(before: Module, after: Module) -> ModuleDiff:
    both = [name for name in before if name in after]
    arrays = [name for name in before.constants if name in after.constants]
    hashes = NestedHashes()
    compared = {name: _Comparison(before[name], after[name], hashes) for name in both}
    pairs = [(id(before[name]), id(after[name])) for name in both]
    changes = {name: each.result(_within(each, hashes, pairs)) for name, each in compared.items()}
    common: list[tuple[str, Mapping[Any, Any], Mapping[Any, Any]]] = [
        ("constant", before.constants, after.constants),
        ("type of", {n: before.type_of(n) for n in arrays}, {n: after.type_of(n) for n in arrays}),
        ("placeholder", before.placeholders, after.placeholders),
    ]
    shared = [
        Entry(f"{word} {entry.name}", entry.before, entry.after)
        for word, ours, theirs in common
        for entry in _entries(ours, theirs)
    ]
    own = _entries({"name": before.name, **before.attributes}, {"name": after.name, **after.attributes})
    return ModuleDiff(
        graphs={name: change for name, change in changes.items() if change},
        kept=tuple(name for name, change in changes.items() if not change),
        inserted=tuple(name for name in after if name not in before),
        removed=tuple(name for name in before if name not in after),
        attributes=(*own, *shared),
    )
