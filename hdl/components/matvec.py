"""matvec: a matrix times the channels of each position, or times a whole frame, exact."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import different_bits
from graphrewrite.hdl.arithmetic.constant_products import ConstantSums, constant_sums
from graphrewrite.hdl.arithmetic.matrix_products import Fold, check_shapes, fold_of, products, schedule_of
from graphrewrite.hdl.component import Component, Generic, Resources, Site, buffer_resources, counter_bits, streams
from graphrewrite.hdl.generics import long_vector
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.cost import entries
from graphrewrite.op.define import define_op
from graphrewrite.types import FixedPoint, Stream, Type

__all__ = ["MATVEC", "matvec"]

_INTEGER_BITS = 31  # where all numbers have so few bits, the entity computes with VHDL's integers


def _infer(
    x: Type,
    *,
    weights: ArrayLike,
    bias: ArrayLike,
    element: FixedPoint,
    lanes: int | None = None,
    groups: int = 1,
    over: str = "position",
    stages: int = 1,
) -> Stream:
    (given,) = streams(x)
    matrix, offset = np.asarray(weights, np.int64), np.asarray(bias, np.int64)
    inputs, outputs = check_shapes(given, matrix, offset, groups=groups, over=over), len(matrix)
    shape = (outputs, *(given.shape[1:] if over == "position" else ()))
    (result,) = streams(Stream(element, shape, outputs if lanes is None else lanes))
    fold = fold_of(outputs, inputs, groups, given.lanes, result.lanes)
    if not 1 <= stages <= _most_stages(fold):
        raise TypeMismatchError(f"stages={stages}: this product has use for 1 to {_most_stages(fold)} pipeline stages")
    if FixedPoint.holding(int(matrix.min()), int(matrix.max())).width > 30:
        raise TypeMismatchError("a weight exceeds 30 bits; quantise the weights to a narrower format")
    ends = matrix * given.element.minimum, matrix * given.element.maximum
    low = int((np.minimum(*ends).sum(axis=1) + offset).min())
    high = int((np.maximum(*ends).sum(axis=1) + offset).max())
    low, high = min(low, int(offset.min())), max(high, int(offset.max()))
    if low < element.minimum or high > element.maximum:
        raise TypeMismatchError(
            f"sums of {low} to {high} exceed {element}; give {FixedPoint.holding(low, high, element.fraction)} or wider"
        )
    return result


def _most_stages(fold: Fold) -> int:
    """Sums; then products; then operands; then each level of the tree that adds the products."""
    return 3 + counter_bits(fold.terms)


def _products(types: Sequence[Any], result: Stream, attributes: Mapping[str, Any]) -> int:
    return entries(result.shape) * int(np.shape(attributes["weights"])[1])


@define_op(level="stream", infer=_infer, cost=_products)
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


def _fold(site: Site) -> Fold:
    x, z = site.operands[0], site.results[0]
    outputs, columns = np.shape(site.attributes["weights"])
    return fold_of(outputs, columns * site.attributes["groups"], site.attributes["groups"], x.lanes, z.lanes)


def _latency(site: Site) -> int:
    return 1 + int(site.attributes["stages"])


def _schedule(site: Site) -> Schedule:
    return schedule_of(_fold(site), site.operands[0].beats, _latency(site))


def _weight_width(weights: ArrayLike) -> int:
    matrix = np.asarray(weights)
    return FixedPoint.holding(min(int(matrix.min()), -1), int(matrix.max())).width


def _term_width(site: Site) -> int:
    """Bits of every sum of some products of one step, for every row."""
    element, fold = site.operands[0].element, _fold(site)
    matrix = np.asarray(site.attributes["weights"], np.int64)
    terms = matrix.reshape(len(matrix), -1, fold.terms)
    ends = terms * element.minimum, terms * element.maximum
    low, high = int(np.minimum(*ends).sum(axis=2).min()), int(np.maximum(*ends).sum(axis=2).max())
    return FixedPoint.holding(min(low, -1), max(high, 0)).width


def _generics(site: Site) -> dict[str, Generic]:
    x, z = site.operands[0], site.results[0]
    outputs, columns = np.shape(site.attributes["weights"])
    bias = np.asarray(site.attributes["bias"], np.int64)
    terms = _term_width(site)
    long = max(x.element.width, z.element.width, terms) > _INTEGER_BITS
    return {
        "INPUTS": columns * site.attributes["groups"],
        "OUTPUTS": outputs,
        "GROUPS": site.attributes["groups"],
        "X_LANES": x.lanes,
        "Z_LANES": z.lanes,
        "X_WIDTH": x.element.width,
        "X_SIGNED": x.element.signed,
        "Z_WIDTH": z.element.width,
        "Z_SIGNED": z.element.signed,
        "WEIGHT_WIDTH": _weight_width(site.attributes["weights"]),
        "TERM_WIDTH": terms,
        "WEIGHTS": np.asarray(site.attributes["weights"], np.int64).ravel(),
        **long_vector("BIAS", bias, long=long),
        "STAGES": site.attributes["stages"],
        "CAPACITY": _schedule(site).capacity[0],
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
    fold = _fold(site)
    x, z = site.operands[0], site.results[0]
    matrix = np.abs(np.asarray(site.attributes["weights"], np.int64))
    stages = site.attributes["stages"]
    multipliers = z.lanes * fold.terms
    width = _weight_width(site.attributes["weights"])
    row = multipliers * width
    # Pipeline registers hold products, then operands and weights, then sums of some products.
    term = _term_width(site)
    ranks = (stages > 1) * multipliers * term + (stages > 2) * (x.payload_width + row * (fold.steps > 1))
    levels, cuts = counter_bits(fold.terms), max(stages - 3, 0)
    cut = [n for n in range(1, levels + 1) if n * cuts // levels > (n - 1) * cuts // levels]
    ranks += sum(-(-fold.terms // 2**n) for n in cut) * z.lanes * term
    if fold.steps == 1:
        sums = _constant_sums(site, term)
        if stages > 1:
            ranks += sum(one.held for one in sums) - multipliers * term  # equal products share their registers
        products = int(np.count_nonzero(matrix & (matrix - 1)))
        own = Resources(
            products,
            int(np.count_nonzero(matrix)),
            z.payload_width + 2 * stages - 1 + ranks,
            pieces=(
                *(Piece("saved", 1, one.saved) for one in sums),
                *(Piece("chain", n, bits, int(stages == 1)) for one in sums for bits, n in one.chains.items()),
                *(Piece("further", n, bits) for one in sums for bits, n in one.additions.items()),
                Piece("increment", z.lanes, z.element.width),
            ),
        )
    else:
        results = fold.blocks * fold.passes
        bias = np.reshape(site.attributes["bias"], (results, z.lanes))
        offsets = z.lanes * _weight_width(bias)
        kept, biases = different_bits(_rows(site, fold), width), different_bits(bias, z.element.width)
        again = x.payload_width if fold.passes > 1 else 0
        counters = sum(map(counter_bits, (fold.steps, results, fold.passes, fold.parts)))
        registers = kept + biases + z.payload_width + again + ranks + counters + 2 * stages
        memory = row * fold.steps + z.payload_width * results + (again * fold.parts if fold.parts > 1 else 0)
        pieces = (
            Piece("product", multipliers, x.element.width + (not x.element.signed), width),
            Piece("rank", 1, ranks),
            Piece("sum", z.lanes, z.element.width, fold.terms),
            Piece("start", z.lanes, z.element.width if fold.parts > 1 else 0),
            Piece("rom", 1, row, fold.steps, row - kept),
            Piece("rom", 1, offsets, results, offsets - biases),
            Piece("ram", 1, again if fold.parts > 1 else 0, fold.parts),
            Piece("select", 1, again, 2),
            # Two of them are there twice, one step ahead.
            Piece("counter", 1, counters + counter_bits(fold.steps) + counter_bits(fold.parts)),
        )
        own = Resources(multipliers, multipliers, registers, memory, pieces)
    return own.plus(buffer_resources(z.payload_width, _schedule(site).capacity[0]))


MATVEC = Component(matvec, "matvec.vhd", _generics, _schedule, _resources)
"""The component of `matvec`."""
