"""Matrix products over steps: how they are spread, when they take and give beats, what they compute."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.component import Generic, Site, spaced, streams
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.cost import entries
from graphrewrite.op.integer.arithmetic import exact_matmul
from graphrewrite.types import FixedPoint, Stream

__all__ = ["Fold", "count_products", "fold_at", "fold_of", "folded", "products", "schedule_of", "shape_generics"]

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
    # Else lanes hold several whole groups, whose products are formed side by side.
    together, rest = divmod(lanes_in, columns)
    if rest or groups % together or lanes_out != together * rows:
        raise TypeMismatchError(
            f"{lanes_in} lanes in and {lanes_out} out do not fit {groups} groups of [{rows},{columns}]: give divisors "
            f"of {columns} and of {rows}, or for k groups at once {columns} * k and {rows} * k lanes"
        )
    return Fold(groups // together, 1, 1, columns)


def fold_at(site: Site) -> Fold:
    """Return how the product at a site is spread over steps."""
    outputs, columns = np.shape(site.attributes["weights"])
    groups = site.attributes["groups"]
    return fold_of(outputs, columns * groups, groups, site.operands[0].lanes, site.results[0].lanes)


def shape_generics(site: Site) -> dict[str, Generic]:
    """Return the generics for the shape of a product: rows, columns, groups, lanes."""
    outputs, columns = np.shape(site.attributes["weights"])
    return {
        "INPUTS": columns * site.attributes["groups"],
        "OUTPUTS": outputs,
        "GROUPS": site.attributes["groups"],
        "X_LANES": site.operands[0].lanes,
        "Z_LANES": site.results[0].lanes,
    }


def count_products(types: Sequence[Any], result: Stream, attributes: Mapping[str, Any]) -> int:
    """Return the multiplications of a frame, as an op's cost."""
    return entries(result.shape) * int(np.shape(attributes["weights"])[1])


def folded(
    x: Stream,
    matrix: NDArray[Any],
    offset: NDArray[Any],
    element: FixedPoint,
    *,
    lanes: int | None,
    groups: int,
    over: str,
) -> tuple[Stream, Fold]:
    """Return the stream of a product of a stream, and how it is spread; raise unless weights and bias fit."""
    if over not in _OVER:
        raise TypeMismatchError(f"over={over!r} is neither 'position' nor 'frame'")
    inputs = x.channels * (x.positions if over == "frame" else 1)
    if groups < 1 or inputs % groups or (over == "frame" and groups != 1):
        raise TypeMismatchError(f"groups={groups} does not divide the {inputs} columns for {x}; give 1 or a divisor")
    if matrix.ndim != 2 or not matrix.size or matrix.shape[1] != inputs // groups or offset.shape != matrix.shape[:1]:
        raise TypeMismatchError(
            f"weights {matrix.shape} and bias {offset.shape} do not fit {x}; give [O,{inputs // groups}] and [O]"
        )
    if len(matrix) % groups:
        raise TypeMismatchError(
            f"groups={groups} does not divide the {len(matrix)} rows of the weights; give a divisor"
        )
    shape = (len(matrix), *(x.shape[1:] if over == "position" else ()))
    (result,) = streams(Stream(element, shape, len(matrix) if lanes is None else lanes))
    return result, fold_of(len(matrix), inputs, groups, x.lanes, result.lanes)


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
    results = sums.astype(np.int64).reshape(batch, -1, len(matrix)) + np.asarray(bias, np.int64)
    return np.moveaxis(results, 1, 2).reshape(batch, len(matrix), *positions)


def schedule_of(fold: Fold, beats: int, latency: int) -> Schedule:
    """Return when a product takes and gives beats: of each block, the steps of the first result take one."""
    count = beats // (fold.blocks * fold.parts)
    block = np.arange(count * fold.blocks) * (fold.passes * fold.parts)
    takes = block[:, None] + np.arange(fold.parts)
    gives = block[:, None] + np.arange(fold.passes) * fold.parts + fold.parts - 1
    return spaced(count * fold.steps, takes.ravel(), gives.ravel(), latency)
