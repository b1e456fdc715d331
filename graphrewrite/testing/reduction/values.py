"""Reduction of values: few rows, then zeros, ones and small integers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from graphrewrite.graph import Graph, Operand
from graphrewrite.testing.failure.values import is_batched
from graphrewrite.testing.reduction.case import Case, Ways
from graphrewrite.testing.rows import rows_of
from graphrewrite.types import EdgeType, Type, boxed, unboxed

__all__ = ["simplify_constants", "simplify_inputs", "take_rows"]

_SIMPLE = (0, 1, -1, 2, -2, 3, 4, 8)
"""The simplest first."""
_SAMPLES = 16
"""Values of a type of a dialect to try."""
_ENTRIES = 24
"""Of larger arrays, not every entry is tried on its own."""


def take_rows(case: Case) -> Ways:
    """Keep one row of the batch that shows the failure; if none does alone, as few rows as possible."""
    most = _height(case)
    for row in range(most):
        yield partial(_kept, range(row, row + 1))
    size = most // 2
    while size:
        for start in reversed(range(0, most, size)):  # from the end, so that what is left is where it was
            yield partial(_dropped, range(start, start + size))
        size //= 2


def _height(case: Case) -> int:
    """Return the number of rows of the batch."""
    return max((len(case.inputs[n]) for n in case.graph.inputs if is_batched(case.graph, Operand(n))), default=0)


def _kept(rows: Sequence[int], case: Case) -> Case | None:
    inputs = rows_of(case.graph, case.inputs, rows)
    if all(inputs[name].shape == array.shape for name, array in case.inputs.items()):
        return None
    return Case(case.graph, inputs)


def _dropped(rows: range, case: Case) -> Case | None:
    most = _height(case)
    kept = [row for row in range(most) if row not in rows]
    return _kept(kept, case) if kept else None


def simplify_inputs(case: Case) -> Ways:
    """Make the values of inputs simpler: all of one, then each."""
    return _simplified(case, case.graph.inputs)


def simplify_constants(case: Case) -> Ways:
    """Make the entries of constants simpler: all of one, then each."""
    graph: Graph = case.graph
    return _simplified(case, [n for n in graph.in_order() if graph._node[n]["type"] == "constant"])


def _simplified(case: Case, leaves: Iterable[str]) -> Ways:
    for leaf in leaves:
        array = case.array(leaf)
        if array is not None:
            for change in _changes(array) if array.dtype != object else _shorter(array, case.graph.result_type(leaf)):
                yield partial(_changed, leaf, change)


Change = Callable[[np.ndarray], np.ndarray]


def _changes(array: np.ndarray) -> Iterator[Change]:
    simple = _SIMPLE if array.dtype.kind != "U" else ("", "a")
    for value in simple:
        yield partial(_filled, value, None)
    if 1 < array.size <= _ENTRIES:
        yield from (partial(_filled, value, index) for index in np.ndindex(array.shape) for value in simple)
    if array.dtype.kind == "U":
        return
    yield _rounded
    yield _halved
    greatest = int(np.abs(_numbers(array)).max(initial=0))
    # Steps of powers of two, in rounds, find the least number that suffices, as a binary search does.
    for power in reversed(range(min(greatest.bit_length(), 53))):
        yield partial(_nearer, 1 << power)


def _shorter(box: np.ndarray, kind: Type) -> Iterator[Change]:
    """Yield ways to a simpler value that is no tensor: another one of its type, a list without one of its entries."""
    if isinstance(kind, EdgeType):
        for seed in range(_SAMPLES):
            yield partial(_sampled, kind, seed)
    if isinstance(unboxed(box), list | tuple):
        for index in reversed(range(len(unboxed(box)))):
            yield partial(_without, index)


def _sampled(kind: EdgeType, seed: int, _: np.ndarray) -> np.ndarray:
    return boxed(kind.as_value(kind.sample(np.random.default_rng(seed))))


def _without(index: int, box: np.ndarray) -> np.ndarray:
    entries = unboxed(box)
    return boxed(entries[:index] + entries[index + 1 :])


def _filled(number: int | str, index: tuple[int, ...] | None, array: np.ndarray) -> np.ndarray:
    new = array.copy()
    new[... if index is None or len(index) != array.ndim else index] = number
    return new


def _rounded(array: np.ndarray) -> np.ndarray:
    if not np.issubdtype(array.dtype, np.floating):
        return array
    return np.asarray(np.where(np.isfinite(array), np.round(array), array).astype(array.dtype))


def _halved(array: np.ndarray) -> np.ndarray:
    """Halve each whole number, towards zero."""
    return _by(array, np.trunc(_numbers(array) / 2))


def _nearer(step: int, array: np.ndarray) -> np.ndarray:
    """Move each whole number that is large enough towards zero by a step."""
    numbers = _numbers(array)
    return _by(array, np.where(np.abs(numbers) >= step, numbers - step * np.sign(numbers), numbers))


def _numbers(array: np.ndarray) -> np.ndarray:
    return np.asarray(np.where(np.isfinite(array), array, 0), np.float64)


def _by(array: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Replace the integers of an array up to 2**53."""
    whole = np.isfinite(array) & (np.abs(_numbers(array)) < 2.0**53) & (array == np.round(array))
    return np.where(whole, wanted, array).astype(array.dtype)


def _changed(leaf: str, change: Change, case: Case) -> Case | None:
    """Change the array of a leaf if that makes it simpler."""
    array = case.array(leaf)
    if array is None:
        return None
    try:
        with np.errstate(all="ignore"):
            simpler = change(array)
    except (OverflowError, IndexError):  # an unsigned number, or another shape by now
        return None
    if _complexity(simpler) >= _complexity(array):
        return None
    new = case.copy()
    new.put(leaf, simpler)
    return new


def _complexity(array: np.ndarray) -> float:
    """Return how complicated an array is: small integers, then fractions, then infinities and NaN."""
    if array.dtype == object:
        return len(repr(unboxed(array)))
    if array.dtype.kind == "U":
        return float(np.char.str_len(array).sum() + (array != "a").sum())
    numbers = array.astype(np.float64).ravel()
    finite = np.isfinite(numbers)
    values = np.where(finite, numbers, 0.0)
    size = np.minimum(np.abs(values), 1e6)
    weight = (
        2 * size
        + (np.signbit(numbers) & finite)
        + np.where(values == np.round(values), 0, 1e7)
        + np.where(finite, 0, 1e9)
    )
    return float(weight.sum())
