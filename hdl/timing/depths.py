"""Depths of buffers that make a network as fast as unlimited ones."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graphrewrite.hdl.errors import DeadlockError, NetlistError
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.hdl.timing.cycles import predict_cycles
from graphrewrite.hdl.timing.events import Events
from graphrewrite.hdl.timing.network import Link, Network
from graphrewrite.runtime.progress import progress

__all__ = ["fifo_depths"]

_STEADY = 1 << 12  # frames after which the slowest drift shows


class _Pace(NamedTuple):
    """Cycles from frame to frame in the end, and of the first frame."""

    interval: float
    latency: int


def fifo_depths(network: Network, joins: Iterable[Link]) -> dict[Link, int]:
    """Return for each link how deep a `fifo` in it must be for branches of different length to meet without delay.

    With these the network neither deadlocks nor has a longer interval, or a longer latency of a single frame, than if
    the buffers in front of the links were unlimited; only the cycle that a beat takes through a fifo may add to
    the latency. No depth can be less while the others stay.

    Examples
    --------
    >>> one, two = Schedule(8, (range(8),), (range(8),)), Schedule(8, (range(8),), (range(8),) * 2)
    >>> late, both = Schedule(16, (range(8),), (range(8, 16),)), Schedule(8, (range(8),) * 2, (range(8),))
    >>> direct, turned = Link("fork", 0, "add", 0), Link("reshape", 0, "add", 1)
    >>> ends = Link("x", 0, "fork", 0), Link("fork", 1, "reshape", 0), Link("add", 0, "y", 0)
    >>> parts = {"fork": two, "reshape": late, "add": both}
    >>> network = Network(parts, (*ends, direct, turned), ("x",), ("y",))
    >>> {str(link): depth for link, depth in fifo_depths(network, [direct, turned]).items()}
    {'fork[0] -> add[0]': 6, 'reshape[0] -> add[1]': 0}
    """
    links = list(dict.fromkeys(joins))
    for link in links:
        if link not in network.links:
            raise NetlistError(f"the network has no link {link}; give some of network.links")
    endless = {(link.source, link.source_port) for link in links if link.source in network.components}
    allowed = _pace(network, endless)
    depths: dict[Link, int] = {}
    decided_at: dict[Link, _Pace] = {}
    with progress(links, "fifos") as undecided:
        for link in undecided:
            endless.discard((link.source, link.source_port))
            before = _with_fifos(network, depths)
            depths[link], decided_at[link] = 0, allowed
            if not _fits(before, endless, allowed):
                # The fifo itself may cost a cycle.
                slower = _pace(_with_fifo(before, link, 1), endless | {(_fifo_in(link), 0)})
                allowed = _Pace(max(allowed.interval, slower.interval), max(allowed.latency, slower.latency))
                # Upwards in large steps, then bisection: each try runs the whole network.
                low, high = 0, 2
                while not _fits(_with_fifo(before, link, high), endless, allowed):
                    low, high = high, 4 * high
                depths[link] = _least_depth(before, link, endless, allowed, low, high)
    # The cycle that a fifo costs leaves time to all.
    for link in links:
        if depths[link] and decided_at[link] != allowed:
            others = _with_fifos(network, {other: depth for other, depth in depths.items() if other != link})
            if _fits(_with_fifo(others, link, depths[link] - 1), (), allowed):
                none = _fits(others, (), allowed)
                depths[link] = 0 if none else _least_depth(others, link, (), allowed, 0, depths[link] - 1)
    return depths


def _least_depth(
    network: Network, link: Link, unbounded: Collection[tuple[str, int]], allowed: _Pace, low: int, high: int
) -> int:
    """Return the least depth that is fast enough: more than one, at most another."""
    while high - low > 1:
        # A depth of 1 halves the pace of whatever passes, which takes long to find out: it is tried last.
        middle = max((low + high) // 2, min(2, high - 1))
        if _fits(_with_fifo(network, link, middle), unbounded, allowed):
            high = middle
        else:
            low = middle
    return high


def _fits(network: Network, unbounded: Collection[tuple[str, int]], allowed: _Pace) -> bool:
    try:
        return Events(network, {}, {}, unbounded).keeps(*allowed, _STEADY)
    except DeadlockError:
        return False


def _pace(network: Network, unbounded: Collection[tuple[str, int]]) -> _Pace:
    cycles = predict_cycles(network, _STEADY, unbounded=unbounded)
    return _Pace(cycles.interval, cycles.empty_latency)


def _fifo_in(link: Link) -> str:
    return f"fifo in {link}"


def _with_fifos(network: Network, depths: Mapping[Link, int]) -> Network:
    for link, depth in depths.items():
        network = _with_fifo(network, link, depth)
    return network


def _with_fifo(network: Network, link: Link, depth: int) -> Network:
    if not depth:
        return network
    beats, name = np.arange(network.beats(link)), _fifo_in(link)
    fifo = Schedule(len(beats), (beats,), (beats,), 1, (depth,))
    components: dict[str, Schedule] = {} if link.source in network.components else {name: fifo}
    for other, schedule in network.components.items():
        components[other] = schedule
        if other == link.source:
            components[name] = fifo
    parts = replace(link, sink=name, sink_port=0), replace(link, source=name, source_port=0)
    links = tuple(part for old in network.links for part in (parts if old == link else (old,)))
    return replace(network, components=components, links=links)
