"""The bits that hold the numbers of a network of adders, and the pipeline stages that they pass."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.hdl.arithmetic.adder_network import Network
from graphrewrite.types import FixedPoint

__all__ = ["Layout", "layout"]


class Layout(NamedTuple):
    """The layout of every number in one vector of bits, in every pipeline stage.

    Attributes
    ----------
    bits : int
        Length of the vector.
    adders : array of int, shape [A, 9]
        Lowest bit, width and inversion of the lower and of the higher operand, the shift, lowest bit, width of the sum.
    copies : array of int, shape [C, 4]
        Lowest bit before, lowest bit after, width, and the number of the pipeline register between.
    results : array of int, shape [O, 4]
        Place, width (0: none), inversion and shift.
    constants : tuple of int
        What is added to each result, to be taken modulo the width of the sums.
    last_rank : bool
        Whether a pipeline stage ends between the sums and their limits.
    """

    bits: int
    adders: NDArray[np.int64]
    copies: NDArray[np.int64]
    results: NDArray[np.int64]
    constants: tuple[int, ...]
    last_rank: bool = False


def layout(net: Network, bias: ArrayLike, element: FixedPoint, stages: int, *, limited: bool = False) -> Layout:
    """Lay out a network for hardware with some pipeline stages, the last of which ends with the results.

    Parameters
    ----------
    stages : int
        Pipeline stages; 1 to ``net.levels``, and one more where results are limited.

    Examples
    --------
    >>> from graphrewrite.hdl.arithmetic.adder_network import network
    >>> net = network([[0, 1, 0, 2, 1]], [[2, 0, 1]], 2, FixedPoint(True, 8))
    >>> laid = layout(net, [7], FixedPoint(True, 8), 2)
    >>> laid.adders.tolist(), laid.copies.tolist(), laid.results.tolist(), laid.constants
    ([[0, 8, 0, 8, 8, 1, 2, 16, 11]], [[16, 27, 11, 1]], [[27, 11, 0, 0]], (-629,))
    """
    inputs, levels, used = net.weights.shape[1], net.levels + limited, net.used
    final = (net.levels - 1) * stages // levels
    segment = [0 if depth == 0 else (depth - 1) * stages // levels for depth in net.depths]
    # `segment` is the pipeline stage in which a number is made, `last` that of its last reader.
    last = list(segment)
    for number, _, sign in net.outputs:
        if sign:
            last[number] = final
    for k in used:
        for number in (net.sums[k].low, net.sums[k].high):
            last[number] = max(last[number], segment[inputs + k])
    lowest_bit: dict[tuple[int, int], int] = {}
    bits = 0
    numbers = [*range(inputs), *(inputs + k for k in used)]
    for number in numbers:
        lowest_bit[number, segment[number]] = bits
        bits += net.held[number].width
    # A number that is read later passes a register at the end of each stage between.
    copies = []
    for number in numbers:
        width = net.held[number].width
        for stage in range(segment[number] + 1, last[number] + 1):
            lowest_bit[number, stage] = bits
            copies.append((lowest_bit[number, stage - 1], bits, width, stage))
            bits += width
    adders = []
    for k in used:
        added, where = net.sums[k], segment[inputs + k]
        low = lowest_bit[added.low, where], net.held[added.low].width, added.low_inverted
        high = lowest_bit[added.high, where], net.held[added.high].width, added.high_inverted
        adders.append((*low, *high, added.shift, lowest_bit[inputs + k, where], net.held[inputs + k].width))
    # The constants of all numbers of a row meet here, in the one that is added to it.
    results, constants = [], []
    offsets = np.asarray(bias, np.int64).tolist()
    for (number, shift, sign), form, offset in zip(net.outputs, net.weights, offsets, strict=True):
        how = net.held[number]
        inverted = sign * how.sign < 0
        results.append((lowest_bit[number, final], how.width, inverted, shift) if sign else (0, 0, 0, 0))
        # Inputs are counted from their least, numbers are held with an offset, a complement is taken off 2**w - 1.
        start = offset + element.minimum * int(form.sum())
        held_offset = (1 << how.width) - 1 - how.offset if inverted else how.offset
        constants.append(start - (held_offset << shift) if sign else offset)
    return Layout(bits, _table(adders, 9), _table(copies, 4), _table(results, 4), tuple(constants), final < stages - 1)


def _table(rows: Sequence[Sequence[int]], columns: int) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(-1, columns)
