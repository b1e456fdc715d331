"""Matrix products over steps: how they are spread, when they take and give beats, what they compute."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import spaced
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.integer.arithmetic import exact_matmul
from graphrewrite.types import Stream

__all__ = ["Fold", "check_shapes", "fold_of", "products", "schedule_of"]

_OVER = ("position", "frame")


class Fold(NamedTuple):
    """The spread of a matrix product over steps.

    Attributes
    ----------
    blocks : int
        Groups of rows and columns that are worked on one after the other; each takes ``parts`` beats.
    passes : int
        Beats of results of a block; for each its columns are gone through again.
    parts : int
        Steps of a pass.
    terms : int
        Products that one step adds to a result.
    """

    blocks: int
    passes: int
    parts: int
    terms: int

    @property
    def steps(self) -> int:
        """Steps of one product."""
        return self.blocks * self.passes * self.parts


def fold_of(outputs: int, inputs: int, groups: int, lanes_in: int, lanes_out: int) -> Fold:
    """Return how a product of so many lanes in and out is spread over steps.

    Examples
    --------
    >>> fold_of(64, 160, 1, 1, 8), fold_of(6, 54, 6, 18, 2)
    (Fold(blocks=1, passes=8, parts=160, terms=1), Fold(blocks=3, passes=1, parts=1, terms=9))
    """
    rows, columns = outputs // groups, inputs // groups
    if columns % lanes_in == 0 and rows % lanes_out == 0:
        return Fold(groups, rows // lanes_out, columns // lanes_in, lanes_in)
    together, rest = divmod(lanes_in, columns)
    if rest or groups % together or lanes_out != together * rows:
        raise TypeMismatchError(
            f"{lanes_in} lanes in and {lanes_out} out do not fit {groups} groups of [{rows},{columns}]: give divisors "
            f"of {columns} and of {rows}, or for k groups at once {columns} * k and {rows} * k lanes"
        )
    return Fold(groups // together, 1, 1, columns)


def check_shapes(given: Stream, matrix: NDArray[Any], offset: NDArray[Any], *, groups: int, over: str) -> int:
    """Raise unless a product's weights and bias fit a stream; return how many numbers of it the product sees."""
    if over not in _OVER:
        raise TypeMismatchError(f"over={over!r} is neither 'position' nor 'frame'")
    inputs = given.channels * (given.positions if over == "frame" else 1)
    if groups < 1 or inputs % groups or (over == "frame" and groups != 1):
        raise TypeMismatchError(
            f"groups={groups} does not divide the {inputs} columns for {given}; give 1 or a divisor"
        )
    if matrix.ndim != 2 or not matrix.size or matrix.shape[1] != inputs // groups or offset.shape != matrix.shape[:1]:
        raise TypeMismatchError(
            f"weights {matrix.shape} and bias {offset.shape} do not fit {given}; give [O,{inputs // groups}] and [O]"
        )
    if len(matrix) % groups:
        raise TypeMismatchError(
            f"groups={groups} does not divide the {len(matrix)} rows of the weights; give a divisor"
        )
    return inputs


def products(x: NDArray[Any], weights: ArrayLike, bias: ArrayLike, *, groups: int, over: str) -> NDArray[np.int64]:
    """Return ``weights @ x + bias`` at every position, or of a whole frame; see `matvec`.

    Examples
    --------
    >>> products(np.array([[1, 2]]), [[3], [4]], [0, 1], groups=2, over="position").tolist()
    [[3, 9]]
    """
    matrix = np.asarray(weights, np.int64)
    batch, channels, *positions = x.shape
    rows = np.moveaxis(x.reshape(batch, channels, -1), 1, 2)
    if over == "frame":
        rows, positions = rows.reshape(batch, 1, -1), []
    grouped = rows.reshape(batch, -1, groups, matrix.shape[1])
    # Each product is a whole number of at most 53 bits, or an integer already.
    sums = np.stack([exact_matmul(grouped[:, :, g], m.T) for g, m in enumerate(np.split(matrix, groups))], axis=2)
    found = sums.astype(np.int64).reshape(batch, -1, len(matrix)) + np.asarray(bias, np.int64)
    return np.moveaxis(found, 1, 2).reshape(batch, len(matrix), *positions)


def schedule_of(fold: Fold, beats: int, latency: int) -> Schedule:
    """Return when a product takes and gives beats: of each block, the steps of the first result take one."""
    count = beats // (fold.blocks * fold.parts)
    block = np.arange(count * fold.blocks) * (fold.passes * fold.parts)
    takes = block[:, None] + np.arange(fold.parts)
    gives = block[:, None] + np.arange(fold.passes) * fold.parts + fold.parts - 1
    return spaced(count * fold.steps, takes.ravel(), gives.ravel(), latency)
