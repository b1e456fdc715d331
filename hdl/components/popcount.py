"""popcount: a matrix of -1, 0 and 1 times bits or ternary numbers, by counting where they agree."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range, check_stages
from graphrewrite.hdl.arithmetic.matrix_products import (
    Fold,
    count_products,
    fold_at,
    folded,
    products,
    schedule_of,
    shape_generics,
)
from graphrewrite.hdl.component import Generic, Resources, Site, buffered, counter_bits, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["POPCOUNT", "popcount"]

_CODINGS = {"bipolar": FixedPoint(False, 1), "binary": FixedPoint(False, 1), "ternary": FixedPoint(True, 2)}
_CHUNK = 36
"""Agreements that are counted at once, where a pipeline stage ends within the count."""


def _infer(
    x: Type, *, weights: ArrayLike, bias: ArrayLike, element: FixedPoint, coding: str, stages: int, **spread: Any
) -> Stream:
    (stream,) = streams(x)
    matrix, offset = np.asarray(weights), np.asarray(bias, np.int64)
    if coding not in _CODINGS:
        raise TypeMismatchError(f"coding={coding!r}: give one of {', '.join(_CODINGS)}")
    if (stream.element.signed, stream.element.width) != (_CODINGS[coding].signed, _CODINGS[coding].width):
        raise TypeMismatchError(f"{stream} does not hold {coding} numbers; requantise to {_CODINGS[coding]}")
    result, fold = folded(stream, matrix, offset, element, **spread)
    if matrix.dtype.kind not in "iu" or not np.isin(matrix, (-1, 0, 1)).all():
        raise TypeMismatchError("a weight is not -1, 0 or 1; use matvec")
    if element.width > 31:
        raise TypeMismatchError(f"{element} has more than the 31 bits that a sum may have; give a narrower format")
    check_stages(stages, _most_stages(fold))
    # A bipolar or ternary number may add a weight or subtract it; a bit adds it or does not.
    reach = np.abs(matrix.astype(np.int64)).sum(axis=1)
    least = offset - (reach if coding != "binary" else (matrix < 0).sum(axis=1))
    most = offset + (reach if coding != "binary" else (matrix > 0).sum(axis=1))
    check_range("sums", int(least.min()), int(most.max()), element)
    return result


def _most_stages(fold: Fold) -> int:
    """Sums; counts; agreements; parts of counts."""
    return 3 + (fold.terms > _CHUNK)


@define_op(level="stream", infer=_infer, cost=count_products)
def popcount(
    x: NDArray[np.integer],
    *,
    weights: ArrayLike,
    bias: ArrayLike,
    element: FixedPoint,
    coding: str = "bipolar",
    lanes: int | None = None,
    groups: int = 1,
    over: str = "position",
    stages: int = 1,
) -> NDArray[np.integer]:
    """Return ``weights @ value(x) + bias`` at every position, or of a whole frame, for weights of -1, 0 and 1.

    For bipolar numbers it is twice the count of agreeing signs, less the count of weights that are not 0 (Rastegari et
    al. 2016, XNOR-Net). No multiplier is needed.

    Parameters
    ----------
    weights : array of int, shape [O, I]
        Of -1, 0 and 1. I is C / groups; over a frame, its numbers position by position: column ``p * C + c``.
    element : FixedPoint
        Format of the sums, of up to 31 bits.
    coding : "bipolar", "binary" or "ternary"
        What a number stands for: a bit, -1 for 0 and 1 for 1; a bit, itself; or two bits, -1, 0 or 1. A ternary -2 does
        not occur; it would count as 0.
    over : "position" or "frame"
        Whether each position is a vector, or all of a frame together.
    stages : int
        Pipeline stages: 2 splits before the sum, 3 before the count, 4 within counts of more than 36.

    Examples
    --------
    >>> s4 = FixedPoint(True, 4)
    >>> popcount(np.array([[1, 0, 1]]), weights=[[1, 1, 1], [1, -1, 0]], bias=[0, 1], element=s4).tolist()
    [[1, 3]]
    """
    numbers = 2 * x.astype(np.int8) - 1 if coding == "bipolar" else np.where(x == -2, 0, x).astype(np.int8)
    return products(numbers, weights, bias, groups=groups, over=over).astype(element.dtype)


def _schedule(site: Site) -> Schedule:
    return schedule_of(fold_at(site), site.operands[0].beats, 1 + int(site.attributes["stages"]))


def _is_masked(site: Site) -> bool:
    """Whether weights need a second bit: some are 0."""
    return not np.asarray(site.attributes["weights"]).all()


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    matrix = np.asarray(site.attributes["weights"], np.int64)
    bipolar = site.attributes["coding"] == "bipolar"
    return {
        **shape_generics(site),
        "X_WIDTH": x.element.width,
        "BIPOLAR": bipolar,
        "Z_WIDTH": z.element.width,
        "MASKED": _is_masked(site),
        "WEIGHTS": matrix.ravel(),
        # Twice an agreement, less one for each weight, is what a bipolar number adds.
        "BIAS": np.asarray(site.attributes["bias"], np.int64) - (np.abs(matrix).sum(axis=1) if bipolar else 0),
        "STAGES": site.attributes["stages"],
    }


def _resources(site: Site) -> Resources:
    fold, stages = fold_at(site), site.attributes["stages"]
    x, z = site.operands[0], site.results[0]
    matrix = np.asarray(site.attributes["weights"], np.int64)
    counts = 1 if site.attributes["coding"] == "bipolar" else 2
    row = z.lanes * fold.terms * (1 + _is_masked(site))
    parts = -(-fold.terms // _CHUNK) * counter_bits(_CHUNK + 1)
    stage_registers = (stages > 1) * counter_bits(fold.terms + 1) + (stages > 2) * fold.terms + (stages > 3) * parts
    # Six agreements make a number of three bits without an adder.
    tree = int(np.count_nonzero(matrix)) // 6 if fold.steps == 1 else z.lanes * (-(-fold.terms // 6) - 1)
    flags = int(np.count_nonzero(matrix)) if fold.steps == 1 else z.lanes * fold.terms
    pieces: tuple[Piece, ...] = (
        # Six agreements make three bits; an addition has about half of the bits of the result.
        Piece("logic", counts, flags // 2 if fold.steps == 1 else flags * 3 // 2),
        Piece("add", counts * tree, (counter_bits(fold.terms + 1) + 3) // 2),
        Piece("add", z.lanes * counts if fold.parts > 1 else 0, z.element.width),
    )
    own = Resources(
        adders=counts * tree + z.lanes,
        registers=z.payload_width + z.lanes * counts * stage_registers + stages - 1,
        pieces=pieces,
    )
    if fold.steps == 1:
        return own
    stored = x.payload_width * fold.parts if fold.passes > 1 else 0
    results = fold.blocks * fold.passes
    counters = sum(map(counter_bits, (fold.steps, results, fold.passes, fold.parts)))
    biases = z.payload_width * results
    registers = row + counters + (z.payload_width if results > 1 else 0) + (x.payload_width if stored else 0)
    memory = row * fold.steps + (biases if results > 1 else 0) + (stored if fold.parts > 1 else 0)
    pieces = (
        Piece("rom", 1, row, fold.steps),
        Piece("rom", 1, z.payload_width if results > 1 else 0, results),
        Piece("select", 1, z.payload_width if fold.parts > 1 else 0, 2),
        Piece("ram", 1, x.payload_width if stored and fold.parts > 1 else 0, fold.parts),
        Piece("select", 1, x.payload_width if stored else 0, 2),
        Piece("counter", 1, counters),
    )
    return own.plus(Resources(registers=registers, memory_bits=memory, pieces=pieces))


POPCOUNT = buffered(popcount, "popcount.vhd", _generics, _schedule, _resources)
"""The component of `popcount`."""
