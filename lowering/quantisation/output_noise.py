"""Noise that quantising adds to the outputs of a network: what candidates of formats are compared by."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from graphrewrite import Graph
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.lowering.quantisation.agreement import deciding_value
from graphrewrite.lowering.quantisation.rounding_noise import LEAST, by_channel

__all__ = ["output_noise", "relative_noise", "scores"]

_DECISIONS = frozenset({"arg_max", "greater", "greater_or_equal"})
"""Ops that decide by their first operand."""


def output_noise(graph: Graph, inputs: Mapping[str, np.ndarray], quantised: Graph) -> float:
    """Return the noise of a quantised network's outputs, as a share of the variance of each channel."""
    return relative_noise(*(scores(g, inputs) for g in (graph, quantised)))


def relative_noise(wanted: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> float:
    """Return the noise of outputs as a share of the variance of each channel, 1 at most; the mean over all channels.

    Of outputs that are no floats it is the share of those that differ.

    Examples
    --------
    >>> relative_noise({"y": np.array([[0.0, 7.0], [2.0, 5.0]])}, {"y": np.array([[0.5, 7.0], [2.0, 0.0]])})
    0.5625
    """
    shares = []
    for name, real in wanted.items():
        if real.dtype.kind != "f":
            shares.append(float((found[name] != real).mean()))
            continue
        precise, rounded = by_channel(real), by_channel(found[name])
        variances = precise.var(axis=1)
        noise = np.square(rounded - precise).mean(axis=1) / np.maximum(variances, LEAST * variances.max() or 1.0)
        shares.append(float(np.minimum(noise, 1).mean()))
    return float(np.mean(shares))


def scores(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the outputs; of one that decides what it decides by, since noise seldom shows in a class."""
    points = {}
    for name in graph.outputs:
        node = deciding_value(graph, name).node
        decides = graph.nodes[node]["type"] in _DECISIONS
        points[name] = graph.operands(node)[0].node if decides else name
    values = evaluate_nodes(graph, inputs, set(points.values()), by_functions=False)
    return {name: values[point] for name, point in points.items()}
