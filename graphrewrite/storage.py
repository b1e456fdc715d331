"""Direct access to a graph's dictionaries, for graphs that keep their nodes and edges as networkx itself does."""

from __future__ import annotations

from typing import Any

import networkx as nx

__all__ = ["copy_into", "stores_plainly"]


def stores_plainly(graph: nx.DiGraph) -> bool:
    """Tell whether a graph keeps its nodes and edges in plain dictionaries that may be edited directly.

    networkx's own `DiGraph` and this library's graphs do. A subclass that overrides how nodes or edges are added or
    removed, or with other dictionaries, is edited through its public methods.
    """
    kind = type(graph)
    return (
        all(
            getattr(kind, name) is getattr(nx.DiGraph, name)
            for name in ("add_node", "add_edge", "remove_node", "remove_edge")
        )
        and type(graph._node) is type(graph._succ) is type(graph._pred) is dict
        and kind.edge_attr_dict_factory is kind.node_attr_dict_factory is kind.adjlist_inner_dict_factory is dict
    )


def copy_into(source: Any, target: Any) -> None:
    """Copy the nodes and edges of a graph to another that is empty.

    Parameters
    ----------
    source, target : networkx.DiGraph
        The values in the dictionaries are shared, the dictionaries are not.
    """
    if not (stores_plainly(source) and stores_plainly(target)):
        target.add_nodes_from((name, data.copy()) for name, data in source._node.items())
        target.add_edges_from((a, b, data.copy()) for a, readers in source._succ.items() for b, data in readers.items())
        return
    target._node.update({name: data.copy() for name, data in source._node.items()})
    # Edge by edge in the order of the sources, as networkx copies: the order of the predecessors follows from it.
    pred = target._pred
    for name in source._node:
        pred[name] = {}
    succ = target._succ
    for name, readers in source._succ.items():
        succ[name] = copied = {}
        for reader, data in readers.items():
            copied[reader] = pred[reader][name] = data.copy()
    nx._clear_cache(target)
