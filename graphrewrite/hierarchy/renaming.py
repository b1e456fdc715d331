"""Renaming: the same graph with other names of nodes, which its views know too."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from graphrewrite.errors import GraphError, not_there
from graphrewrite.graph import Graph
from graphrewrite.graph.argument_errors import invalid_name
from graphrewrite.graph.storage import own

__all__ = ["renamed"]

Names = Mapping[Hashable, str] | Callable[[str], str]
"""New names of some nodes, or a function from the name of each node to its new one."""


def renamed(graph: Graph, names: Names) -> Graph:
    r"""Return a graph whose nodes have other names; order, operands, annotations and views are kept.

    A node that has no origin yet gets its old name as its origin, as if a rule had replaced it. Names of graphs, of a
    module's constants (``shared``) and of operators are no names of nodes: they stay.

    Parameters
    ----------
    graph : Graph
        Any graph; it is not changed.
    names : mapping, or callable
        Old names to new ones; nodes that it lacks keep theirs. Or a function that is called with each name.

    Raises
    ------
    GraphError
        If there is no such node, or two nodes would have one name.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\nb = relu(a)\ny = output(b)")
    >>> _ = g.view("tail", ["b"])
    >>> new = g.renamed({"a": "b", "b": "a"})
    >>> [(node, data["type"]) for node, data in new.nodes(data=True)]
    [('x', 'input'), ('b', 'neg'), ('a', 'relu'), ('y', 'output')]
    >>> new.view("tail"), new.origin("a")
    (<view tail: 1 node, (b) -> (a)>, ('b',))
    >>> list(g.renamed(str.upper))
    ['X', 'A', 'B', 'Y']
    >>> g.renamed({"a": "b"})
    Traceback (most recent call last):
    graphrewrite.errors.GraphError: node 'a': cannot be renamed to 'b', which is the name of another node
    """
    new_names = _new_names(graph, names)
    new = graph.__class__(ops=graph.ops.values(), **own(graph.graph))
    new.library = graph.library
    for old, name in new_names.items():
        new.add_node(name)
        new._node[name].update(own(graph._node[old]))
        if name != old:
            new._node[name]["origin"] = graph.origin(old)
    for source, readers in graph._succ.items():
        for reader, data in readers.items():
            new.add_edge(new_names[source], new_names[reader])
            new._succ[new_names[source]][new_names[reader]].update(own(data))
    if "views" in graph.graph:
        new.graph["views"] = {name: _renamed_view(view, new_names) for name, view in graph.graph["views"].items()}
    return new


def _new_names(graph: Graph, names: Names) -> dict[Any, str]:
    """Return the new name of every node, or raise."""
    if not callable(names) and not isinstance(names, Mapping):
        raise GraphError(f"names are a mapping of old to new names, or a function, got {names!r}")
    if callable(names):
        new_names = {node: names(node) for node in graph}
    else:
        for node in names:
            if node not in graph:
                raise not_there(node, graph)
        new_names = {node: names.get(node, node) for node in graph}
    old: dict[Any, Any] = {}
    name: Any
    for node, name in new_names.items():
        if name != node and (not isinstance(name, str) or not name):
            raise invalid_name(name)
        if name in old:
            wrong, kept = (old[name], node) if name == node else (node, old[name])
            taken = "is the name of" if kept == name else "is the new name of"
            other = "another node" if kept == name else f"{kept!r}"
            raise GraphError(f"cannot be renamed to {name!r}, which {taken} {other}", node=wrong)
        old[name] = node
    return new_names


def _renamed_view(view: Mapping[str, Any], names: Mapping[Any, str]) -> dict[str, Any]:
    ends = {key: tuple((names.get(node, node), result) for node, result in view[key]) for key in ("inputs", "outputs")}
    return {**view, "nodes": tuple(names.get(node, node) for node in view["nodes"]), **ends}
