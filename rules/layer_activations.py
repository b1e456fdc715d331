"""Layers and what is computed of their results at once, as one node that a target computes in one step."""

from __future__ import annotations

from collections.abc import Collection

from graphrewrite.graph import Graph
from graphrewrite.hierarchy.border import free_name
from graphrewrite.rewriting.passes import Pass, pass_
from graphrewrite.rules.outlining import outline_in_place

__all__ = ["ACTIVATIONS", "LAYERS", "fuse_activations", "fusing"]

LAYERS = frozenset({"conv", "conv_transpose", "linear", "matmul", "gemm"})
"""Ops whose results are often rectified at once."""
ACTIVATIONS = frozenset({"relu", "clip", "sigmoid", "tanh", "leaky_relu", "hard_swish", "silu"})
"""Ops of one operand that targets compute on the way."""


def fusing(layers: Collection[str] = LAYERS, activations: Collection[str] = ACTIVATIONS) -> Pass:
    """Return a pass that makes one node of a layer and the activation that alone reads it.

    The node is a graph: `inline` takes it apart again, and its type says what is in it, as ``conv_relu`` does.

    Parameters
    ----------
    layers, activations : collection of str
        The ops that a target fuses.

    Examples
    --------
    >>> import numpy as np
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N,2]
    ... w = constant(value=[[1.0, 2.0]]) : f32[1,2]
    ... l = linear(x, w)
    ... r = relu(l)
    ... y = output(r)''')
    >>> fused = fusing()(g)
    >>> print(fused)
    graph g
    x = input() : f32[N,2]
    linear_relu_1 = linear_relu(x) : f32[N,1]
    y = output(linear_relu_1)
    <BLANKLINE>
    graph linear_relu
    x = input() : f32[N,2]
    w = constant(value=[[1.0, 2.0]]) : f32[1,2]
    l = linear(x, w) : f32[N,1]
    r = relu(l) : f32[N,1]
    y = output(r)
    """

    @pass_
    def fuse_activations(graph: Graph) -> list[str]:
        """Make one node of a layer and the activation that alone reads it."""
        removed: list[str] = []
        for node in graph.in_order():
            data = graph.nodes[node]
            if data["type"] not in activations:
                continue
            source = graph.operands(node)[0].node
            layer = graph.nodes[source]["type"]
            if layer in layers and len(graph.readers(source)) == 1 and not _is_ordered(graph, source, node):
                name = f"{layer}_{data['type']}"
                removed += outline_in_place(graph, [source, node], free_name(name, graph.ops))
        return removed

    return fuse_activations


def _is_ordered(graph: Graph, *nodes: str) -> bool:
    """Whether an edge of another kind than data says when a node is computed, or what for."""
    edges = [edge for node in nodes for edge in (*graph.pred[node].values(), *graph.succ[node].values())]
    return any("kind" in edge for edge in edges)


fuse_activations = fusing()
"""Layers and their activations as one node each."""
