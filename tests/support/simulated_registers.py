"""Networks of components of every form, and a plain simulation of their registers and credits, cycle by cycle."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from random import Random

from graphrewrite.hdl.schedule import Schedule
from graphrewrite.hdl.timing.network import Link, Network

__all__ = ["Gates", "Simulator", "some_gates", "some_network", "some_schedule"]

Gates = Mapping[str, Sequence[int]]


class Simulator:
    """Cycle by cycle: all decide by the registers of this cycle, then all registers change."""

    def __init__(
        self, network: Network, sources: Gates, sinks: Gates, unbounded: Collection[tuple[str, int]], frames: int
    ) -> None:
        self.network, self.sources, self.sinks = network, sources, sinks
        self.transfers: dict[Link, list[int]] = {link: [] for link in network.links}
        self.visible: dict[Link, list[int]] = {link: [] for link in network.links}
        self.held = dict.fromkeys(network.links, 0)
        self.signals: dict[Link, list[tuple[bool, bool]]] = {link: [] for link in network.links}
        """Valid and ready in each cycle; of what has done all its steps, no ready."""
        self.waiting = {link: frames * network.beats(link) for link in network.links if link.source in network.inputs}
        self.queue: dict[Link, deque[int]] = {link: deque() for link in network.links}
        self.room = {
            (name, q): 10**9 if (name, q) in unbounded else capacity
            for name, schedule in network.components.items()
            for q, capacity in enumerate(schedule.capacity)
        }
        self.step = dict.fromkeys(network.components, 0)
        self.into = {(link.sink, link.sink_port): link for link in network.links}
        self.out_of = {(link.source, link.source_port): link for link in network.links}
        patience = 8 + sum(len(gate) for gate in (*sources.values(), *sinks.values()))
        patience += max(s.latency + s.steps for s in network.components.values())
        still, cycle = 0, 0
        while still < patience and not self.done(frames):
            still = 0 if self.clock(cycle, frames) else still + 1
            cycle += 1
        self.dead = not self.done(frames)

    def done(self, frames: int) -> bool:
        return all(len(self.transfers[link]) == frames * self.network.beats(link) for link in self.network.links)

    def valid(self, link: Link, cycle: int) -> bool:
        return bool(self.queue[link]) and self.queue[link][0] <= cycle

    def clock(self, cycle: int, frames: int) -> bool:
        for link in self.waiting:
            gate = self.sources.get(link.source, [1])
            if self.waiting[link] and not self.queue[link] and cycle >= 1 and gate[cycle % len(gate)]:
                self.waiting[link] -= 1
                self.visible[link].append(cycle)
                self.queue[link].append(cycle)
        taken, given_, steps = [], [], []
        ready = set()
        for name, schedule in self.network.components.items():
            if self.step[name] == frames * schedule.steps:
                continue
            step = self.step[name] % schedule.steps
            reads = [self.into[name, p] for p, port in enumerate(schedule.takes) if step in port]
            writes = [(name, q) for q, port in enumerate(schedule.gives) if step in port]
            has_room = all(self.room[port] for port in writes)
            ready |= {k for k in reads if has_room and all(self.valid(other, cycle) for other in reads if other != k)}
            if all(self.valid(link, cycle) for link in reads) and has_room:
                taken += reads
                given_ += writes
                steps.append(name)
        for name in self.network.outputs:
            link, gate = self.into[name, 0], self.sinks.get(name, [1])
            if gate[cycle % len(gate)]:
                ready.add(link)
                taken += [link] * self.valid(link, cycle)
        for link in self.network.links:
            self.signals[link].append((self.valid(link, cycle), link in ready))
        for link in self.network.links:
            self.held[link] = max(self.held[link], sum(seen <= cycle for seen in self.queue[link]))
        for name in steps:
            self.step[name] += 1
        for link in taken:
            self.queue[link].popleft()
            self.transfers[link].append(cycle)
            if (link.source, link.source_port) in self.room:
                self.room[link.source, link.source_port] += 1
        for port in given_:
            self.room[port] -= 1
            seen = cycle + self.network.components[port[0]].latency
            self.queue[self.out_of[port]].append(seen)
            self.visible[self.out_of[port]].append(seen)
        return bool(steps or taken)


def some_schedule(random: Random, beats_in: Sequence[int], beats_out: Sequence[int], room: int) -> Schedule:
    steps = max([*beats_in, *beats_out]) + random.choice([0, 0, 1, 2, 5])
    latency = random.randint(1, 3)
    takes = tuple(sorted(random.sample(range(steps), count)) for count in beats_in)
    gives = tuple(sorted(random.sample(range(steps), count)) for count in beats_out)
    return Schedule(steps, takes, gives, latency, tuple(random.randint(1, room) for _ in gives))


def some_network(random: Random, room: int) -> Network:
    components: dict[str, Schedule] = {}
    links: list[Link] = []
    inputs: list[str] = []
    loose: list[tuple[str, int, int]] = []
    for number in range(random.randint(1, 6)):
        name = f"c{number}"
        sources = []
        for _ in range(random.choice([1, 1, 2, 3])):
            if sources and random.random() < 0.1:
                # It takes nothing and gives for ever.
                free, beats_of_free = f"s{len(components)}", random.randint(1, 6)
                components[free] = some_schedule(random, [], [beats_of_free], room)
                sources.append((free, 0, beats_of_free))
            elif not loose or random.random() < 0.15:
                inputs.append(f"x{len(inputs)}")
                sources.append((inputs[-1], 0, random.randint(1, 6)))
            else:
                sources.append(loose.pop(random.randrange(len(loose))))
        beats = [random.randint(1, 6) for _ in range(random.choice([1, 1, 2, 3]))]
        components[name] = some_schedule(random, [count for *_, count in sources], beats, room)
        links += [Link(source, port, name, p) for p, (source, port, _) in enumerate(sources)]
        loose += [(name, q, count) for q, count in enumerate(beats)]
    outputs = [f"y{number}" for number in range(len(loose))]
    links += [Link(source, port, name, 0) for name, (source, port, _) in zip(outputs, loose, strict=True)]
    random.shuffle(links)
    return Network(components, tuple(links), tuple(inputs), tuple(outputs))


def some_gates(random: Random, ports: Sequence[str]) -> dict[str, list[int]]:
    gates = {name: [random.randint(0, 1) for _ in range(random.randint(1, 7))] for name in ports}
    for gate in gates.values():
        gate[random.randrange(len(gate))] = 1
    return {name: gate for name, gate in gates.items() if random.random() < 0.8}
