"""Steps that are best right before the one step that comes after them, because they do not free more than they add."""

from __future__ import annotations

from dataclasses import replace

from graphrewrite.memory.step import Steps

__all__ = ["joined", "only_adds"]


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


def joined(steps: Steps) -> tuple[Steps, list[tuple[int, ...]]]:
    """Return steps each of which is one with those that are best right before it, and which ones these were.

    A step that only one comes after can wait for that one. What lives in between is not more then, if the step never
    frees more than it leaves; and it needs no more while it runs than the one after it, if what it may free and what
    it does not leave are together not more than what that one adds. Then the best orders of both are the same. An
    operand that another step might overwrite is not kept from it.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> found, _ = steps_of({"a": Step(8), "b": Step(2, reads=("a",)), "c": Step(2, reads=("b",))}, {}, ["c"])
    >>> joined(found)[1]
    [(0, 1), (2,)]
    """
    after, values, over = steps.after(), list(steps.values), list(steps.over)
    reads, writes = [dict.fromkeys(each) for each in steps.reads], list(steps.writes)
    early: list[dict[int, None]] = [{} for _ in after]
    members: list[list[int]] = [[] for _ in after]
    into: dict[int, int] = {}
    for step in steps.in_order():
        if len(after[step]) != 1:
            continue
        (other,) = after[step]
        freed = [v for v in reads[step] if values[v].size and not values[v].is_kept and v not in steps.reads[other]]
        stays = [v for v in writes[step] if values[v].is_read]
        left = sum(values[v].size for v in stays)
        adds = sum(values[v].size for v in steps.writes[other])
        if steps.over[other]:
            adds -= values[steps.writes[other][0]].size
        most = sum(values[v].size for v in freed)
        if most > left or sum(values[v].size for v in writes[step]) - left + most > adds:
            continue
        if any(v in steps.over[reader] for v in freed for reader in values[v].readers if reader != step):
            continue
        into[step] = other
        members[other] += [*members[step], step]
        early[other].update(dict.fromkeys((*early[step], *freed)))
        reads[other].update(reads[step])
        writes[other] = (*writes[other], *stays)
        reused = [v for v in stays if v in over[other] and not values[v].is_kept]
        for v in stays:
            reads[other].pop(v, None)
            values[v] = replace(values[v], readers=(), size=0 if v in reused[:1] else values[v].size)
        over[other] = () if reused else tuple(v for v in over[other] if v not in stays)
    last = [step for step in range(len(steps)) if step not in into]
    number = {step: i for i, step in enumerate(last)}
    for step in reversed(steps.in_order()):
        if step in into:
            number[step] = number[into[step]]
    for v, value in enumerate(values):
        values[v] = replace(value, readers=tuple(dict.fromkeys(number[reader] for reader in value.readers)))
    groups = [(*members[step], step) for step in last]
    found = Steps(
        tuple(
            tuple(dict.fromkeys(number[o] for s in group for o in steps.before[s] if number[o] != number[s]))
            for group in groups
        ),
        tuple(tuple(reads[step]) for step in last),
        tuple(writes[step] for step in last),
        tuple(over[step] for step in last),
        tuple(values),
        steps.given,
        steps.idle,
        tuple(tuple(v for v in early[step] if v not in steps.reads[step]) for step in last),
    )
    return found, groups
