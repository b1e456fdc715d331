"""Batch norms that were folded into layers: found again, so that they can be trained in their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from graphrewrite import Graph
from graphrewrite.execution.evaluator import evaluate_nodes
from graphrewrite.types import Tensor

__all__ = ["Statistics", "channel_axis", "layers_with_norms", "statistics_of"]

_LAYERS = frozenset({"conv", "conv_transpose", "linear", "gemm", "matmul"})


class Statistics(NamedTuple):
    """Mean and variance of the sums of a layer, without its bias, in each channel."""

    mean: np.ndarray
    variance: np.ndarray


def channel_axis(graph: Graph, layer: str) -> int:
    """Return the axis of a layer's results that norms go by."""
    kind = graph.result_type(layer)
    assert isinstance(kind, Tensor)
    return (kind.layout or "NC").index("C")


def layers_with_norms(graph: Graph, folded: Graph) -> list[str]:
    """Return the layers of a prepared network into which a batch norm behind them was folded, by their origins."""
    found = []
    for node in folded.in_order():
        kind = folded.nodes[node]["type"]
        if kind == "conv" or (kind == "linear" and len(folded.result_type(node).shape) == 2):
            parts = [name for name in folded.origin(node) if name in graph]
            layers = {name for name in parts if graph.nodes[name]["type"] in _LAYERS}
            norms = [name for name in parts if graph.nodes[name]["type"] == "batch_norm"]
            if any(layers & {*graph.upstream(norm)} for norm in norms):
                found.append(node)
    return found


def statistics_of(folded: Graph, layers: Iterable[str], inputs: Mapping[str, np.ndarray]) -> dict[str, Statistics]:
    """Return the statistics of some layers on samples."""
    layers = list(layers)
    found = {}
    for node, values in evaluate_nodes(folded, inputs, layers, by_functions=False).items() if layers else ():
        axis = channel_axis(folded, node)
        rows = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1).astype(np.float64)
        bias = folded.nodes[folded.operands(node)[2].node]["value"]
        found[node] = Statistics(rows.mean(1) - bias, rows.var(1))
    return found
