"""Direct access to the dictionaries of graphs that store nodes and edges as networkx does."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import nullcontext
from functools import lru_cache
from itertools import chain
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.errors import DataError
from graphrewrite.op.reserved_keys import STRUCTURAL
from graphrewrite.runtime.gc_pause import gc_paused
from graphrewrite.types import is_unchangeable, owned

__all__ = ["adds_plainly", "copy_into", "own", "stores_plainly", "survey"]

_MANY = 100
"""Number of nodes from which copying pays for a pause of the garbage collector."""
_BLOCK = 500
"""So many nodes fit into the cache of a processor."""


def stores_plainly(graph: nx.DiGraph) -> bool:
    """Tell whether a graph stores nodes and edges in plain dictionaries that may be edited directly.

    That is the fast path, for `networkx.DiGraph` and `Graph`. A subclass that overrides how nodes or edges are added
    or removed, or that uses other dictionaries, is edited through its public methods.
    """
    return type(graph._node) is type(graph._succ) is type(graph._pred) is dict and _is_plain(graph.__class__)


def adds_plainly(graph: Any) -> bool:
    """Tell whether a node can be put into the dictionaries of a graph: they are plain, and it is not frozen."""
    return "add_node" not in graph.__dict__ and stores_plainly(graph)


@lru_cache(maxsize=64)
def _is_plain(kind: Any) -> bool:
    """Tell whether a class of graphs leaves to networkx how nodes and edges are kept."""
    own_methods = ("add_node", "add_edge", "remove_node", "remove_edge")
    factories = (kind.edge_attr_dict_factory, kind.node_attr_dict_factory, kind.adjlist_inner_dict_factory)
    return all(getattr(kind, name) is getattr(nx.DiGraph, name) for name in own_methods) and set(factories) == {dict}


def survey(graph: nx.DiGraph, kinds: Collection[str] | None) -> tuple[list[Any], set[type]]:
    """Return the nodes of some types, None for all, and the classes of the values that nodes hold, in one pass.

    A node that holds no more than every node does, the type of a result and an origin, is left out of the latter.

    Examples
    --------
    >>> graph = nx.DiGraph()
    >>> graph.add_node("a", type="relu", alpha=0.5)
    >>> nodes, held = survey(graph, {"relu", "tanh"})
    >>> nodes, sorted(kind.__name__ for kind in held)
    (['a'], ['float', 'str'])
    """
    nodes: list[Any] = []
    held: set[type] = set()
    others: list[dict[str, Any]] = []
    for name, data in graph._node.items():
        kind = data.get("type")
        if kinds is None or kind in kinds:
            nodes.append(name)
        if len(data) != 3 or kind is None or "result" not in data or "origin" not in data:
            others.append(data)
            if len(others) == _BLOCK:  # which are still at hand
                held.update(map(type, chain.from_iterable(map(dict.values, others))))
                others.clear()
    held.update(map(type, chain.from_iterable([data.values() for data in others])))
    return nodes, held


def own(data: dict[str, Any], copies: dict[int, np.ndarray] | None = None) -> dict[str, Any]:
    """Return a copy of an attribute dictionary that shares only what nobody can change.

    At any depth, lists, dictionaries and arrays that somebody may write to are copied. An array that several
    dictionaries hold is copied once where they are given the same ``copies``.

    Examples
    --------
    >>> data = {"shape": {"length": 4}}
    >>> own(data)["shape"]["length"] = 5
    >>> data
    {'shape': {'length': 4}}
    """
    new = data.copy()
    for key, value in data.items():
        kind = type(value)
        if kind not in _NESTING or (kind is tuple and (key == "origin" or _NESTING.isdisjoint(map(type, value)))):
            continue
        if kind is np.ndarray:
            if not is_unchangeable(value):
                known = None if copies is None else copies.get(id(value))
                new[key] = owned(value) if known is None else known
                if copies is not None:
                    copies[id(value)] = new[key]
            continue
        try:
            new[key] = _own(value)
        except RecursionError:
            raise DataError("is nested too deeply, or contains itself; give it a copy", path=str(key)) from None
    return new


_CHANGEABLE = frozenset({dict, list, set, np.ndarray, np.memmap})
_NESTING = _CHANGEABLE | {tuple}


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
    node, pred, succ = target._node, target._pred, target._succ
    for table, size in ((node, source._node), (pred, source._node), (succ, source._succ)):
        table.update(size)  # so that it has its final size, and every entry its place, from the beginning
    is_short = STRUCTURAL.issuperset
    copies: dict[int, np.ndarray] = {}
    for name, data in source._node.items():
        # Most nodes hold nothing that could be changed.
        node[name] = data.copy() if is_short(data) and type(data.get("origin", ())) is tuple else own(data, copies)
        pred[name] = {}
    # Edge by edge in the order of the sources, as networkx copies: the order of the predecessors follows from it.
    for name, readers in source._succ.items():
        succ[name] = copied = {}
        for reader, data in readers.items():
            copied[reader] = pred[reader][name] = data.copy() if len(data) == 1 else own(data)
