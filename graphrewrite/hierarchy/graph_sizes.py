"""Symbolic sizes of a whole graph: which there are, and a graph with others in their place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.errors import TypeMismatchError, did_you_mean
from graphrewrite.graph import Graph
from graphrewrite.graph.type_inference import declared_types, infer
from graphrewrite.hierarchy.bound_sizes import with_data_sizes
from graphrewrite.op import find_op
from graphrewrite.types import Dimension, as_size, symbols

__all__ = ["graph_with_sizes", "replace_sizes", "size_names"]


def size_names(graph: Graph) -> tuple[str, ...]:
    r"""Return the names of the symbolic sizes of a graph, in the order in which its types have them.

    Examples
    --------
    >>> size_names(Graph.parse("graph g\nx = input() : f32[N,2*seq]\ny = output(x)"))
    ('N', 'seq')
    """
    kinds = [kind for node in graph.in_order() for kind in declared_types(graph, node) or ()]
    return tuple(dict.fromkeys(name for kind in kinds for size in kind.shape for name in symbols(size)))


def graph_with_sizes(graph: Graph, sizes: Mapping[str, Dimension]) -> Graph:
    r"""Return a graph with numbers, or other sizes, in place of symbolic ones, in all types and attributes.

    Parameters
    ----------
    graph : Graph
        Any graph; untouched.
    sizes : mapping of str to int or str
        What stands for a name.

    Raises
    ------
    TypeMismatchError
        If the graph has no size of a name, or an op cannot have the new sizes.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2*seq]\nr = relu(x)\ny = output(r)")
    >>> print(graph_with_sizes(g, {"seq": 4}))
    graph g
    x = input() : f32[N,8]
    r = relu(x) : f32[N,8]
    y = output(r)
    """
    names = size_names(graph)
    for name in sizes:
        if name not in names:
            known = f"its sizes are {', '.join(names) or 'all numbers'}"
            raise TypeMismatchError(f"the graph has no size {name!r}{did_you_mean(name, names)}; {known}")
    given: dict[str, Any] = {name: as_size(size) for name, size in sizes.items()}
    new = graph.copy()
    replace_sizes(new, given)
    infer(new)
    return new


def replace_sizes(graph: Graph, sizes: Mapping[str, Dimension]) -> None:
    r"""Put other sizes in place of names in a graph itself, whose types are not inferred again.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2*seq]\ny = output(x)")
    >>> replace_sizes(g, {"seq": 4})
    >>> print(g.result_type("x"))
    f32[N,8]
    """
    for node, data in list(graph._node.items()) if sizes else ():
        graph._node[node] = with_data_sizes(data, find_op(data.get("type"), graph.ops), sizes)
