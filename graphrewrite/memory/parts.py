"""Parts of an order that are independent: steps between those that all others come before or after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphrewrite.memory.joining import only_adds
from graphrewrite.memory.running import Running
from graphrewrite.memory.step import Steps, Value

__all__ = ["Part", "parts_of"]


@dataclass(frozen=True, slots=True)
class Part:
    """Steps that come one after the other in every order that is worth looking at.

    Attributes
    ----------
    names : tuple of int
        Its steps, as they are called in the whole.
    steps : Steps
        The same by their index here; what lives before and after is among the values, or idle.
    """

    names: tuple[int, ...]
    steps: Steps


def parts_of(steps: Steps) -> Iterator[Part]:
    """Yield the parts in their order; the best orders of all, in a row, are a best order.

    A part ends with a step that all others come before or after. Some steps need not be looked at for that: those that
    come after none and free nothing are best right before the first step after them, and those that write nothing and
    come before none right after the last step before them.

    Examples
    --------
    >>> from graphrewrite.memory.step import Step, steps_of
    >>> steps = {"a": Step(8, ("x",)), "b": Step(2, ("a",)), "c": Step(1, ("a",)), "d": Step(1, ("b", "c"))}
    >>> found, _ = steps_of(steps, {"x": 1}, ["d"])
    >>> [part.names for part in parts_of(found)]
    [(0,), (1, 2, 3)]
    """
    after = steps.after()
    early = {i for i in range(len(steps)) if after[i] and only_adds(steps, i)}
    late = {i for i in range(len(steps)) if not after[i] and _writes_nothing(steps, i)}
    late = {i for i in late if steps.before[i] and early.isdisjoint(steps.before[i])}
    order = _beside_others(steps, after, early, late)
    position = {step: i for i, step in enumerate(order)}
    end = len(order)
    # By place: the least place of a step that a later one comes right after, if not after a later one still.
    origins, least = [end] * end, end
    for i in range(end - 1, -1, -1):
        origins[i] = least
        if order[i] not in early:
            before = [position[other] for other in steps.before[order[i]] if other not in early]
            least = min(least, max(before, default=-1))
    running = Running(steps)
    begun: list[int] = []
    reach = -1  # the greatest place of the first step after one of those so far
    for i, step in enumerate(order):
        begun.append(step)
        if reach <= i <= origins[i]:
            yield Part(tuple(begun), _part(running, begun))
            for done in begun:
                running.run(done)
            begun = []
        if step not in late:
            reach = max(reach, min((position[other] for other in after[step] if other not in late), default=end))
    if begun:
        yield Part(tuple(begun), _part(running, begun))


def _writes_nothing(steps: Steps, step: int) -> bool:
    return not any(steps.values[v].size for v in steps.writes[step])


def _beside_others(steps: Steps, after: Sequence[Sequence[int]], early: set[int], late: set[int]) -> list[int]:
    """Return an order in which early steps come right before one after them, and late ones right after one before."""
    order = [step for step in steps.in_order() if step not in early and step not in late]
    position = {step: i for i, step in enumerate(order)}
    in_front: dict[int, list[int]] = {}
    behind: dict[int, list[int]] = {}
    for step in sorted(early):
        in_front.setdefault(min(position[other] for other in after[step]), []).append(step)
    for step in sorted(late):
        behind.setdefault(max(position[other] for other in steps.before[step]), []).append(step)
    return [each for i, step in enumerate(order) for each in (*in_front.get(i, ()), step, *behind.get(i, ()))]


def _part(running: Running, names: Sequence[int]) -> Steps:
    """Return steps by their index among themselves; those before them have run."""
    steps, number = running.steps, {step: i for i, step in enumerate(names)}
    written = [v for step in names for v in steps.writes[step]]
    own = set(written)
    given = list(dict.fromkeys(v for step in names for v in steps.reads[step] if v not in own))
    index = {v: i for i, v in enumerate([*written, *given])}
    values = []
    for v in index:
        value = steps.values[v]
        inside = tuple(number[reader] for reader in value.readers if reader in number)
        left = running.unread[v]
        values.append(Value(value.size, inside, value.is_kept or left > len(inside)))
    return Steps(
        tuple(tuple(number[other] for other in steps.before[step] if other in number) for step in names),
        tuple(tuple(index[v] for v in steps.reads[step]) for step in names),
        tuple(tuple(index[v] for v in steps.writes[step]) for step in names),
        tuple(tuple(index[v] for v in steps.over[step]) for step in names),
        tuple(values),
        tuple(index[v] for v in given),
        running.live - sum(steps.values[v].size for v in given),
        tuple(tuple(index[v] for v in steps.early[step]) for step in names) if steps.early else (),
    )
