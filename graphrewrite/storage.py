"""Direct access to a graph's dictionaries, for graphs that keep their nodes and edges as networkx itself does."""

from __future__ import annotations

from typing import Any

import networkx as nx

__all__ = ["copy_directly", "stores_plainly"]


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


def copy_directly(source: Any, target: Any) -> None:
    """Copy the nodes and edges of one graph that stores plainly to another that is empty.

    Parameters
    ----------
    source, target : networkx.DiGraph
        The values in the dictionaries are shared, the dictionaries are not.
    """
    node, succ = source._node, source._succ
    target._node.update({name: data.copy() for name, data in node.items()})
    # Edge by edge in the order of the sources, as networkx copies: the order of the predecessors follows from it.
    pred: dict[Any, dict[Any, Any]] = {name: {} for name in node}
    for name, readers in succ.items():
        target._succ[name] = {reader: pred[reader].setdefault(name, data.copy()) for reader, data in readers.items()}
    target._pred.update(pred)
    nx._clear_cache(target)
