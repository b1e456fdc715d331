"""Reduction of sizes: axes of one entry unless the failure needs more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.op.reserved_keys import attributes_in
from graphrewrite.testing.reduction.case import LEAVES, Case, Ways, retyped

__all__ = ["shrink_axes", "shrink_sizes"]


def shrink_sizes(case: Case) -> Ways:
    """Make a size smaller wherever it occurs: in inputs, in constants, and perhaps in attributes."""
    graph: Graph = case.graph
    leaves = [n for n in graph if graph._node[n]["type"] in LEAVES]
    sizes = {d for n in leaves for d in graph.result_type(n).shape if isinstance(d, int) and d > 1}
    for size in sorted(sizes, reverse=True):
        for smaller in (n for n in (1, 2, size - 1) if n < size):
            for everywhere in (True, False):
                for start in _starts(size, smaller):
                    yield partial(_resized, size, smaller, start, everywhere)


def _starts(size: int, smaller: int) -> Iterable[int]:
    """Return the first entries to keep: those that show the failure may be anywhere, also at the end."""
    return sorted({0, 1, size - smaller}) if smaller == 1 else (0,)


def _resized(size: int, smaller: int, start: int, everywhere: bool, case: Case) -> Case | None:
    new = case.copy()
    changed = False
    for node, data in new.graph._node.items():
        if data["type"] in LEAVES:
            axes = [axis for axis, d in enumerate(data["result"].shape) if d == size]
            if axes:
                changed = True
                if not _cropped(new, node, axes, range(start, start + smaller)):
                    return None
        elif everywhere and data["type"] != "output":
            for name, value in attributes_in(data, new.graph.op(node)).items():
                data[name] = _replaced(value, size, smaller)
    return new if changed and retyped(new.graph) is not None else None


def shrink_axes(case: Case) -> Ways:
    """Reduce an axis of an input or constant to one entry; drop such an axis, from all leaves or from one."""
    graph: Graph = case.graph
    leaves = [node for node in graph.in_order() if graph._node[node]["type"] in LEAVES]
    ranks = {node: len(graph.result_type(node).shape) for node in leaves}
    for node in leaves:
        for axis in reversed(range(ranks[node])):
            size = graph.result_type(node).shape[axis]
            if isinstance(size, int) and size > 1:
                for index in _starts(size, 1):
                    yield partial(_narrowed, node, axis, index)
    for index in range(1, max(ranks.values(), default=0) + 1):  # from the last axis on, as shapes are broadcast
        yield partial(_without_axis, leaves, index)
        for node in leaves:
            yield partial(_without_axis, [node], index)


def _without_axis(nodes: list[str], index: int, case: Case) -> Case | None:
    new = case.copy()
    changed = False
    for node in nodes:
        array = new.array(node)
        shape = () if array is None else new.graph.result_type(node).shape
        if array is None or index > len(shape) or shape[-index] != 1:
            continue
        if not _reshaped(new, node, (*shape[:-index], *shape[len(shape) - index + 1 :]), array.squeeze(-index)):
            return None
        changed = True
    return new if changed and retyped(new.graph) is not None else None


def _narrowed(node: str, axis: int, index: int, case: Case) -> Case | None:
    graph: Graph = case.graph
    if node not in graph:
        return None
    shape = graph.result_type(node).shape
    size = shape[axis] if axis < len(shape) else 1
    if not isinstance(size, int) or size == 1 or index >= size:
        return None
    new = case.copy()
    return new if _cropped(new, node, [axis], range(index, index + 1)) and retyped(new.graph) is not None else None


def _cropped(case: Case, node: str, axes: list[int], kept: range) -> bool:
    """Keep some entries along some axes of a leaf, in place; tell whether there is such a type."""
    array = case.array(node)
    if array is None:
        return False
    shape = tuple(len(kept) if axis in axes else d for axis, d in enumerate(case.graph.result_type(node).shape))
    surplus = array.ndim - len(shape)  # the frames of a stream
    for axis in axes:
        array = array.take(kept, axis=axis + surplus)
    return _reshaped(case, node, shape, array)


def _reshaped(case: Case, node: str, shape: tuple[Any, ...], array: np.ndarray) -> bool:
    """Give a leaf a shape and an array of it, in place; tell whether there is such a type."""
    data = case.graph._node[node]
    try:
        data["result"] = replace(data["result"], shape=shape)
    except (GraphRewriteError, ValueError):  # a stream without channels, say, or fewer channels than scales
        return False
    case.put(node, array)
    return True


def _replaced(value: Any, size: int, smaller: int) -> Any:
    if type(value) is int:
        return smaller if value == size else value
    return tuple(_replaced(v, size, smaller) for v in value) if type(value) is tuple else value
