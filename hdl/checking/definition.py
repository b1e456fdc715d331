"""The meaning of a schedule, step by step: the definition that the fast prediction is tested against."""

from collections.abc import Sequence

from graphrewrite.hdl.schedule import Schedule

__all__ = ["next_open", "transfers"]


def transfers(
    schedule: Schedule, frames: int, sources: Sequence[Sequence[int]], sinks: Sequence[Sequence[int]]
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the cycle in which each beat is taken from each input, and in which each beat leaves each output.

    After the last frame the component goes on to the first step that takes a beat of the next.

    Parameters
    ----------
    sources, sinks : sequence of gates
        For each input and each output a pattern of 0 and 1: bit ``t % len`` says whether a beat may become valid, or is
        taken, in cycle ``t``.

    Returns
    -------
    tuple
        Two lists, with a list of cycles for each input and for each output.

    Examples
    --------
    >>> transfers(Schedule(2, ([0, 1],), ([1],)), 2, [[1]], [[1]])
    ([[1, 2, 3, 4]], [[3, 5]])
    """
    taken: list[list[int]] = [[] for _ in schedule.takes]
    left: list[list[int]] = [[] for _ in schedule.gives]
    takes = [set(port.tolist()) for port in schedule.takes]
    gives = [set(port.tolist()) for port in schedule.gives]
    at = -1
    for j in range(frames * schedule.steps + min(map(min, takes), default=0)):
        step = j % schedule.steps
        at += 1
        taking = [p for p, port in enumerate(takes) if step in port]
        giving = [q for q, port in enumerate(gives) if step in port]
        for p in taking:
            at = max(at, next_open(sources[p], max(taken[p][-1] + 1 if taken[p] else 0, 1)))
        for q in giving:
            beat = len(left[q]) - schedule.capacity[q]
            if beat >= 0:
                at = max(at, left[q][beat] + 1)
        for p in taking:
            taken[p].append(at)
        for q in giving:
            left[q].append(next_open(sinks[q], max(at + schedule.latency, left[q][-1] + 1 if left[q] else 0)))
    return taken, left


def next_open(gate: Sequence[int], cycle: int) -> int:
    """Return the first cycle from a cycle on in which a gate is open.

    Examples
    --------
    >>> next_open([0, 0, 1], 3)
    5
    """
    while not gate[cycle % len(gate)]:
        cycle += 1
    return cycle
