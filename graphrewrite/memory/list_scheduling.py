"""Fast orders: the step first that adds least, or operands first that free most."""

from __future__ import annotations

from collections.abc import Sequence

from graphrewrite.memory.running import Running
from graphrewrite.memory.step import Steps

__all__ = ["freeing_early", "least_first", "operands_first"]

_SEEN = 64
"""Number of steps among which one is chosen: of those that may run, the latest."""


def least_first(steps: Steps) -> list[int]:
    """Return an order in which the next step needs no memory, or raises the peak least, and then what lives.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> least_first(steps_of({"a": Step(8), "b": Step(2), "c": Step(1, reads=("a",))}, {}, ["b", "c"])[0])
    [1, 0, 2]
    """
    running, missing, after = Running(steps), [len(before) for before in steps.before], steps.after()
    ready = [step for step, count in enumerate(missing) if not count]
    order = []
    while ready:
        best, least = 0, (False, 0, 0)
        for back in range(1, min(len(ready), _SEEN) + 1):
            step = ready[-back]
            needed = running.needs(step)
            key = needed > running.live, max(running.peak, needed), running.change(step)
            if not best or key < least:
                best, least = back, key
        step = ready.pop(-best)
        running.run(step)
        order.append(step)
        ready += _enabled(after[step], missing)
    return order


def operands_first(steps: Steps) -> list[int]:
    """Return an order in which each step comes after what it needs, of which first what frees most after its peak.

    This is the child-memory order of Glow, which is best where no value has two readers.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> steps = {"s": Step(2), "b": Step(9), "t": Step(1, reads=("b",)), "c": Step(3, reads=("s", "t"))}
    >>> operands_first(steps_of(steps, {}, ["c"])[0])
    [1, 2, 0, 3]
    """
    values, order = steps.values, steps.in_order()
    stays = [sum(values[v].size for v in writes if values[v].is_read) for writes in steps.writes]
    peak = [sum(values[v].size for v in writes) for writes in steps.writes]
    before: list[list[int]] = [[] for _ in order]
    after = steps.after()
    for step in order:
        before[step] = sorted(steps.before[step], key=lambda i: (stays[i] - peak[i], i))
        live = 0
        for other in before[step]:
            peak[step] = max(peak[step], live + peak[other])
            live += stays[other]
        peak[step] = max(peak[step], live + sum(values[v].size for v in steps.writes[step]))
    done: dict[int, None] = {}
    last = [step for step in order if not after[step]]
    work = sorted(last, key=lambda i: (peak[i] - stays[i], -i))
    while work:
        waiting = [other for other in before[work[-1]] if other not in done]
        if waiting:
            work += reversed(waiting)
        else:
            done[work.pop()] = None
    return list(done)


def freeing_early(steps: Steps, order: Sequence[int], most: int) -> list[int]:
    """Return an order like a given one, in which steps come as soon as they leave no more alive, at no higher peak.

    A step that is ready, fits below the peak, and frees as much as it adds can always be next: the peak of what
    follows is not higher.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2), "c": Step(1, reads=("a",))}, {}, ["b", "c"])
    >>> freeing_early(found, [0, 1, 2], 10)
    [0, 2, 1]
    """
    running, missing, after = Running(steps), [len(before) for before in steps.before], steps.after()
    ready = [step for step, count in enumerate(missing) if not count]
    done, found = [False] * len(order), []

    def run(step: int) -> None:
        running.run(step)
        done[step] = True
        found.append(step)
        ready.extend(_enabled(after[step], missing))

    for following in order:
        while not done[following]:
            best, least = 0, (True, 1)
            for back in range(1, min(len(ready), _SEEN) + 1):
                needed = running.needs(ready[-back])
                key = needed > running.live, running.change(ready[-back])
                if key < least and key[1] <= 0 and needed <= most:
                    best, least = back, key
            run(ready.pop(-best) if best else ready.pop(ready.index(following)))
    return found


def _enabled(after: Sequence[int], missing: list[int]) -> list[int]:
    """Note that a step has run; return those after it that may run now, the first one last."""
    for step in after:
        missing[step] -= 1
    return [step for step in reversed(after) if not missing[step]]
