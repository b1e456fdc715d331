"""Compare what two graphs compute: bit for bit, or within a bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphrewrite.errors import GraphRewriteError
from graphrewrite.evaluate import evaluate_nodes
from graphrewrite.graph import Graph
from graphrewrite.testing.counterexample import Counterexample
from graphrewrite.types import Stream

__all__ = ["compare", "equal_bits", "interface", "snapshot"]

_ROUNDING = 2.0**-23 * 256
"""Relative to the greatest value on any edge: some hundred roundings of float32."""


def equal_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return where two arrays of one dtype have the same bits, or are both NaN.

    Parameters
    ----------
    a, b : ndarray
        Of one shape.

    Returns
    -------
    ndarray of bool

    Examples
    --------
    >>> equal_bits(np.array([0.0, np.nan, 1.0]), np.array([-0.0, np.nan, 1.0])).tolist()
    [False, True, True]
    """
    same = a == b
    if np.issubdtype(a.dtype, np.floating):
        same = (same & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
    return np.asarray(same)


def _near(a: np.ndarray, b: np.ndarray, bound: float) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # the difference of two infinities
        near = np.abs(a.astype(np.float64) - b.astype(np.float64)) <= bound
    return np.asarray(near | equal_bits(a, b))


def interface(graph: Graph) -> dict[str, list[tuple[str, str]]]:
    """Return names and types of a graph's inputs and outputs.

    Parameters
    ----------
    graph : Graph
        Any graph.
    """
    outputs = [(name, graph.operands(name)[0]) for name in graph.outputs]
    return {
        "inputs": [(name, str(graph.result_type(name))) for name in graph.inputs],
        "outputs": [(name, str(graph.result_type(o.node, o.result))) for name, o in outputs],
    }


def snapshot(graph: Graph) -> Any:
    """Return what must not change in a graph that a rule was applied to: data, edges, order and graph attributes."""
    nodes = [
        (n, {k: v.tobytes() if isinstance(v, np.ndarray) else repr(v) for k, v in d.items()})
        for n, d in graph.nodes.items()
    ]
    return nodes, [(a, b, dict(d)) for a, b, d in graph.edges(data=True)], dict(graph.graph)


def _values(graph: Graph, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    needed = set(graph.outputs).union(*(graph.upstream(o) for o in graph.outputs))
    with np.errstate(all="ignore"):
        return evaluate_nodes(graph, inputs, [n for n in graph.in_order() if n in needed])


def compare(
    before: Graph, after: Graph, inputs: Mapping[str, np.ndarray], *, keeps: str, tolerance: float | None
) -> Counterexample | None:
    """Evaluate two graphs on one batch and return the first difference, if there is one.

    Parameters
    ----------
    before, after : Graph
        Of one interface.
    inputs : mapping of str to ndarray
        A batch.
    keeps : str
        ``"exact"``, ``"rounding"`` or ``"assumes"``, where no tolerance is given.
    tolerance : float, optional
        An absolute bound.

    Returns
    -------
    Counterexample or None
    """
    old = _values(before, inputs)
    try:
        new = _values(after, inputs)
    except GraphRewriteError as error:
        return Counterexample(before, after, f"the result cannot be evaluated: {error}")
    bound = tolerance
    if bound is None and keeps != "exact":
        finite = [v[np.isfinite(v)] for v in (*old.values(), *new.values()) if np.issubdtype(v.dtype, np.floating)]
        bound = _ROUNDING * max((float(np.abs(v).max()) for v in finite if v.size), default=1.0)
    for name in before.outputs:
        a, b = old[name], new[name]
        if a.shape != b.shape or a.dtype != b.dtype:
            shapes = f"was {a.dtype}{list(a.shape)} and became {b.dtype}{list(b.shape)}"
            return Counterexample(before, after, f"output {name!r} {shapes}")
        same = equal_bits(a, b) if bound is None else _near(a, b, bound)
        if not same.all():
            place = tuple(int(i) for i in np.argwhere(~same)[0])
            where = f"{name}[{', '.join(map(str, place[1:]))}]" if len(place) > 1 else name
            limit = "" if bound is None else f" (they may differ by {bound:.3g})"
            reason = f"output {where} was {a[place]!r} and became {b[place]!r}{limit}"
            return Counterexample(before, after, reason, _row(before, inputs, place[0] if place else 0))
    return None


def _row(graph: Graph, inputs: Mapping[str, np.ndarray], row: int) -> dict[str, np.ndarray]:
    """The inputs of one row of the batch, for a graph whose inputs all have it."""
    types = {n: graph.result_type(n) for n in graph.inputs}
    batched = {n for n, t in types.items() if isinstance(t, Stream) or any(isinstance(d, str) for d in t.shape[:1])}
    return {n: a[row : row + 1] if n in batched and row < len(a) else a for n, a in inputs.items()}
