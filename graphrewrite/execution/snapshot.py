"""Snapshot: what a graph held at a time, so that a program that was compiled then is known to be still valid.

Comparing costs a few nanoseconds an entry: all that a graph holds is put into one list, and must be the same objects.
What somebody could change in place is looked into as well: lists, dictionaries, arrays that can be written to, graphs
that nodes hold or are. Objects that may change in ways that nobody can see, such as a generator of random numbers, have
no snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import chain
from numbers import Number
from operator import attrgetter, is_, methodcaller
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import networkx as nx
import numpy as np

from graphrewrite.hierarchy.graph_ops import GraphOp
from graphrewrite.hierarchy.module import Module
from graphrewrite.op.op import Op
from graphrewrite.types import FixedPoint, Quantised, Stream, Tensor, is_unchangeable, owned

__all__ = ["Snapshot"]

_PLAIN = frozenset(
    {str, int, float, bool, type(None), bytes, complex, range, slice, Tensor, Stream, FixedPoint, Quantised, np.dtype}
)
_UNCHANGEABLE = (
    Op,
    type,
    FunctionType,
    BuiltinFunctionType,
    ModuleType,
    np.ufunc,
    np.dtype,
    str,
    bytes,
    Number,
    np.generic,
    Enum,
)
_SHORT = 1 << 14
"""Bytes up to which copying an array is faster than comparing its numbers."""
_FORM = attrgetter("shape", "strides", "dtype", "flags.writeable")


class Snapshot:
    r"""What a graph holds: its nodes and edges, the values in them, and what it takes from elsewhere.

    Attributes
    ----------
    is_whole : bool
        Whether every change would be noticed.

    Examples
    --------
    >>> from graphrewrite import Graph
    >>> g = Graph.parse("graph g\nx = input() : f32[N]\nr = clip(x, low=0)\ny = output(r)")
    >>> snapshot = Snapshot(g)
    >>> snapshot.holds(g)
    True
    >>> g.nodes["r"]["low"] = 1
    >>> snapshot.holds(g)
    False
    """

    def __init__(self, graph: nx.DiGraph, library: Mapping[str, Any] | None = None) -> None:
        self.is_whole = True
        self._met: dict[int, Any] = {id(graph): graph}
        self._containers: list[tuple[Any, list[Any]]] = []
        self._arrays: list[np.ndarray] = []
        self._written: list[tuple[np.ndarray, np.ndarray]] = []
        self._graphs: list[tuple[Any, _Held]] = []
        self._bodies: list[tuple[GraphOp, Any]] = []
        self._modules: list[Any] = []
        self._names_implementations = False
        self._waiting: list[Any] = []
        self._root = self._graph(graph)
        if library is not None:
            self._container(library)
        self._look()
        for module in self._modules:  # grows as it goes
            if self._names_implementations:
                self._waiting.append(module)
                self._look()
        self._forms = list(map(_FORM, self._arrays))
        self._met = {}

    def holds(self, graph: nx.DiGraph) -> bool:
        """Tell whether a graph holds what it held then, and so do the graphs in it."""
        return (
            self._root.is_same(_Held(graph))
            and self._forms == list(map(_FORM, self._arrays))
            and all(_same(_listed(container), held) for container, held in self._containers)
            and all(held.is_same(_Held(each)) for each, held in self._graphs)
            and all(op.library.get(op.name) is body for op, body in self._bodies)
            and all(_same_bytes(array, copy) for array, copy in self._written)
        )

    def _graph(self, graph: Any) -> _Held:
        held = _Held(graph)
        self._waiting += _without_tuples(held.values)
        if held.library is not None:
            self._modules.append(held.library)
        self._names_implementations |= any("implementation" in data for data in graph._node.values())
        return held

    def _look(self) -> None:
        """Look for what can be changed in values that wait; without recursion, as graphs may be nested deeply."""
        while self._waiting:
            value = self._waiting.pop()
            if type(value) in _PLAIN or id(value) in self._met:
                continue
            self._met[id(value)] = value
            if type(value) is np.ndarray or isinstance(value, np.ndarray):
                self._array(value)
            elif isinstance(value, tuple | frozenset):
                self._waiting += _without_tuples(list(value))
            elif isinstance(value, dict | list | set | Module):
                self._container(value)
            elif isinstance(value, nx.Graph):
                self._graphs.append((value, self._graph(value)))
            elif isinstance(value, GraphOp):
                body = value.library.get(value.name)
                self._bodies.append((value, body))
                self._waiting.append(body)
            elif is_dataclass(value) and not isinstance(value, Op | type):
                self.is_whole &= value.__dataclass_params__.frozen  # type: ignore[attr-defined]  # of the decorator
                self._waiting += [getattr(value, field.name) for field in fields(value)]
            elif not isinstance(value, _UNCHANGEABLE):
                self.is_whole = False

    def _container(self, container: Any) -> None:
        held = _listed(container)
        self._containers.append((container, held))
        self._waiting += held

    def _array(self, array: np.ndarray) -> None:
        self._arrays.append(array)
        if array.dtype.hasobject:
            self._waiting += array.flat
            self.is_whole &= is_unchangeable(array)
        elif not is_unchangeable(array):
            self._written.append((array, owned(array)))


class _Held:
    """What a graph holds in lists: the values in its nodes and edges, and its ops; all names; sizes of dictionaries."""

    __slots__ = ("library", "names", "sizes", "values")

    def __init__(self, graph: Any) -> None:
        nodes, edges, own = graph._node, graph._pred, vars(graph)
        into, ops = list(edges.values()), own.get("ops", {})
        try:
            self._list(nodes, edges, into, ops, dict.values)
        except TypeError:  # of a view, or of a class with other dictionaries
            self._list(nodes, edges, into, ops, methodcaller("values"))
        self.library = own.get("library")

    def _list(self, nodes: Any, edges: Any, into: list[Any], ops: Any, values: Any) -> None:
        dictionaries = [*nodes.values(), *chain.from_iterable(map(values, into)), ops]
        self.values: list[Any] = list(chain.from_iterable(map(values, dictionaries)))
        self.names = [*nodes, *edges, *chain.from_iterable(into), *chain.from_iterable(dictionaries)]
        self.sizes = [len(nodes), *map(len, into), *map(len, dictionaries)]

    def is_same(self, other: _Held) -> bool:
        return (
            self.sizes == other.sizes
            and self.library is other.library
            and self.names == other.names
            and _same(self.values, other.values)
        )


def _without_tuples(values: list[Any]) -> list[Any]:
    """Return those values that are not plain, and those in tuples, at any depth; all at once, since most are."""
    found = []
    while values:
        others = [each for each in values if type(each) not in _PLAIN]
        found += [each for each in others if type(each) is not tuple]
        values = list(chain.from_iterable([each for each in others if type(each) is tuple]))
    return found


def _listed(container: Any) -> list[Any]:
    """Return what is in a container, as a list."""
    if isinstance(container, Mapping):
        return [*container, *container.values()]
    return list(container)


def _same(one: list[Any], other: list[Any]) -> bool:
    """Tell whether two lists are of the same objects; equal ones may still differ, as 1 and 1.0 do."""
    return len(one) == len(other) and all(map(is_, one, other))


def _same_bytes(array: np.ndarray, copy: np.ndarray) -> bool:
    """Tell whether the numbers of two arrays of one form have the same bits."""
    if array.nbytes <= _SHORT:
        return array.tobytes() == copy.tobytes()
    one, other = (np.ascontiguousarray(each).reshape(-1) for each in (array, copy))
    word = np.uint64 if one.nbytes % 8 == 0 else np.uint8
    return bool(np.array_equal(one.view(word), other.view(word)))
