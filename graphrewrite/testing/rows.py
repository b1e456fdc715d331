"""Rows of a batch of inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.testing.failure.values import is_batched

__all__ = ["row_of", "rows_of"]


def row_of(graph: Graph, inputs: Mapping[str, np.ndarray], row: int) -> dict[str, np.ndarray]:
    r"""Return one row of a batch; inputs without a batch stay whole.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nw = input() : f32[3]\ny = output(x)")
    >>> {name: a.tolist() for name, a in row_of(g, {"x": np.arange(4.0), "w": np.arange(3.0)}, 2).items()}
    {'x': [2.0], 'w': [0.0, 1.0, 2.0]}
    """
    return rows_of(graph, inputs, [row])


def rows_of(graph: Graph, inputs: Mapping[str, np.ndarray], rows: Sequence[int]) -> dict[str, np.ndarray]:
    r"""Return some rows of a batch; inputs without a batch stay whole.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nw = input() : f32[3]\ny = output(x)")
    >>> {name: a.tolist() for name, a in rows_of(g, {"x": np.arange(4.0), "w": np.arange(3.0)}, [0, 2]).items()}
    {'x': [0.0, 2.0], 'w': [0.0, 1.0, 2.0]}
    """
    chosen = dict(inputs)
    for name in graph.inputs:
        if is_batched(graph, Operand(name)):
            own = [row for row in rows if row < len(inputs[name])]
            chosen[name] = inputs[name][own] if own else inputs[name]
    return chosen
