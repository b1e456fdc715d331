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
    progresses = True
    while progresses:
        progresses = False
        for name, schedule in network.components.items():
            # As far as this component gets with the steps that its neighbours have done, however long it takes.
            reach = schedule.steps
            waits.pop(name, None)
            for p, takes in enumerate(schedule.takes):
                link = into[name, p]
                source = network.components.get(link.source)
                beat = len(takes)
                if source is not None:
                    beat = bisect_left(source.gives[link.source_port], steps[link.source])
                if beat < len(takes) and takes[beat] < reach:
                    reach, waits[name] = int(takes[beat]), f"waits for beat {beat} from {link.source}"
            for q, gives in enumerate(schedule.gives):
                link = out_of[name, q]
                sink = network.components.get(link.sink)
                freed = len(gives)
                if sink is not None and (name, q) not in unbounded:
                    freed = bisect_left(sink.takes[link.sink_port], steps[link.sink])
                credit = freed + schedule.capacity[q]
                if credit < len(gives) and gives[credit] < reach:
                    reach = int(gives[credit])
                    waits[name] = f"waits for a free slot towards {link.sink} (holds {schedule.capacity[q]})"
            progresses = progresses or reach > steps[name]
            steps[name] = max(reach, steps[name])
    if waits:
        reasons = "; ".join(f"{name} {what}" for name, what in waits.items())
        raise DeadlockError(
            f"the network stops for good in its first frame: {reasons}. "
            "Put a deeper fifo on the branch that waits for a free slot"
        )
