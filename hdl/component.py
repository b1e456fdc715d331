"""What a hardware component is: an op, a VHDL entity, when it takes and gives beats, and what it costs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.op.op import Op
from graphrewrite.types import Stream, Type

__all__ = [
    "LANE_BITS",
    "Component",
    "Generic",
    "Resources",
    "Site",
    "buffer_resources",
    "counter_bits",
    "per_beat",
    "spaced",
    "streams",
]

LANE_BITS = 48
"""The widest number that components compute with: two generics carry it, as VHDL's integers have 32 bits."""
Generic = bool | int | NDArray[np.int64]
"""A value of a VHDL generic; an array is an ``integer_vector``."""


@dataclass(frozen=True)
class Site:
    """One use of a component: the streams at its ports and the op's attributes, with defaults filled in.

    Examples
    --------
    >>> from graphrewrite.hdl.components.fifo import fifo
    >>> from graphrewrite.types import FixedPoint
    >>> site = Site.of(fifo, Stream(FixedPoint(True, 8), (4, 10)), depth=3)
    >>> print(site.results[0], site.attributes)
    stream s8f0[4,10] {'depth': 3}
    """

    operands: tuple[Stream, ...]
    results: tuple[Stream, ...]
    attributes: Mapping[str, Any]

    @classmethod
    def of(cls, op: Op, *operands: Stream, **attributes: Any) -> "Site":
        """Return the site of an op on streams of these types.

        Parameters
        ----------
        op : Op
            An op of the stream level.
        *operands : Stream
            Types of the operands.
        **attributes
            Attributes of the op.

        Returns
        -------
        Site
        """
        return cls(operands, streams(*op.infer(*operands, **attributes)), {**op.attributes, **attributes})


class Resources(NamedTuple):
    """What an instance costs, before any optimisation by a synthesis tool.

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

    Examples
    --------
    >>> Resources(4, 3, 20, 0).plus(Resources(1, 1, 5, 64))
    Resources(multipliers=5, adders=4, registers=25, memory_bits=64)
    """

    multipliers: int = 0
    adders: int = 0
    registers: int = 0
    memory_bits: int = 0

    def plus(self, other: "Resources") -> "Resources":
        """Return the sum, kind by kind."""
        return Resources(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True)
class Component:
    """A hardware component, described in one place.

    Parameters
    ----------
    op : Op
        Its integer meaning in numpy, and the types of its streams.
    template : str
        File of its entity in ``hdl/templates``; the entity is named like the file.
    generics : callable
        Takes a `Site`, returns the values of the entity's generics by name.
    schedule : callable
        Takes a `Site`, returns its `Schedule`.
    resources : callable
        Takes a `Site`, returns its `Resources`.
    """

    op: Op
    template: str
    generics: Callable[[Site], dict[str, Generic]]
    schedule: Callable[[Site], Schedule]
    resources: Callable[[Site], Resources]

    @property
    def entity(self) -> str:
        """Name of the VHDL entity."""
        return self.template.removesuffix(".vhd")


def streams(*types: Type) -> tuple[Stream, ...]:
    """Return the types if all are streams.

    Parameters
    ----------
    *types : Tensor or Stream
        Types of the operands of a stream op.

    Returns
    -------
    tuple of Stream

    Raises
    ------
    TypeMismatchError
        If one is a tensor, or wider than the components compute with.

    Examples
    --------
    >>> from graphrewrite.types import Tensor
    >>> streams(Tensor("f32", (3,)))
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: f32[3] is no stream; lower its producer to the stream level first
    """
    for found in types:
        if not isinstance(found, Stream):
            raise TypeMismatchError(f"{found} is no stream; lower its producer to the stream level first")
        if found.element.width > LANE_BITS:
            raise TypeMismatchError(f"{found}: a lane has at most {LANE_BITS} bits; requantise to a narrower format")
    return tuple(found for found in types if isinstance(found, Stream))


def per_beat(site: Site) -> Schedule:
    """Return the schedule of a component with one step a beat, which takes and gives a beat of every port.

    Parameters
    ----------
    site : Site

    Returns
    -------
    Schedule

    Examples
    --------
    >>> from graphrewrite.types import FixedPoint
    >>> x = Stream(FixedPoint(True, 8), (4, 10))
    >>> per_beat(Site((x,), (x,), {})).steps
    10
    """
    beats = np.arange(site.results[0].beats)
    return Schedule(len(beats), (beats,) * len(site.operands), (beats,) * len(site.results))


def spaced(steps: int, takes: NDArray[np.int64], gives: NDArray[np.int64], latency: int = 1) -> Schedule:
    """Return a schedule whose output buffer is just large enough never to slow an unhindered run.

    Parameters
    ----------
    steps : int
        Steps of a frame.
    takes, gives : arrays of int
        Step of each beat of the only input and the only output.
    latency : int
        Cycles from giving a beat until it is valid.

    Returns
    -------
    Schedule

    Examples
    --------
    >>> [spaced(2 * n, np.arange(2) * n, np.arange(2) * n, latency=2).capacity for n in (1, 2, 3)]
    [(3,), (2,), (1,)]
    """
    apart = int(np.diff([*gives, int(gives[0]) + steps]).min())
    return Schedule(steps, (takes,), (gives,), latency, (-(-(latency + 1) // apart),))


def counter_bits(values: int) -> int:
    """Return the bits of a counter with that many values.

    Examples
    --------
    >>> counter_bits(1), counter_bits(2), counter_bits(5)
    (0, 1, 3)
    """
    return (values - 1).bit_length()


def buffer_resources(width: int, capacity: int) -> Resources:
    """Return what a ``stream_buffer`` costs: registers up to four beats, a memory above.

    Parameters
    ----------
    width : int
        Bits of a beat.
    capacity : int
        Beats.

    Returns
    -------
    Resources

    Examples
    --------
    >>> buffer_resources(8, 2).registers, buffer_resources(8, 64).memory_bits
    (20, 512)
    """
    control = 2 * counter_bits(capacity + 1)
    if capacity <= 4:
        return Resources(registers=width * capacity + control)
    return Resources(registers=2 * width + control + 2 * counter_bits(capacity) + 1, memory_bits=width * capacity)
