"""Sums over windows that a constant factor makes means: they stay exact, so that only the mean is rounded."""

from __future__ import annotations

import numpy as np

from graphrewrite import FixedPoint, Graph
from graphrewrite.lowering.integer.mantissas import least_fractions
from graphrewrite.lowering.quantisation.fixed_point_formats import accumulator

__all__ = ["constant_side", "is_mean", "mean_of", "total_format"]

_PAIRS = frozenset({"add", "sub", "mul"})
_FINEST = 8
"""Fraction bits of weights that need no rounding."""


def constant_side(graph: Graph, node: str) -> int | None:
    """Return the operand index of the constant of a sum, difference or product, if one is constant.

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
    """Return the product with a constant that is the only reader of a layer's sums, perhaps after a reshape."""
    if graph.nodes[node]["type"] != "conv":
        return None
    _, weights, bias = (graph.nodes[o.node].get("value") for o in graph.operands(node))
    if weights is None or bias is None or bias.any() or _digits(weights) > _FINEST:
        return None
    readers = list(graph.successors(node))
    # Interpolation to a larger image, whose channels become positions (`write_resize_by_conv`).
    if len(readers) == 1 and graph.nodes[readers[0]]["type"] == "depth_to_space":
        readers = list(graph.successors(readers[0]))
    if len(readers) != 1 or graph.nodes[readers[0]]["type"] != "mul" or constant_side(graph, readers[0]) is None:
        return None
    return str(readers[0])


def is_mean(graph: Graph, node: str) -> bool:
    """Tell whether a convolution has the same weight everywhere in a window: hardware adds, and multiplies once."""
    if graph.nodes[node]["type"] != "conv":
        return False
    weights = graph.nodes[graph.operands(node)[1].node].get("value")
    if weights is None or weights.shape[1] != 1 or weights[0].size == 1:
        return False
    rows = weights.reshape(len(weights), -1)
    return bool((rows == rows[:, :1]).all())


def total_format(graph: Graph, node: str, operand_format: FixedPoint) -> FixedPoint:
    """Return the format of a layer's exact sums."""
    _, weights, bias = (np.asarray(graph.nodes[o.node].get("value"), np.float64) for o in graph.operands(node))
    return accumulator(weights, bias, operand_format, np.full(len(weights), operand_format.fraction + _digits(weights)))


def _digits(weights: np.ndarray) -> int:
    """The number of fraction bits of weights."""
    rows = np.asarray(weights, np.float64).reshape(len(weights), -1)
    return max(0, int(least_fractions(rows).max(initial=0)))
