"""Fast placement: items one by one, each at the lowest offset that is free, in several orders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphrewrite.memory.problem import Problem

__all__ = ["first_fit", "orders"]


def first_fit(
    problem: Problem, order: Iterable[int], aligns: Sequence[int], fixed: Sequence[int | None]
) -> tuple[int, ...]:
    """Return offsets of all items: each, in the given order, as low as those before it allow; fixed ones come first.

    Examples
    --------
    >>> first_fit(Problem((1, 2, 2), (0b011, 0b110)), (2, 1, 0), (1, 1, 1), (None, None, None))
    (0, 2, 0)
    """
    offsets = [0 if offset is None else offset for offset in fixed]
    placed = sum(1 << item for item, offset in enumerate(fixed) if offset is not None)
    for item in order:
        if placed >> item & 1:
            continue
        size, align, start = problem.sizes[item], aligns[item], 0
        taken, others = [], problem.beside[item] & placed
        while others:
            other = others.bit_length() - 1
            others ^= 1 << other
            taken.append((offsets[other], offsets[other] + problem.sizes[other]))
        taken.sort()
        for low, high in taken:
            if low - start >= size:
                break
            if high > start:
                start = -(-high // align) * align
        offsets[item] = start
        placed |= 1 << item
    return tuple(offsets)


def orders(problem: Problem) -> Iterator[list[int]]:
    """Yield orders that are worth a try: by the load where an item lives, by its size, by its area, as given.

    Examples
    --------
    >>> next(orders(Problem((1, 2, 2), (0b011, 0b110))))
    [1, 2, 0]
    """
    sizes, members, loads = problem.sizes, problem.members, problem.loads
    every = range(len(sizes))
    fullest = [max(loads[s] for s in sections) for sections in members]
    width = [len(sections) for sections in members]
    yield sorted(every, key=lambda i: (-fullest[i], -sizes[i], -width[i]))
    yield sorted(every, key=lambda i: (-fullest[i], -width[i], -sizes[i]))
    yield list(every)
    yield sorted(every, key=lambda i: (-sizes[i], -width[i]))
    yield sorted(every, key=lambda i: (-sizes[i] * width[i], -sizes[i]))
    yield sorted(every, key=lambda i: (-width[i], -sizes[i]))
