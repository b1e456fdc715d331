"""Steps that read and write values of known sizes, and the checked problem of their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

from graphrewrite.errors import ScheduleError, did_you_mean

__all__ = ["Read", "Step", "Steps", "Value", "steps_of"]

Read = str | tuple[str, int]
"""A value: the name of its step, with the index of the result where it is not the first."""


@dataclass(frozen=True, slots=True)
class Step:
    """What reads values and writes others, before it has its place in an order.

    Attributes
    ----------
    size : int, or tuple of int
        Size of its result, or of each of its results. A result without readers takes memory while the step runs.
    reads : tuple of (str, or (str, int))
        Values that it reads, each the name of a step or of a given value, or a name and the index of a result.
    after : tuple of str
        Steps that it comes after without reading them.
    over : tuple of (str, or (str, int))
        Those of its operands that its first result may overwrite, where no later step reads them; they have its size.

    Examples
    --------
    >>> Step(16, reads=("x",))
    Step(size=16, reads=('x',), after=(), over=())
    """

    size: int | tuple[int, ...]
    reads: tuple[Read, ...] = ()
    after: tuple[str, ...] = ()
    over: tuple[Read, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Size of each of its results."""
        return self.size if isinstance(self.size, tuple) else (self.size,)


@dataclass(frozen=True, slots=True)
class Value:
    """A value, all by index.

    Attributes
    ----------
    size : int
        Its size.
    readers : tuple of int
        Steps that read it.
    is_kept : bool
        Whether it lives to the end, whoever reads it.
    """

    size: int
    readers: tuple[int, ...]
    is_kept: bool

    @property
    def is_read(self) -> bool:
        """Whether it lives longer than the step that writes it."""
        return self.is_kept or bool(self.readers)


@dataclass(frozen=True, slots=True)
class Steps:
    """Steps by index, each with those before it, and their values by index.

    Attributes
    ----------
    before : tuple of tuple of int
        By step, the steps that come before it.
    reads, writes, over : tuple of tuple of int
        By step, values.
    values : tuple of Value
        The values.
    given : tuple of int
        Values that are there before the first step.
    idle : int
        Size of what lives all the time and is not among the values.
    early : tuple of tuple of int
        By step, the values that it reads before it needs most: where no other reads them, they are free then.
    """

    before: tuple[tuple[int, ...], ...]
    reads: tuple[tuple[int, ...], ...]
    writes: tuple[tuple[int, ...], ...]
    over: tuple[tuple[int, ...], ...]
    values: tuple[Value, ...]
    given: tuple[int, ...]
    idle: int = 0
    early: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.before)

    def start(self) -> int:
        """Size of what lives before the first step."""
        return self.idle + sum(self.values[v].size for v in self.given if self.values[v].is_read)

    def after(self) -> list[list[int]]:
        """Return the steps after each step."""
        after: list[list[int]] = [[] for _ in self.before]
        for step, before in enumerate(self.before):
            for other in before:
                after[other].append(step)
        return after

    def in_order(self) -> list[int]:
        """Return the steps in an order that is allowed, the lowest index first; fewer than all if there is a cycle.

        Examples
        --------
        >>> from graphrewrite.memory.step import steps_of
        >>> steps, *_ = steps_of({"b": Step(1, reads=("a",)), "a": Step(1)}, {}, ())
        >>> steps.in_order()
        [1, 0]
        """
        after, missing = self.after(), [len(before) for before in self.before]
        ready = [step for step, count in enumerate(missing) if not count]
        heapify(ready)
        found = []
        while ready:
            step = heappop(ready)
            found.append(step)
            for other in after[step]:
                missing[other] -= 1
                if not missing[other]:
                    heappush(ready, other)
        return found


def steps_of(
    steps: Mapping[str, Step], given: Mapping[str, int], keep: Iterable[Read]
) -> tuple[Steps, dict[tuple[str, int], int]]:
    """Return steps by index, and the index of each value; refuse those that are malformed.

    Examples
    --------
    >>> found, index = steps_of({"a": Step(8, reads=("x",)), "b": Step(4, reads=("a",), after=("a",))}, {"x": 2}, ())
    >>> found.before, found.reads, index
    (((), (0,)), ((2,), (0,)), {('a', 0): 0, ('b', 0): 1, ('x', 0): 2})
    """
    _check_kinds(steps, keep)
    number = {name: i for i, name in enumerate(steps)}
    sizes: dict[tuple[str, int], int] = {}
    for name, step in steps.items():
        if name in given:
            raise ScheduleError("is a step and a given value; rename one", node=name)
        sizes.update(((name, i), size) for i, size in enumerate(step.sizes))
    sizes.update(((name, 0), size) for name, size in given.items())
    index = {value: i for i, value in enumerate(sizes)}
    for (name, _), size in sizes.items():
        if size < 0:
            raise ScheduleError(f"a size is not negative, got {size}", node=name)

    def find(reads: Iterable[Read], node: str | None) -> tuple[int, ...]:
        """Return the indices of values."""
        found = [index.get(_named(read), -1) for read in reads]
        if -1 in found:
            name, result = _named(list(reads)[found.index(-1)])
            if (name, 0) in index:
                raise ScheduleError(f"{name!r} has no result {result}", node=node)
            raise ScheduleError(f"there is no value {name!r}{did_you_mean(name, [*number, *given])}", node=node)
        return tuple(dict.fromkeys(found))

    before, reads, over = [], [], []
    for name, step in steps.items():
        for other in step.after:
            if other not in number:
                raise ScheduleError(f"there is no step {other!r} to come after{did_you_mean(other, number)}", node=name)
        reads.append(find(step.reads, name))
        over.append(find(step.over, name))
        read = [number[n] for n, _ in map(_named, step.reads) if n in number]
        before.append(tuple(dict.fromkeys([*read, *(number[other] for other in step.after)])))
        for wrong in step.over:
            if index[_named(wrong)] not in reads[-1] or (sizes[_named(wrong)],) != step.sizes[:1]:
                raise ScheduleError(
                    f"overwrites {wrong!r}, which it does not read or which has another size; leave it out", node=name
                )
    kept = set(find(tuple(keep), None))
    readers: list[list[int]] = [[] for _ in index]
    for i, values in enumerate(reads):
        for value in values:
            readers[value].append(i)
    writes = [tuple(index[name, i] for i in range(len(step.sizes))) for name, step in steps.items()]
    found = Steps(
        tuple(before),
        tuple(reads),
        tuple(writes),
        tuple(over),
        tuple(Value(size, tuple(readers[i]), i in kept) for i, size in enumerate(sizes.values())),
        tuple(index[name, 0] for name in given),
    )
    _check_cycles(found, tuple(number))
    return found, index


def _check_kinds(steps: Any, keep: Any) -> None:
    """Raise unless steps are steps by name, and their fields are what they are declared to be."""
    if not isinstance(steps, Mapping):
        raise ScheduleError(f"steps are a mapping from names to Step, got {type(steps).__name__}; name each step")
    if isinstance(keep, str):
        raise ScheduleError(f"`keep` lists names, got {keep!r}; write [{keep!r}]")
    for name, step in steps.items():
        if not isinstance(step, Step):
            raise ScheduleError(f"is no Step, got {step!r}; write Step(size, reads=(…))", node=str(name))
        fields: dict[str, Any] = {"reads": step.reads, "after": step.after, "over": step.over}
        for field, value in fields.items():
            if isinstance(value, str):
                raise ScheduleError(f"`{field}` is a tuple of names, got {value!r}; write ({value!r},)", node=name)
        for size in step.sizes:
            if not hasattr(size, "__index__"):
                raise ScheduleError(f"a size is a whole number, got {size!r}; round it up", node=name)


def _named(read: Read) -> tuple[str, int]:
    return (read, 0) if isinstance(read, str) else (read[0], read[1])


def _check_cycles(steps: Steps, names: Sequence[str]) -> None:
    done = set(steps.in_order())
    if len(done) == len(steps):
        return
    step = next(i for i in range(len(steps)) if i not in done)
    path: list[int] = []
    while step not in path:
        path.append(step)
        step = next(other for other in steps.before[step] if other not in done)
    cycle = [names[i] for i in [step, *reversed(path[path.index(step) :])]]
    raise ScheduleError(f"comes after itself: {' -> '.join(cycle)}; break the cycle", node=cycle[0])
