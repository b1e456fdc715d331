"""Sums over windows that a constant turns into a mean: they stay exact until then, so that only the mean is rounded."""

from __future__ import annotations

import numpy as np

from graphrewrite import FixedPoint, Graph
from graphrewrite.lowering.formats import accumulator
from graphrewrite.lowering.mantissas import least_fractions

__all__ = ["constant_side", "mean_of", "total_format"]

_PAIRS = frozenset({"add", "sub", "mul"})
_FINEST = 8
"""Binary digits behind the point of weights that need no rounding."""


def constant_side(graph: Graph, node: str) -> int | None:
    """Return the place of the constant among the operands of a sum, difference or product, if one is constant.

    Parameters
    ----------
    graph : Graph
    node : str

    Returns
    -------
    int or None

    Examples
    --------
    >>> from graphrewrite import Tensor, op
    >>> g = Graph("g")
    >>> _ = op.sub(np.float32([1, 2]), g.input("x", Tensor("f32", ("N", 2))))
    >>> constant_side(g, "sub_1")
    0
    """
    kinds = [graph.nodes[o.node]["type"] for o in graph.operands(node)]
    return kinds.index("constant") if graph.nodes[node]["type"] in _PAIRS and "constant" in kinds else None


def mean_of(graph: Graph, node: str) -> str | None:
    """Return the product with a constant that alone reads the sums of a layer, perhaps as positions.

    Parameters
    ----------
    graph : Graph
        A float network.
    node : str
        A convolution whose weights have few digits and that has no bias; there is none of another node.

    Returns
    -------
    str or None
    """
    if graph.nodes[node]["type"] != "conv":
        return None
    _, weights, bias = (graph.nodes[o.node].get("value") for o in graph.operands(node))
    if weights is None or bias is None or bias.any() or _digits(weights) > _FINEST:
        return None
    readers = list(graph.successors(node))
    if len(readers) == 1 and graph.nodes[readers[0]]["type"] == "depth_to_space":
        readers = list(graph.successors(readers[0]))
    if len(readers) != 1 or graph.nodes[readers[0]]["type"] != "mul" or constant_side(graph, readers[0]) is None:
        return None
    return str(readers[0])


def total_format(graph: Graph, node: str, given: FixedPoint) -> FixedPoint:
    """Return the format of exact sums.

    Parameters
    ----------
    graph : Graph
    node : str
        A layer of which `mean_of` names a reader.
    given : FixedPoint
        The format of its operand.

    Returns
    -------
    FixedPoint
    """
    _, weights, bias = (np.asarray(graph.nodes[o.node].get("value"), np.float64) for o in graph.operands(node))
    return accumulator(weights, bias, given, np.full(len(weights), given.fraction + _digits(weights)))


def _digits(weights: np.ndarray) -> int:
    """How many binary digits behind the point weights have."""
    rows = np.asarray(weights, np.float64).reshape(len(weights), -1)
    return max(0, int(least_fractions(rows).max(initial=0)))
