"""Predicts the cycle in which each beat moves, and from that latency, interval and occupation."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from graphrewrite.hdl.timing.events import Events
from graphrewrite.hdl.timing.network import Link, Network
from graphrewrite.hdl.timing.track import Cycle, Track

__all__ = ["Cycles", "predict_cycles"]

K = TypeVar("K")
V = TypeVar("V")


class _OnDemand(Mapping[K, V]):
    """A read-only mapping whose values are computed when first asked for."""

    def __init__(self, keys: Iterable[K], compute: Callable[[K], V]) -> None:
        self._values: dict[K, V | None] = dict.fromkeys(keys)
        self._compute = compute

    def __getitem__(self, key: K) -> V:
        value = self._values[key]
        if value is None:
            value = self._values[key] = self._compute(key)
        return value

    def __iter__(self) -> Iterator[K]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


@dataclass(frozen=True, eq=False)
class Cycles:
    """Cycles in which the beats of a run move.

    Attributes
    ----------
    network : Network
        What runs.
    frames : int
        How many frames of it.

    Examples
    --------
    A component of two steps that gives after its second beat:

    >>> from graphrewrite.hdl.schedule import Schedule
    >>> half = Schedule(2, ([0, 1],), ([1],))
    >>> into, out = Link("x", 0, "half", 0), Link("half", 0, "y", 0)
    >>> cycles = predict_cycles(Network({"half": half}, (into, out), ("x",), ("y",)), 3)
    >>> cycles.transfers[into].tolist(), cycles.transfers[out].tolist()
    ([[1, 2], [3, 4], [5, 6]], [[3], [5], [7]])
    >>> cycles.latency.tolist(), cycles.interval, cycles.occupation
    ([2, 2, 2], 2.0, {'half': 1.0})
    """

    network: Network
    frames: int
    _tracks: Mapping[Link, tuple[Track, Track]] = field(repr=False)
    _unbounded: frozenset[tuple[str, int]] = field(default=frozenset(), repr=False)

    @cached_property
    def transfers(self) -> Mapping[Link, Cycle]:
        """For each link the cycle in which each beat is transferred, shape [frames, beats]."""
        return _OnDemand(self._tracks, lambda link: self._tracks[link][0].of())

    @cached_property
    def visible(self) -> Mapping[Link, Cycle]:
        """For each link the cycle from which each beat is valid, shape [frames, beats]."""
        return _OnDemand(self._tracks, lambda link: self._tracks[link][1].of())

    def tracks(self, link: Link) -> tuple[Track, Track]:
        """Return when the beats of a link are transferred, and from when on they are valid, without a row a frame."""
        return self._tracks[link]

    @cached_property
    def high_water(self) -> Mapping[tuple[str, int], int]:
        """For each output of each component the most beats that ever were valid and not yet transferred."""
        links = {
            (link.source, link.source_port): link for link in self._tracks if link.source in self.network.components
        }
        return _OnDemand(links, lambda port: self._most_held(links[port]))

    def _most_held(self, link: Link) -> int:
        transfers, visible = self._tracks[link]
        # What bounded buffers hold repeats with the beats; an unbounded one may fill up for ever.
        endless = (link.source, link.source_port) in self._unbounded
        valid, left = ((track.of() if endless else track.solved).ravel() for track in (visible, transfers))
        return int((np.arange(1, len(valid) + 1) - np.searchsorted(left, valid)).max())

    @cached_property
    def latency(self) -> Cycle:
        """For each frame the cycles from the transfer of its first beat in to that of its last beat out."""
        return np.asarray(
            np.max([track.of(beats=-1) for track in self._last], axis=0)
            - np.min([track.of(beats=0) for track in self._first], axis=0)
        )

    @property
    def empty_latency(self) -> int:
        """Latency of the first frame, which no other frame delays."""
        return int(self.latency[0])

    @cached_property
    def interval(self) -> float:
        """Cycles from the end of a frame to the end of the next; exact where the run is found to repeat.

        Else it is an average over the second half of a long run, or the last twelve frames of a short one. For one
        frame it is the longest schedule.
        """
        if self.frames == 1:
            return float(max(schedule.steps for schedule in self.network.components.values()))
        return max(track.interval for track in self._last)

    @property
    def occupation(self) -> dict[str, float]:
        """For each component the part of its time in which it does a step."""
        return {name: schedule.steps / self.interval for name, schedule in self.network.components.items()}

    @property
    def _first(self) -> list[Track]:
        return [tracks[0] for link, tracks in self._tracks.items() if link.source in self.network.inputs]

    @property
    def _last(self) -> list[Track]:
        return [tracks[0] for link, tracks in self._tracks.items() if link.sink in self.network.outputs]


def predict_cycles(
    network: Network,
    frames: int,
    *,
    source_gates: Mapping[str, Sequence[int]] | None = None,
    sink_gates: Mapping[str, Sequence[int]] | None = None,
    unbounded: Collection[tuple[str, int]] = (),
) -> Cycles:
    """Predict the cycle in which each beat moves; cycle 0 is the first one out of reset.

    Every component does each step in the first cycle in which it can, as `Schedule` says. Beats at the inputs of the
    network are there from cycle 1 on, each at the earliest in the cycle after the transfer of the one before.

    Parameters
    ----------
    frames : int
        Number of frames, at least 1.
    source_gates : mapping of str to sequence of int, optional
        For an input of the network, bits ``g``: a beat becomes valid only in a cycle ``t`` with ``g[t % len(g)]`` set,
        and then stays valid. Default: whenever there is one.
    sink_gates : mapping of str to sequence of int, optional
        For an output of the network, bits ``h``: ready in the cycles ``t`` with ``h[t % len(h)]`` set. Default: always.

    Examples
    --------
    >>> from graphrewrite.hdl.schedule import Schedule
    >>> step = Schedule(1, ([0],), ([0],))
    >>> out = Link("relu", 0, "y", 0)
    >>> network = Network({"relu": step}, (Link("x", 0, "relu", 0), out), ("x",), ("y",))
    >>> predict_cycles(network, 4).transfers[out].ravel().tolist()
    [2, 3, 4, 5]
    >>> predict_cycles(network, 4, sink_gates={"y": [1, 0, 0]}).transfers[out].ravel().tolist()
    [3, 6, 9, 12]
    """
    if frames < 1:
        raise ValueError(f"frames is {frames}; give at least 1")
    endless = frozenset(unbounded)
    events = Events(network, source_gates or {}, sink_gates or {}, endless)
    periods = events.run(frames)
    tracks = _OnDemand(network.links, lambda link: events.tracks(link, frames, periods))
    return Cycles(network, frames, tracks, endless)
