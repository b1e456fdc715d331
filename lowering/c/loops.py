"""Loops over the entries of arrays: as few as their places in memory allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphrewrite.lowering.c.arrays import Array, Reference

__all__ = ["block", "counted", "nest", "runs"]

_STEP = "    "

Body = Callable[..., list[str]]


def block(head: str, body: Sequence[str]) -> list[str]:
    """Return a head and, indented in braces, a body."""
    return [f"{head} {{", *(f"{_STEP}{line}" for line in body), "}"]


def counted(variable: str, count: int, body: Sequence[str]) -> list[str]:
    r"""Return a loop that counts.

    Examples
    --------
    >>> print(*counted("k", 3, ["sum += x[k];"]), sep="\n")
    for (int32_t k = 0; k < 3; ++k) {
        sum += x[k];
    }
    """
    return block(f"for (int32_t {variable} = 0; {variable} < {count}; ++{variable})", body)


def nest(shape: Sequence[int], arrays: Sequence[Array], body: Body, *, variable: str = "i") -> list[str]:
    r"""Return loops over all entries of arrays that broadcast to a shape.

    Parameters
    ----------
    shape : sequence of int
        Sizes.
    arrays : sequence of Array
        What is read and written in the loops.
    body : callable
        Called with a reference to an entry of each array; returns lines.
    variable : str
        Stem of the names of the variables that count.

    Examples
    --------
    >>> x, y = (Array(name, np.dtype("float32"), (4, 6), (6, 1)) for name in "xy")
    >>> print(*nest((4, 6), [y, x], lambda y, x: [f"{y} = -{x};"]), sep="\n")
    for (int32_t i0 = 0; i0 < 24; ++i0) {
        y[i0] = -x[i0];
    }
    """
    spread = [array.broadcast(shape) for array in arrays]
    if 0 in shape:
        return []
    sizes, strides = _collapsed(shape, [array.strides for array in spread])
    names = [f"{variable}{axis}" for axis in range(len(sizes))]
    references: list[Reference] = [
        array.entry(zip(names, own, strict=True)) for array, own in zip(spread, strides, strict=True)
    ]
    lines = body(*references)
    for name, size in zip(reversed(names), reversed(sizes), strict=True):
        lines = counted(name, size, lines)
    return lines


def _collapsed(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Return sizes and strides of fewer axes: without those of size 1, and neighbours merged that lie in one row."""
    sizes: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for axis in reversed(range(len(shape))):
        if shape[axis] == 1:
            continue
        if sizes and all(own[axis] == kept[0] * sizes[0] for own, kept in zip(strides, merged, strict=True)):
            sizes[0] *= shape[axis]
            continue
        sizes.insert(0, shape[axis])
        for own, kept in zip(strides, merged, strict=True):
            kept.insert(0, own[axis])
    return sizes, merged


def runs(*sequences: np.ndarray) -> list[tuple[int, list[int]]] | None:
    """Return sizes and strides of loops, outermost first, that visit sequences of numbers together; None if none do.

    Examples
    --------
    >>> runs(np.arange(6), np.arange(6).reshape(2, 3).T.ravel())
    [(3, [2, 1]), (2, [1, 3])]
    """
    table = np.stack(sequences)
    count = table.shape[1]
    if count == 1:
        return []
    steps = np.diff(table, axis=1)
    other = np.flatnonzero((steps != steps[:, :1]).any(axis=0))
    longest = int(other[0]) + 1 if len(other) else count
    for length in range(longest, 1, -1):
        if count % length:
            continue
        rows = table.reshape(len(sequences), -1, length)
        if not (rows - rows[:, :, :1] == rows[:, :1] - rows[:, :1, :1]).all():
            continue
        outer = runs(*rows[:, :, 0])
        if outer is not None:
            return [*outer, (length, steps[:, 0].tolist())]
    return None
