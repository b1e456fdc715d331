"""Networks for the cycle prediction: schedules, and links between them."""

from collections.abc import Mapping
from dataclasses import dataclass

from graphrewrite.errors import did_you_mean
from graphrewrite.hdl.errors import NetlistError
from graphrewrite.hdl.schedule import Schedule


@dataclass(frozen=True)
class Link:
    """A stream from an output of one component (or an input of the network) to an input of another (or an output).

    Examples
    --------
    >>> print(Link("fork_1", 1, "add_1", 0))
    fork_1[1] -> add_1[0]
    """

    source: str
    source_port: int
    sink: str
    sink_port: int

    def __str__(self) -> str:
        return f"{self.source}[{self.source_port}] -> {self.sink}[{self.sink_port}]"


@dataclass(frozen=True)
class Network:
    """Components with their schedules, and the links between them.

    Parameters
    ----------
    links : tuple of Link
        Each output of a component and each input of the network is the source of exactly one, each input of a component
        and each output of the network the sink of exactly one.
    inputs, outputs : tuple of str
        Names of the network's own ports; as source or sink of a link they have the port 0.

    Examples
    --------
    >>> step = Schedule(1, ([0],), ([0],))
    >>> network = Network({"relu_1": step}, (Link("x", 0, "relu_1", 0), Link("relu_1", 0, "y", 0)), ("x",), ("y",))
    >>> network.beats(network.links[0])
    1
    """

    components: Mapping[str, Schedule]
    links: tuple[Link, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    def __post_init__(self) -> None:
        sources = [(name, 0) for name in self.inputs]
        sinks = [(name, 0) for name in self.outputs]
        for name, schedule in self.components.items():
            sources += [(name, q) for q in range(len(schedule.gives))]
            sinks += [(name, p) for p in range(len(schedule.takes))]
        _one_each("source", sources, [(link.source, link.source_port) for link in self.links])
        _one_each("sink", sinks, [(link.sink, link.sink_port) for link in self.links])
        for link in self.links:
            self.beats(link)
        self._check_ends()

    def _check_ends(self) -> None:
        """Raise if an output depends on no input: its beats would never end."""
        reached = set(self.inputs)
        fresh = list(self.inputs)
        readers: dict[str, list[str]] = {}
        for link in self.links:
            readers.setdefault(link.source, []).append(link.sink)
        while fresh:
            for name in readers.get(fresh.pop(), ()):
                if name not in reached:
                    reached.add(name)
                    fresh.append(name)
        for name in self.outputs:
            if name not in reached:
                raise NetlistError(
                    "depends on no input: it is the same in every frame and never ends; drop this output", node=name
                )

    def beats(self, link: Link) -> int:
        """Return the beats of a frame on a link."""
        source, sink = self.components.get(link.source), self.components.get(link.sink)
        counts = {len(source.gives[link.source_port])} if source else set()
        counts |= {len(sink.takes[link.sink_port])} if sink else set()
        if len(counts) != 1:
            why = f"gives and takes {sorted(counts)} beats" if counts else "joins an input of the network to an output"
            raise NetlistError(f"link {link} {why}; connect equal shapes, with at least one component (a fifo) between")
        return counts.pop()


def _one_each(kind: str, ports: list[tuple[str, int]], used: list[tuple[str, int]]) -> None:
    if len(set(ports)) != len(ports):
        raise NetlistError("two components or ports have the same name; rename one")
    for port in used:
        if port not in ports:
            hint = did_you_mean(port[0], [name for name, _ in ports])
            raise NetlistError(f"a link names the {kind} {port[0]}[{port[1]}], which does not exist{hint}")
    for port in ports:
        if used.count(port) != 1:
            fault = "has no link" if not used.count(port) else f"has {used.count(port)} links; insert a fork"
            raise NetlistError(f"{kind} {port[0]}[{port[1]}] {fault}")
