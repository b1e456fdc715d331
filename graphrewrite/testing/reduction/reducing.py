"""Reduction of a case until no smaller one shows the failure."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from time import perf_counter

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.rewriting.verification import verify
from graphrewrite.testing.reduction.beside_values import drop_annotations, drop_orders
from graphrewrite.testing.reduction.case import Case, Step
from graphrewrite.testing.reduction.digraphs import drop_anything
from graphrewrite.testing.reduction.names import rename_nodes
from graphrewrite.testing.reduction.nodes import (
    bypass_nodes,
    cut_values,
    drop_dead_nodes,
    drop_outputs,
    free_constants,
    merge_leaves,
    move_outputs,
)
from graphrewrite.testing.reduction.operands import drop_operands, reset_attributes
from graphrewrite.testing.reduction.sizes import shrink_axes, shrink_sizes
from graphrewrite.testing.reduction.values import simplify_constants, simplify_inputs, take_rows
from graphrewrite.testing.snapshot import snapshot

__all__ = ["reduced"]

_STRUCTURE: tuple[Step, ...] = (
    drop_outputs,
    drop_dead_nodes,
    move_outputs,
    cut_values,
    bypass_nodes,
    merge_leaves,
    drop_operands,
)
_DETAILS: tuple[Step, ...] = (
    drop_annotations,
    drop_orders,
    reset_attributes,
    shrink_sizes,
    shrink_axes,
    simplify_constants,
)
_VALUES: tuple[Step, ...] = (free_constants, merge_leaves, take_rows, simplify_inputs, rename_nodes)
_SECONDS = 8.0
"""Time limit, which only rule sets that are very slow on one graph approach."""


def reduced(case: Case, still: Callable[[Case], bool], *, attempts: int = 800) -> Case:
    r"""Return a smaller case for which a predicate still holds.

    Examples
    --------
    >>> import numpy as np
    >>> g = Graph.parse('''graph g
    ... x = input() : f32[N]
    ... a = neg(x)
    ... b = relu(a)
    ... c = abs(b)
    ... y = output(c)
    ... z = output(a)''')
    >>> case = Case(g, {"x": np.float32([3, -7.5])})
    >>> smaller = reduced(case, lambda case: any(d["type"] == "relu" for d in case.graph.nodes.values()))
    >>> print(smaller.graph, smaller.inputs["x"])
    graph g
    x = input() : f32[N]
    relu_1 = relu(x) : f32[N]
    y = output(relu_1) [0.]
    """
    reducer = _Reducer(still, attempts)
    if not isinstance(case.graph, Graph):
        return reducer.until_stable(case, (drop_anything,))
    case = reducer.until_stable(case, _STRUCTURE)
    case = reducer.until_stable(case, (*_DETAILS, *_STRUCTURE))
    return reducer.until_stable(case, _VALUES)


class _Reducer:
    """Try cases, none of them twice."""

    def __init__(self, still: Callable[[Case], bool], attempts: int) -> None:
        self.still, self.left = still, attempts
        self.end = perf_counter() + _SECONDS
        self.tried: set[bytes] = set()

    def until_stable(self, case: Case, steps: tuple[Step, ...]) -> Case:
        """Take step after step, round after round."""
        while True:
            before = case
            for step in steps:
                for way in list(step(case)):
                    if self.left <= 0:
                        return case
                    smaller = way(case)
                    if smaller is not None and self.shows(smaller):
                        case = smaller
            if case is before:
                return case

    def shows(self, case: Case) -> bool:
        """Tell whether a case that was not tried yet is well formed, and shows the failure."""
        key = _key(case)
        if key in self.tried:
            return False
        self.tried.add(key)
        if isinstance(case.graph, Graph):
            try:
                verify(case.graph)
            except GraphRewriteError:
                return False
        self.left = 0 if perf_counter() > self.end else self.left - 1
        return self.still(case)


def _key(case: Case) -> bytes:
    digest = blake2b(repr(snapshot(case.graph)).encode())
    for name, array in case.inputs.items():
        digest.update(f"{name}{array.shape}".encode())
        digest.update(repr(array.item()).encode() if array.dtype == object else array.tobytes())
    return digest.digest()
