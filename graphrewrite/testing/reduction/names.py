"""Plain names: x for inputs, y for outputs, and numbered nodes."""

from __future__ import annotations

from collections import Counter
from functools import partial

from graphrewrite.graph import Graph
from graphrewrite.testing.reduction.case import Case, Ways

__all__ = ["rename_nodes"]


def rename_nodes(case: Case) -> Ways:
    """Rename nodes as in a newly written graph, in the order of the graph or of the old names."""
    yield partial(_renamed, False)
    yield partial(_renamed, True)


def _renamed(by_name: bool, case: Case) -> Case | None:
    graph: Graph = case.graph
    order = graph.in_order()
    if by_name:
        order = tuple(sorted(order, key=lambda name: (len(name), name)))
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for node in order:
        op = graph.op(node)
        stem = {"input": "x", "output": "y"}.get(op.name, op.stem)
        port = stem in ("x", "y")
        names[node] = stem if port and not counts[stem] else f"{stem}{'' if port else '_'}{counts[stem] + (not port)}"
        counts[stem] += 1
    if len(set(names.values())) < len(names) or all(old == new for old, new in names.items()):
        return None
    renamed = graph.copy()
    renamed.clear()
    renamed.graph.update(graph.graph)
    for node in graph.in_order():
        data = dict(graph._node[node])
        if "origin" in data:
            data["origin"] = tuple(names.get(name, name) for name in data["origin"])
        renamed._new(names[node], data)
    for source, destination, data in graph.edges(data=True):
        renamed.add_edge(names[source], names[destination], **data)
    return Case(renamed, {names[name]: array for name, array in case.inputs.items()})
