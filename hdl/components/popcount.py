"""popcount: a matrix of -1, 0 and 1 times bits or ternary numbers, by counting where they agree."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_stages
from graphrewrite.hdl.arithmetic.matrix_products import Fold, check_shapes, fold_of, products, schedule_of
from graphrewrite.hdl.component import Component, Generic, Resources, Site, buffer_resources, counter_bits, streams
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.cost import entries
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["POPCOUNT", "popcount"]

_CODINGS = {"bipolar": FixedPoint(False, 1), "binary": FixedPoint(False, 1), "ternary": FixedPoint(True, 2)}
_CHUNK = 36
"""Agreements that are counted at once, where a pipeline stage ends within the count."""


def _infer(
    x: Type,
    *,
    weights: ArrayLike,
    bias: ArrayLike,
    element: FixedPoint,
    coding: str = "bipolar",
    lanes: int | None = None,
    groups: int = 1,
    over: str = "position",
    stages: int = 1,
) -> Stream:
    (given,) = streams(x)
    matrix, offset = np.asarray(weights), np.asarray(bias, np.int64)
    if coding not in _CODINGS:
        raise TypeMismatchError(f"coding={coding!r}: give one of {', '.join(_CODINGS)}")
    if (given.element.signed, given.element.width) != (_CODINGS[coding].signed, _CODINGS[coding].width):
        raise TypeMismatchError(f"{given} does not hold {coding} numbers; requantise to {_CODINGS[coding]}")
    inputs = check_shapes(given, matrix, offset, groups=groups, over=over)
    if matrix.dtype.kind not in "iu" or not np.isin(matrix, (-1, 0, 1)).all():
        raise TypeMismatchError("a weight is not -1, 0 or 1; use matvec")
    if element.width > 31:
        raise TypeMismatchError(f"{element} has more than the 31 bits that a sum may have; give a narrower format")
    shape = (len(matrix), *(given.shape[1:] if over == "position" else ()))
    (result,) = streams(Stream(element, shape, len(matrix) if lanes is None else lanes))
    fold = fold_of(len(matrix), inputs, groups, given.lanes, result.lanes)
    check_stages(stages, _most_stages(fold))
    reach = np.abs(matrix.astype(np.int64)).sum(axis=1)
    least = offset - (reach if coding != "binary" else (matrix < 0).sum(axis=1))
    most = offset + (reach if coding != "binary" else (matrix > 0).sum(axis=1))
    low, high = int(least.min()), int(most.max())
    if low < element.minimum or high > element.maximum:
        need = FixedPoint.holding(low, high, element.fraction)
        raise TypeMismatchError(f"sums of {low} to {high} exceed {element}; give {need} or wider")
    return result


def _most_stages(fold: Fold) -> int:
    """Sums; counts; agreements; parts of counts."""
    return 3 + (fold.terms > _CHUNK)


def _products(types: Sequence[Any], result: Stream, attributes: Mapping[str, Any]) -> int:
    return entries(result.shape) * int(np.shape(attributes["weights"])[1])


@define_op(level="stream", infer=_infer, cost=_products)
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


def _fold(site: Site) -> Fold:
    outputs, columns = np.shape(site.attributes["weights"])
    groups = site.attributes["groups"]
    return fold_of(outputs, columns * groups, groups, site.operands[0].lanes, site.results[0].lanes)


def _schedule(site: Site) -> Schedule:
    return schedule_of(_fold(site), site.operands[0].beats, 1 + int(site.attributes["stages"]))


def _is_masked(site: Site) -> bool:
    """Whether weights need a second bit: some are 0."""
    return not np.asarray(site.attributes["weights"]).all()


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    matrix = np.asarray(site.attributes["weights"], np.int64)
    outputs, columns = matrix.shape
    bipolar = site.attributes["coding"] == "bipolar"
    return {
        "INPUTS": columns * site.attributes["groups"],
        "OUTPUTS": outputs,
        "GROUPS": site.attributes["groups"],
        "X_LANES": x.lanes,
        "Z_LANES": z.lanes,
        "X_WIDTH": x.element.width,
        "BIPOLAR": bipolar,
        "Z_WIDTH": z.element.width,
        "MASKED": _is_masked(site),
        "WEIGHTS": matrix.ravel(),
        # Twice an agreement, less one for each weight, is what a bipolar number adds.
        "BIAS": np.asarray(site.attributes["bias"], np.int64) - (np.abs(matrix).sum(axis=1) if bipolar else 0),
        "STAGES": site.attributes["stages"],
        "CAPACITY": _schedule(site).capacity[0],
    }


def _resources(site: Site) -> Resources:
    fold, stages = _fold(site), site.attributes["stages"]
    x, z = site.operands[0], site.results[0]
    matrix = np.asarray(site.attributes["weights"], np.int64)
    counts = 1 if site.attributes["coding"] == "bipolar" else 2
    row = z.lanes * fold.terms * (1 + _is_masked(site))
    parts = -(-fold.terms // _CHUNK) * counter_bits(_CHUNK + 1)
    ranks = (stages > 1) * counter_bits(fold.terms + 1) + (stages > 2) * fold.terms + (stages > 3) * parts
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
        registers=z.payload_width + z.lanes * counts * ranks + 2 * stages - 1,
        pieces=pieces,
    )
    if fold.steps > 1:
        kept = x.payload_width * fold.parts if fold.passes > 1 else 0
        results = fold.blocks * fold.passes
        counters = sum(map(counter_bits, (fold.steps, results, fold.passes, fold.parts)))
        biases = z.payload_width * results
        registers = row + counters + (z.payload_width if results > 1 else 0) + (x.payload_width if kept else 0)
        memory = row * fold.steps + (biases if results > 1 else 0) + (kept if fold.parts > 1 else 0)
        pieces = (
            Piece("rom", 1, row, fold.steps),
            Piece("rom", 1, z.payload_width if results > 1 else 0, results),
            Piece("select", 1, z.payload_width if fold.parts > 1 else 0, 2),
            Piece("ram", 1, x.payload_width if kept and fold.parts > 1 else 0, fold.parts),
            Piece("select", 1, x.payload_width if kept else 0, 2),
            Piece("counter", 1, counters),
        )
        own = own.plus(Resources(registers=registers, memory_bits=memory, pieces=pieces))
    return own.plus(buffer_resources(z.payload_width, _schedule(site).capacity[0]))


POPCOUNT = Component(popcount, "popcount.vhd", _generics, _schedule, _resources)
"""The component of `popcount`."""
