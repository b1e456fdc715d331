"""The members of a network, each of which settles the cycles of its own events for given neighbours.

An event is a step that takes or gives a beat. Step ``j`` of the whole run of a component is done in cycle ``j`` or
later, by a delay that never falls: with ``u[j]`` the delay that its beats and its free slots ask for, the delay is
``maximum.accumulate(u)``. So one expression settles all events of a component for given neighbours.

A member goes as far as the beats that it takes are known, and takes slots for free that are not known yet: its cycles
are never too late, and are settled again from the first event on that a neighbour has shifted.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from graphrewrite.hdl.errors import DeadlockError
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.hdl.timing.track import Cycle

__all__ = ["Change", "ComponentEvents", "Gate", "LinkEvents", "Member", "SinkEvents", "SourceEvents"]

_NEVER = -(1 << 60)


class Gate:
    """A periodic pattern of open cycles, numbered from 0."""

    def __init__(self, pattern: Sequence[int], port: str) -> None:
        bits = np.asarray(pattern) != 0
        if bits.ndim != 1 or not bits.any():
            raise DeadlockError(f"the gate of {port} never opens: no beat passes; give a pattern with a 1 in it")
        self.at, self.length = np.flatnonzero(bits), len(bits)
        # before[c]: the open cycles of a period before its cycle c.
        self.before = np.concatenate(([0], np.cumsum(bits)))

    def first(self, cycle: Cycle) -> Cycle:
        """Return the number of the first open cycle that is not before."""
        return np.asarray(cycle // self.length * len(self.at) + self.before[cycle % self.length])

    def cycle(self, number: Cycle) -> Cycle:
        """Return the cycles of open cycles given by number."""
        return np.asarray(number // len(self.at) * self.length + self.at[number % len(self.at)])


class LinkEvents:
    """The beats of a link: cycles of transfer (after `pad` entries for no beats) and first valid cycles.

    A beat that leaves lets the one come that is `credit` beats later; None if none waits for it.
    """

    def __init__(self, beats: int, credit: int | None) -> None:
        self.beats, self.credit, self.pad = beats, credit, credit or 1
        self.transfers, self.visible = np.full(self.pad, _NEVER), np.empty(0, np.int64)

    def block(self, first: int, frames: int) -> None:
        """Begin a block of frames, of which no beat is known."""
        low, high = first * self.beats, (first + frames) * self.beats
        if high > len(self.visible):
            # Doubling keeps the cost of growing linear in the number of frames.
            grown = np.full(max(high, 2 * len(self.visible)) - len(self.visible), _NEVER)
            self.transfers = np.concatenate((self.transfers, grown))
            self.visible = np.concatenate((self.visible, grown))
        pad = self.pad
        self.leaves, self.valid = self.transfers[pad + low : pad + high], self.visible[low:high]
        # Without the pad: entry b says when the beat that is `credit` before beat b left.
        self.freed = self.transfers[low:high]
        self.known = 0


class Change(NamedTuple):
    """From one beat of a link on, other cycles: of being valid, or of leaving."""

    link: LinkEvents
    beat: int
    leaves: bool


class Member:
    """Settles events; the first that is to be settled is `again`."""

    again = 0

    def block(self, first: int, frames: int) -> None:
        """Begin a block of frames."""
        raise NotImplementedError

    def settle(self, part: float) -> list[Change]:
        """Settle what can be, up to a part of a block if no input bounds it; return what changes by it."""
        raise NotImplementedError

    def moved(self, port: int, beat: int) -> None:
        """Note that an input's beats are valid at other times, from one on."""
        raise NotImplementedError

    def freed(self, port: int, beat: int) -> None:
        """Note that an output's slots become free at other times, from one beat on."""
        raise NotImplementedError

    def finish(self) -> None:
        """Note what the next block continues."""


class _Port:
    """The beats of one port of a component among the component's events."""

    def __init__(self, link: LinkEvents, steps: Cycle, events: Cycle) -> None:
        self.link = link
        # Where every event moves a beat of this port, beats and events have the same numbers, and no index is needed.
        self.all = len(steps) == len(events)
        self.slots = np.empty(0, np.int64) if self.all else np.searchsorted(events, steps)
        self.index = np.empty(0, np.int64)

    def block(self, frames: int, events: int) -> None:
        if not self.all:
            self.index = (np.arange(frames)[:, None] * events + self.slots).ravel()

    def beats(self, event: int) -> int:
        """Return how many beats come before an event."""
        return event if self.all else int(self.index.searchsorted(event))

    def event(self, beat: int, events: int) -> int:
        """Return which event a beat is; the number of events if it is in no frame of the block."""
        if self.all:
            return min(beat, events)
        return int(self.index[beat]) if beat < len(self.index) else events


_Ask = tuple[_Port, Cycle, int]
"""Beats, from when on they let their steps be done, and by how much later."""


class ComponentEvents(Member):
    """The steps of a component."""

    def __init__(self, schedule: Schedule, takes: Sequence[LinkEvents], gives: Sequence[LinkEvents]) -> None:
        self.events, self.steps, self.latency = schedule.events, schedule.steps, schedule.latency
        self.takes = [_Port(link, at, self.events) for link, at in zip(takes, schedule.takes, strict=True)]
        self.gives = [_Port(link, at, self.events) for link, at in zip(gives, schedule.gives, strict=True)]
        self.delay = np.zeros(1, np.int64)

    def block(self, first: int, frames: int) -> None:
        """Begin a block of frames."""
        # Delays never fall: a block goes on from the delay of the last event before it.
        self.carry = self.delay[-1]
        self.offset = (np.arange(first, first + frames)[:, None] * self.steps + self.events).ravel()
        self.size = len(self.offset)
        self.delay = np.full(self.size, _NEVER)
        for port in (*self.takes, *self.gives):
            port.block(frames, len(self.events))
        # Room that a beat leaves is there in the cycle after.
        self.asks: list[_Ask] = [(port, port.link.valid, 0) for port in self.takes]
        self.asks += [(port, port.link.freed, 1) for port in self.gives if port.link.credit is not None]
        self.again = 0

    def moved(self, port: int, beat: int) -> None:
        """Note the first beat that is valid at another time."""
        self.again = min(self.again, self.takes[port].event(beat, self.size))

    def freed(self, port: int, beat: int) -> None:
        """Note the first beat whose slot becomes free at another time."""
        self.again = min(self.again, self.gives[port].event(beat, self.size))

    def settle(self, part: float) -> list[Change]:
        """Settle what beats and free slots allow."""
        # As far as the beats of every input are known. What has no input is bounded by the part alone.
        high = self.size if self.takes else int(part * self.size)
        for port in self.takes:
            high = min(high, port.event(port.link.known, self.size))
        low = self.again
        if low >= high:
            return []
        delay = self._asked(low, high, self.asks)
        other = delay != self.delay[low:high]
        # Neighbours hear of the first cycle that changes and of those after it; earlier ones they know already.
        first = int(other.argmax())
        self.again = high
        if not other[first]:
            return []
        self.delay[low + first : high] = delay[first:]
        return self._tell(low + first, high)

    def _asked(self, low: int, high: int, asks: Iterable[_Ask]) -> Cycle:
        """Return the delay of some events by what came before and some that is asked."""
        delay = np.full(high - low, self.delay[low - 1] if low else self.carry)
        for port, cycle, late in asks:
            if port.all:
                np.maximum(delay, cycle[low:high] - self.offset[low:high] + late, out=delay)
            else:
                first, last = port.beats(low), port.beats(high)
                at = port.index[first:last]
                asked = cycle[first:last] - self.offset[at] + late
                at = at - low
                delay[at] = np.maximum(delay[at], asked)
        return np.asarray(np.maximum.accumulate(delay, out=delay))

    def depends_on(self, links: Collection[LinkEvents], rows: int, frames: int) -> bool:
        """Tell whether what some links ask is enough for the last frames to be as late as they are."""
        low = (frames - rows) * len(self.events)
        asks = [ask for ask in self.asks if ask[0].link in links]
        return np.array_equal(self._asked(low, self.size, asks), self.delay[low:])

    def _tell(self, low: int, high: int) -> list[Change]:
        cycle = self.delay[low:high] + self.offset[low:high]
        changes = []
        for port in self.takes:
            first, last = port.beats(low), port.beats(high)
            if first < last:
                port.link.leaves[first:last] = cycle if port.all else cycle[port.index[first:last] - low]
                changes.append(Change(port.link, first, True))
        for port in self.gives:
            first, last = port.beats(low), port.beats(high)
            if first < last:
                cycles = cycle if port.all else cycle[port.index[first:last] - low]
                np.add(cycles, self.latency, out=port.link.valid[first:last])
                port.link.known = last
                changes.append(Change(port.link, first, False))
        return changes

    def shifts(self, every: int, rows: int, frames: int) -> tuple[int, int]:
        """Return the least and the most by which the last frames are later than those `every` before."""
        delay = self.delay.reshape(frames, -1)[frames - rows - every :]
        change = delay[every:] - delay[:-every]
        return int(change.min()) + every * self.steps, int(change.max()) + every * self.steps


class _End(Member):
    """An input or output of the network, whose beats pass in open cycles only."""

    def __init__(self, link: LinkEvents, gate: Gate | None) -> None:
        self.link, self.gate, self.carry = link, gate, -1

    def block(self, first: int, frames: int) -> None:
        self.slot = np.full(frames * self.link.beats, -1)
        self.again = 0

    def moved(self, port: int, beat: int) -> None:
        self.again = min(self.again, beat)

    def freed(self, port: int, beat: int) -> None:
        self.again = min(self.again, beat)

    def finish(self) -> None:
        if self.gate is not None:
            self.carry = int(self.slot[-1])

    def _through(self, gate: Gate, earliest: Cycle, result: Cycle, low: int, high: int) -> int:
        """Set the cycles of some beats, none in the slot of another; return the first that moved, `high` if none."""
        beat = np.arange(low, high)
        # A slot is the number of an open cycle. No two beats share one: so slot - beat never falls, as with delays.
        slot = gate.first(earliest) - beat
        slot[0] = max(slot[0], (self.slot[low - 1] if low else self.carry) + 1 - low)
        slot = np.maximum.accumulate(slot) + beat
        other = slot != self.slot[low:high]
        self.again = high
        if not other.any():
            return high
        self.slot[low:high], result[:] = slot, gate.cycle(slot)
        return low + int(other.argmax())


class SourceEvents(_End):
    """An input of the network: raises valid in open cycles only."""

    def settle(self, part: float) -> list[Change]:
        """Settle what beats and free slots allow."""
        low, high = self.again, int(part * len(self.slot))
        if low >= high:
            return []
        self.link.known = high
        if self.gate is None:
            self.link.valid[low:high] = 1
            self.again = high
            return [Change(self.link, low, False)]
        earliest = np.maximum(self.link.freed[low:high] + 1, 1)
        first = self._through(self.gate, earliest, self.link.valid[low:high], low, high)
        return [Change(self.link, first, False)]

    def finish(self) -> None:
        """Note what the next block continues."""
        super().finish()
        if self.gate is None:
            # The reader settles without it, but a record says when a beat was offered: once the one before it had left.
            np.maximum(self.link.freed + 1, 1, out=self.link.valid)


class SinkEvents(_End):
    """An output of the network: ready in open cycles only."""

    def settle(self, part: float) -> list[Change]:
        """Settle what beats and free slots allow."""
        low, high = self.again, self.link.known
        if low >= high:
            return []
        if self.gate is None:
            self.link.leaves[low:high] = self.link.valid[low:high]
            self.again = high
            first = low
        else:
            earliest = np.maximum(self.link.valid[low:high], 0)
            first = self._through(self.gate, earliest, self.link.leaves[low:high], low, high)
        return [Change(self.link, first, True)] if first < high else []
