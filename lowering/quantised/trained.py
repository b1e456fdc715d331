"""Whether a model brings its quantisation with it."""

from __future__ import annotations

from graphrewrite import Graph

__all__ = ["QUANTISED", "is_quantised"]

QUANTISED = frozenset(
    {
        *("quantize_linear", "dequantize_linear", "qlinear_conv", "qlinear_matmul", "conv_integer", "matmul_integer"),
        *("quant", "bipolar_quant", "trunc", "multi_threshold", "quantise"),
    }
)
"""Ops that give the numbers of a grid, or compute with where they are stored."""


def is_quantised(graph: Graph) -> bool:
    r"""Tell whether a network computes on grids of its own, so that it needs no calibration.

    Parameters
    ----------
    graph : Graph
        A network, as imported.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_quantised(Graph.parse("graph g\nx = input() : f32[N,3]\nr = relu(x)\ny = output(r)"))
    False
    """
    return any(graph.nodes[n]["type"] in QUANTISED for n in graph)
