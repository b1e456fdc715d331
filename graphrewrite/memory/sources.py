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
    """Return steps each of which is one with those that only it comes after, and that come after no other.

    What they write takes memory while the one step runs. A step that needs more while it runs than it leaves is among
    them if the difference is not more than what the one step adds. The best orders are the same.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2, reads=("a",)), "c": Step(2, reads=("b",))}, {}, ["c"])
    >>> with_sources(found)[1]
    [(0, 1), (2,)]
    """
    after, values, over = steps.after(), list(steps.values), list(steps.over)
    joined: list[list[int]] = [[] for _ in after]  # by step, those that are one with it
    writes = list(steps.writes)
    sources: set[int] = set()
    for step in steps.in_order():
        others = after[step]
        if (
            len(others) != 1
            or not sources.issuperset(steps.before[step])
            or any(values[v].size and not values[v].is_kept for v in steps.reads[step] if v not in writes[step])
        ):
            continue
        (other,) = others
        stays = [v for v in writes[step] if values[v].is_read]
        scratch = sum(values[v].size for v in writes[step]) - sum(values[v].size for v in stays)
        reused = [v for v in stays if v in over[other] and not values[v].is_kept]
        adds = sum(values[v].size for v in steps.writes[other])
        if steps.over[other]:
            adds -= values[steps.writes[other][0]].size
        if scratch > adds:
            continue
        sources.add(step)
        joined[other] += [*joined[step], step]
        writes[other] = (*writes[other], *stays)
        for v in stays:
            values[v] = replace(values[v], readers=(), size=0 if v in reused[:1] else values[v].size)
        if reused:
            over[other] = ()
    members = [(*joined[step], step) for step in range(len(steps)) if step not in sources]
    number = {each[-1]: i for i, each in enumerate(members)}
    for v, value in enumerate(values):
        values[v] = replace(value, readers=tuple(number[reader] for reader in value.readers if reader in number))
    last = [each[-1] for each in members]
    found = Steps(
        tuple(tuple(number[other] for other in steps.before[step] if other in number) for step in last),
        tuple(tuple(v for v in steps.reads[step] if v not in writes[step]) for step in last),
        tuple(writes[step] for step in last),
        tuple(tuple(v for v in over[step] if v not in writes[step]) for step in last),
        tuple(values),
        steps.given,
        steps.idle,
    )
    return found, members
