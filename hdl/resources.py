"""Costs of an instance of a component: sums for a glance, and pieces that a synthesis can be predicted from."""

from typing import NamedTuple

__all__ = ["Piece", "Resources"]


class Piece(NamedTuple):
    """Some equal pieces of a circuit.

    Attributes
    ----------
    kind : str
        ``add``, ``compare``: two numbers. ``increment``: adds a constant; ``bound``: compares with one. ``invert``:
        numbers whose complement is added. ``select``: one of ``size`` numbers; ``winner``: the greater of two that were
        compared, where it is compared again. ``decode``: enables of as many registers as ``width`` says. ``logic``:
        functions of a few bits. ``counter``: counters, in look-up tables. ``product``: of two numbers that change.
        ``saved``: bits of adders that save their carries, for sums of products by constants; ``chain``: additions after
        these, of ``size`` 1 where no registers stand between; ``further``: those of such sums. ``sum``: accumulators of
        ``size`` products a step; ``start``: a choice of two that carry chains add or compare. ``rank``: registers
        before and after products. ``delay``: ``size`` registers in series. ``rom``, ``ram``: memories of
        ``size`` words, with a registered read; ``ring``: a ``ram`` that may be read where it is being written.
        ``buffer``: a ``stream_buffer`` for ``size`` beats.
    times : int
        How many.
    width : int
        Bits of the numbers.
    size : int
        Bits of the second factor, words, numbers or beats, as the kind says.
    alike : int
        Bits of a memory's word that never change, or are the same as others of them: look-up tables need not hold
        these.
    """

    kind: str
    times: int
    width: int
    size: int = 0
    alike: int = 0


class Resources(NamedTuple):
    """Costs of an instance, before any optimisation by a synthesis tool.

    Attributes
    ----------
    multipliers : int
        Products formed in one cycle; by a constant zero or power of two they cost nothing.
    adders : int
        Additions, subtractions and comparisons of lanes formed in one cycle.
    registers : int
        Bits in flip-flops.
    memory_bits : int
        Bits in read-only and other memories.
    pieces : tuple of Piece
        What it consists of, for predicting a synthesis; where a component names none but its buffers, the sums stand
        in.

    Examples
    --------
    >>> Resources(4, 3, 20, 0).plus(Resources(1, 1, 5, 64, (Piece("rom", 1, 8, 8),)))
    Resources(multipliers=5, adders=4, registers=25, memory_bits=64, pieces=(Piece(kind='rom', times=1, width=8,
    size=8,
    alike=0),))
    """

    multipliers: int = 0
    adders: int = 0
    registers: int = 0
    memory_bits: int = 0
    pieces: tuple[Piece, ...] = ()

    def plus(self, other: "Resources") -> "Resources":
        """Return the sum, kind by kind."""
        counts: dict[Piece, int] = {}
        for piece in (*self.pieces, *other.pieces):
            one = piece._replace(times=1)
            counts[one] = counts.get(one, 0) + piece.times
        return Resources(
            self.multipliers + other.multipliers,
            self.adders + other.adders,
            self.registers + other.registers,
            self.memory_bits + other.memory_bits,
            tuple(one._replace(times=count) for one, count in counts.items() if count),
        )
