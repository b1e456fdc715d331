"""Evaluate a graph of any level on arrays, vectorised over the batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from graphrewrite.given import as_graph
from graphrewrite.graph import Graph
from graphrewrite.implementation import Implementation
from graphrewrite.program import compile_graph

__all__ = ["evaluate", "evaluate_nodes"]

_FEW = 32
"""Below so many frames, translating a graph to instructions takes longer than it saves."""


def evaluate(
    graph: Graph, inputs: Mapping[str, Any], *, implementations: Iterable[Implementation] = ()
) -> dict[str, np.ndarray]:
    r"""Return the outputs of a graph for the given inputs.

    The graph is compiled anew each time, as it may have changed; `graphrewrite.program.compile_graph` does it once for
    many evaluations.

    Parameters
    ----------
    graph : Graph
        A graph of any level.
    inputs : mapping of str to array-like
        One array an input, batch first; mantissas where the type is fixed point.
    implementations : iterable of Implementation
        What computes ops instead of their own functions, where it fits; see `graphrewrite.implementation`.

    Returns
    -------
    dict of str to ndarray
        One array an output, batch first.

    Raises
    ------
    EvaluationError
        If an input is missing, surplus or of the wrong shape, an op is unknown, or an op fails; or if implementations
        are given and a node wants a backend that none of them offers.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> evaluate(g, {"x": [[-1, 2]]})["y"].tolist()
    [[0.0, 2.0]]
    """
    graph = as_graph(graph, "that can be evaluated")
    return evaluate_nodes(graph, inputs, graph.outputs, implementations=implementations)


def evaluate_nodes(
    graph: Graph,
    inputs: Mapping[str, Any],
    nodes: Iterable[str],
    *,
    implementations: Iterable[Implementation] = (),
) -> dict[str, np.ndarray]:
    r"""Return the values of chosen nodes; a node with several results gives its first.

    Parameters
    ----------
    graph : Graph
        A graph of any level.
    inputs : mapping of str to array-like
        One array an input, batch first.
    nodes : iterable of str
        Whose values to return.
    implementations : iterable of Implementation
        As for `evaluate`.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> sorted(evaluate_nodes(g, {"x": [[-1, 2]]}, ["x", "r"]))
    ['r', 'x']
    """
    many = any(_frames(array) >= _FEW for array in inputs.values())
    return compile_graph(graph, nodes, instructions=many, implementations=implementations)(inputs)


def _frames(array: Any) -> int:
    try:
        return len(array)
    except TypeError:  # a number is refused with a better message
        return 0
