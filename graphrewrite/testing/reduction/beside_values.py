"""Reduction of what a graph has beside its values: annotations, origins, and edges that only order nodes."""

from __future__ import annotations

from functools import partial

from graphrewrite.graph import Graph
from graphrewrite.graph.dataflow import EFFECT
from graphrewrite.testing.reduction.case import Case, Ways

__all__ = ["drop_annotations", "drop_orders"]


def drop_annotations(case: Case) -> Ways:
    """Drop the annotations and the origin of a node, or one annotation."""
    graph = case.graph
    for node in graph.in_order():
        annotations = list(graph.annotations(node))
        if annotations or set(graph._node[node].get("origin", ())) - {node}:
            yield partial(_without_annotations, node, annotations, True)
        for key in annotations if len(annotations) > 1 else ():
            yield partial(_without_annotations, node, [key], False)


def _without_annotations(node: str, keys: list[str], with_origin: bool, case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph:
        return None
    new = graph.copy()
    data = new._node[node]
    for key in keys:
        data.pop(key, None)
    if with_origin:
        data["origin"] = ()
    return case.having(new)


def drop_orders(case: Case) -> Ways:
    """Drop an edge that only orders nodes; effects stay in their order."""
    graph = case.graph
    for node in graph.in_order():
        for source, kind in graph.controls(node):
            if kind != EFFECT:
                yield partial(_without_order, source, node)


def _without_order(source: str, node: str, case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph or source not in graph.pred[node] or "kind" not in graph.pred[node][source]:
        return None
    new = graph.copy()
    edge = new.edges[source, node]
    del edge["kind"]
    if not edge["slots"]:
        new.remove_edge(source, node)
    return case.having(new)
