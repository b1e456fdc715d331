"""What a graph has beside the values that it computes: annotations, origins, and edges that only order nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphrewrite.graph import Graph
from graphrewrite.op.reserved_keys import is_attribute, is_other_name
from graphrewrite.testing.generation.demand import Pick

__all__ = ["ANNOTATED", "annotate", "annotate_all", "order"]

_ANNOTATIONS: Mapping[str, tuple[Any, ...]] = {
    "latency": (3, 0),
    "label": ("encoder.0", ""),
    "taps": ([1, 2], []),
    "cost": ({"area": 0.5},),
    "backend": ("cpu",),
}
"""Values by key: of every kind that a graph holds, and one key that the library itself reads."""
ANNOTATED = frozenset(_ANNOTATIONS)
_ELSEWHERE = {"backend": ("gpu",)}
"""Further values for code that reads them: such a graph cannot be evaluated as it is."""
_KINDS = ("control", "memory")
_MOST = 3


def annotate(graph: Graph, pick: Pick) -> None:
    r"""Annotate a few nodes, in place; some come of nodes of another graph.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\ny = output(x)")
    >>> annotate(g, lambda options: options[0])
    >>> g.annotations("x")
    {'latency': 3}
    """
    for _ in range(pick(range(1, _MOST + 1))):
        node, key = pick(list(graph)), pick([*_ANNOTATIONS])
        op = graph.op(node)
        if not is_attribute(key, op) and not is_other_name(key, op):
            graph.nodes[node][key] = pick(_ANNOTATIONS[key])
        if pick((False, False, True)) and graph.nodes[node]["type"] not in ("input", "output"):
            graph.nodes[node]["origin"] = ("layer.0", "layer.1")[: pick((1, 2))]


def annotate_all(graph: Graph, keys: Sequence[str], pick: Pick) -> None:
    r"""Annotate most nodes, in place, with keys that code reads.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nz = neg(x)\ny = output(z)")
    >>> annotate_all(g, ["backend"], lambda options: options[1])
    >>> g.annotations("z")
    {'backend': 'cpu'}
    """
    for key in keys:
        for node in graph:
            op = graph.op(node)
            value = pick((None, *_ANNOTATIONS[key], *_ELSEWHERE.get(key, ())))
            if value is not None and not is_attribute(key, op) and not is_other_name(key, op):
                graph.nodes[node][key] = value


def order(graph: Graph, pick: Pick) -> None:
    r"""Add a few edges that only order nodes, in place, along the order that there is.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\na = neg(x)\ny = output(a)\nz = output(x)")
    >>> chosen = iter((1, 1, 3, "memory"))
    >>> order(g, lambda options: next(chosen))
    >>> g.controls("z")
    (('a', 'memory'),)
    """
    nodes = list(graph.in_order())
    for _ in range(pick(range(1, _MOST + 1))):
        first, second = pick(range(len(nodes))), pick(range(len(nodes)))
        if first != second:
            graph.add_control(nodes[min(first, second)], nodes[max(first, second)], pick(_KINDS))
