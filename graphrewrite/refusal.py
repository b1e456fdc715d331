"""Why a graph refuses a name, a node or a value that it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrewrite.errors import GraphError, not_there
from graphrewrite.value import Value

__all__ = ["check_value", "no_such_result", "unfit_name"]


def no_such_result(nodes: Mapping[Any, Any], node: Any, result: int = 0) -> GraphError:
    """Return the error that a node, or a result of it, is not there.

    Parameters
    ----------
    nodes : mapping
        Those of the graph, by name.
    node : object
        What was asked for.
    result : int
        Which result of it.

    Returns
    -------
    GraphError

    Examples
    --------
    >>> print(no_such_result({"relu_1": {}}, "relu_2"))
    node 'relu_2': is not in the graph; did you mean 'relu_1'?
    >>> print(no_such_result({"relu_1": {}}, "relu_1", 3))
    node 'relu_1': has no result 3; the first is 0
    """
    if node in nodes:
        return GraphError(f"has no result {result}; the first is 0", node=node)
    return not_there(node, nodes)


def unfit_name(name: Any) -> GraphError:
    """Return the error that a new node cannot be called like that.

    Parameters
    ----------
    name : object
        What was given.

    Returns
    -------
    GraphError

    Examples
    --------
    >>> print(unfit_name(3))
    a node is called by a text that is not empty, not 3
    >>> print(unfit_name("x"))
    node 'x': that name is taken; choose another or leave it out for a fresh one
    """
    if not isinstance(name, str) or not name:
        return GraphError(f"a node is called by a text that is not empty, not {name!r}")
    return GraphError("that name is taken; choose another or leave it out for a fresh one", node=name)


def check_value(graph: Any, value: Any, purpose: str) -> None:
    """Raise unless something is a value of a graph.

    Parameters
    ----------
    graph : Graph
        To which something is added that reads it.
    value : object
        What was given.
    purpose : str
        What is added.

    Raises
    ------
    GraphError
        Saying whose value it is, or that it is none.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> Graph("g").output("y", 3)
    Traceback (most recent call last):
    graphrewrite.errors.GraphError: 3 is no value that output can read; give what an input, a constant or an op returned
    """
    if not isinstance(value, Value):
        raise GraphError(
            f"{value!r} is no value that {purpose} can read; give what an input, a constant or an op returned"
        )
    if value.graph is not graph:
        raise GraphError(
            f"belongs to another graph than the one that {purpose} is added to; copy it over first", node=value.node
        )
    if value.node not in graph:
        raise no_such_result(graph.nodes, value.node)
