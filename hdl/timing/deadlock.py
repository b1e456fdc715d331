"""Deadlock of a network: a question of counts, not of times."""

from bisect import bisect_left

from graphrewrite.hdl.errors import DeadlockError
from graphrewrite.hdl.timing.network import Network


def check_progress(network: Network, unbounded: frozenset[tuple[str, int]] = frozenset()) -> None:
    """Raise if the network stops for good, whatever its environment does.

    Every event of a frame waits for events of the same or earlier frames, and the events of all frames wait alike. So a
    circle of waiting lies within a frame, and shows in the first.
    """
    steps = dict.fromkeys(network.components, 0)
    into = {(link.sink, link.sink_port): link for link in network.links}
    out_of = {(link.source, link.source_port): link for link in network.links}
    waits: dict[str, str] = {}
    moved = True
    while moved:
        moved = False
        for name, schedule in network.components.items():
            reach = schedule.steps
            waits.pop(name, None)
            for p, takes in enumerate(schedule.takes):
                link = into[name, p]
                source = network.components.get(link.source)
                there = len(takes)
                if source is not None:
                    there = bisect_left(source.gives[link.source_port], steps[link.source])
                if there < len(takes) and takes[there] < reach:
                    reach, waits[name] = int(takes[there]), f"waits for beat {there} from {link.source}"
            for q, gives in enumerate(schedule.gives):
                link = out_of[name, q]
                sink = network.components.get(link.sink)
                left = len(gives)
                if sink is not None and (name, q) not in unbounded:
                    left = bisect_left(sink.takes[link.sink_port], steps[link.sink])
                credit = left + schedule.capacity[q]
                if credit < len(gives) and gives[credit] < reach:
                    reach = int(gives[credit])
                    waits[name] = f"waits for a free slot towards {link.sink} (holds {schedule.capacity[q]})"
            moved = moved or reach > steps[name]
            steps[name] = max(reach, steps[name])
    if waits:
        told = "; ".join(f"{name} {what}" for name, what in waits.items())
        raise DeadlockError(
            f"the network stops for good in its first frame: {told}. "
            "Put a deeper fifo on the branch that waits for a free slot"
        )
