"""Noted of designs in time: what stops for good, and how many cycles a frame takes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from math import ceil
from typing import Any, NamedTuple

import networkx as nx

from graphrewrite.errors import GraphRewriteError
from graphrewrite.graph import Graph
from graphrewrite.hdl.buffering import insert_forks
from graphrewrite.hdl.components import COMPONENTS
from graphrewrite.hdl.components.fifo import fifo
from graphrewrite.hdl.errors import DeadlockError
from graphrewrite.hdl.netlist import netlist
from graphrewrite.hdl.schedule import Schedule
from graphrewrite.hdl.timing.cycles import predict_cycles
from graphrewrite.hdl.timing.deadlock import check_progress
from graphrewrite.hdl.timing.network import Network
from graphrewrite.testing.surroundings import surroundings
from graphrewrite.types import Stream

__all__ = ["Compared", "Slower", "compare_times", "design_of", "designs_in"]

_STEADY, _STALLED = 200, 24
"""Frames of a run, without and with stalls."""
_LATE, _NOTHING = 8, 1e-9
"""Cycles that an end may be later, beside the latency: a pattern of stalls comes in another phase."""
_NETWORKS = 3
"""Networks to try around a design."""
_DEEPEST = 512
_KINDS = frozenset(component.op.name for component in COMPONENTS)
_PORTS = frozenset({"input", "output"})

_RUNS = """\
predict(insert_forks(before), 1)
predict(insert_forks({made}), 1)  # raises a DeadlockError if it stops for good
"""
_FASTER = """\
after = {{made}}
was, found = (predict({network}, 200{gates}).interval for graph in (before, after))
assert found <= was{factor}
"""

Pattern = Sequence[int]
Stalls = tuple[Pattern | None, Pattern | None]
STALLS: tuple[Stalls, ...] = (
    (None, None),
    (None, (1, 0)),
    (None, (1, 1, 1, 0, 0, 0, 0, 1)),
    ((1, 1, 0, 0, 0), None),
    ((0, 1, 1), (1, 0, 0, 1, 1)),
)
"""Patterns of the cycles in which inputs offer a beat, and outputs take one; None for always."""


@dataclass(frozen=True)
class Slower:
    """What a design does worse than another.

    Attributes
    ----------
    before, after : Graph
        The designs.
    reason : str
        In one sentence.
    kind : str
        ``"deadlock"`` or ``"interval"``.
    claim : str
        What does not hold, as of `graphrewrite.testing.failure.claims`.
    """

    before: Graph
    after: Graph
    reason: str
    kind: str
    claim: str


class _Timed:
    """A design as a network of schedules."""

    def __init__(self, design: Graph) -> None:
        self.design = design
        forked = insert_forks(design)
        self.network = netlist(forked).network
        self.fifos = frozenset(node for node in self.network.components if forked._node[node]["type"] == fifo.name)

    @cached_property
    def steps(self) -> int:
        """The cycles a frame with unlimited buffers: those of the slowest component."""
        return max(schedule.steps for schedule in self.network.components.values())

    @cached_property
    def storage(self) -> float:
        """What components other than fifos hold, at most, in frames: with fewer lanes, a beat is less of one."""
        return sum(_storage(s) for name, s in self.network.components.items() if name not in self.fifos)

    def deepened(self, frames: float) -> Network:
        """Return the network with places for more frames in each component that is no fifo."""
        places = ceil(frames * max(map(_most_beats, self.network.components.values())) - _NOTHING)
        if places <= 0:
            return self.network
        components = {
            name: s if name in self.fifos else replace(s, capacity=tuple(c + places for c in s.capacity))
            for name, s in self.network.components.items()
        }
        return replace(self.network, components=components)


def _most_beats(schedule: Schedule) -> int:
    return max((*schedule.beats_in, *schedule.beats_out), default=0)


def _storage(schedule: Schedule) -> float:
    """Return the frames that a component holds: in its buffers, and of the one that it is working on."""
    ahead = 0.0
    for takes in schedule.takes:
        for gives in schedule.gives:
            taken = (gives[None] >= takes[:, None]).sum(axis=0) / len(takes)  # before each beat that is given
            ahead = max(ahead, *(part - beat / len(gives) for beat, part in enumerate(taken)))
    return sum(schedule.capacity) / max(_most_beats(schedule), 1) + ahead


def designs_in(graph: Graph) -> Iterator[frozenset[str]]:
    r"""Yield the ports of each part of a graph that is a design: all of it are components, of which one at least lives.

    Examples
    --------
    >>> lines = "x = input() : f32[N]", "s = input() : stream u4f0[3,2]", "d = fifo(s, depth=2)", "y = output(d)"
    >>> graph = Graph.parse("\n".join(["graph g", *lines, "z = output(x)"]), ops=[fifo])
    >>> [sorted(ports) for ports in designs_in(graph)]
    [['s', 'y']]
    """
    living = graph.subgraph(set(graph) - graph.dead_nodes())
    order = {node: index for index, node in enumerate(graph)}
    for nodes in sorted(nx.weakly_connected_components(living), key=lambda nodes: min(map(order.__getitem__, nodes))):
        kinds = {graph._node[node].get("type") for node in nodes}
        if kinds <= _KINDS | _PORTS and kinds & _KINDS and _carries_beats(graph, nodes):
            yield frozenset(node for node in nodes if graph._node[node]["type"] in _PORTS)


def _carries_beats(graph: Graph, nodes: Iterable[str]) -> bool:
    """Tell whether all that nodes give are streams, none of them of empty frames."""
    results = (graph._node[node].get("result", ()) for node in nodes if graph._node[node]["type"] != "output")
    kinds = (kind for each in results for kind in (each if isinstance(each, tuple) else (each,)))
    return all(isinstance(kind, Stream) and all(kind.shape) for kind in kinds)


def design_of(graph: Graph, ports: frozenset[str]) -> Graph | None:
    """Return the part of a graph with some ports, in which each stream has a reader; None if it is no design."""
    if not ports <= set(graph):
        return None
    dead = graph.dead_nodes() - ports
    living = graph.subgraph(set(graph) - dead)
    parts = [nodes for nodes in nx.weakly_connected_components(living) if nodes & ports]
    nodes: set[str] = set().union(*parts)
    if not {graph._node[node].get("type") for node in nodes} <= _KINDS | _PORTS or not _carries_beats(graph, nodes):
        return None
    design = graph.copy()
    design.remove_nodes_from([node for node in graph if node not in nodes])
    for node in list(design):
        results = graph.op(node).results if design._node[node]["type"] in _KINDS else 1
        read = {reader.result for reader in design.readers(node)} if node not in design.outputs else {0}
        for result in set(range(results)) - read:
            design.output(design.fresh("unread"), design.value(node, result))
    for names in (design.inputs, design.outputs):
        for index, name in enumerate(names):
            design._node[name]["index"] = index
    return design


class Compared(NamedTuple):
    """What a comparison in time showed.

    Attributes
    ----------
    designs : int
        Parts of the graphs that were compared.
    slower : Slower or None
        The first that became worse.
    """

    designs: int
    slower: Slower | None


def compare_times(
    before: Graph, after: Graph, apply: Callable[[Graph], Any] | None, *, interval: float = 1.0
) -> Compared:
    """Return what one graph of streams does worse in time than another: it stops for good, or takes longer for a frame.

    Fifos stand where a network needs them. So where they change, designs are compared as they stand, also with stalls;
    where they do not, they are compared with buffers wherever they help, since those are chosen after other components.

    Parameters
    ----------
    apply : callable, optional
        What made one of the other, if it does the same inside of any network: they are compared inside of some, too.
    interval : float
        How many times the cycles that a frame took before it may take after.
    """
    designs = 0
    for ports in designs_in(before):
        old, new = design_of(before, ports), design_of(after, ports)
        if old is None or new is None or old == new:
            continue
        designs += 1
        moved = _moves_fifos(old, new)
        plain, steady = _Pair(old, new, apply), STALLS[:1] if moved else ()
        found = _compared(plain, interval, steady)
        if found is None and apply is not None:
            inside = (_Pair(build(old), build(new), apply) for build in islice(_networks(old, moved=moved), _NETWORKS))
            found = next(filter(None, (_compared(pair, interval, steady) for pair in inside)), None)
        if found is None and moved:
            found = _compared(plain, interval, STALLS[1:])
        if found is not None:
            return Compared(designs, found)
    return Compared(designs, None)


class _Pair(NamedTuple):
    old: Graph
    new: Graph
    apply: Callable[[Graph], Any] | None


def _networks(design: Graph, *, moved: bool) -> Iterator[Callable[[Graph], Graph]]:
    """Yield ways to put a design, and others with the same ports, into networks whose storage just suffices.

    They do not deadlock; where fifos matter, the others have the least storage at which they do not wait either.
    """
    is_deep = max((depth for depth, _ in _fifos(design).values()), default=0) > _beats(design)
    for frames in (1, 2) if moved and is_deep else (1,):
        for surrounding in surroundings(design, frames):
            name = design.fresh("waiting")
            network = _Timed(surrounding.around(design, 1, name)).network
            alive = _least(partial(_runs, network, name), 1)
            if alive is None:
                continue
            if frames == 1:
                yield partial(surrounding.around, depth=alive, name=name)
            if moved:
                best = predict_cycles(network, _STEADY, unbounded=[(name, 0)]).interval
                depth = _least(partial(_is_fast, network, name, best), alive)
                if depth is not None and (frames > 1 or depth > alive):
                    yield partial(surrounding.around, depth=depth, name=name)


def _beats(design: Graph) -> int:
    """Return the beats of the shortest frame at a port."""
    return min(kind.beats for kind in map(design.result_type, design.inputs) if isinstance(kind, Stream))


def _least(holds: Callable[[int], bool], low: int) -> int | None:
    """Return the least depth, from one on, at which something holds that then holds of all that are greater."""
    step = 1
    while not holds(low + step - 1):
        low, step = low + step, 2 * step
        if low > _DEEPEST:
            return None
    return low + bisect_left(range(step - 1), True, key=lambda more: holds(low + more))


def _with_depth(network: Network, name: str, depth: int) -> Network:
    deep = replace(network.components[name], capacity=(depth,))
    return replace(network, components={**network.components, name: deep})


def _runs(network: Network, name: str, depth: int) -> bool:
    """Tell whether a network with a fifo of some depth does not deadlock."""
    try:
        check_progress(_with_depth(network, name, depth))
    except DeadlockError:
        return False
    return True


def _is_fast(network: Network, name: str, interval: float, depth: int) -> bool:
    return _Pace.of(_with_depth(network, name, depth), STALLS[0]).interval <= interval


def _compared(pair: _Pair, interval: float, stalls: Sequence[Stalls]) -> Slower | None:
    """Return the difference of two designs as they stand; one that came about in parts is looked at as a whole."""
    found = _worse(pair.old, pair.new, interval, stalls)
    if found is None or pair.apply is None:
        return found
    try:
        return _worse(pair.old, pair.apply(pair.old.copy()), interval, stalls)
    except Exception:  # of a function, perhaps a user's, that no part was meant for
        return None


def _worse(old: Graph, new: Graph, interval: float, stalls: Sequence[Stalls]) -> Slower | None:
    try:
        one, other = _Timed(old), _Timed(new)
    except GraphRewriteError:  # they are no designs yet
        return None
    try:
        check_progress(one.network)
    except DeadlockError:
        return None
    network = other.deepened(one.storage - other.storage)
    try:
        check_progress(network)
    except DeadlockError as error:
        return Slower(old, new, f"a deadlock that was not there: {error}", "deadlock", _RUNS)
    if other.steps > one.steps * interval:
        claim = _FASTER.format(network="insert_fifos(insert_forks(graph))", gates="", factor=_times(interval))
        return Slower(old, new, f"slower: {one.steps} → {other.steps} cycles a frame", "interval", claim)
    for each in stalls:
        was, now = _Pace.of(one.network, each), _Pace.of(network, each)
        if now.interval > was.interval * interval + _NOTHING and now.end > was.end * interval + _LATE + now.latency:
            gates = f", gates={_gates(network, each)!r}" if each != STALLS[0] else ""
            claim = _FASTER.format(network="insert_forks(graph)", gates=gates, factor=_times(interval))
            reason = f"slower: {was.interval:g} → {now.interval:g} cycles a frame{_stalled(each)}"
            return Slower(old, new, reason, "interval", claim)
    return None


class _Pace(NamedTuple):
    """Cycles from frame to frame in the end, those of the first frame, and until the last."""

    interval: float
    latency: int
    end: int

    @classmethod
    def of(cls, network: Network, stalls: Stalls) -> _Pace:
        """Return the pace of a network; where nothing stalls, what repeats is known soon, however many frames."""
        gates = _gates(network, stalls)
        sources = {name: gates[name] for name in network.inputs if name in gates}
        sinks = {name: gates[name] for name in network.outputs if name in gates}
        frames = _STALLED if gates else _STEADY
        run = predict_cycles(network, frames, source_gates=sources, sink_gates=sinks)
        ends = [run.tracks(link)[0] for link in network.links if link.sink in network.outputs]
        return cls(run.interval, run.empty_latency, int(max(track.of(-1, -1) for track in ends)))


def _gates(network: Network, stalls: Stalls) -> dict[str, Pattern]:
    gates: dict[str, Pattern] = {}
    for ports, pattern in zip((network.inputs, network.outputs), stalls, strict=True):
        gates |= {} if pattern is None else dict.fromkeys(ports, pattern)
    return gates


def _times(interval: float) -> str:
    return f" * {interval:g}" if interval != 1 else ""


def _stalled(stalls: Stalls) -> str:
    ends = (("inputs offer", stalls[0]), ("outputs take", stalls[1]))
    shown = [f"{what} beats in the cycles {''.join(map(str, bits))}…" for what, bits in ends if bits is not None]
    return f" where {' and '.join(shown)}" if shown else ""


def _moves_fifos(old: Graph, new: Graph) -> bool:
    """Tell whether one design has other fifos, or has them elsewhere."""
    was, now = _fifos(old), _fifos(new)
    if was.keys() != now.keys():
        return True
    return any(
        was[node][0] != now[node][0] or (was[node][1] != now[node][1] and was[node][1].node in new) for node in was
    )


def _fifos(design: Graph) -> Mapping[str, tuple[int, Any]]:
    return {n: (data["depth"], design.operands(n)[0]) for n, data in design._node.items() if data["type"] == fifo.name}
