"""Cycles in which beats move: the events of a network, solved in blocks of frames.

The members of a network are settled in turn until nothing changes. In a network that makes progress no event waits for
itself, so the solution is unique. Whatever waits for a free slot settles no faster than beats come back: so the
beats at the inputs are given out in small parts, each settled before the next.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from graphrewrite.errors import did_you_mean
from graphrewrite.hdl.errors import NetlistError
from graphrewrite.hdl.timing.deadlock import check_progress
from graphrewrite.hdl.timing.network import Link, Network
from graphrewrite.hdl.timing.settling import Change, ComponentEvents, Gate, LinkEvents, Member, SinkEvents, SourceEvents
from graphrewrite.hdl.timing.track import Periods, Track

__all__ = ["Events"]

_LARGEST_BLOCK = 32  # and as many frames as a buffer holds
_PART = 1 << 12  # events of the busiest component
_PATIENCE = 32  # rounds for each part, after which something may wait for itself


class Events:
    """Solves a network block by block, until all frames are solved or known to repeat.

    Parameters
    ----------
    source_gates, sink_gates : mapping of str to sequence of int
        For some inputs and outputs, the pattern of cycles in which they may raise valid, or are ready.
    """

    def __init__(
        self,
        network: Network,
        source_gates: Mapping[str, Sequence[int]],
        sink_gates: Mapping[str, Sequence[int]],
        unbounded: Collection[tuple[str, int]],
    ) -> None:
        self.network, self.unbounded, self.frames, self.checked = network, frozenset(unbounded), 0, False
        sources, sinks = _gates(source_gates, network.inputs), _gates(sink_gates, network.outputs)
        self.links: dict[Link, LinkEvents] = {}
        for link in network.links:
            if link.source in network.components:
                endless = (link.source, link.source_port) in self.unbounded
                credit = None if endless else network.components[link.source].capacity[link.source_port]
            else:
                # A gated input offers a beat at a time: none becomes valid before the one before it has left.
                credit = 1 if sources[link.source] else None
            self.links[link] = LinkEvents(network.beats(link), credit)
        into = {(link.sink, link.sink_port): link for link in network.links}
        out_of = {(link.source, link.source_port): link for link in network.links}
        self.gated = any(gate is not None for gate in (*sources.values(), *sinks.values()))
        self.components = {
            name: ComponentEvents(
                schedule,
                [self.links[into[name, p]] for p in range(len(schedule.takes))],
                [self.links[out_of[name, q]] for q in range(len(schedule.gives))],
            )
            for name, schedule in network.components.items()
        }
        unfed: dict[str, Member] = {name: SourceEvents(self.links[out_of[name, 0]], g) for name, g in sources.items()}
        ends: dict[str, Member] = {name: SinkEvents(self.links[into[name, 0]], g) for name, g in sinks.items()}
        members = unfed | self.components | ends
        self.order = list(members.values())
        self.unfed = [*unfed.values(), *(c for c in self.components.values() if not c.takes)]
        self.reader = {self.links[link]: (members[link.sink], link.sink_port) for link in network.links}
        self.writer = {self.links[link]: (members[link.source], link.source_port) for link in network.links}
        # A frame waits for frames at most so far back: those whose beats may still fill a buffer.
        lags = [-(-(events.credit or 1) // events.beats) for events in self.links.values()]
        self.lag = max(lags)

    def run(self, frames: int) -> Periods | None:
        """Solve as many frames as asked, or until the rest repeats; raise `DeadlockError` if the network stops."""
        for block in self._blocks(frames):
            if self.frames < frames and (periods := self._periods(block)):
                return periods
        return None

    def keeps(self, interval: float, latency: int, frames: int) -> bool:
        """Tell whether a frame takes so many cycles at most, in the end and as the first, as soon as that is sure.

        In the end is after so many frames, unless the run is found to repeat. Raises `DeadlockError` if the network
        stops.
        """
        ends = [link for link in self.network.links if link.sink in self.network.outputs]
        starts = [link for link in self.network.links if link.source in self.network.inputs]
        periods = None
        for block in self._blocks(frames):
            first = min(self.tracks(link, self.frames, None)[0].of(0, 0) for link in starts)
            if max(self.tracks(link, self.frames, None)[0].of(0, -1) for link in ends) - first > latency:
                return False
            if self._gains(interval, block):
                return True
            if self._loses(interval, block):
                return False
            if periods := self._periods(block):
                break
        return max(self.tracks(link, frames, periods)[0].interval for link in ends) <= interval

    def _blocks(self, frames: int) -> Iterator[int]:
        """Solve ever larger blocks of frames, and give the size of each."""
        block = self.lag + 3
        while self.frames < frames:
            block = min(block, frames - self.frames)
            self._solve(block)
            yield block
            block = max(block, min(self.frames, self.lag + _LARGEST_BLOCK))

    def tracks(self, link: Link, frames: int, periods: Periods | None) -> tuple[Track, Track]:
        """Return the cycles of transfer, and those from which the beats are valid."""
        events = self.links[link]
        count = self.frames * events.beats
        transfers = events.transfers[events.pad : events.pad + count].reshape(self.frames, events.beats)
        visible = events.visible[:count].reshape(self.frames, events.beats)
        if periods is None:
            return Track(transfers, frames), Track(visible, frames)
        # An input of the network is as fast as its reader, an output as fast as its writer.
        period = periods.cycles
        late = period[link.sink if link.sink in period else link.source]
        early = period[link.source if link.source in period else link.sink]
        return Track(transfers, frames, periods.every, late), Track(visible, frames, periods.every, early)

    def _solve(self, block: int) -> None:
        for link in self.links.values():
            link.block(self.frames, block)
        for member in self.order:
            member.block(self.frames, block)
        parts = 1 + max(c.size for c in self.components.values()) // _PART
        patience = _PATIENCE * parts * len(self.order)
        forth = self.order
        for part in range(1, parts + 1):
            waiting: set[Member] = set(self.unfed)
            while waiting:
                for member in forth:
                    if member in waiting:
                        waiting.remove(member)
                        for change in member.settle(part / parts):
                            waiting.update(self._tell(change))
                # Back and forth: beats go with the order of the members, free slots against it.
                forth = forth[::-1]
                patience -= len(forth)
                if patience < 0:
                    self._check_once()
        # Nobody has news, and yet some events are not settled: they wait for themselves.
        if any(c.again < c.size for c in self.components.values()):
            self._check_once()
        for member in self.order:
            member.finish()
        self.frames += block

    def _check_once(self) -> None:
        # What waits for itself is settled ever later, or never. That is rare, and to find it by counting takes longer
        # than most networks take to settle.
        if not self.checked:
            check_progress(self.network, self.unbounded)
        self.checked = True

    def _tell(self, change: Change) -> list[Member]:
        """Tell the member at the other end of a link, and return it, if the change matters to it."""
        link = change.link
        if not change.leaves:
            member, port = self.reader[link]
            member.moved(port, change.beat)
        elif link.credit is None:
            return []
        else:
            member, port = self.writer[link]
            member.freed(port, change.beat + link.credit)
        return [member]

    def _gains(self, interval: float, block: int) -> bool:
        # Events that all come a time later come at most that time later ever after: the next frame is a function of the
        # last `lag` frames that never falls. Baccelli et al., Synchronization and Linearity, 1992, section 3.
        return any(
            all(c.shifts(every, self.lag, block)[1] <= every * interval for c in self.components.values())
            for every in range(1, block - self.lag + 1)
        )

    def _repetitions(self, block: int) -> Iterator[tuple[int, dict[str, tuple[int, int]]]]:
        """Give numbers of frames, and for each component the least and the most that its last ones are later by."""
        for every in range(1, (block - self.lag) // 2 + 1):
            yield every, {name: c.shifts(every, self.lag + every, block) for name, c in self.components.items()}

    def _loses(self, interval: float, block: int) -> bool:
        # Components that repeat, and of which nobody else holds up any, will not be faster when others join in.
        for every, shifts in self._repetitions(block):
            for shift in {least for least, most in shifts.values() if least == most and least > every * interval}:
                slow = {name for name in shifts if shifts[name] == (shift, shift)}
                links = {self.links[k] for k in self.network.links if k.source in slow and k.sink in slow}
                if all(self.components[name].depends_on(links, self.lag + every, block) for name in slow):
                    return True
        return False

    def _periods(self, block: int) -> Periods | None:
        # The next frame is a function of the last `lag` frames. If the last `every` frames, and all that these depend
        # on, come a period later than `every` frames before, so does the next. The periods of two components may differ
        # where free slots do not bind them: then the beats come ever earlier than needed, and already do not matter.
        for every, shifts in self._repetitions(block) if not self.gated else ():
            cycles = {name: least for name, (least, _) in shifts.items()}
            if all(least == most for least, most in shifts.values()) and all(
                cycles[link.source] <= cycles[link.sink]
                and (events.credit is None or cycles[link.source] == cycles[link.sink])
                for link, events in self.links.items()
                if link.source in cycles and link.sink in cycles
            ):
                return Periods(every, cycles)
        return None


def _gates(patterns: Mapping[str, Sequence[int]], ports: Sequence[str]) -> dict[str, Gate | None]:
    for name in patterns:
        if name not in ports:
            raise NetlistError(
                f"a gate is given for {name}, which is no such port of the network{did_you_mean(name, ports)}"
            )
    gates = {name: Gate(patterns[name], name) if name in patterns else None for name in ports}
    return {name: None if gate is not None and len(gate.at) == gate.length else gate for name, gate in gates.items()}
