"""A strategy of batches of inputs, edge values included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphrewrite.graph import Graph
from graphrewrite.types import Dimension, FixedPoint, Quantised, Stream, Type, element_dtype, hold

__all__ = ["batch_for", "inputs_for"]

_ROWS = 24
_WITHOUT_NAN = frozenset({"to_fixed", "quantise", "arg_max", "max_pool", "requantise", "to_quantised"})


def inputs_for(graph: Graph, *, moderate: bool = False) -> st.SearchStrategy[dict[str, np.ndarray]]:
    r"""Return a strategy of batches of inputs for a graph: zeros, small integers, ties of rounding, extremes.

    Floats include NaN and infinities, unless the graph rounds to integers, which have none. Shrinks to the first batch.

    Parameters
    ----------
    graph : Graph
        Any graph.
    moderate : bool
        Whether floats stay between -8 and 8.

    Returns
    -------
    SearchStrategy of dict of str to ndarray

    Examples
    --------
    >>> from hypothesis import find
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\ny = output(x)")
    >>> find(inputs_for(g), lambda inputs: True)["x"][:2].tolist()
    [[0.0, 0.0], [0.0, -2.0]]
    """
    return st.integers(0, 255).map(lambda seed: batch_for(graph, seed, moderate=moderate))


def batch_for(graph: Graph, seed: int, *, moderate: bool = False) -> dict[str, np.ndarray]:
    r"""Return one batch of inputs for a graph; see `inputs_for`.

    Parameters
    ----------
    graph : Graph
        Any graph.
    seed : int
        Which batch.
    moderate : bool
        Whether floats stay between -8 and 8.

    Returns
    -------
    dict of str to ndarray

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\ny = output(x)")
    >>> batch_for(g, 0)["x"][0].tolist()
    [0.0, 0.0]
    """
    tame = moderate or any(data.get("type") in _WITHOUT_NAN for _, data in graph.nodes(data=True))
    types = {name: graph.result_type(name) for name in graph.inputs}
    return {name: _batch(kind, seed + 997 * i, tame) for i, (name, kind) in enumerate(types.items())}


def _batch(kind: Type, seed: int, tame: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape: tuple[Dimension, ...] = ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape
    frame = tuple(_ROWS if isinstance(d, str) else int(d) for d in shape)
    element, dtype = kind.element, element_dtype(kind.element)
    low, high = (element.minimum, element.maximum) if isinstance(element, FixedPoint | Quantised) else (-3, 3)
    if np.issubdtype(dtype, np.unsignedinteger) or dtype == np.bool_:
        low = 0
    near = rng.integers(max(low, -3), min(high, 3), frame, endpoint=True)
    wide: Any = rng.integers(low, high, frame, endpoint=True)
    edges: list[Any] = [low, high, 0, min(1, high), max(-1, low)]
    if np.issubdtype(dtype, np.floating):
        wide = rng.integers(-64, 65, frame) / 32 + rng.integers(-3, 4, frame)
        edges = [0.0, -0.0, 0.5, 1e30, -1e30, np.inf, -np.inf, np.nan]
        if tame:
            edges = [0.0, -0.0, 0.5, -0.5, 1.5, -0.03125, -8.0, 8.0]
    mixed = _mixed(rng, near, wide, edges)
    with np.errstate(over="ignore"):  # of a small format, the extremes are infinite
        return hold(element, mixed.astype(dtype))


def _mixed(rng: np.random.Generator, near: np.ndarray, wide: np.ndarray, edges: Sequence[Any]) -> np.ndarray:
    """Zeros in the first row, then small values, wide values, and extremes sprinkled over the last third."""
    if not near.ndim or len(near) != _ROWS:  # an input without a batch has no rows
        return wide
    sprinkled = np.asarray(edges)[rng.integers(0, len(edges), near.shape)]
    chosen = rng.random(near.shape) < 0.5
    values = np.where(chosen, sprinkled, wide)
    values[0] = 0
    values[1 : _ROWS // 3] = near[1 : _ROWS // 3]
    values[_ROWS // 3 : 2 * _ROWS // 3] = wide[_ROWS // 3 : 2 * _ROWS // 3]
    return values
