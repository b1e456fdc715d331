"""Names that say what is there: x for inputs, y for outputs, and nodes counted from one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial

from graphrewrite.graph import Graph
from graphrewrite.testing.reduction.case import Case

__all__ = ["rename_nodes"]


def rename_nodes(case: Case) -> Iterator[Callable[[Case], Case | None]]:
    """Give nodes the names that they would have in a graph written anew; or keep which name comes before which."""
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
        kind = str(graph._node[node]["type"])
        stem = {"input": "x", "output": "y"}.get(kind, kind)
        port = stem != kind
        names[node] = stem if port and not counts[stem] else f"{stem}{'' if port else '_'}{counts[stem] + (not port)}"
        counts[stem] += 1
    if len(set(names.values())) < len(names) or all(old == new for old, new in names.items()):
        return None
    made = graph.copy()
    made.clear()
    made.graph.update(graph.graph)
    for node in graph.in_order():
        data = dict(graph._node[node])
        if "origin" in data:
            data["origin"] = tuple(names.get(name, name) for name in data["origin"])
        made.add_node(names[node], **data)
    for source, destination, data in graph.edges(data=True):
        made.add_edge(names[source], names[destination], **data)
    return Case(made, {names[name]: array for name, array in case.inputs.items()})
