"""Find what is wrong with a graph, and name it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphrewrite.errors import GraphRewriteError, UnknownOpError, VerificationError
from graphrewrite.graph import RESERVED, Graph

__all__ = ["verify"]


def verify(graph: Graph) -> None:
    r"""Raise unless a graph is well formed: operands, ops, types, constants, outputs, no cycle.

    Parameters
    ----------
    graph : Graph
        Any graph.

    Raises
    ------
    VerificationError
        Naming every fault with its node.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\nr = relu(x)\ny = output(r)")
    >>> verify(g)
    >>> del g.edges["x", "r"]["slots"]
    >>> verify(g)
    Traceback (most recent call last):
    ...
    graphrewrite.errors.VerificationError: node 'r': the slots of its operands are missing or collide; ...
    """
    faults = list(_faults(graph))
    if faults:
        raise VerificationError("\n".join(faults))


def _faults(graph: Graph) -> Iterator[str]:
    for node in graph:
        try:
            yield from _node_faults(graph, node)
        except GraphRewriteError as error:
            yield str(error) if error.node == node else f"node {node!r}: {error}"
    try:
        graph.in_order()
    except GraphRewriteError as error:
        if "cycle" in str(error):
            yield str(error)
    indices = [graph.nodes[n].get("index") for kind in (graph.inputs, graph.outputs) for n in kind]
    if sorted(indices, key=str) != sorted([*range(len(graph.inputs)), *range(len(graph.outputs))], key=str):
        yield f"graph {graph.name!r}: the positions of its inputs or outputs are missing or collide"


def _node_faults(graph: Graph, node: str) -> Iterator[str]:
    data = graph.nodes[node]
    operands = graph.operands(node)
    try:
        op = graph.op(node)
    except UnknownOpError as error:
        yield str(error)
        return
    if op.name in ("input", "output"):
        if op.name == "output" and len(operands) != 1:
            yield f"node {node!r}: an output has one operand, this has {len(operands)}"
        if op.name == "input" and data.get("result") is None:
            yield f"node {node!r}: an input needs a result type"
        return
    if op.name == "constant":
        shape = np.shape(data.get("value"))
        if shape != graph.result_type(node).shape:
            yield f"node {node!r}: holds an array of shape {list(shape)} and is declared {graph.result_type(node)}"
        return
    for source, result in operands:
        given = graph.nodes[source].get("result")
        if result >= (len(given) if isinstance(given, tuple) else 1):
            yield f"node {node!r}: reads result {result} of {source!r}, which has fewer"
            return
    attributes = {k: v for k, v in data.items() if k not in RESERVED}
    inferred = op.infer(*(graph.result_type(o.node, o.result) for o in operands), **attributes)
    declared = data.get("result")
    declared = declared if isinstance(declared, tuple) else (declared,)
    if inferred != declared:
        shown, wanted = (", ".join(map(str, types)) for types in (inferred, declared))
        yield f"node {node!r}: {op.name} gives {shown}, and the node is declared {wanted}"
