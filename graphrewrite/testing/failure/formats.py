"""Values beyond the formats of a graph: numpy holds them, hardware does not."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.types import FixedPoint, Stream, Tensor, out_of_range

__all__ = ["has_formats", "out_of_format"]


def has_formats(graph: Graph) -> bool:
    r"""Tell whether any node of a graph computes mantissas of a fixed-point format.

    Examples
    --------
    >>> has_formats(Graph.parse("graph g\nx = input() : s8f0[N]\na = relu(x)\ny = output(a)"))
    True
    """
    return any(isinstance(_element(data.get("result")), FixedPoint) for data in graph._node.values())


def out_of_format(graph: Graph, values: Mapping[str, np.ndarray]) -> str | None:
    r"""Return a message on the first mantissa beyond the format of its node; None if there is none.

    Parameters
    ----------
    values : mapping of str to ndarray
        The first result of nodes, as `graphrewrite.execution.evaluator.evaluate_nodes` gives them.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : s4f0[N]\na = relu(x)\ny = output(a)")
    >>> out_of_format(g, {"x": np.int8([7]), "a": np.int8([8])})
    "node 'a' holds 8, but s4f0 ranges from -8 to 7"
    """
    try:
        order = graph.in_order()
    except GraphRewriteError:  # a cycle, through nodes with a state
        order = tuple(graph)
    for node in order:
        element = _element(graph._node[node].get("result"))
        if isinstance(element, FixedPoint) and node in values:
            message = out_of_range(element, values[node])
            if message is not None:
                return f"node {node!r} {message}"
    return None


def _element(result: object) -> object:
    kind = result[0] if isinstance(result, tuple) and result else result
    return kind.element if isinstance(kind, Tensor | Stream) else None
