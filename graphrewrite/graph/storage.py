"""Direct access to the dictionaries of graphs that store nodes and edges as networkx does."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import DataError
from graphrewrite.op.reserved_keys import STRUCTURAL
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.types import owned

__all__ = ["copy_into", "own", "stores_plainly"]

_MANY = 100
"""Number of nodes from which copying pays for a pause of the garbage collector."""


def stores_plainly(graph: nx.DiGraph) -> bool:
    """Tell whether a graph stores nodes and edges in plain dictionaries that may be edited directly.

    That is the fast path, for `networkx.DiGraph` and `Graph`. A subclass that overrides how nodes or edges are added
    or removed, or that uses other dictionaries, is edited through its public methods.
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


def own(data: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of an attribute dictionary that shares only what nobody can change.

    At any depth, lists, dictionaries and arrays that somebody may write to are copied.

    Examples
    --------
    >>> data = {"shape": {"length": 4}}
    >>> own(data)["shape"]["length"] = 5
    >>> data
    {'shape': {'length': 4}}
    """
    new = data.copy()
    plain = STRUCTURAL if type(data.get("origin", ())) is tuple else _NO_KEYS
    if plain.issuperset(data):  # fast path: most nodes have no more
        return new
    for key, value in data.items():
        if key in plain:
            continue
        kind = type(value)
        if kind is np.ndarray:
            if value.flags.writeable or value.base is not None:  # else nobody can change it
                new[key] = owned(value)
        elif kind in _NESTING:
            try:
                new[key] = _own(value)
            except RecursionError:
                raise DataError("is nested too deeply, or contains itself; give it a copy", path=str(key)) from None
    return new


_CHANGEABLE = frozenset({dict, list, set, np.ndarray, np.memmap})
_NESTING = _CHANGEABLE | {tuple}
_NO_KEYS: frozenset[str] = frozenset()


def _own(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        return {key: _own(v) for key, v in value.items()}
    if kind is tuple and _NESTING.isdisjoint(map(type, value)):
        return value
    if kind in (list, tuple, set):
        return kind(map(_own, value))
    return owned(value) if isinstance(value, np.ndarray) else value


def copy_into(source: Any, target: Any) -> None:
    """Copy the nodes and edges of a graph to another that is empty.

    Parameters
    ----------
    source, target : networkx.DiGraph
        Types and read-only arrays are shared; the dictionaries, and what could be changed in them, are not.
    """
    if not (stores_plainly(source) and stores_plainly(target)):
        target.add_nodes_from((name, own(data)) for name, data in source._node.items())
        target.add_edges_from((a, b, own(data)) for a, readers in source._succ.items() for b, data in readers.items())
        return
    with gc_paused() if len(source._node) > _MANY else nullcontext():
        _copy_dictionaries(source, target)
    nx._clear_cache(target)


def _copy_dictionaries(source: Any, target: Any) -> None:
    target._node.update({name: own(data) for name, data in source._node.items()})
    # Edge by edge in the order of the sources, as networkx copies: the order of the predecessors follows from it.
    pred = target._pred
    for name in source._node:
        pred[name] = {}
    succ = target._succ
    for name, readers in source._succ.items():
        succ[name] = copied = {}
        for reader, data in readers.items():
            copied[reader] = pred[reader][name] = data.copy() if len(data) == 1 else own(data)
