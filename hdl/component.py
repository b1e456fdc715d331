"""Hardware components: an op, a VHDL entity, the steps that take and give beats, and the costs."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import TypeMismatchError
from graphrewrite.hdl.errors import ComponentError
from graphrewrite.hdl.resources import Piece, Resources
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
    "buffered",
    "buffers",
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
        """
        return cls(operands, streams(*op.infer(*operands, **attributes)), {**op.attributes, **attributes})


def _unknown(site: Site) -> Resources:
    return Resources()


_ABSENT: Any = None


@dataclass(frozen=True)
class Component:
    """A hardware component, described at once: its meaning, its entity, its timing.

    Parameters
    ----------
    op : Op
        Its integer meaning in numpy, and the types of its streams; of the level ``stream``.
    template : str or Path
        The file of its entity, which is named like the file: a name in ``hdl/templates``, or the path of a file
        anywhere.
    generics : callable
        Takes a `Site`, returns the values of the entity's generics by name.
    schedule : callable
        Takes a `Site`, returns its `Schedule`; `per_beat` where each step takes and gives one beat.
    resources : callable
        Takes a `Site`, returns its `Resources`; where not given, it counts as nothing in reports.

    Raises
    ------
    ComponentError
        If a part is missing.

    Examples
    --------
    >>> from graphrewrite.hdl.components.fork import FORK, fork
    >>> Component(fork, "fork.vhd", FORK.generics, FORK.schedule).entity
    'fork'
    >>> Component(fork, "fork.vhd", FORK.generics)
    Traceback (most recent call last):
    ...
    graphrewrite.hdl.errors.ComponentError: the component of fork has no timing; give schedule=, a function from a Site
    to its Schedule, such as per_beat
    """

    op: Op
    template: str | Path = _ABSENT
    generics: Callable[[Site], dict[str, Generic]] = _ABSENT
    schedule: Callable[[Site], Schedule] = _ABSENT
    resources: Callable[[Site], Resources] = _unknown

    def __post_init__(self) -> None:
        if getattr(self.op, "level", None) != "stream":
            raise ComponentError(
                f"{self.op!r} is no op of the level stream; define it with define_op(level='stream', …)"
            )
        where = f"the component of {self.op.name}"
        if not isinstance(self.template, str | Path):
            raise ComponentError(f"{where} has no entity; give template=, the pathlib.Path of its VHDL file")
        if not re.fullmatch(r"[A-Za-z](_?[A-Za-z0-9])*\.vhd", Path(self.template).name):
            raise ComponentError(
                f"{where}: {Path(self.template).name!r} is no name for a VHDL file; name it like its entity, with .vhd"
            )
        if isinstance(self.template, Path) and not self.template.is_file():
            raise ComponentError(f"{where}: there is no file {str(self.template)!r}; write its entity there")
        for part, remedy in (
            ("generics", "generics=, a function from a Site to the entity's generics by name"),
            ("schedule", "schedule=, a function from a Site to its Schedule, such as per_beat"),
            ("resources", "resources=, a function from a Site to its Resources, or nothing"),
        ):
            if not callable(getattr(self, part)):
                name = "timing" if part == "schedule" else part
                raise ComponentError(f"{where} has no {name}; give {remedy}")

    def __repr__(self) -> str:
        return f"<component {self.op.name}>"

    @property
    def entity(self) -> str:
        """Name of the VHDL entity."""
        return Path(self.template).stem


def streams(*types: Type) -> tuple[Stream, ...]:
    """Return the types if all are streams.

    Examples
    --------
    >>> from graphrewrite.types import Tensor
    >>> streams(Tensor("f32", (3,)))
    Traceback (most recent call last):
    ...
    graphrewrite.errors.TypeMismatchError: f32[3] is no stream; lower its producer to the stream level first
    """
    for each in types:
        if not isinstance(each, Stream):
            raise TypeMismatchError(f"{each} is no stream; lower its producer to the stream level first")
        if each.element.width > LANE_BITS:
            raise TypeMismatchError(f"{each}: a lane has at most {LANE_BITS} bits; requantise to a narrower format")
    return tuple(each for each in types if isinstance(each, Stream))


def per_beat(site: Site, latency: int = 1) -> Schedule:
    """Return the schedule of a component with one step a beat, which takes and gives a beat of every port.

    Parameters
    ----------
    site : Site
    latency : int
        Cycles from the step until its beat is valid.

    Examples
    --------
    >>> from graphrewrite.types import FixedPoint
    >>> x = Stream(FixedPoint(True, 8), (4, 10))
    >>> per_beat(Site((x,), (x,), {})).steps
    10
    """
    beats = np.arange(site.results[0].beats)
    return Schedule(len(beats), (beats,) * len(site.operands), (beats,) * len(site.results), latency)


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

    Examples
    --------
    >>> [spaced(2 * n, np.arange(2) * n, np.arange(2) * n, latency=2).capacity for n in (1, 2, 3)]
    [(3,), (2,), (1,)]
    """
    between_frames = steps - int(gives[-1] - gives[0])
    # A slot is taken from the step that gives a beat until the cycle after its transfer: latency + 1 cycles, in which a
    # new beat comes every `apart` steps.
    apart = int(np.diff(gives).min(initial=between_frames))
    return Schedule(steps, (takes,), (gives,), latency, (-(-(latency + 1) // apart),))


def counter_bits(values: int) -> int:
    """Return the bits of a counter with that many values.

    Examples
    --------
    >>> counter_bits(1), counter_bits(2), counter_bits(5)
    (0, 1, 3)
    """
    return (values - 1).bit_length()


def buffered(
    op: Op,
    template: str,
    generics: Callable[[Site], dict[str, Generic]],
    schedule: Callable[[Site], Schedule],
    resources: Callable[[Site], Resources] = _unknown,
    *,
    bits: Callable[[Site], int] | None = None,
) -> Component:
    """Return a component whose results leave it through stream buffers, with the buffers' generic and costs.

    ``bits`` gives the bits of a beat that a synthesis tool keeps, where these are fewer than those of the payload.

    Examples
    --------
    >>> from graphrewrite.hdl.components.fork import fork
    >>> from graphrewrite.types import FixedPoint
    >>> component = buffered(fork, "fork.vhd", lambda site: {"WIDTH": site.operands[0].payload_width}, per_beat)
    >>> site = Site.of(fork, Stream(FixedPoint(True, 8), (4,)))
    >>> component.generics(site), component.resources(site).registers
    ({'WIDTH': 32, 'CAPACITY': 2}, 140)
    """

    def all_generics(site: Site) -> dict[str, Generic]:
        return {**generics(site), "CAPACITY": schedule(site).capacity[0]}

    def all_resources(site: Site) -> Resources:
        widths = [stream.payload_width for stream in site.results] if bits is None else [bits(site)]
        return resources(site).plus(buffers(widths, schedule(site)))

    return Component(op, template, all_generics, schedule, all_resources)


def buffers(widths: Sequence[int], schedule: Schedule) -> Resources:
    """Return what the output buffers of a component cost, and the bits that say which stages before them are full.

    Examples
    --------
    >>> buffers([8], Schedule(5, (range(5),), (range(5),), latency=2)).registers
    33
    """
    total = Resources(registers=schedule.latency - 1)
    for width, capacity in zip(widths, schedule.capacity, strict=True):
        total = total.plus(buffer_resources(width, capacity))
    return total


def buffer_resources(width: int, capacity: int) -> Resources:
    """Return what a ``stream_buffer`` costs: registers up to four beats, a memory above.

    Examples
    --------
    >>> buffer_resources(8, 2).registers, buffer_resources(8, 64).memory_bits
    (22, 512)
    """
    control = 2 * counter_bits(capacity + 1) + 2 * counter_bits(capacity)
    pieces = (Piece("buffer", 1, width, capacity),)
    if capacity <= 4:
        return Resources(registers=width * capacity + control, pieces=pieces)
    return Resources(0, 0, 2 * width + control + 1, width * capacity, pieces)
