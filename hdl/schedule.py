"""The timing of a component: a fixed sequence of steps for each frame."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Schedule:
    """The steps of a frame that take input beats and give output beats.

    A component runs its steps in order, at most one a cycle, each in the first cycle in which the beats that it takes
    are valid and the buffers of the outputs that it gives have a free slot; after the last step of a frame comes the
    first of the next.

    Parameters
    ----------
    steps : int
        Number of steps of a frame, at least 1.
    takes : tuple of int arrays
        For each input, the step that takes each beat of a frame, strictly increasing.
    gives : tuple of int arrays
        For each output, the step that gives each beat of a frame, strictly increasing.
    latency : int
        Cycles from the step that gives a beat to the first cycle in which it is valid, at least 1.
    capacity : tuple of int
        For each output, the number of beats that its buffer holds, counting those still under way to it; at least 1.
        A slot that a beat leaves is free in the cycle after its transfer. Default: ``latency + 1``, enough for a step a
        cycle.

    Examples
    --------
    Two beats in, their sum out at the second step:

    >>> schedule = Schedule(steps=2, takes=([0, 1],), gives=([1],), latency=3, capacity=(2,))
    >>> schedule.beats_in, schedule.beats_out
    ((2,), (1,))
    >>> Schedule(steps=2, takes=([0, 2],), gives=([1],))
    Traceback (most recent call last):
    ...
    ValueError: takes[0]: step 2 is outside of 0..1; give steps that exist or raise `steps`
    """

    steps: int
    takes: tuple[Steps, ...]
    gives: tuple[Steps, ...]
    latency: int = 1
    capacity: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _at_least_one("steps", self.steps))
        object.__setattr__(self, "latency", _at_least_one("latency", self.latency))
        for field in ("takes", "gives"):
            ports = tuple(_checked(f"{field}[{i}]", port, self.steps) for i, port in enumerate(getattr(self, field)))
            object.__setattr__(self, field, ports)
        capacity = tuple(self.capacity) or (self.latency + 1,) * len(self.gives)
        if len(capacity) != len(self.gives):
            raise ValueError(f"capacity has {len(capacity)} entries for {len(self.gives)} outputs; give one an output")
        capacity = tuple(_at_least_one(f"capacity[{q}]", depth) for q, depth in enumerate(capacity))
        object.__setattr__(self, "capacity", capacity)

    @property
    def beats_in(self) -> tuple[int, ...]:
        """Beats of a frame for each input."""
        return tuple(len(port) for port in self.takes)

    @property
    def beats_out(self) -> tuple[int, ...]:
        """Beats of a frame for each output."""
        return tuple(len(port) for port in self.gives)

    @cached_property
    def events(self) -> Steps:
        """The steps that take or give a beat, ascending."""
        happens = np.zeros(self.steps, bool)
        for port in (*self.takes, *self.gives):
            happens[port] = True
        return np.flatnonzero(happens)

    def _key(self) -> tuple[Any, ...]:
        ports = tuple(tuple(port.tobytes() for port in field) for field in (self.takes, self.gives))
        return (self.steps, ports, self.latency, self.capacity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schedule) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _at_least_one(name: str, value: Any) -> int:
    if int(value) != value or value < 1:
        raise ValueError(f"{name} is {value}; give an integer of at least 1")
    return int(value)


def _checked(name: str, port: Iterable[int] | Steps, steps: int) -> Steps:
    values = np.asarray(port if isinstance(port, np.ndarray) else list(port))
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "iu":
        raise ValueError(f"{name} is {values!r}; give a non-empty one-dimensional array of steps")
    array = values.astype(np.int64)
    outside = array[(array < 0) | (array >= steps)]
    if len(outside):
        raise ValueError(
            f"{name}: step {outside[0]} is outside of 0..{steps - 1}; give steps that exist or raise `steps`"
        )
    if np.any(np.diff(array) <= 0):
        at = int(np.argmax(np.diff(array) <= 0)) + 1
        raise ValueError(
            f"{name}: beat {at} is not after beat {at - 1}; a step takes or gives at most one beat of a port"
        )
    array.setflags(write=False)
    return array
