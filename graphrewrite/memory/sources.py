"""Sources: steps that come after none and free nothing are best right before the one step that comes after them."""

from __future__ import annotations

from dataclasses import replace

from graphrewrite.memory.step import Steps

__all__ = ["only_adds", "with_sources"]


def only_adds(steps: Steps, step: int) -> bool:
    """Tell whether a step comes after none, and makes what lives greater by as much as it needs.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2, reads=("a",))}, {}, ["b"])
    >>> only_adds(found, 0), only_adds(found, 1)
    (True, False)
    """
    read, written = ([steps.values[v] for v in each[step]] for each in (steps.reads, steps.writes))
    return (
        not steps.before[step]
        and all(v.is_kept or not v.size for v in read)
        and all(v.is_read or not v.size for v in written)
    )


def with_sources(steps: Steps) -> tuple[Steps, list[tuple[int, ...]]]:
    """Return steps each of which is one with those sources that only it comes after, and which ones these were.

    What a source writes takes memory while the one step runs. The best orders are the same.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2, reads=("a",)), "c": Step(2, reads=("b",))}, {}, ["c"])
    >>> with_sources(found)[1]
    [(0, 1), (2,)]
    """
    after = steps.after()
    joined: list[list[int]] = [[] for _ in after]
    for step, others in enumerate(after):
        if len(others) == 1 and only_adds(steps, step):
            joined[others[0]].append(step)
    sources = {source for each in joined for source in each}
    members = [(*joined[step], step) for step in range(len(steps)) if step not in sources]
    number = {each[-1]: i for i, each in enumerate(members)}
    values, reads, writes, over = list(steps.values), [], [], []
    for *joined_here, step in members:
        own = [v for source in joined_here for v in steps.writes[source]]
        reused = [v for v in own if v in steps.over[step] and not values[v].is_kept]
        for v in own:
            values[v] = replace(values[v], readers=(), size=0 if v in reused[:1] else values[v].size)
        reads.append(tuple(v for v in steps.reads[step] if v not in own))
        writes.append((*steps.writes[step], *own))
        over.append(() if reused else tuple(v for v in steps.over[step] if v not in own))
    for v, value in enumerate(values):
        values[v] = replace(value, readers=tuple(number[reader] for reader in value.readers if reader in number))
    last = [each[-1] for each in members]
    found = Steps(
        tuple(tuple(number[other] for other in steps.before[step] if other in number) for step in last),
        tuple(reads),
        tuple(writes),
        tuple(over),
        tuple(values),
        steps.given,
        steps.idle,
    )
    return found, members
