"""Valid and ready of streams in a window of cycles, from the predicted cycle of every beat."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphrewrite.hdl.timing.cycles import Cycles
from graphrewrite.hdl.timing.network import Link
from graphrewrite.hdl.timing.track import Cycle

__all__ = ["Signals"]

_EARLY, _LATE = -(1 << 60), 1 << 60

Bits = NDArray[np.bool_]


class Signals:
    """Signals in a window of cycles; beats are numbered over all frames.

    Examples
    --------
    >>> from graphrewrite.hdl.timing.cycles import predict_cycles
    >>> from graphrewrite.hdl.timing.network import Network
    >>> from graphrewrite.hdl.schedule import Schedule
    >>> into, out = Link("x", 0, "half", 0), Link("half", 0, "y", 0)
    >>> half = Schedule(2, ([0, 1],), ([1],))
    >>> timing = predict_cycles(Network({"half": half}, (into, out), ("x",), ("y",)), 3)
    >>> signals = Signals(timing, {}, 0, 8)
    >>> signals.beats(out), signals.valid(out).astype(int).tolist()
    (range(0, 3), [0, 0, 0, 1, 0, 1, 0, 1])
    """

    def __init__(self, timing: Cycles, gates: Mapping[str, Sequence[int]], first: int, cycles: int) -> None:
        self.timing, self.gates, self.network = timing, gates, timing.network
        self.first, self.end = first, first + cycles
        self._into = {(k.sink, k.sink_port): k for k in self.network.links}
        self._out_of = {(k.source, k.source_port): k for k in self.network.links}

    def beats(self, link: Link) -> range:
        """Return the beats that are offered in the window."""
        low, high = self._before(link, self.first), self._before(link, self.end)
        pending = np.array([high])
        is_offered = bool((self.starts(link, pending) < self.end).all())
        return range(low, high + is_offered)

    def starts(self, link: Link, numbers: Cycle) -> Cycle:
        """Return the cycles from which beats are offered: there, and the one before has gone."""
        return np.maximum(self._moves(link, numbers, visible=True), self._moves(link, numbers - 1) + 1)

    def ends(self, link: Link, numbers: Cycle) -> Cycle:
        """Return the cycles in which beats are transferred."""
        return self._moves(link, numbers)

    def valid(self, link: Link) -> Bits:
        """Return whether a beat is offered, for each cycle of the window."""
        numbers = np.array(self.beats(link), np.int64)
        return self._between(self.starts(link, numbers), self.ends(link, numbers))

    def ready(self, link: Link) -> Bits:
        """Return whether the reader would take a beat, for each cycle of the window."""
        if link.sink in self.network.outputs:
            gate = np.asarray(self.gates.get(link.sink, (1,))) != 0
            return np.asarray(gate[np.arange(self.first, self.end) % len(gate)])
        numbers = np.arange(self._before(link, self.first), self._before(link, self.end) + 1)
        return self._between(self._due(link, numbers), self.ends(link, numbers))

    def _before(self, link: Link, cycle: int) -> int:
        """Beats that are transferred before a cycle."""
        transfers, beats = self.timing.tracks(link)[0], self.network.beats(link)
        frame = int(np.searchsorted(transfers.of(slice(None), -1), cycle))
        if frame == self.timing.frames:
            return frame * beats
        return frame * beats + int(np.searchsorted(transfers.of(frame), cycle))

    def _moves(self, link: Link, numbers: Cycle, *, visible: bool = False) -> Cycle:
        """Cycles of transfer, or of being valid; numbers outside of the run are of beats long ago, or never."""
        beats = self.network.beats(link)
        cycles = np.where(numbers < 0, _EARLY, _LATE)
        inside = (numbers >= 0) & (numbers < beats * self.timing.frames)
        if inside.any():
            low, high = int(numbers[inside].min()) // beats, int(numbers[inside].max()) // beats + 1
            block = self.timing.tracks(link)[visible].of(slice(low, high)).ravel()
            cycles[inside] = block[numbers[inside] - low * beats]
        return cycles

    def _due(self, link: Link, numbers: Cycle) -> Cycle:
        """The cycles from which the reader takes each beat: at its step, with the other beats and a free slot."""
        name = link.sink
        schedule = self.network.components[name]
        steps = schedule.takes[link.sink_port]
        frame, at = np.divmod(numbers, len(steps))
        step = steps[at]
        events = np.unique(np.concatenate((*schedule.takes, *schedule.gives)))
        index = np.searchsorted(events, step) - 1
        before, event = frame - (index < 0), events[index]
        # Steps without beats wait for nothing: the step before that may have waited says from when on this one is due.
        done = np.full(step.shape, _EARLY)
        for port, takes in enumerate(schedule.takes):
            _raise(done, before, event, takes, partial(self._moves, self._into[name, port]))
        for port, gives in enumerate(schedule.gives):
            _raise(done, before, event, gives, self._giving(self._out_of[name, port], schedule.latency))
        due = np.where(before < 0, step, done + (step - event) + (frame - before) * schedule.steps)
        for port, takes in enumerate(schedule.takes):
            if port != link.sink_port:
                _raise(due, frame, step, takes, partial(self.starts, self._into[name, port]))
        for port, gives in enumerate(schedule.gives):
            _raise(due, frame, step, gives, self._leaving(self._out_of[name, port], schedule.capacity[port]))
        return due

    def _giving(self, link: Link, latency: int) -> Callable[[Cycle], Cycle]:
        return lambda numbers: self._moves(link, numbers, visible=True) - latency

    def _leaving(self, link: Link, capacity: int) -> Callable[[Cycle], Cycle]:
        return lambda numbers: self._moves(link, numbers - capacity) + 1

    def _between(self, starts: Cycle, ends: Cycle) -> Bits:
        """Whether each cycle of the window lies between a start and its end, both included."""
        change = np.zeros(self.end - self.first + 1, np.int64)
        start = np.clip(starts, self.first, self.end) - self.first
        end = np.clip(ends, self.first - 1, self.end - 1) + 1 - self.first
        np.add.at(change, start, 1)
        np.add.at(change, np.maximum(start, end), -1)
        return np.asarray(np.cumsum(change[:-1]) > 0)


def _raise(cycles: Cycle, frame: Cycle, step: Cycle, steps: Cycle, cycle: Callable[[Cycle], Cycle]) -> None:
    """Raise cycles to those of a port's beats, where a step takes or gives one."""
    beat = np.minimum(np.searchsorted(steps, step), len(steps) - 1)
    moves = steps[beat] == step
    if moves.any():
        cycles[moves] = np.maximum(cycles[moves], cycle((frame * len(steps) + beat)[moves]))
