"""Graphs and their interfaces as data that can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.graph import Graph
from graphrewrite.types import FixedPoint, Tensor, Type, pairs_of, solved, with_sizes

__all__ = ["first_change", "interface", "snapshot"]


def interface(graph: Graph, before: Graph | None = None) -> dict[str, list[tuple[str, str]]]:
    r"""Return names and types of a graph's inputs and outputs.

    Parameters
    ----------
    graph : Graph
        Any graph.
    before : Graph, optional
        What it was: a size of an output that only the data decided there is still called so where it is known here.

    Examples
    --------
    >>> interface(Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)"))
    {'inputs': [('x', 'f32[N]')], 'outputs': [('y', 'f32[N]')]}
    """
    inputs, outputs = ({n: str(t) for n, t in types.items()} for types in _ports(graph))
    if before is not None:
        own, (given, stated) = _ports(graph)[1], _ports(before)
        both = [name for name in stated if name in own]
        fixed = {name for kind in given.values() for name in kind.unknowns}
        open_ = [name for n in both for name in stated[n].unknowns if name not in fixed]
        sizes = solved(pairs_of([stated[n] for n in both], [own[n] for n in both]), open_)
        outputs.update({n: str(stated[n]) for n in both if with_sizes(stated[n], sizes) == own[n]})
    return {"inputs": list(inputs.items()), "outputs": list(outputs.items())}


def _ports(graph: Graph) -> tuple[dict[str, Type], dict[str, Type]]:
    outputs = {name: graph.result_type(*graph.operands(name)[0]) for name in graph.outputs}
    return {name: graph.result_type(name) for name in graph.inputs}, outputs


def snapshot(graph: Any) -> dict[str, dict[Any, Any]]:
    r"""Return nodes, edges and attributes of a graph, independent of the order in which it was built.

    Returns
    -------
    dict
        Equal if and only if the graphs are; it stays as it is when the graph changes.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> old = snapshot(g)
    >>> g.nodes["r"]["type"] = "neg"
    >>> snapshot(g) == old, snapshot(g)["edges"] == old["edges"]
    (False, True)
    """
    return {
        "nodes": {node: _frozen(data) for node, data in graph._node.items()},
        "edges": {(a, b): _slots(data) for a, targets in graph._succ.items() for b, data in targets.items()},
        "graph": {key: _frozen(value) for key, value in graph.graph.items()},
    }


def first_change(old: Mapping[str, dict[Any, Any]], new: Mapping[str, dict[Any, Any]]) -> str:
    r"""Return what differs first between two snapshots, in words.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = relu(x)\ny = output(r)")
    >>> old = snapshot(g)
    >>> g.nodes["r"]["type"] = "neg"
    >>> first_change(old, snapshot(g))
    "'type' of the node 'r'"
    """
    for what, shown in (("nodes", "node {!r}"), ("edges", "edge {0[0]!r} -> {0[1]!r}"), ("graph", "attribute {!r}")):
        for name in dict.fromkeys((*old[what], *new[what])):
            was, became = old[what].get(name), new[what].get(name)
            if was == became:
                continue
            keys: list[Any] = []
            if isinstance(was, dict) and isinstance(became, dict):
                keys = [key for key in {**was, **became} if was.get(key) != became.get(key)]
            return f"{f'{keys[0]!r} of ' if keys else ''}the {shown.format(name)}"
    return "the order of its nodes"


def _slots(data: Mapping[str, Any]) -> Any:
    """Return the data of an edge, independent of the order of its slots."""
    slots = data.get("slots")
    if len(data) == 1 and type(slots) is tuple:
        return slots if len(slots) == 1 else tuple(sorted(slots))
    return _frozen({**data, "slots": sorted(slots)} if isinstance(slots, tuple | list) else data)


_PLAIN = frozenset({str, int, type(None), Tensor, FixedPoint})


def _frozen(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is np.ndarray:
        return (str(value.dtype), value.shape, value.tobytes()) if value.dtype != object else repr(value)
    if kind is dict:
        return {key: _frozen(entry) for key, entry in value.items()}
    if kind is tuple or kind is list:
        return kind, tuple([_frozen(entry) for entry in value])
    if kind is float or kind is bool:
        return repr(value)  # 0.0 is not -0.0, NaN is NaN, and True is not 1
    if kind is set:
        return frozenset(value)
    if isinstance(value, nx.DiGraph):
        return snapshot(value)
    return value  # primitives, types and formats are immutable; other objects are compared by ==
