"""Rows of a batch of inputs, which are the cycles of a sequence for graphs with state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graphrewrite.execution.sequence import keeps_state
from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import Operand
from graphrewrite.hierarchy.graph_ops import GraphOp, innermost_first
from graphrewrite.op import find_op
from graphrewrite.testing.failure.values import is_batched

__all__ = ["cycles_for", "row_of", "rows_of", "without_step"]

_USUAL, _MOST = 16, 256
"""Cycles of a sequence, however long the batch is, and however long delays are."""


def cycles_for(before: Graph, after: Graph, inputs: Mapping[str, np.ndarray]) -> int | None:
    r"""Return for how many cycles two graphs are compared: some rows of the batch, and longer than delays take.

    Examples
    --------
    >>> before = Graph.parse("graph g\nx = input() : f32[N]\nd = delay(x, cycles=7)\ny = output(d)")
    >>> cycles_for(before, before, {"x": np.arange(3.0)})
    10
    """
    if not (keeps_state(before) or keeps_state(after)):
        return None
    rows = max((len(inputs[name]) for name in before.inputs if is_batched(before, Operand(name))), default=1)
    delays = (int(sum(data.get("cycles", 1) for data in graph._node.values())) for graph in (before, after))
    return min(max(min(rows, _USUAL), *(1 + cycles for cycles in delays)), _MOST)


def without_step(graph: Graph) -> str:
    r"""Return the name of an op that keeps a state and does not say how; empty if there is none in the graph.

    What such an op gives in a cycle is unknown: its function is one call. Streams keep theirs in time.

    Examples
    --------
    >>> without_step(Graph.parse("graph g\nx = input() : f32[N]\nd = delay(x, cycles=7)\ny = output(d)"))
    ''
    """
    for each in innermost_first(graph):
        for kind in {data.get("type"): None for data in each._node.values()}:
            op = find_op(kind, each.ops)
            if op is None or isinstance(op, GraphOp) or op.effects or op.level in ("stream", "generic"):
                continue
            if op.stateful and op.step is None:
                return op.name
    return ""


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
