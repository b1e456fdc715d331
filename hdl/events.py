"""When each beat moves: the events of a network, solved in blocks of frames.

An event is a step that takes or gives a beat. Step ``j`` of the whole run of a component is done in cycle ``j`` or
later, by a delay that never falls: with ``u[j]`` the delay that its beats and its room ask for, the delay is
``maximum.accumulate(u)``. So one expression solves all steps of a component for given neighbours, and the components
are solved in turn until nothing changes. In a network that makes progress no event waits for itself, so the solution
is unique.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphrewrite.errors import did_you_mean
from graphrewrite.hdl.errors import DeadlockError, NetlistError
from graphrewrite.hdl.network import Link, Network
from graphrewrite.hdl.schedule import Schedule

__all__ = ["Events", "Periods", "Track"]

Cycle = NDArray[np.int64]
_NEVER = -(1 << 60)
_LARGEST_BLOCK = 32  # and as many frames as a buffer holds
_ROUND, _SHORT_ROUND = 60, 12  # multiples of what is likely to repeat


class Track(NamedTuple):
    """A cycle for each beat of each frame: of the frames solved, the last `every` repeat ever after."""

    solved: Cycle
    frames: int
    every: int = 1
    period: int = 0

    def of(self, frames: slice | int = slice(None), beats: slice | int = slice(None)) -> Cycle:
        """Return the cycles of some beats of some frames."""
        if isinstance(frames, slice) and len(self.solved) == self.frames:
            return np.asarray(self.solved[frames, beats])
        wanted = np.arange(self.frames)[frames]
        beyond = np.maximum(wanted - len(self.solved), -1)
        rounds = (beyond + self.every) // self.every * (beyond >= 0)
        rows = np.where(beyond >= 0, len(self.solved) - self.every + beyond % self.every, wanted)
        found = self.solved[:, beats][rows]
        return np.asarray(found + self.period * (rounds if found.ndim == rounds.ndim else rounds[..., None]))

    @property
    def interval(self) -> float:
        """Cycles from the last beat of a frame to that of the next, on average in the end."""
        if len(self.solved) < self.frames:
            return self.period / self.every
        # What repeats is not known. An average over whole rounds, which leaves out the start of a long run.
        count = max(self.frames // 2 // _ROUND * _ROUND, min(_SHORT_ROUND, self.frames - 1))
        return float(self.solved[-1, -1] - self.solved[-1 - count, -1]) / count


class Periods(NamedTuple):
    """All components repeat what they did `every` frames ago, each `cycles[component]` later."""

    every: int
    cycles: dict[str, int]


class _Gate:
    """A periodic pattern of open cycles, numbered from 0."""

    def __init__(self, pattern: Sequence[int], port: str) -> None:
        bits = np.asarray(pattern) != 0
        if bits.ndim != 1 or not bits.any():
            raise DeadlockError(f"the gate of {port} never opens: no beat passes; give a pattern with a 1 in it")
        self.at, self.length = np.flatnonzero(bits), len(bits)
        self.before = np.concatenate(([0], np.cumsum(bits)))

    def first(self, cycle: Cycle) -> Cycle:
        """Return the number of the first open cycle that is not before."""
        return np.asarray(cycle // self.length * len(self.at) + self.before[cycle % self.length])

    def cycle(self, number: Cycle) -> Cycle:
        return np.asarray(number // len(self.at) * self.length + self.at[number % len(self.at)])


class _Stream:
    """The beats of a link: cycles of transfer (after `pad` entries for no beats) and first valid cycles."""

    def __init__(self, beats: int, capacity: int | None) -> None:
        self.beats, self.capacity, self.pad = beats, capacity, max(capacity or 1, 1)
        self.left, self.seen = np.full(self.pad, _NEVER), np.empty(0, np.int64)

    def block(self, first: int, frames: int) -> None:
        low, high = first * self.beats, (first + frames) * self.beats
        if high > len(self.seen):
            room = np.full(max(high, 2 * len(self.seen)) - len(self.seen), _NEVER)
            self.left, self.seen = np.concatenate((self.left, room)), np.concatenate((self.seen, room))
        pad = self.pad
        self.leaves, self.valid = self.left[pad + low : pad + high], self.seen[low:high]
        self.previous = self.left[pad + low - 1 : pad + high - 1]
        if self.capacity is not None:
            self.freed = self.left[low:high]


class _Port:
    """The beats of one port of a component among the component's events."""

    def __init__(self, stream: _Stream, steps: Cycle, events: Cycle) -> None:
        self.stream, self.steps, self.slots = stream, steps, np.searchsorted(events, steps)
        self.all = len(steps) == len(events)
        self.index: Cycle | slice = slice(None)
        self.latest = 0

    def block(self, start: Cycle, events: int, length: int) -> None:
        self.offset = (start * length + self.steps).ravel()
        if not self.all and len(start) != self.latest:
            self.index, self.latest = (np.arange(len(start))[:, None] * events + self.slots).ravel(), len(start)


class _Component:
    """The steps of a component, given those of its neighbours."""

    def __init__(self, schedule: Schedule, takes: Sequence[_Stream], gives: Sequence[_Stream]) -> None:
        self.events = np.unique(np.concatenate((*schedule.takes, *schedule.gives)))
        self.steps, self.latency = schedule.steps, schedule.latency
        self.takes = [_Port(s, at, self.events) for s, at in zip(takes, schedule.takes, strict=True)]
        self.gives = [_Port(s, at, self.events) for s, at in zip(gives, schedule.gives, strict=True)]
        self.delay = np.zeros(1, np.int64)

    def block(self, first: int, frames: int) -> None:
        self.carry = self.delay[-1]
        self.delay = np.empty(0, np.int64)
        start = np.arange(first, first + frames)[:, None]
        self.size = frames * len(self.events)
        for port in (*self.takes, *self.gives):
            port.block(start, len(self.events), self.steps)
        self.seen = [port.offset + self.latency for port in self.gives]
        bounds = [(port, port.stream.valid, port.offset) for port in self.takes]
        bounds += [(p, p.stream.freed, p.offset - 1) for p in self.gives if p.stream.capacity is not None]
        self.bounds = [(port.all, port.index, cycle, offset) for port, cycle, offset in bounds]

    def solve(self) -> bool:
        asked = np.full(self.size, self.carry)
        for everywhere, index, cycle, offset in self.bounds:
            if everywhere:
                np.maximum(asked, cycle - offset, out=asked)
            else:
                asked[index] = np.maximum(asked[index], cycle - offset)
        delay = np.maximum.accumulate(asked, out=asked)
        if len(self.delay) and (delay == self.delay).all():
            return False
        self.delay = delay
        for port in self.takes:
            np.add(delay[port.index], port.offset, out=port.stream.leaves)
        for port, seen in zip(self.gives, self.seen, strict=True):
            np.add(delay[port.index], seen, out=port.stream.valid)
        return True

    def shift(self, every: int, rows: int, frames: int) -> int:
        """Return by how much each of the last frames is later than the one `every` before; -1 if not alike."""
        delay = self.delay.reshape(frames, -1)[frames - rows - every :]
        change = delay[every:] - delay[:-every]
        return int(change[0, 0]) + every * self.steps if (change == change[0, 0]).all() else -1


class _Source:
    """An input of the network: raises valid in open cycles only."""

    def __init__(self, stream: _Stream, gate: _Gate | None) -> None:
        self.stream, self.gate, self.carry = stream, gate, -1

    def block(self, _first: int, frames: int) -> None:
        self.beat = np.arange(frames * self.stream.beats)
        self.slot = np.empty(0, np.int64)
        if self.gate is None:
            self.stream.valid[:] = 1

    def solve(self) -> bool:
        if self.gate is None:
            return False
        return self._through(self.gate, np.maximum(self.stream.previous + 1, 1), self.stream.valid)

    def finish(self) -> None:
        """Note what the next block continues."""
        if self.gate is None:
            np.maximum(self.stream.previous + 1, 1, out=self.stream.valid)
        else:
            self.carry = int(self.slot[-1])

    def _through(self, gate: _Gate, earliest: Cycle, result: Cycle) -> bool:
        asked = gate.first(earliest) - self.beat
        asked[0] = max(asked[0], self.carry + 1)
        slot = np.maximum.accumulate(asked) + self.beat
        if np.array_equal(slot, self.slot):
            return False
        self.slot, result[:] = slot, gate.cycle(slot)
        return True


class _Sink(_Source):
    """An output of the network: ready in open cycles only."""

    def block(self, _first: int, frames: int) -> None:
        self.beat = np.arange(frames * self.stream.beats)
        self.slot = np.empty(0, np.int64)

    def solve(self) -> bool:
        if self.gate is not None:
            return self._through(self.gate, np.maximum(self.stream.valid, 0), self.stream.leaves)
        if (self.stream.valid == self.stream.leaves).all():
            return False
        self.stream.leaves[:] = self.stream.valid
        return True

    def finish(self) -> None:
        if self.gate is not None:
            self.carry = int(self.slot[-1])


class Events:
    """Solves a network block by block, until all frames are solved or known to repeat.

    Parameters
    ----------
    network : Network
        A network that makes progress.
    source_gates, sink_gates : mapping of str to sequence of int
        For some inputs and outputs, the pattern of cycles in which they may raise valid, or are ready.
    unbounded : collection of (component, output)
        Output buffers that have room without end.
    """

    def __init__(
        self,
        network: Network,
        source_gates: Mapping[str, Sequence[int]],
        sink_gates: Mapping[str, Sequence[int]],
        unbounded: Collection[tuple[str, int]],
    ) -> None:
        self.network, self.frames = network, 0
        self.streams: dict[Link, _Stream] = {}
        for link in network.links:
            endless = link.source not in network.components or (link.source, link.source_port) in unbounded
            capacity = None if endless else network.components[link.source].capacity[link.source_port]
            self.streams[link] = _Stream(network.beats(link), capacity)
        into = {(link.sink, link.sink_port): link for link in network.links}
        out_of = {(link.source, link.source_port): link for link in network.links}
        sources, sinks = _gates(source_gates, network.inputs), _gates(sink_gates, network.outputs)
        self.gated = any(gate is not None for gate in (*sources.values(), *sinks.values()))
        self.components = {
            name: _Component(
                schedule,
                [self.streams[into[name, p]] for p in range(len(schedule.takes))],
                [self.streams[out_of[name, q]] for q in range(len(schedule.gives))],
            )
            for name, schedule in network.components.items()
        }
        self.ends = [_Source(self.streams[out_of[name, 0]], gate) for name, gate in sources.items()]
        self.ends += [_Sink(self.streams[into[name, 0]], gate) for name, gate in sinks.items()]
        members = self.ends[: len(sources)], self.components.values(), self.ends[len(sources) :]
        self.order: list[_Source | _Component] = [member for kind in members for member in kind]
        givers = {name: i for i, name in enumerate((*sources, *network.components))}
        takers = {name: i for i, name in enumerate((*network.components, *sinks), len(sources))}
        self.heard_by: list[list[int]] = [[] for _ in self.order]
        for link, stream in self.streams.items():
            source, sink = givers[link.source], takers[link.sink]
            self.heard_by[source].append(sink)
            if stream.capacity is not None or sources.get(link.source):
                self.heard_by[sink].append(source)
        lags = [-(-(stream.capacity or 1) // stream.beats) for stream in self.streams.values()]
        self.lag = max(lags, default=1)

    def run(self, frames: int) -> Periods | None:
        """Solve as many frames as asked, or until the rest repeats."""
        block = self.lag + 3
        while self.frames < frames:
            block = min(block, frames - self.frames)
            self._solve(block)
            if self.frames < frames and (periods := self._periods(block)):
                return periods
            block = max(block, min(2 * block, self.lag + _LARGEST_BLOCK))
        return None

    def tracks(self, link: Link, frames: int, periods: Periods | None) -> tuple[Track, Track]:
        """Return the cycles of transfer, and those from which the beats are valid."""
        stream = self.streams[link]
        count = self.frames * stream.beats
        left = stream.left[stream.pad : stream.pad + count].reshape(self.frames, stream.beats)
        seen = stream.seen[:count].reshape(self.frames, stream.beats)
        if periods is None:
            return Track(left, frames), Track(seen, frames)
        # An input of the network is as fast as its reader, an output as fast as its writer.
        period = periods.cycles
        late = period[link.sink if link.sink in period else link.source]
        early = period[link.source if link.source in period else link.sink]
        return Track(left, frames, periods.every, late), Track(seen, frames, periods.every, early)

    def _solve(self, block: int) -> None:
        for stream in self.streams.values():
            stream.block(self.frames, block)
        for member in self.order:
            member.block(self.frames, block)
        waiting = [True] * len(self.order)
        forth = range(len(self.order))
        while any(waiting):
            for i in forth:
                if waiting[i]:
                    waiting[i] = False
                    if self.order[i].solve():
                        for other in self.heard_by[i]:
                            waiting[other] = True
            forth = forth[::-1]
        for end in self.ends:
            end.finish()
        self.frames += block

    def _periods(self, block: int) -> Periods | None:
        # The next frame is a function of the last `lag` frames. If the last `every` frames, and all that these depend
        # on, come a period later than `every` frames before, so does the next. The periods of two components may differ
        # where room does not bind them: then the beats come ever earlier than needed, and already do not matter.
        for every in range(1, (block - self.lag) // 2 + 1) if not self.gated else ():
            cycles = {name: c.shift(every, self.lag + every, block) for name, c in self.components.items()}
            if min(cycles.values()) >= 0 and all(
                cycles[link.source] <= cycles[link.sink]
                and (stream.capacity is None or cycles[link.source] == cycles[link.sink])
                for link, stream in self.streams.items()
                if link.source in cycles and link.sink in cycles
            ):
                return Periods(every, cycles)
        return None


def _gates(given: Mapping[str, Sequence[int]], ports: Sequence[str]) -> dict[str, _Gate | None]:
    for name in given:
        if name not in ports:
            raise NetlistError(
                f"a gate is given for {name}, which is no such port of the network{did_you_mean(name, ports)}"
            )
    gates = {name: _Gate(given[name], name) if name in given else None for name in ports}
    return {name: None if gate is not None and len(gate.at) == gate.length else gate for name, gate in gates.items()}
