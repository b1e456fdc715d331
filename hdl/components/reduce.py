"""reduce: what `maximum`, `total` and `accumulate` have in common, the entity that joins numbers of a channel."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.arithmetic.channelwise import check_range
from graphrewrite.hdl.component import Component, Generic, Resources, Site, buffered, counter_bits, spaced
from graphrewrite.hdl.resources import Piece
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.op import Op
from graphrewrite.types import FixedPoint, Stream

__all__ = ["Reduction", "exact_sum", "grouped", "lanes_of_groups", "reducing"]

_REGISTERS = 4
"""So many folds lie in registers, more in a memory."""


@dataclass(frozen=True)
class Reduction:
    """One use of the entity.

    Parameters
    ----------
    taps : int
        Numbers of a lane of the result in a beat of the operand.
    rounds : int
        Beats of the operand that a beat of the result is made of.

    Examples
    --------
    >>> x = Stream(FixedPoint(False, 8), (12, 5), lanes=2)
    >>> reduction = Reduction(x, Stream(FixedPoint(False, 8), (6, 5), lanes=2), taps=1, rounds=2, is_sum=False)
    >>> reduction.schedule.steps, reduction.schedule.gives[0][:4].tolist(), reduction.levels
    (30, [3, 4, 5, 9], 1)
    """

    x: Stream
    z: Stream
    taps: int
    rounds: int
    is_sum: bool
    stages: int = 1

    @classmethod
    def of_groups(cls, site: Site, *, is_sum: bool) -> "Reduction":
        """Return the reduction of the groups of channels at each position."""
        x, z = site.operands[0], site.results[0]
        taps = x.lanes // z.lanes
        return cls(x, z, taps, site.attributes["groups"] // taps, is_sum, site.attributes["stages"])

    @property
    def levels(self) -> int:
        """Comparisons or additions one after the other, from a beat of the operand to one of the result."""
        return (self.taps - 1).bit_length() + (self.rounds > 1)

    @property
    def schedule(self) -> Schedule:
        """The steps that take and give beats."""
        beats = np.arange(self.x.beats)
        gives = beats[beats // self.z.folds % self.rounds == self.rounds - 1]
        return spaced(len(beats), beats, gives, self.stages)

    @property
    def generics(self) -> dict[str, Generic]:
        """Generics of the entity."""
        return {
            "LANES": self.z.lanes,
            "TAPS": self.taps,
            "ROUNDS": self.rounds,
            "FOLDS": self.z.folds,
            "IS_SUM": self.is_sum,
            "X_WIDTH": self.x.element.width,
            "X_SIGNED": self.x.element.signed,
            "Z_WIDTH": self.z.element.width,
            "Z_SIGNED": self.z.element.signed,
            "STAGES": self.stages,
        }

    @property
    def resources(self) -> Resources:
        """Its costs."""
        z, several = self.z, self.rounds > 1
        registers = counter_bits(self.rounds) + (counter_bits(z.folds) if several else 0)
        memory = 0
        # After a stage, two or more numbers of a lane are one for each level passed.
        for rank in range(1, self.stages):
            left = -(-self.taps // 2 ** (rank * self.levels // self.stages))
            registers += left * z.payload_width + 2 * several
        if several and z.folds <= _REGISTERS:
            registers += z.folds * z.payload_width
        elif several:
            registers += z.payload_width + counter_bits(z.folds)
            memory = z.folds * z.payload_width
        joins = z.lanes * (self.taps - 1 + several)
        return Resources(
            adders=joins,
            registers=registers,
            memory_bits=memory,
            pieces=(
                Piece("add" if self.is_sum else "compare", joins, z.element.width + 1),
                Piece("select", 0 if self.is_sum else joins, z.element.width, 2),
                Piece("ram", 1, z.payload_width if memory else 0, z.folds),
                Piece("counter", 1, 2 * (counter_bits(self.rounds) + counter_bits(z.folds)) if several else 0),
            ),
        )


def reducing(op: Op, reduction: Callable[[Site], Reduction]) -> Component:
    """Return the component of an op that is a reduction.

    Examples
    --------
    >>> from graphrewrite.hdl.components.total import TOTAL
    >>> TOTAL.template
    'reduce.vhd'
    """
    return buffered(
        op,
        "reduce.vhd",
        lambda site: reduction(site).generics,
        lambda site: reduction(site).schedule,
        lambda site: reduction(site).resources,
    )


def lanes_of_groups(x: Stream, groups: int, blocks: int, element: FixedPoint, stages: int) -> Stream:
    """Return the stream of one number for each ``groups`` numbers of a channel, after checking that there is hardware.

    Raises
    ------
    TypeMismatchError
        If groups do not divide the channels, lanes do not fit the groups, or there are more stages than levels.

    Examples
    --------
    >>> print(lanes_of_groups(Stream(FixedPoint(False, 8), (12, 5), lanes=2), 3, 1, FixedPoint(False, 8), 1))
    stream u8f0[4,5] 2 lanes
    """
    if groups < 1 or blocks < 1 or x.channels % (groups * blocks):
        raise TypeMismatchError(
            f"groups={groups} in {blocks} blocks do not divide the {x.channels} channels of {x}; give divisors"
        )
    channels = x.channels // groups
    if blocks > 1 and x.lanes * blocks != x.channels:
        raise TypeMismatchError(f"a beat of {x} is not one of {blocks} blocks; refold to {x.channels // blocks} lanes")
    if blocks == 1 and channels % x.lanes and x.lanes % channels:
        raise TypeMismatchError(
            f"the {x.lanes} lanes of {x} neither divide {channels} channels nor hold all of them several times; "
            f"refold to a divisor of {channels} first"
        )
    result = Stream(element, (channels, *x.shape[1:]), min(x.lanes, channels) if blocks == 1 else channels // blocks)
    most = max(Reduction(x, result, x.lanes // result.lanes, groups * result.lanes // x.lanes, False).levels, 1)
    if not 1 <= stages <= most:
        raise TypeMismatchError(f"stages={stages}: there are {most} levels to split; give 1 to {most}")
    return result


def grouped(x: NDArray[np.integer], groups: int, blocks: int) -> NDArray[np.integer]:
    """Return the numbers with blocks and groups as axes of their own.

    Examples
    --------
    >>> grouped(np.zeros((1, 12, 5), np.int8), 3, 2).shape
    (1, 2, 3, 2, 5)
    """
    return x.reshape(len(x), blocks, groups, -1, *x.shape[2:])


def exact_sum(x: Stream, count: int, element: FixedPoint) -> None:
    """Raise unless a format holds every sum of ``count`` numbers of a stream.

    Examples
    --------
    >>> exact_sum(Stream(FixedPoint(False, 8), (4,)), 2, FixedPoint(False, 9))
    """
    check_range("sums", count * x.element.minimum, count * x.element.maximum, element)
