"""Every choice that a generator has, in order: first those that differ from the simplest in one place, then in two.

Harvey and Ginsberg (1995), "Limited discrepancy search", for generators that shall be covered and not sampled. What
needs many changes at once is met by runs that are spread evenly over all choices (Weyl 1916, multiples of
irrationals), and by runs that draw them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from graphrewrite.testing.generation.demand import Pick, T, Unfit, seeded

__all__ = ["drawn", "enumerated", "spread"]

Made = TypeVar("Made")
_WHOLE, _GOLDEN = 1 << 32, 2654435769
"""The golden ratio's fractional part, of 32 bits."""
_DEEPEST = 60
"""Choices of one run that are varied; later ones are second attempts of what did not fit at first."""


def enumerated(make: Callable[[Pick], Made], runs: int) -> Iterator[Made]:
    """Yield what a generator makes of different choices, the simplest first.

    Parameters
    ----------
    make : callable
        Takes a function that chooses; raises `Unfit` where the choices do not fit each other.

    Examples
    --------
    >>> list(enumerated(lambda pick: (pick("ab"), pick("xyz")), 5))
    [('a', 'x'), ('b', 'x'), ('a', 'y'), ('a', 'z'), ('b', 'y')]
    """
    level: deque[Iterator[tuple[int, ...]]] = deque([iter([()])])
    while level:
        following: deque[Iterator[tuple[int, ...]]] = deque()
        while level:
            source = level.popleft()
            prefix = next(source, None)
            if prefix is None:
                continue
            level.append(source)  # the others in turn: a few from each are worth more than all from the first
            if not runs:
                return
            runs -= 1
            choices = _Choices(prefix)
            with suppress(Unfit):
                yield make(choices)
            following.append(_changed(prefix, tuple(choices.counts)))
        level = following


def spread(make: Callable[[Pick], Made], runs: int) -> Iterator[Made]:
    """Yield what a generator makes of choices that differ in many places, spread evenly over all that there are.

    Parameters
    ----------
    make : callable
        Takes a function that chooses; raises `Unfit` where the choices do not fit each other.

    Examples
    --------
    >>> list(spread(lambda pick: (pick("ab"), pick("xyz")), 5))
    [('b', 'x'), ('b', 'x'), ('b', 'x'), ('a', 'y'), ('a', 'y')]
    """
    for run in range(1, runs + 1):
        with suppress(Unfit):
            yield make(_Spread(run))


class _Spread:
    """Chooses by the fractional part of a multiple of an irrational, another one for each choice."""

    def __init__(self, run: int) -> None:
        self.run, self.count = run, 0

    def __call__(self, options: Sequence[T], /) -> T:
        self.count += 1
        part = self.run * _GOLDEN * (2 * self.count + 1) % _WHOLE
        return options[part * len(options) // _WHOLE]


def drawn(make: Callable[[Pick], Made], runs: int, *, first: int = 0) -> Iterator[Made]:
    """Yield what a generator makes of choices that are drawn, run by run from another seed.

    Parameters
    ----------
    make : callable
        Takes a function that chooses; raises `Unfit` where the choices do not fit each other.

    Examples
    --------
    >>> list(drawn(lambda pick: (pick("ab"), pick("xyz")), 5))
    [('b', 'y'), ('a', 'z'), ('a', 'x'), ('a', 'z'), ('a', 'y')]
    """
    for seed in range(first, first + runs):
        with suppress(Unfit):
            yield make(seeded(seed))


class _Choices:
    """Chooses as it is told, and then the first."""

    def __init__(self, prefix: tuple[int, ...]) -> None:
        self.prefix, self.counts = prefix, list[int]()

    def __call__(self, options: Sequence[T], /) -> T:
        if len(options) == 1:
            return options[0]
        index = len(self.counts)
        self.counts.append(len(options))
        return options[self.prefix[index] if index < len(self.prefix) else 0]


def _changed(prefix: tuple[int, ...], counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """One more choice that is not the first."""
    for index in range(len(prefix), min(len(counts), _DEEPEST)):
        for other in range(1, counts[index]):
            yield (*prefix, *(0,) * (index - len(prefix)), other)
