"""Parts of a graph: around nodes, between two nodes, and around the nodes that a search finds."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import networkx as nx

from graphrewrite.errors import GraphError, did_you_mean, not_there
from graphrewrite.formats.text import format_attribute
from graphrewrite.op.reserved_keys import STRUCTURAL
from graphrewrite.view.plain import plain
from graphrewrite.view.scene.box import is_tucked

__all__ = ["Part", "Search", "around_nodes", "between_nodes", "found_nodes", "names_in", "part_of"]

Search = str | Callable[[Any, Mapping[str, Any]], object]
"""A part of a name, an op or an attribute; or a predicate of a node and its data."""


@dataclass(frozen=True)
class Part:
    """Some nodes of a graph.

    Attributes
    ----------
    nodes : frozenset
        To be drawn.
    marks : mapping
        Node to a key of `HIGHLIGHTS`.
    words : str
        The description of the part.
    """

    nodes: frozenset[Any]
    marks: Mapping[Any, str]
    words: str


def part_of(
    graph: nx.DiGraph,
    *,
    around: Any = None,
    depth: int | None = None,
    between: tuple[Any, Any] | None = None,
    search: Search | None = None,
) -> Part | None:
    r"""Return the part of a graph that the arguments describe; None for the whole graph.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = relu(x)\nb = exp(a)\nc = neg(b)\ny = output(c)")
    >>> sorted(part_of(g, around="b", depth=1).nodes)
    ['a', 'b', 'c']
    >>> sorted(part_of(g, between=("a", "c")).nodes)
    ['a', 'b', 'c']
    >>> part_of(g, search="RELU", depth=0).marks
    {'a': 'found'}
    """
    asked = [name for name, x in (("around", around), ("between", between), ("search", search)) if x is not None]
    if len(asked) > 1:
        raise GraphError(f"{' and '.join(asked)} are two parts of the graph; ask for one")
    if depth is not None and (type(depth) is not int or depth < 0):
        raise GraphError(f"depth must be a non-negative number of steps, got {depth!r}")
    if around is not None:
        names, steps = names_in(graph, around), 2 if depth is None else depth
        return Part(around_nodes(graph, names, steps), dict.fromkeys(names, "here"), f"{_steps(steps)} {_told(names)}")
    if between is not None:
        ends = between_nodes(graph, between)
        return Part(ends, {}, f"all paths from {_told(between[:1])} to {_told(between[1:])}")
    if search is not None:
        names, steps = found_nodes(graph, search), 1 if depth is None else depth
        what = f"{len(names)} found by {plain(search, 40)!r}" if isinstance(search, str) else f"{len(names)} found"
        return Part(around_nodes(graph, names, steps), dict.fromkeys(names, "found"), what)
    if depth is not None:
        raise GraphError("depth needs around= or search=, from whose nodes it counts")
    return None


def names_in(graph: nx.DiGraph, selection: Any) -> list[Any]:
    """Return the nodes of a selection: a node, an iterable of nodes, or a match."""
    selection = getattr(selection, "nodes", selection)
    if (
        isinstance(selection, str)
        or (isinstance(selection, Hashable) and selection in graph)
        or not isinstance(selection, Iterable)
    ):
        names = [selection]
    else:
        names = list(selection)
    for name in names:
        if name not in graph:
            raise not_there(name, graph)
    return names


def around_nodes(graph: nx.DiGraph, names: Iterable[Any], depth: int) -> frozenset[Any]:
    """Return the nodes that are at most so many steps away from some, in either direction.

    Constants that are lines of their readers do not connect these.
    """
    seen = set(names)
    layer = set(seen)
    for _ in range(depth):  # breadth-first
        near = {m for n in layer for side in (graph.succ[n], graph.pred[n]) for m in side}
        layer = {m for m in near - seen if not is_tucked(graph, m)}
        if not layer:
            break
        seen |= layer
    return frozenset(seen)


def between_nodes(graph: nx.DiGraph, ends: Any) -> frozenset[Any]:
    """Return all nodes on paths from one node to another."""
    if not isinstance(ends, tuple | list) or len(ends) != 2:
        raise GraphError(f"between is a pair of nodes, as in between=('a', 'b'), got {ends!r}")
    for end in ends:
        if end not in graph:
            raise not_there(end, graph)
    first, last = ends
    # A node lies on a path if it is below the first and above the last.
    below, above = nx.descendants(graph, first) | {first}, nx.ancestors(graph, last) | {last}
    if last not in below:
        back = "; there is one the other way" if first in nx.descendants(graph, last) else ""
        raise GraphError(f"no path leads from {first!r} to {last!r}{back}; look around one of them with around=")
    return frozenset(below & above)


def found_nodes(graph: nx.DiGraph, search: Search) -> list[Any]:
    """Return the nodes that a search finds, in the order of the graph."""
    nodes = graph.nodes(data=True)
    if callable(search):
        found = [node for node, data in nodes if search(node, data)]
    else:
        if not isinstance(search, str):
            raise GraphError(f"search is a text or a function of a node's name and data, got {search!r:.60}")
        word = search.casefold()
        found = [node for node, data in nodes if any(word in text.casefold() for text in _words(node, data))]
    # A constant inside its readers has no box: its readers are found instead.
    found = [reader for node in found for reader in (graph.succ[node] if is_tucked(graph, node) else (node,))]
    if not found:
        words = {str(word) for node, data in nodes for word in (node, data.get("type", ""))}
        if callable(search):
            raise GraphError("the predicate is true for no node of the graph; it gets a node's name and its data")
        hint = did_you_mean(search, words)
        raise GraphError(f"no name, op or attribute of the graph holds {plain(search, 60)!r}{hint}")
    return list(dict.fromkeys(found))


def _words(node: Any, data: Mapping[str, Any]) -> Iterable[str]:
    yield str(node)
    yield str(data.get("type", ""))
    for key, value in data.items():
        if key == "origin":
            yield from map(str, value if isinstance(value, tuple | list) else (value,))
        elif key not in STRUCTURAL and key != "value":
            yield f"{key} = {format_attribute(value)}"


def _told(names: Iterable[Any]) -> str:
    shown = [plain(name, 40) for name in names]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def _steps(depth: int) -> str:
    return f"{depth} step{'' if depth == 1 else 's'} around"
