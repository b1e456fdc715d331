"""Networks of adders that compute a constant matrix product: what they mean, and how they lie in natural numbers.

Numbers 0 to I - 1 are the inputs, number I + k is what adder k gives: ``(first << shifts[0]) ± (second << shifts[1])``.

In hardware no number has a sign. A number n is held as the natural number ``c + n`` or ``c - n``, with a constant c
that is known: a difference is a sum with a complement, ``~b = 2**w - 1 - b``, so that nothing is extended by its sign,
and an adder costs as many bits as its operands overlap. All constants meet at the end, where the bias is added anyway.
"""

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.types import FixedPoint

__all__ = ["Encoding", "HeldSum", "Network", "network"]

_MOST = 1 << 60


class HeldSum(NamedTuple):
    """An adder of natural numbers: the operand that is not shifted, and the one that is.

    Attributes
    ----------
    low, high : int
        Numbers of the operands.
    low_inverted, high_inverted : bool
        Whether the complement is added.
    shift : int
        Places by which ``high`` is shifted left.
    """

    low: int
    high: int
    low_inverted: bool
    high_inverted: bool
    shift: int


class Encoding(NamedTuple):
    """A number n as hardware holds it: ``offset + sign * n'``, where n' is n with inputs counted from their least.

    Attributes
    ----------
    width : int
        Bits.
    sign : int
        1 or -1.
    offset : int
    """

    width: int
    sign: int
    offset: int


class Network(NamedTuple):
    """A network of adders, read.

    Attributes
    ----------
    weights : array of int, shape [O, I]
        The matrix by which it multiplies.
    held : tuple of Encoding
        For each number.
    sums : tuple of HeldSum
        For each adder.
    outputs : tuple of (int, int, int)
        For each row a number, the bits that it is shifted left, and the sign, 0 for a row of zeros.
    depths : tuple of int
        For each number, the adders in series that make it.
    """

    weights: NDArray[np.int64]
    held: tuple[Encoding, ...]
    sums: tuple[HeldSum, ...]
    outputs: tuple[tuple[int, int, int], ...]
    depths: tuple[int, ...]

    @property
    def levels(self) -> int:
        """Adders in series, that of the constants included."""
        return 1 + max((self.depths[number] for number, _, sign in self.outputs if sign), default=0)

    @property
    def used(self) -> list[int]:
        """Adders that reach an output, in order."""
        inputs = self.weights.shape[1]
        reached = {number for number, _, sign in self.outputs if sign}
        for k in reversed(range(len(self.sums))):
            if inputs + k in reached:
                reached.update((self.sums[k].low, self.sums[k].high))
        return [k for k in range(len(self.sums)) if inputs + k in reached]

    @property
    def overlaps(self) -> Counter[int]:
        """Adders by the bits in which their operands overlap: full adders that a synthesis tool must build."""
        return Counter(overlap(self.held, self.sums[k]) for k in self.used)

    @property
    def inverted(self) -> int:
        """Bits of the numbers whose complements are added: inverters, unless a carry chain has them at its inputs."""
        read = {
            number
            for k in self.used
            for number, is_inverted in (
                (self.sums[k].low, self.sums[k].low_inverted),
                (self.sums[k].high, self.sums[k].high_inverted),
            )
            if is_inverted
        }
        return sum(self.held[number].width for number in read)


def overlap(held: tuple[Encoding, ...], added: HeldSum) -> int:
    """Return the bits that both operands of an adder have.

    Examples
    --------
    >>> overlap((Encoding(8, 1, 0), Encoding(4, 1, 0)), HeldSum(0, 1, False, False, 6))
    2
    """
    return max(0, min(held[added.low].width - added.shift, held[added.high].width))


def network(adders: ArrayLike, outputs: ArrayLike, inputs: int, element: FixedPoint) -> Network:
    """Read a network of adders.

    Parameters
    ----------
    adders : array of int, shape [A, 5]
        First and second number, the shift of each, and 1 where the second is subtracted.

    Examples
    --------
    >>> net = network([[0, 1, 0, 2, 1]], [[2, 0, 1], [2, 1, -1], [0, 0, 0]], 2, FixedPoint(True, 8))
    >>> net.weights.tolist(), net.levels, net.overlaps, net.inverted
    ([[1, -4], [-2, 8], [0, 0]], 2, Counter({6: 1}), 8)
    """
    rows, ends = np.asarray(adders, np.int64).reshape(-1, 5), np.asarray(outputs, np.int64)
    if ends.ndim != 2 or ends.shape[1] != 3 or not len(ends):
        raise TypeMismatchError(
            f"outputs of shape {ends.shape}: give [O,3], a number, its shift and its sign for each row"
        )
    return _read(rows.tobytes(), ends.tobytes(), inputs, element)


@lru_cache(maxsize=64)
def _read(adders: bytes, outputs: bytes, inputs: int, element: FixedPoint) -> Network:
    rows = np.frombuffer(adders, np.int64).reshape(-1, 5).tolist()
    ends = [(number, shift, sign) for number, shift, sign in np.frombuffer(outputs, np.int64).reshape(-1, 3).tolist()]
    total = inputs + len(rows)
    for number, shift, sign in ends:
        if not (0 <= number < total and 0 <= shift <= 48 and sign in (-1, 0, 1)):
            raise TypeMismatchError(f"output {(number, shift, sign)}: give one of {total} numbers, 0..48 bits, a sign")
    # forms[n]: the multiple of each input in number n. Inputs count from their least, so each is below 2**width.
    forms = np.zeros((total, inputs), np.int64)
    forms[:inputs] = np.eye(inputs, dtype=np.int64)
    most = (1 << element.width) - 1
    held, depths, sums = [Encoding(element.width, 1, 0)] * inputs, [0] * inputs, []
    for k, (first, second, shift, other_shift, subtract) in enumerate(rows):
        if not (0 <= first < inputs + k and 0 <= second < inputs + k):
            raise TypeMismatchError(f"adder {k} reads the numbers {first} and {second}; give 0 to {inputs + k - 1}")
        if min(shift, other_shift) != 0 or max(shift, other_shift) > 48 or subtract not in (0, 1):
            raise TypeMismatchError(
                f"adder {k} shifts by {shift} and {other_shift}; shift only one of its operands, by 1 to 48 bits"
            )
        added, sign, offset = _held_sum(held, first, second, shift, other_shift, subtract)
        scale = 1 << max(shift, other_shift)
        if max(int(np.abs(forms[first]).sum()), int(np.abs(forms[second]).sum())) * scale * most >= _MOST:
            raise TypeMismatchError(f"adder {k} gives numbers of more than 60 bits; give smaller weights")
        form = forms[inputs + k]
        form += (forms[first] << shift) + (1 - 2 * subtract) * (forms[second] << other_shift)
        greatest = offset + most * int(np.maximum(sign * form, 0).sum())
        held.append(Encoding(max(1, greatest.bit_length()), sign, offset))
        sums.append(added)
        depths.append(1 + max(depths[first], depths[second]))
    weights = np.stack([sign * (forms[number] << shift) for number, shift, sign in ends])
    weights.setflags(write=False)
    return Network(weights, tuple(held), tuple(sums), tuple(ends), tuple(depths))


def _held_sum(
    held: list[Encoding], first: int, second: int, shift: int, other_shift: int, subtract: int
) -> tuple[HeldSum, int, int]:
    """The adder of what is held, and the sign and the offset of its sum."""
    low, high, places = (first, second, other_shift) if shift == 0 else (second, first, shift)
    low_sign, high_sign = held[low].sign, held[high].sign
    if shift == 0:
        high_sign *= 1 - 2 * subtract
    else:
        low_sign *= 1 - 2 * subtract
    inverted, sign = (False, False), low_sign
    if low_sign != high_sign:
        # A complement costs nothing in a bit where both operands of a carry chain have one. Yosys puts the longer one
        # where inverters vanish, so that is inverted; of operands that do not meet, the shorter.
        tail = held[low].width - places
        inverts_low = held[low].width < held[high].width if tail <= 0 else tail > held[high].width
        inverted = inverts_low, not inverts_low
        sign = high_sign if inverted[0] else low_sign
    offsets = [
        (1 << held[n].width) - 1 - held[n].offset if flip else held[n].offset
        for n, flip in zip((low, high), inverted, strict=True)
    ]
    return HeldSum(low, high, *inverted, places), sign, offsets[0] + (offsets[1] << places)
