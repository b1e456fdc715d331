"""A strategy of batches of inputs, edge values included."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from graphrewrite.graph import Graph
from graphrewrite.testing.generation.edges import (
    WITHOUT_NAN,
    edges_of,
    formats_in,
    least_of,
    limits_of,
    numbers_in,
    shifts_in,
)
from graphrewrite.testing.generation.indices import limits_in, within
from graphrewrite.testing.generation.open_sizes import NUMBERS
from graphrewrite.testing.strategies.shown import Batch
from graphrewrite.types import (
    TEXT,
    Dimension,
    EdgeType,
    Element,
    ElementType,
    Stream,
    Type,
    boxed,
    element_dtype,
    evaluate_size,
    hold,
    symbols,
)

__all__ = ["batch_for", "inputs_for"]

_PLAIN, _DENSE, _SPARSE = 8, 12, 8
"""Rows of small and of usual numbers, of edge values only, and of one edge value among small numbers."""
_MOST = 2**20
"""Entries of an input with so many rows; one with more is one sample."""


def inputs_for(graph: Graph, *, moderate: bool = False) -> st.SearchStrategy[dict[str, np.ndarray]]:
    r"""Return a strategy of batches of inputs for a graph: zeros, small integers, ties of rounding, extremes.

    Every batch holds each edge value of an input's element type: the extremes of the format and their neighbours, ties
    at each place where the graph rounds, numbers in its attributes and their neighbours, and of floats both zeros,
    subnormals, infinities and NaN. Inputs that the graph rounds to integers have no infinities and no NaN, and those
    that are indices lie within their axes. An input without a batch is one sample, with other edge values in each
    batch. An input of a type of a dialect is what its `sample` gives, in an array without axes. Shrinks to the first
    batch. Hypothesis prints them as code.

    Parameters
    ----------
    graph : Graph
        Any graph.
    moderate : bool
        Whether floats stay between -8 and 8.

    Examples
    --------
    >>> from hypothesis import find
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\ny = output(x)")
    >>> find(inputs_for(g), lambda inputs: True)["x"][:2].tolist()
    [[0.0, 0.0], [0.0, -2.0]]
    """
    return st.integers(0, 255).map(lambda seed: Batch(batch_for(graph, seed, moderate=moderate)))


def batch_for(
    graph: Graph, seed: int, *, moderate: bool = False, given: tuple[float, ...] = ()
) -> dict[str, np.ndarray]:
    r"""Return one batch of inputs for a graph; see `inputs_for`.

    Parameters
    ----------
    given : tuple of float
        Further edge values, beside those that the graph suggests.

    Examples
    --------
    >>> g = Graph.parse("graph g\nx = input() : f32[N,2]\ny = output(x)")
    >>> batch_for(g, 0)["x"][0].tolist()
    [0.0, 0.0]
    """
    declared = {name: graph.result_type(name) for name in graph.inputs}
    objects = {
        name: boxed(kind.as_value(kind.sample(np.random.default_rng((seed, position)))))
        for position, (name, kind) in enumerate(declared.items())
        if isinstance(kind, EdgeType)
    }
    formats, shifts = formats_in(graph), shifts_in(graph)
    near_to = tuple(dict.fromkeys((*numbers_in(graph), *given)))
    kinds = {name: kind for name, kind in declared.items() if name not in objects}
    whole = _rounded(graph)
    edges = {
        name: np.zeros(1)
        if isinstance(kind.element, ElementType)
        else edges_of(kind.element, formats, shifts, near_to, numbers=name in whole, near=moderate)
        for name, kind in kinds.items()
    }
    names = _names(kinds.values())
    numbers = {name: NUMBERS[(seed // 2 + i) % len(NUMBERS)] for i, name in enumerate(names)}
    batched = {name: _entries(kind, numbers) for name, kind in kinds.items() if _is_open(kind)}
    # Each edge value comes in every batch: where a row has few numbers, there are more rows.
    dense = max([_DENSE, *(-(-len(edges[name]) // count) for name, count in batched.items() if count > 0)])
    rows = _PLAIN + dense + _SPARSE
    # Of several axes that have the size of the batch, so many entries are beyond memory.
    large = {
        _shape(kinds[name])[0]
        for name in batched
        if rows * _entries(kinds[name], {**numbers, str(_shape(kinds[name])[0]): rows}) > _MOST
    }
    batched = {name: count for name, count in batched.items() if _shape(kinds[name])[0] not in large}
    many = {str(_shape(kinds[name])[0]): rows for name in batched}
    shapes = [_shape(kind) for kind in kinds.values()]
    choices = ({**numbers, **many}, *({**dict.fromkeys(names, number), **many} for number in NUMBERS))
    # Sizes such as 3 - M are none for some numbers.
    sizes = next((c for c in choices if all(evaluate_size(d, c) >= 0 for shape in shapes for d in shape)), choices[0])
    found = {
        name: _batch(kind, edges[name], seed, i, sizes, dense if name in batched else None, moderate=moderate)
        for i, (name, kind) in enumerate(kinds.items())
    }
    limited = {name: within(found[name], limits) for name, limits in limits_in(graph).items()}
    return {**objects, **found, **limited}


def _shape(kind: Type) -> tuple[Dimension, ...]:
    return ("N", *kind.shape) if isinstance(kind, Stream) else kind.shape


def _names(kinds: Iterable[Type]) -> list[str]:
    """Names of sizes, each one once."""
    return list(dict.fromkeys(name for kind in kinds for size in _shape(kind) for name in symbols(size)))


def _is_open(kind: Type) -> bool:
    """Whether the first size is that of the batch."""
    return any(isinstance(size, str) and size.isidentifier() for size in _shape(kind)[:1])


def _entries(kind: Type, sizes: Mapping[str, int]) -> int:
    """Numbers in a row."""
    return math.prod(evaluate_size(d, sizes) for d in _shape(kind)[1:])


def _rounded(graph: Graph) -> set[str]:
    """Inputs that reach an op which rounds to integers, where there is no NaN."""
    work = [name for name, data in graph.nodes(data=True) if data.get("type") in WITHOUT_NAN]
    seen = set(work)
    while work:
        for source in graph.pred[work.pop()]:
            if source not in seen:
                seen.add(source)
                work.append(source)
    return seen


def _batch(
    kind: Type,
    edges: np.ndarray,
    seed: int,
    position: int,
    sizes: Mapping[str, int],
    dense: int | None,
    *,
    moderate: bool,
) -> np.ndarray:
    rng = np.random.default_rng(seed + 997 * position)
    if isinstance(kind.element, ElementType):
        return hold(kind.element, kind.element.sample(rng, tuple(evaluate_size(d, sizes) for d in _shape(kind))))
    element, dtype = kind.element, element_dtype(kind.element)
    frame = tuple(evaluate_size(d, sizes) for d in _shape(kind))
    if element == TEXT:
        return rng.choice(edges, frame)
    low, high = limits_of(element)
    near = rng.integers(max(low, -3), min(high, 3), frame, endpoint=True)
    values: np.ndarray = near.astype(dtype)
    # Sums leave their format first where all inputs are at an end of theirs, differences where they are at both.
    corners = (low, high, (low, high)[position % 2], (high, low)[position % 2]) if dtype.kind in "iu" else ()
    is_far = dtype.kind == "f" and not moderate
    if dense is None:  # one sample: small numbers in the first batch, edge values in every other, some corners
        if seed % 2:
            # Over some batches each value meets each of another input, and itself.
            turn = seed // 2
            values.ravel()[:] = edges[
                (np.arange(values.size) + turn * (position + 1) + turn // len(edges)) % len(edges)
            ]
        elif seed % 8 == 6 and corners:
            values[...] = corners[seed // 8 % len(corners)]
        elif seed % 8 == 6 and is_far:
            values[...] = _far(rng, element, frame, seed // 8)
        return hold(element, values)
    wide: Any = (
        rng.integers(-96, 97, frame) / 32
        if dtype.kind == "f"
        else rng.integers(max(low, -(2**62)), min(high, 2**62), frame, endpoint=True)
    )
    values[0] = 0
    values[_PLAIN // 2 : _PLAIN] = wide[_PLAIN // 2 : _PLAIN].astype(dtype)
    for row, corner in enumerate(corners, start=2):
        values[row] = corner
    if is_far:
        for row in (2, 3):
            values[row] = _far(rng, element, frame[1:], seed + row)
    block = values[_PLAIN : _PLAIN + dense]
    block[...] = _taken(edges, block.size, seed, position).reshape(block.shape)
    # What is wrong with one value hides what is wrong with its neighbours, so that each has some rows to itself.
    sparse = values[_PLAIN + dense :].reshape(_SPARSE, -1)
    if sparse.shape[1]:
        places = rng.integers(0, sparse.shape[1], _SPARSE)
        sparse[np.arange(_SPARSE), places] = _taken(edges, _SPARSE, seed + 3, position)
    return hold(element, values)


def _far(rng: np.random.Generator, element: Element, shape: tuple[int, ...], way: int) -> np.ndarray:
    """Floats far from each other, or near to an end, that functions which level off or overflow make equal.

    They have few bits each, as powers and quotients of others are rounded in ways that no rule means.
    """
    low, high = limits_of(element)
    least, most = math.frexp(least_of(element))[1], math.frexp(high)[1]
    match way % 4:
        case 0 | 1:  # where exponentials end, and what has a limit has it
            size: np.ndarray = rng.integers(1, 129, shape) * (8.0 if way % 4 else 0.5)
        case 2:
            size = np.ldexp(rng.integers(4, 8, shape) / 8, most)
        case _ if way // 4 % 2:
            size = rng.integers(1, 9, shape) * least_of(element)
        case _:
            size = np.ldexp(rng.integers(4, 8, shape) / 8, rng.integers(least, most + 1, shape))
    size = np.minimum(size, high)
    is_negative = rng.integers(2, size=shape) if low < 0 and rng.integers(2) else np.zeros(shape, int)
    return np.where(is_negative, -size, size)


def _taken(edges: np.ndarray, count: int, seed: int, position: int) -> np.ndarray:
    """Edge values in turns, another turn for each input: over some batches, each value meets each of another input."""
    at = np.arange(count)
    taken: np.ndarray = edges[(at + (at // len(edges) + seed) * position) % len(edges)]
    return taken
