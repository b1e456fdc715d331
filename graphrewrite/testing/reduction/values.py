"""Reduction of values: few rows, then zeros, ones and small integers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from graphrewrite.graph import Graph, Operand
from graphrewrite.testing.failure.values import is_batched
from graphrewrite.testing.reduction.case import Case, Ways
from graphrewrite.testing.rows import rows_of

__all__ = ["simplify_constants", "simplify_inputs", "take_rows"]

_SIMPLE = (0, 1, -1, 2, -2, 3, 4, 8)
"""The simplest first."""
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
    for name in case.graph.inputs:
        for change in _changes(case.inputs[name]):
            yield partial(_with_input, name, change)


def simplify_constants(case: Case) -> Ways:
    """Make the entries of constants simpler: all of one, then each."""
    graph: Graph = case.graph
    for name in graph.in_order():
        if graph._node[name]["type"] == "constant":
            for change in _changes(graph._node[name]["value"]):
                yield partial(_with_constant, name, change)


Change = Callable[[np.ndarray], np.ndarray]


def _changes(array: np.ndarray) -> Iterator[Change]:
    for number in _SIMPLE:
        yield partial(_filled, number, None)
    yield _rounded
    yield _halved
    greatest = int(np.abs(_numbers(array)).max(initial=0))
    for power in reversed(
        range(min(greatest.bit_length(), 53))
    ):  # in rounds, these find the least number that suffices
        yield partial(_nearer, 1 << power)
    if 1 < array.size <= _ENTRIES:
        for index in np.ndindex(array.shape):
            for number in _SIMPLE:
                yield partial(_filled, number, index)


def _filled(number: int, index: tuple[int, ...] | None, array: np.ndarray) -> np.ndarray:
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


def _with_input(name: str, change: Change, case: Case) -> Case | None:
    if name not in case.inputs:
        return None
    new = _simpler(case.inputs[name], change)
    return None if new is None else Case(case.graph, {**case.inputs, name: new})


def _with_constant(name: str, change: Change, case: Case) -> Case | None:
    if name not in case.graph:
        return None
    new = _simpler(case.graph._node[name]["value"], change)
    if new is None:
        return None
    graph = case.graph.copy()
    graph._node[name]["value"] = new
    return Case(graph, case.inputs)


def _simpler(array: np.ndarray, change: Change) -> np.ndarray | None:
    """Return the result of a change if it is simpler."""
    try:
        with np.errstate(all="ignore"):
            new = change(array)
    except (OverflowError, IndexError):  # an unsigned number, or another shape by now
        return None
    return new if _complexity(new) < _complexity(array) else None


def _complexity(array: np.ndarray) -> float:
    """Return how complicated an array is: small integers, then fractions, then infinities and NaN."""
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
