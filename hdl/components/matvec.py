"""matvec: a matrix times the channels of each position, or times a whole frame, exact."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range, different_bits
from graphrewrite.hdl.arithmetic.constant_products import ConstantSums, constant_sums
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
from graphrewrite.hdl.generics import long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["MATVEC", "matvec"]

_INTEGER_BITS = 31  # where all numbers have so few bits, the entity computes with VHDL's integers


def _infer(x: Type, *, weights: ArrayLike, bias: ArrayLike, element: FixedPoint, stages: int, **spread: Any) -> Stream:
    (stream,) = streams(x)
    matrix, offset = np.asarray(weights, np.int64), np.asarray(bias, np.int64)
    result, fold = folded(stream, matrix, offset, element, **spread)
    if not 1 <= stages <= _most_stages(fold):
        raise TypeMismatchError(f"stages={stages}: this product has use for 1 to {_most_stages(fold)} pipeline stages")
    if FixedPoint.holding(int(matrix.min()), int(matrix.max())).width > 30:
        raise TypeMismatchError("a weight exceeds 30 bits; quantise the weights to a narrower format")
    ends = matrix * stream.element.minimum, matrix * stream.element.maximum
    # Zero lies in every term's range: these bounds hold for the partial sums of several steps, too.
    low = int((np.minimum(*ends).sum(axis=1) + offset).min())
    high = int((np.maximum(*ends).sum(axis=1) + offset).max())
    check_range("sums", low, high, element)
    return result


def _most_stages(fold: Fold) -> int:
    """Sums; then products; then operands; then each level of the tree that adds the products."""
    return 3 + counter_bits(fold.terms)


@define_op(level="stream", infer=_infer, cost=count_products)
def matvec(
    x: NDArray[np.integer],
    *,
    weights: ArrayLike,
    bias: ArrayLike,
    element: FixedPoint,
    lanes: int | None = None,
    groups: int = 1,
    over: str = "position",
    stages: int = 1,
) -> NDArray[np.integer]:
    """Return ``weights @ x + bias`` at every position, or of a whole frame, in an accumulator that holds every sum.

    In one cycle the hardware works on the lanes of a beat of ``x`` and on ``lanes`` rows: one multiplier for each pair.

    Parameters
    ----------
    weights : array of int, shape [O, I]
        I is C / groups; over a frame, its numbers position by position: column ``p * C + c``.
    over : "position" or "frame"
        Whether each position is a vector, or all of a frame together.
    stages : int
        Pipeline stages: 2 splits before the sum, 3 before the products, more within the tree of additions.

    Examples
    --------
    >>> x = np.array([[1, 2], [3, 4]], np.int8)
    >>> element = FixedPoint(True, 16)
    >>> matvec(x, weights=[[1, 1], [2, -1], [0, 3]], bias=[0, 10, 0], element=element, lanes=1).tolist()
    [[3, 10, 6], [7, 12, 12]]
    >>> matvec(x, weights=[[1], [2], [3], [4]], bias=[0, 0, 0, 0], element=element, groups=2).tolist()
    [[1, 2, 6, 8], [3, 6, 12, 16]]
    """
    return products(x, weights, bias, groups=groups, over=over).astype(element.dtype)


def _schedule(site: Site) -> Schedule:
    return schedule_of(fold_at(site), site.operands[0].beats, 1 + int(site.attributes["stages"]))


def _weight_width(weights: ArrayLike) -> int:
    matrix = np.asarray(weights)
    return FixedPoint.holding(min(int(matrix.min()), -1), int(matrix.max())).width


def _term_width(site: Site) -> int:
    """Bits of every sum of some products of one step, for every row."""
    element, fold = site.operands[0].element, fold_at(site)
    matrix = np.asarray(site.attributes["weights"], np.int64)
    terms = matrix.reshape(len(matrix), -1, fold.terms)
    ends = terms * element.minimum, terms * element.maximum
    low, high = int(np.minimum(*ends).sum(axis=2).min()), int(np.maximum(*ends).sum(axis=2).max())
    return FixedPoint.holding(min(low, -1), max(high, 0)).width


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    weights, bias = (np.asarray(site.attributes[name], np.int64) for name in ("weights", "bias"))
    terms = _term_width(site)
    long = max(x.element.width, z.element.width, terms) > _INTEGER_BITS
    return {
        **shape_generics(site),
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        "Z_SIGNED": z.element.signed,
        "WEIGHT_WIDTH": _weight_width(weights),
        "TERM_WIDTH": terms,
        "WEIGHTS": weights.ravel(),
        **long_vector("BIAS", bias, long=long),
        "STAGES": site.attributes["stages"],
    }


def _rows(site: Site, fold: Fold) -> NDArray[np.int64]:
    """The weights of each step."""
    lanes = site.results[0].lanes
    matrix = np.asarray(site.attributes["weights"], np.int64).reshape(-1, lanes, fold.parts, fold.terms)
    return np.moveaxis(matrix, 2, 1).reshape(fold.steps, lanes * fold.terms)


def _constant_sums(site: Site, width: int) -> list[ConstantSums]:
    """Costs of the products of each group where all weights are constants."""
    element, apart = site.operands[0].element, site.attributes["stages"] > 1
    groups = np.split(np.asarray(site.attributes["weights"], np.int64), site.attributes["groups"])
    return [constant_sums(group, element, width, apart=apart) for group in groups]


def _resources(site: Site) -> Resources:
    fold = fold_at(site)
    x, z = site.operands[0], site.results[0]
    matrix = np.abs(np.asarray(site.attributes["weights"], np.int64))
    stages = site.attributes["stages"]
    multipliers = z.lanes * fold.terms
    width = _weight_width(site.attributes["weights"])
    row = multipliers * width
    # Pipeline registers hold products, then operands and weights, then sums of some products.
    term = _term_width(site)
    stage_registers = (stages > 1) * multipliers * term + (stages > 2) * (x.payload_width + row * (fold.steps > 1))
    levels, cuts = counter_bits(fold.terms), max(stages - 3, 0)
    cut = [n for n in range(1, levels + 1) if n * cuts // levels > (n - 1) * cuts // levels]
    stage_registers += sum(-(-fold.terms // 2**n) for n in cut) * z.lanes * term
    if fold.steps == 1:
        sums = _constant_sums(site, term)
        if stages > 1:
            # Equal products share their registers.
            stage_registers += sum(one.held for one in sums) - multipliers * term
        products = int(np.count_nonzero(matrix & (matrix - 1)))
        return Resources(
            products,
            int(np.count_nonzero(matrix)),
            z.payload_width + stages - 1 + stage_registers,
            pieces=(
                *(Piece("saved", 1, one.saved) for one in sums),
                *(Piece("chain", n, bits, int(stages == 1)) for one in sums for bits, n in one.chains.items()),
                *(Piece("further", n, bits) for one in sums for bits, n in one.additions.items()),
                Piece("increment", z.lanes, z.element.width),
            ),
        )
    results = fold.blocks * fold.passes
    bias = np.reshape(site.attributes["bias"], (results, z.lanes))
    offsets = z.lanes * _weight_width(bias)
    weight_bits, bias_bits = different_bits(_rows(site, fold), width), different_bits(bias, z.element.width)
    stored = x.payload_width if fold.passes > 1 else 0
    counters = sum(map(counter_bits, (fold.steps, results, fold.passes, fold.parts)))
    registers = weight_bits + bias_bits + z.payload_width + stored + stage_registers + counters + stages
    memory = row * fold.steps + z.payload_width * results + (stored * fold.parts if fold.parts > 1 else 0)
    pieces = (
        Piece("product", multipliers, x.element.width + (not x.element.signed), width),
        Piece("rank", 1, stage_registers),
        Piece("sum", z.lanes, z.element.width, fold.terms),
        Piece("start", z.lanes, z.element.width if fold.parts > 1 else 0),
        Piece("rom", 1, row, fold.steps, row - weight_bits),
        Piece("rom", 1, offsets, results, offsets - bias_bits),
        Piece("ram", 1, stored if fold.parts > 1 else 0, fold.parts),
        Piece("select", 1, stored, 2),
        # Two of them are there twice, one step ahead.
        Piece("counter", 1, counters + counter_bits(fold.steps) + counter_bits(fold.parts)),
    )
    return Resources(multipliers, multipliers, registers, memory, pieces)


MATVEC = buffered(matvec, "matvec.vhd", _generics, _schedule, _resources)
"""The component of `matvec`."""
