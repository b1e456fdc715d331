"""Smaller sizes: an axis of one value wherever the failure does not need more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.testing.reduction.case import Case, retyped

__all__ = ["shrink_axes", "shrink_sizes"]

Ways = Iterator[Callable[[Case], Case | None]]
_LEAVES = ("input", "constant")


def shrink_sizes(case: Case) -> Ways:
    """Make a size smaller wherever it stands: in inputs, in constants, and perhaps in attributes."""
    graph: Graph = case.graph
    leaves = [n for n in graph if graph._node[n]["type"] in _LEAVES]
    sizes = {d for n in leaves for d in graph.result_type(n).shape if isinstance(d, int) and d > 1}
    for size in sorted(sizes, reverse=True):
        for smaller in (n for n in (1, 2, size - 1) if n < size):
            for everywhere in (True, False):
                for start in _starts(size, smaller):
                    yield partial(_resized, size, smaller, start, everywhere)


def _starts(size: int, smaller: int) -> Iterable[int]:
    """Where to begin to keep values: what shows the failure may stand at any place, or at the end."""
    return sorted({0, 1, size - smaller}) if smaller == 1 else (0,)


def _resized(size: int, smaller: int, start: int, everywhere: bool, case: Case) -> Case | None:
    new = case.graph.copy()
    inputs = dict(case.inputs)
    found = False
    for node, data in new._node.items():
        if data["type"] in _LEAVES:
            axes = [axis for axis, d in enumerate(data["result"].shape) if d == size]
            if axes:
                found = True
                if not _cropped(node, data, axes, range(start, start + smaller), inputs):
                    return None
        elif everywhere and data["type"] != "output":
            known = new.op(node).attributes
            for name, value in attributes_in(data, known).items():
                data[name] = _replaced(value, size, smaller)
    if not found or retyped(new) is None:
        return None
    return Case(new, inputs)


def shrink_axes(case: Case) -> Ways:
    """Make an axis of an input or constant one of one value; leave such an axis out, of all of them or of one."""
    graph: Graph = case.graph
    leaves = [node for node in graph.in_order() if graph._node[node]["type"] in _LEAVES]
    ranks = {node: len(graph.result_type(node).shape) for node in leaves}
    for node in leaves:
        for axis in reversed(range(ranks[node])):
            size = graph.result_type(node).shape[axis]
            if isinstance(size, int) and size > 1:
                for place in _starts(size, 1):
                    yield partial(_narrowed, node, axis, place)
    for place in range(1, max(ranks.values(), default=0) + 1):  # from the last axis on, as shapes are broadcast
        yield partial(_without_axis, leaves, place)
        for node in leaves:
            yield partial(_without_axis, [node], place)


def _without_axis(nodes: list[str], place: int, case: Case) -> Case | None:
    new = case.graph.copy()
    inputs = dict(case.inputs)
    found = False
    for node in nodes:
        data = new._node.get(node)
        shape = () if data is None else data["result"].shape
        if data is None or place > len(shape) or shape[-place] != 1:
            continue
        try:
            data["result"] = replace(data["result"], shape=(*shape[:-place], *shape[len(shape) - place + 1 :]))
        except (GraphRewriteError, ValueError):
            return None
        if data["type"] == "constant":
            data["value"] = data["value"].squeeze(-place)
        else:
            inputs[node] = inputs[node].squeeze(-place)
        found = True
    return Case(new, inputs) if found and retyped(new) is not None else None


def _narrowed(node: str, axis: int, place: int, case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph:
        return None
    shape = graph.result_type(node).shape
    size = shape[axis] if axis < len(shape) else 1
    if not isinstance(size, int) or size == 1 or place >= size:
        return None
    new = graph.copy()
    inputs = dict(case.inputs)
    if not _cropped(node, new._node[node], [axis], range(place, place + 1), inputs) or retyped(new) is None:
        return None
    return Case(new, inputs)


def _cropped(node: str, data: dict[str, Any], axes: list[int], kept: range, inputs: dict[str, np.ndarray]) -> bool:
    """Keep some values along some axes of a leaf, in place; tell whether there is such a type."""
    kind = data["result"]
    shape = tuple(len(kept) if axis in axes else d for axis, d in enumerate(kind.shape))
    try:
        data["result"] = replace(kind, shape=shape)
    except (GraphRewriteError, ValueError):
        return False
    array = data["value"] if data["type"] == "constant" else inputs[node]
    surplus = array.ndim - len(shape)  # the frames of a stream
    for axis in axes:
        array = array.take(kept, axis=axis + surplus)
    if data["type"] == "constant":
        data["value"] = array
    else:
        inputs[node] = array
    return True


def _replaced(value: Any, size: int, smaller: int) -> Any:
    if type(value) is int:
        return smaller if value == size else value
    return tuple(_replaced(v, size, smaller) for v in value) if type(value) is tuple else value
