"""What the host does with an input before it is quantised: movement, and scaling that no layer could take up."""

from __future__ import annotations

from graphrewrite import Graph

__all__ = ["MOVING", "encoding"]

MOVING = frozenset({"transpose", "reshape"})
"""Ops that the host may apply to an input before it is quantised."""

_EITHER = ([False, True], [True, False])
_SCALING = dict.fromkeys(("add", "sub", "mul"), _EITHER) | {
    "div": ([False, True],),
    "neg": ([False],),
    "cast": ([False],),
}
"""Ops that scale an input, which the host does too where a layer follows; with the operands that are constants."""


def encoding(graph: Graph, node: str) -> list[str]:
    r"""Return an input and the ops that the host applies before it quantises the last one's result.

    Examples
    --------
    >>> encoding(Graph.parse("graph g\nx = input() : f32[N,2,3]\nr = reshape(x, shape=[-1, 6])\ny = output(r)"), "x")
    ['x', 'r']
    """
    has_layer = any(graph.nodes[n]["type"] in ("conv", "linear") for n in graph.downstream(node))
    nodes = [node]
    while len(readers := list(graph.successors(nodes[-1]))) == 1:
        (reader,) = readers
        kind = graph.nodes[reader]["type"]
        constants = [graph.nodes[o.node]["type"] == "constant" for o in graph.operands(reader)]
        if kind not in MOVING and not (has_layer and kind in _SCALING and constants in _SCALING[kind]):
            break
        nodes.append(reader)
    return nodes
