"""Elementwise functions of one value in a float network, over all paths from that value."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graphrewrite import Graph
from graphrewrite.graph import Operand
from graphrewrite.lowering.prequantised.elementwise_chains import ONE_BY_ONE, channels_of

__all__ = ["Functions", "functions_of"]

_KEEPING = frozenset({"relu", "clip", "identity"})
"""Ops that keep a value on its grid."""


class Functions(NamedTuple):
    """Elementwise functions of values in a network.

    Attributes
    ----------
    ends : dict of str to Operand
        The last op of each function, in topological order, and the value that it is a function of.
    members : frozenset of str
        All their ops.
    """

    ends: dict[str, Operand]
    members: frozenset[str]


def functions_of(graph: Graph) -> Functions:
    """Return the functions of one value in a network.

    A function ends where another op reads it: a layer, data movement, an output. A relu or clip alone is none, nor is
    the sum of that and the value.

    Examples
    --------
    >>> functions = functions_of(Graph.parse('''graph g
    ... x = input() : f32[N,3]
    ... r = relu(x)
    ... s = sigmoid(r)
    ... m = mul(r, s)
    ... y = output(m)'''))
    >>> functions.ends, sorted(functions.members)
    ({'m': Operand(node='x', result=0)}, ['m', 'r', 's'])
    """
    sources: dict[str, Operand] = {}
    bent: set[str] = set()
    for node in graph.in_order():
        source = _source(graph, node, sources)
        kind = graph.nodes[node]["type"]
        if source is None:
            continue
        below = [operand.node for operand in graph.operands(node) if operand.node in bent]
        computed = [o for o in graph.operands(node) if graph.nodes[o.node]["type"] != "constant"]
        if kind == "add" and len(computed) > 1 and not below:
            continue  # a residual connection
        sources[node] = source
        # A function counts once an op bends it: a relu or clip alone is done by the format itself.
        if below or kind not in _KEEPING:
            bent.add(node)
    ends = {
        node: source
        for node, source in sources.items()
        if node in bent and any(sources.get(reader) != source for reader in graph.successors(node))
    }
    return Functions(ends, frozenset(sources))


def _source(graph: Graph, node: str, sources: dict[str, Operand]) -> Operand | None:
    """The one value of which a node is a function, if it is one."""
    data = graph.nodes[node]
    if data["type"] not in ONE_BY_ONE:
        return None
    kind = graph.result_type(node)
    if len(kind.shape) < 2 or not isinstance(kind.shape[1], int):
        return None
    constants: list[np.ndarray | None] = []
    origins: set[Operand] = set()
    for operand in graph.operands(node):
        operand_data = graph.nodes[operand.node]
        constants.append(operand_data["value"] if operand_data["type"] == "constant" else None)
        if constants[-1] is None:
            origins.add(sources.get(operand.node, operand))
    attributes = {name: data[name] for name in graph.op(node).attributes if name in data}
    (source, *others) = origins or [None]
    if others or source is None or graph.result_type(*source).shape != kind.shape:
        return None
    alike = channels_of(data["type"], constants, attributes, len(kind.shape), kind.shape[1])
    return None if alike is None else source
